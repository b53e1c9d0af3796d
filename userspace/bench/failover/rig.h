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

  /// The drive over this transport on the borrower, whatever was before: the path of its disk, all cables' paths live.
  Result<std::string> enter(Transport transport);
  /// Of nvme-core's multipath: numa, round-robin, queue-depth.
  Result<void> set_policy(std::string_view policy);
  /// up, down or silent; a network is just cut, if not up.
  Result<void> set_cable(unsigned cable, std::string_view state);
  Result<void> wait_all_live(std::chrono::seconds patience);
  /// The cable that carries the I/O which is in flight.
  Result<unsigned> active_cable();
  /// I/Os that the disk has completed.
  Result<double> completed(const std::string& disk);
  /// The borrower's CLOCK_REALTIME in milliseconds.
  Result<double> now_ms();
  [[nodiscard]] bench::Guests& guests() { return guests_; }

 private:
  Result<void> leave();
  Result<std::vector<Path>> paths();

  cluster::Cluster& cluster_;
  bench::Guests guests_;
  std::vector<std::string> cables_;
  Transport transport_ = Transport::smartio;
};

inline constexpr const char* kBorrower = "borrower";

}  // namespace smartio::bench_failover
