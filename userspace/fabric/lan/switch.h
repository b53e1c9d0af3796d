// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "base/wakeup.h"
#include "fabric/lan/frame_reader.h"
#include "fabric/lan/out_queue.h"

namespace smartio::lan {

/// The counters of a port.
struct Counters {
  std::uint64_t frames_in = 0;  ///< from the guest
  std::uint64_t bytes_in = 0;
  std::uint64_t frames_out = 0;  ///< taken into the guest's queue
  std::uint64_t bytes_out = 0;
  std::uint64_t dropped_full = 0;  ///< for a guest that does not take its frames fast enough
  std::uint64_t dropped_cut = 0;   ///< from or to this port while it was down or parted from the other
  std::uint64_t malformed = 0;     ///< connections closed because of it
};

struct PortStatus {
  std::string name;
  bool connected = false;
  bool up = true;
  std::vector<std::string> cut_from;  ///< ports that frames cannot come from or go to
  Counters counters;
};

/// The cluster's IP network: an Ethernet learning switch between the hosts' `-netdev stream` sockets. Each host has a
/// listening socket of its own, so a port has its host's name. Each further network device has one as well. The switch
/// has one thread of its own. A slow guest loses frames and delays no other guest. A guest that sends nonsense loses
/// its connection. Methods: any thread.
class Switch {
 public:
  struct PortConfig {
    std::string name;              ///< the host, or "HOST.DEVICE"
    std::filesystem::path socket;  ///< where its QEMU connects
  };
  /// Listens on every port's socket and starts to switch.
  static Result<std::unique_ptr<Switch>> start(const std::vector<PortConfig>& ports);
  /// Stops, closes all connections, removes the sockets.
  ~Switch();
  Switch(const Switch&) = delete;
  Switch& operator=(const Switch&) = delete;

  /// Takes a host off the network, or puts it back. The connection stays.
  Result<void> set_port(std::string_view name, bool up);
  /// Cuts or mends the path between two hosts.
  Result<void> set_pair(std::string_view a, std::string_view b, bool up);
  /// Hosts of one group reach each other and no other host. Hosts that no group names are one more group.
  Result<void> partition(const std::vector<std::vector<std::string_view>>& groups);
  /// Undoes partition() and set_pair().
  void heal();

  [[nodiscard]] std::vector<PortStatus> status() const;

 private:
  struct Port {
    std::string name;
    std::filesystem::path socket;
    UniqueFd listener;
    UniqueFd fd;  ///< the guest's connection, if any
    bool up = true;
    bool wants_out = false;  ///< asked epoll to say when more can be sent
    std::vector<bool> cut;   ///< by the other port's index
    Counters counters;
    FrameReader in;
    OutQueue out;
  };
  using Mac = std::uint64_t;

  explicit Switch(UniqueFd epoll);
  Result<void> listen(const PortConfig& config);
  [[nodiscard]] Result<std::size_t> find(std::string_view name) const;
  void serve(const std::stop_token& stop);
  void attach(std::size_t index);
  void detach(std::size_t index);
  void receive(std::size_t index);
  void forward(std::size_t from, const FrameReader::Next& frame);
  void deliver(std::size_t from, std::size_t to, std::span<const std::byte> wire);
  void flush(std::size_t index);
  void flush_all();

  const UniqueFd epoll_;
  const Wakeup wake_;
  mutable std::mutex mutex_;  ///< guards all below; held for a chunk of frames at a time
  std::vector<Port> ports_;
  std::unordered_map<Mac, std::size_t> learned_;
  std::jthread thread_;
};

}  // namespace smartio::lan
