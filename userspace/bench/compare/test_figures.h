// SPDX-License-Identifier: GPL-2.0
// Figures for unit tests.
#pragma once

#include "bench/compare/figures.h"

namespace smartio::bench_compare {

/// One round in which every I/O took so much on the host of the scenario, and nothing on the other.
inline Measured measured(const char* scenario, const char* job, unsigned round, double instructions, double median_us) {
  Measured one{.scenario = *find_scenario(scenario),
               .job = *find_job(job),
               .round = round,
               .fio = {.iops = 1e6 / median_us,
                       .min_us = median_us / 2,
                       .p25_us = median_us * 0.9,
                       .median_us = median_us,
                       .p75_us = median_us * 1.1,
                       .p99_us = median_us * 2,
                       .p999_us = median_us * 3},
               .hosts = {},
               .ledger = {},
               .commands = 1,
               .functions = {}};
  one.hosts[one.scenario.host][Count::instructions] = instructions;
  one.hosts[one.scenario.host][Count::with_copies] = instructions;
  one.hosts[one.scenario.host][Count::timer_ticks] = 1e-30;  // enough to be counted
  one.hosts[one.scenario.host][Count::dma_maps] = 1;
  one.hosts[one.scenario.host][Count::device_interrupts] = 1;
  one.hosts[one.scenario.host][Count::context_switches] = one.job.depth == 1 ? 1.7 : 0.1;
  one.functions[one.scenario.host] = {{"submit_bio", instructions}, {"(processes)", 5}};
  return one;
}

/// A run of two scenarios beside the stock driver, and of two hosts that share.
inline Figures some_figures() {
  Figures figures;
  figures.rounds = 1;
  figures.seconds = 3;
  figures.facts = {{"machine", "a <machine> & \"more\""}};
  figures.measured = {measured("stock-borrower", "read-4k-qd1", 0, 1000, 20),
                      measured("remote-bounce-poll", "read-4k-qd1", 0, 1100, 21),
                      measured("nvmeof-rdma", "read-4k-qd1", 0, 5000, 60)};
  figures.measured[1].hosts[kBorrower][Count::copied_bytes] = 4096;
  figures.measured[1].hosts[kBorrower][Count::with_copies] += 4096 / kCopyStep;
  figures.measured[1].ledger = {{"posted command", {.transactions = 1, .bytes = 64}},
                                {"posted doorbell", {.transactions = 1, .bytes = 8}},
                                {"posted data", {.transactions = 16, .bytes = 4096}},
                                {"posted completion", {.transactions = 1, .bytes = 16}}};
  figures.shared = {{.round = 0, .iops = {{"borrower1", 100}}},
                    {.round = 0, .iops = {{"borrower1", 100}, {"borrower2", 300}}}};
  return figures;
}

}  // namespace smartio::bench_compare
