// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/guests/fio.h"

namespace smartio::bench_compare {

/// The driver of the disk that fio uses.
enum class Driver {
  stock,    ///< the kernel's nvme, on a drive of the same host
  smartio,  ///< smartio_nvme, on the lender's drive
  lent,     ///< the kernel's nvme, on the lender's drive, which is lent as a whole PCI function
  nvmeof,   ///< the kernel's nvme-tcp or nvme-rdma, on the lender's drive, which nvme and nvmet serve there
};

/// One arrangement of driver, host and drive on the topology pair-bench.
struct Scenario {
  std::string name;
  std::string title;  ///< for a person
  std::string host;   ///< where fio runs
  std::string drive;  ///< the fabric's name of the drive it uses
  Driver driver = Driver::stock;
  std::string parameters;  ///< of smartio_nvme; of NVMe-oF the transport
  bool poll = false;       ///< completions are polled for
  std::string stock;  ///< the scenario that it is compared to: the stock driver on the same host; empty: it is that one

  /// Its latency here against the stock driver's says something: both pass the same emulated parts. A bounce buffer
  /// leaves the emulated IOMMU out, polling the emulated interrupt, NVMe-oF puts an emulated network in.
  [[nodiscard]] bool latency_comparable() const;
  /// Its I/O goes straight over the cable: the ledger and the model say something of it.
  [[nodiscard]] bool over_cable() const;
};
const std::vector<Scenario>& all_scenarios();
/// nullptr if there is none of that name.
const Scenario* find_scenario(std::string_view name);

/// A load for fio.
struct Job {
  std::string name;
  std::string rw;  ///< fio's own word
  double bytes;    ///< of a request
  unsigned depth;
  [[nodiscard]] bool write() const { return rw.ends_with("write"); }
};
/// 4 KiB random reads and writes at depth 1, 8 and 32; 128 KiB sequential ones at depth 8.
const std::vector<Job>& all_jobs();
/// nullptr if there is none of that name.
const Job* find_job(std::string_view name);
/// The same job for every driver, on the host's second CPU.
bench::FioJob fio_job(const Scenario& scenario, const Job& job);

/// The scenarios of make bench-lending: the stock driver on a drive of its host, and on one that was lent to it.
std::vector<std::string> lending_scenarios();

/// The scenarios of make bench-quick.
std::vector<std::string> quick_scenarios();
std::vector<std::string> quick_jobs();

}  // namespace smartio::bench_compare
