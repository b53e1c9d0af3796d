// SPDX-License-Identifier: GPL-2.0
#include "bench_share/setups.h"

#include <fmt/format.h>

namespace smartio::bench_share {

const std::vector<Setup>& all_setups() {
  static const std::vector<Setup> kSetups{
      {"stock-lender", "lender", "drive0", true, "", ""},
      {"stock-borrower", "borrower", "drive1", true, "", ""},
      {"smartio-lender", "lender", "drive0", false, "", "stock-lender"},
      {"smartio-borrower", "borrower", "drive0", false, "", "stock-borrower"},
      {"smartio-borrower-bounce", "borrower", "drive0", false, "dma_mode=bounce", "stock-borrower"},
      {"smartio-borrower-sq-borrower", "borrower", "drive0", false, "sq_placement=borrower", "stock-borrower"},
  };
  return kSetups;
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const bool poll : {false, true}) {
    for (const bool write : {false, true}) {
      for (const unsigned depth : {1U, 32U}) cases.push_back({.poll = poll, .write = write, .depth = depth});
    }
  }
  return cases;
}

std::string name_of(const Case& one) {
  return fmt::format("{}-{}-qd{}", one.poll ? "poll" : "irq", one.write ? "write" : "read", one.depth);
}

bench::FioJob job_of(const Case& one) {
  return {.rw = one.write ? "randwrite" : "randread", .depth = one.depth, .poll = one.poll, .cpus = "1"};
}

}  // namespace smartio::bench_share
