// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "fabric/control/commands.h"
#include "fabric/lan/switch.h"
#include "fabric/ntb/cable.h"
#include "fabric/nvme/drive.h"
#include "fabric/pci/host.h"
#include "fabric/pci/memory_file.h"
#include "fabric/vfio_user/server.h"
#include "topology/topology.h"

namespace smartio::fabric {

/// A whole cluster's hardware: the hosts' buses with their devices, the cables between them, the network, and the
/// control socket over all of it. Sockets are made in the current folder: "HOST.DEVICE.sock" for each device,
/// "HOST.lan.sock" for each host, "HOST.NAME.lan.sock" for each network device of QEMU's own, "control.sock".
/// Everything runs on threads of its own until this is destroyed.
class Fabric {
 public:
  /// Makes all that `topology` names and listens. Fails with a sentence for a person (a socket that can't be made, a
  /// backing file that does not fit).
  static Result<std::unique_ptr<Fabric>> start(const topology::Topology& topology);
  ~Fabric();
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

 private:
  Fabric() = default;
  Result<void> make_devices(const topology::Topology& topology);
  Result<void> combine_stores(const topology::Topology& topology);
  Result<void> listen(const topology::Topology& topology);
  void add_commands(const topology::Topology& topology);

  // Each object uses only those before it: destruction begins with the last one.
  pci::MemoryFiles files_;
  pci::Waits waits_;
  std::map<std::string, std::unique_ptr<ntb::FencePage>> fences_;
  std::map<std::string, std::unique_ptr<pci::Host>> hosts_;
  std::vector<std::unique_ptr<ntb::Cable>> cables_;
  std::vector<std::unique_ptr<nvme::Drive>> drives_;
  std::vector<std::unique_ptr<vfio_user::Server>> servers_;
  std::unique_ptr<lan::Switch> lan_;
  control::Commands commands_;
  std::unique_ptr<LineServer> control_;
};

}  // namespace smartio::fabric
