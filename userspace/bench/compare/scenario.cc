// SPDX-License-Identifier: GPL-2.0
#include "bench/compare/scenario.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/guests/lending.h"

namespace smartio::bench_compare {

namespace {

constexpr double kKiB = 1024;

const auto* find(const auto& all, std::string_view name) {
  const auto found = std::ranges::find(all, name, [](const auto& one) -> std::string_view { return one.name; });
  return found == all.end() ? nullptr : &*found;
}

std::vector<Scenario> make_scenarios() {
  auto remote = [](std::string name, std::string title, std::string parameters, bool poll) {
    return Scenario{std::move(name), std::move(title),      "borrower", "drive0",
                    Driver::smartio, std::move(parameters), poll,       "stock-borrower"};
  };
  auto fabrics = [](std::string name, std::string title, std::string transport) {
    return Scenario{std::move(name), std::move(title),     "borrower", "drive0",
                    Driver::nvmeof,  std::move(transport), false,      "stock-borrower"};
  };
  return {
      {"stock-borrower", "local, stock nvme (borrower)", "borrower", "drive1", Driver::stock, "", false, ""},
      {"stock-multipath", "local, stock nvme, multipath (borrower)", "borrower", "drive2", Driver::stock, "", false,
       "stock-borrower"},
      {"stock-lender", "local, stock nvme (lender)", "lender", "drive0", Driver::stock, "", false, ""},
      {"local", "local, this driver (lender)", "lender", "drive0", Driver::smartio, "", false, "stock-lender"},
      remote("remote", "remote, this driver", "", false),
      remote("remote-poll", "remote, polled", "", true),
      remote("remote-sq-borrower", "remote, SQ at the borrower", "sq_placement=borrower", false),
      remote("remote-bounce", "remote, bounce buffer", "dma_mode=bounce", false),
      remote("remote-bounce-poll", "remote, bounce buffer, polled", "dma_mode=bounce", true),
      {"lent", "lent whole, stock nvme", "borrower", "drive0", Driver::lent, "", false, "stock-borrower"},
      fabrics("nvmeof-tcp", "NVMe-oF/TCP", "tcp"),
      fabrics("nvmeof-rdma", "NVMe-oF/RDMA (soft-RoCE)", "rdma"),
  };
}

std::vector<Job> make_jobs() {
  std::vector<Job> jobs;
  for (const char* rw : {"read", "write"}) {
    for (const unsigned depth : {1U, 8U, 32U}) {
      jobs.push_back({fmt::format("{}-4k-qd{}", rw, depth), fmt::format("rand{}", rw), 4 * kKiB, depth});
    }
    jobs.push_back({fmt::format("{}-128k-qd8", rw), rw, 128 * kKiB, 8});
  }
  return jobs;
}

}  // namespace

const std::vector<Scenario>& all_scenarios() {
  static const std::vector<Scenario> kScenarios = make_scenarios();
  return kScenarios;
}

bool Scenario::latency_comparable() const {
  return driver != Driver::nvmeof && !poll && parameters != "dma_mode=bounce";
}

bool Scenario::over_cable() const {
  return driver == Driver::lent || (driver == Driver::smartio && host != bench::kLender);
}

const Scenario* find_scenario(std::string_view name) { return find(all_scenarios(), name); }

const std::vector<Job>& all_jobs() {
  static const std::vector<Job> kJobs = make_jobs();
  return kJobs;
}

const Job* find_job(std::string_view name) { return find(all_jobs(), name); }

bench::FioJob fio_job(const Scenario& scenario, const Job& job) {
  return {.rw = job.rw,
          .block = fmt::format("{:.0f}k", job.bytes / kKiB),
          .depth = job.depth,
          .poll = scenario.poll,
          .cpus = "1"};
}

std::vector<std::string> lending_scenarios() { return {"stock-borrower", "lent"}; }

std::vector<std::string> quick_scenarios() {
  return {"stock-borrower", "stock-multipath", "remote", "nvmeof-tcp", "nvmeof-rdma"};
}

std::vector<std::string> quick_jobs() { return {"read-4k-qd1", "write-4k-qd1"}; }

}  // namespace smartio::bench_compare
