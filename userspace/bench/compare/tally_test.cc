// SPDX-License-Identifier: GPL-2.0
#include "bench/compare/tally.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/compare/fairness.h"

namespace smartio::bench_compare {
namespace {

using nlohmann::json;

constexpr const char* kKallsyms =
    "ffffffff81000000 T common_interrupt\nffffffff81000100 T sysvec_apic_timer_interrupt\nffffffff81000200 T "
    "__switch_to_asm\nffffffff81000300 T dma_map_page_attrs\nffffffff81000400 T dma_unmap_sg_attrs\nffffffff81000500 T "
    "qi_submit_sync\nffffffff81000600 T other\nffffffff81000700 t native_queued_spin_lock_slowpath\nffffffff81000800 t "
    "next\nffffffff81000900 t hrtimer_try_to_cancel.part.0\nffffffff81000a00 T hrtimer_nothing\n"
    "ffffffff81000b00 t tick_nohz_handler\nffffffff81000c00 T iommu_map\nffffffff81000d00 T iommu_unmap\n"
    "ffffffffc0000000 t snvme_map_slot.isra.0\t[smartio_nvme]\n";

json blocks(double scale) {
  return {{"user", 5 * scale},
          {"other", 1 * scale},
          {"copied", 4096 * scale},
          {"kernel",
           {{0xFFFFFFFF81000000, 10 * scale, 1 * scale},
            {0xFFFFFFFF81000010, 10 * scale, 7 * scale},  // inside a function: no call of it
            {0xFFFFFFFF81000100, 10 * scale, 2 * scale},
            {0xFFFFFFFF81000200, 10 * scale, 3 * scale},
            {0xFFFFFFFF81000300, 10 * scale, 4 * scale},
            {0xFFFFFFFF81000400, 10 * scale, 5 * scale},
            {0xFFFFFFFF81000500, 10 * scale, 6 * scale},
            {0xFFFFFFFF81000600, 10 * scale, 8 * scale},
            {0xFFFFFFFF81000700, 1 * scale, 8 * scale},
            {0xFFFFFFFF810007F0, 2 * scale, 8 * scale},
            {0xFFFFFFFF81000910, 4 * scale, 8 * scale},
            {0xFFFFFFFF81000A00, 10 * scale, 9 * scale},
            {0xFFFFFFFF81000B00, 10 * scale, 10 * scale},
            {0xFFFFFFFF81000C00, 1 * scale, 11 * scale},
            {0xFFFFFFFF81000D00, 1 * scale, 12 * scale},
            {0xFFFFFFFFC0000000, 1 * scale, 13 * scale}}}};
}

TEST(Tally, CountsCallsAndInstructions) {
  const Tallier tallier((bench::Symbols(kKallsyms)));
  const Tally tally = tallier(blocks(3)) - tallier(blocks(1)) * 2;
  EXPECT_DOUBLE_EQ(tally[Count::instructions], 109);
  EXPECT_DOUBLE_EQ(tally[Count::spinning], 7);
  EXPECT_DOUBLE_EQ(tally[Count::user_instructions], 5);
  EXPECT_DOUBLE_EQ(tally[Count::device_interrupts], 1);
  EXPECT_DOUBLE_EQ(tally[Count::interrupts], 3);
  EXPECT_DOUBLE_EQ(tally[Count::context_switches], 3);
  EXPECT_DOUBLE_EQ(tally[Count::dma_maps], 4 + 13);
  EXPECT_DOUBLE_EQ(tally[Count::dma_unmaps], 5 + 12);
  EXPECT_DOUBLE_EQ(tally[Count::iommu_commands], 6);
  EXPECT_DOUBLE_EQ(tally[Count::copied_bytes], 4096);
  EXPECT_DOUBLE_EQ(tally[Count::with_copies], 109 + 256);
  EXPECT_DOUBLE_EQ(tally[Count::timer_ticks], 10);
}

TEST(Tally, MedianOfEachCount) {
  Tally one;
  Tally two;
  Tally three;
  one[Count::interrupts] = 1;
  two[Count::interrupts] = 9;
  three[Count::interrupts] = 2;
  two[Count::dma_maps] = 5;
  const Tally middle = median({one, two, three});
  EXPECT_DOUBLE_EQ(middle[Count::interrupts], 2);
  EXPECT_DOUBLE_EQ(middle[Count::dma_maps], 0);
}

TEST(Jain, HowEqualSharesAre) {
  EXPECT_DOUBLE_EQ(jain_index({5, 5, 5}), 1);
  EXPECT_DOUBLE_EQ(jain_index({9, 0, 0}), 1.0 / 3);
  EXPECT_DOUBLE_EQ(jain_index({1, 3}), 0.8);
  EXPECT_DOUBLE_EQ(jain_index({4}), 1);
  EXPECT_DOUBLE_EQ(jain_index({0, 0}), 0);
  EXPECT_DOUBLE_EQ(jain_index({}), 0);
}

}  // namespace
}  // namespace smartio::bench_compare
