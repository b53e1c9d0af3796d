// SPDX-License-Identifier: GPL-2.0
#include "bench/guests/symbols.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace smartio::bench {
namespace {

using nlohmann::json;

constexpr const char* kKallsyms =
    "ffffffff81000000 T _stext\nffffffff81000000 T startup\nffffffff81000100 t queue_rq\nffffffff81000100 t "
    "other_name\n"
    "ffffffff81000180 D some_data\nffffffffc0000000 t snvme_irq\t[smartio_nvme]\nnonsense\n0000000000000000 t hidden\n";

TEST(Symbols, NameCode) {
  const Symbols symbols(kKallsyms);
  EXPECT_EQ(symbols.name(0xFFFFFFFF81000000), "startup");
  EXPECT_EQ(symbols.name(0xFFFFFFFF81000190), "queue_rq");
  EXPECT_EQ(symbols.name(0xFFFFFFFFC0000040), "snvme_irq [smartio_nvme]");
  EXPECT_EQ(symbols.name(0xFFFFFFFF80000000), "?");
  EXPECT_TRUE(Symbols("").empty());
}

TEST(Symbols, SumUpBlocks) {
  const json before = {{"user", 10}, {"other", 0}, {"kernel", {{0xFFFFFFFF81000100, 5}}}};
  const json after = {{"user", 30},
                      {"other", 0},
                      {"kernel", {{0xFFFFFFFF81000100, 8}, {0xFFFFFFFF81000110, 4}, {0xFFFFFFFFC0000000, 2}}}};
  EXPECT_EQ(by_function(before, after, Symbols(kKallsyms)),
            (std::map<std::string, double>{{"(processes)", 20}, {"queue_rq", 7}, {"snvme_irq [smartio_nvme]", 2}}));
}

}  // namespace
}  // namespace smartio::bench
