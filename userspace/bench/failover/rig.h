// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bench/guests/guests.h"
#include "cluster/cluster.h"

namespace smartio::bench_failover {

inline constexpr const char* kBorrower = "borrower";

/// How the borrower reaches the lender's drive.
enum class Transport {
  smartio,
  nvmeof_tcp,  ///< stock nvmet-tcp and nvme-tcp, over two IP networks on the hosts' LAN (selftests/programs/nvmeof_tcp)
};
std::string_view name_of(Transport transport);

/// One path to the drive, as selftests/programs/nvme_paths prints it.
struct Path {
  unsigned cable = 0;      ///< or the network
  std::string controller;  ///< nvmeN
  std::string state;       ///< nvme-core's
  double ios = 0;          ///< completed since it is there
};
Result<std::vector<Path>> parse_paths(std::string_view text);
/// The cable whose path has done most between two looks, and any at all.
Result<unsigned> busiest(const std::vector<Path>& before, const std::vector<Path>& after);

/// Two hosts with two cables between them (the topology pair-dual), and a LAN.
class Rig {
 public:
  explicit Rig(cluster::Cluster& cluster) : cluster_(cluster), guests_(cluster) {}

  /// The drive over this transport on the borrower, in place of any other: the path of its disk, all cables' paths
  /// live.
  std::string enter(Transport transport);
  /// Of nvme-core's multipath: numa, round-robin, queue-depth.
  void set_policy(std::string_view policy);
  /// up, down or silent; a network is just cut, if not up.
  void set_cable(unsigned cable, std::string_view state);
  void wait_all_live(std::chrono::seconds patience);
  /// The cable that carries the I/O which is in flight.
  unsigned active_cable();
  /// The borrower's CLOCK_REALTIME in milliseconds.
  double now_ms() { return guests_.number(kBorrower, "date +%s%3N"); }
  [[nodiscard]] bench::Guests& guests() { return guests_; }

 private:
  void leave();
  std::vector<Path> paths();

  cluster::Cluster& cluster_;
  bench::Guests guests_;
  std::vector<std::string> cables_;
  Transport transport_ = Transport::smartio;
};

}  // namespace smartio::bench_failover
