// SPDX-License-Identifier: GPL-2.0
#include "fabric/ledger/ledger.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "fabric/ledger/ledger_json.h"

namespace smartio::ledger {
namespace {

using pci::AccessKind;

TEST(Split, CountsTlpsAtBoundaries) {
  struct Case {
    std::uint64_t address, bytes, boundary, tlps;
  };
  for (const auto& [address, bytes, boundary, tlps] : {
           Case{0, 0, 256, 0},
           Case{17, 0, 256, 0},
           Case{0, 1, 256, 1},
           Case{0, 256, 256, 1},
           Case{0, 257, 256, 2},
           Case{255, 1, 256, 1},
           Case{255, 2, 256, 2},
           Case{0, 4096, 256, 16},
           Case{4, 4096, 256, 17},
           Case{0x1000, 4096, 512, 8},
           Case{0x1010, 512, 512, 2},
           Case{0x11ff, 514, 512, 3},
           Case{~0ULL, 1, 512, 1},
       })
    EXPECT_EQ(LinkLedger::split(address, bytes, boundary), tlps)
        << bytes << " bytes at " << address << " split at " << boundary;
}

TEST(LinkLedger, KeepsDirectionsKindsAndClassesApart) {
  LinkLedger ledger;
  ledger.posted(Direction::from_primary, AccessKind::data, 16, 4096);
  ledger.posted(Direction::from_primary, AccessKind::data, 1, 64);
  ledger.posted(Direction::from_secondary, AccessKind::doorbell, 1, 4);
  ledger.non_posted(Direction::from_primary, AccessKind::data, 8, 4096);
  ledger.dropped(Direction::from_secondary, 3);

  const auto seen = ledger.snapshot();
  std::uint64_t total = 0;
  for (const auto* table : {&seen.posted, &seen.non_posted})
    for (const auto& row : *table)
      for (const auto& cell : row) total += cell.transactions;
  EXPECT_EQ(total, 16U + 1 + 1 + 8) << "nothing may be counted twice";
  EXPECT_EQ(seen.posted[0][std::to_underlying(AccessKind::data)].transactions, 17U);
  EXPECT_EQ(seen.posted[0][std::to_underlying(AccessKind::data)].bytes, 4160U);
  EXPECT_EQ(seen.posted[1][std::to_underlying(AccessKind::doorbell)].bytes, 4U);
  EXPECT_EQ(seen.non_posted[0][std::to_underlying(AccessKind::data)].transactions, 8U);
  EXPECT_EQ(seen.dropped[0], 0U);
  EXPECT_EQ(seen.dropped[1], 3U);
}

TEST(LinkLedger, ResetZeroesEverything) {
  LinkLedger ledger;
  for (const auto direction : {Direction::from_primary, Direction::from_secondary}) {
    for (std::size_t kind = 0; kind < pci::kAccessKinds; kind++) {
      ledger.posted(direction, static_cast<AccessKind>(kind), 1, 2);
      ledger.non_posted(direction, static_cast<AccessKind>(kind), 3, 4);
    }
    ledger.dropped(direction, 5);
  }
  ledger.reset();
  const nlohmann::json seen = ledger.snapshot();
  const nlohmann::json fresh = LinkLedger().snapshot();
  EXPECT_EQ(seen, fresh);
  EXPECT_EQ(ledger.dropped_ever(), (std::array<std::uint64_t, 2>{5, 5}));
}

TEST(LinkLedger, CountsFromManyThreads) {
  LinkLedger ledger;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; thread++)
      threads.emplace_back([&ledger] {
        for (int i = 0; i < 10'000; i++) ledger.posted(Direction::from_primary, AccessKind::message, 1, 8);
      });
  }
  const auto cell = ledger.snapshot().posted[0][std::to_underlying(AccessKind::message)];
  EXPECT_EQ(cell.transactions, 40'000U);
  EXPECT_EQ(cell.bytes, 320'000U);
}

TEST(Json, NamesEveryKindOnce) {
  std::set<std::string_view> names;
  for (std::size_t kind = 0; kind < pci::kAccessKinds; kind++) names.insert(kind_name(static_cast<AccessKind>(kind)));
  EXPECT_EQ(names.size(), pci::kAccessKinds);
}

TEST(Json, HasTheDocumentedShape) {
  LinkLedger ledger;
  ledger.posted(Direction::from_secondary, AccessKind::data, 2, 300);
  ledger.non_posted(Direction::from_primary, AccessKind::list, 1, 64);
  ledger.dropped(Direction::from_primary, 7);
  const nlohmann::json json = ledger.snapshot();
  EXPECT_EQ(json["from_secondary"]["posted"]["data"], (nlohmann::json{{"transactions", 2}, {"bytes", 300}}));
  EXPECT_EQ(json["from_primary"]["non_posted"]["list"]["bytes"], 64);
  EXPECT_EQ(json["from_primary"]["posted"]["data"]["bytes"], 0);
  EXPECT_EQ(json["from_primary"]["dropped"], 7);
  EXPECT_EQ(json["from_secondary"]["dropped"], 0);
}

}  // namespace
}  // namespace smartio::ledger
