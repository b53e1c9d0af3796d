// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cluster/installation.h"
#include "topology/topology.h"

namespace smartio::cluster {

/// Where the plugin of HOST's QEMU tells its counts: the socket HOST.counts.sock of the state folder.
constexpr std::string_view kCounterSocket = "counts.sock";

/// The disk of a server host, a copy on write of Installation::server_root() in the state folder: HOST.root.qcow2.
constexpr std::string_view kServerDisk = "root.qcow2";

/// The options of a host's QEMU besides the topology.
struct HostOptions {
  std::string accel = "tcg,thread=multi,tb-size=128";  ///< QEMU's -accel
  std::string kernel_arguments;                        ///< those that all hosts have
  std::string initrd;                                  ///< path; server hosts have their own
  unsigned memory_factor = 1;                          ///< times the topology's memory
  std::string counter{};    ///< path of the plugin that counts instructions; empty: it is not loaded
  bool with_fabric = true;  ///< false: no devices of the fabric and no LAN
};

/// QEMU's command line for one host, to be run in the state folder. A pure function: the same input, the same words.
/// Each endpoint is behind a root port of its own, the secondary side of AMD's NTB behind a switch too, as on its
/// boards. A host with more than 16 endpoints has all of them behind switches of 16 ports. Devices of QEMU's own
/// come behind them, each behind a root port.
std::vector<std::string> qemu_arguments(const topology::Topology& topology, const topology::Host& host,
                                        const Installation& installation, const HostOptions& options);

/// Where a host finds a device on its PCI bus: "0000:02:00.0". Empty if the host has none of that name.
std::string pci_address_of(const topology::Topology& topology, std::string_view host, std::string_view name);

/// The address of a host on the cluster's LAN, without the prefix length: 10.77.0.1 for the first one.
std::string address_of(const topology::Topology& topology, std::string_view host);

/// The system UUID of a host, by which others know it: derived from the names of topology and host (RFC 9562, version
/// 8), so that it survives reboots.
std::string uuid_of(const topology::Topology& topology, std::string_view host);

/// The words as a person could paste them into a shell.
std::string shell_quoted(const std::vector<std::string>& words);

}  // namespace smartio::cluster
