// SPDX-License-Identifier: GPL-2.0
#include "bench/guests/sample.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace smartio::bench {
namespace {

using nlohmann::json;

TEST(Samples, ReadWhatCountersSay) {
  const json direction = {{"posted", {{"data", {{"transactions", 2}, {"bytes", 9}}}}},
                          {"non_posted", {{"data", {{"transactions", 1}, {"bytes", 9}}}}},
                          {"dropped", 0}};
  const json ledger = {{"links", {{"cable0", {{"from_primary", direction}, {"from_secondary", direction}}}}}};
  EXPECT_EQ(ledger_from(ledger), (Ledger{{"posted data", {4, 18}}, {"non-posted data", {2, 18}}}));
}

TEST(Samples, ReadWhatADriveDid) {
  const auto work =
      drive_work_from({{"bytes_read", 100}, {"bytes_written", 7}, {"commands", {{"read", 3}, {"write", 2}}}});
  EXPECT_EQ(work.bytes, 107);
  EXPECT_EQ(work.commands, 5);
}

TEST(Samples, ALedgerIsForEachIo) {
  const Ledger from{{"posted data", {5, 50}}, {"posted message", {1, 4}}};
  const Ledger to{{"posted data", {405, 850}}, {"posted message", {1, 4}}, {"non-posted data", {200, 2000}}};
  EXPECT_EQ(ledger_per_io(from, to, 200), (Ledger{{"posted data", {2, 4}}, {"non-posted data", {1, 10}}}));
  EXPECT_TRUE(ledger_per_io(from, to, 0).empty());
}

}  // namespace
}  // namespace smartio::bench
