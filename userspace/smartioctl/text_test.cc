// SPDX-License-Identifier: GPL-2.0
#include "smartioctl/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smartio::ctl {
namespace {

using testing::ElementsAre;

TEST(PciAddress, ShortAndLongFormsAndCapitals) {
  EXPECT_EQ(parse_pci_address("01:00.0"), "0000:01:00.0");
  EXPECT_EQ(parse_pci_address("0000:01:00.0"), "0000:01:00.0");
  EXPECT_EQ(parse_pci_address("10000:AB:1F.7"), "10000:ab:1f.7");
}

TEST(PciAddress, NothingElse) {
  for (const char* bad : {"", "01:00", "1:00.0", "01:00.8", "01:20.0", "000:01:00.0", "0000:01:00.0 ", "nvme0",
                          "../../../:00.0", "0000:01:00:0", "0000:0g:00.0", "::."}) {
    EXPECT_EQ(parse_pci_address(bad), std::nullopt) << bad;
  }
}

TEST(Borrowers, Lines) {
  const auto parsed = parse_borrowers(
      "session=0x1f00001 host=6a0c name=borrower link=ntb0\nsession=7 host=77aa name=lender link=local\n");
  EXPECT_THAT(parsed.items,
              ElementsAre(Borrower{.session = 0x1f00001, .host = "6a0c", .name = "borrower", .link = "ntb0"},
                          Borrower{.session = 7, .host = "77aa", .name = "lender", .link = "local"}));
  EXPECT_EQ(parsed.unreadable, 0U);
  EXPECT_FALSE(parsed.cut);
}

TEST(Holdings, VectorOrPoll) {
  const auto parsed = parse_holdings(
      "qid=1 session=0x7 host=borrower entries=1024 sq=lender irq=3\n"
      "qid=2 session=0x7 host=borrower entries=64 sq=cmb poll\n");
  EXPECT_THAT(
      parsed.items,
      ElementsAre(
          Holding{.qid = 1, .session = 7, .host = "borrower", .entries = 1024, .sq = "lender", .irq = 3},
          Holding{.qid = 2, .session = 7, .host = "borrower", .entries = 64, .sq = "cmb", .irq = std::nullopt}));
}

TEST(Holdings, WhatSysfsCutOffIsNotRead) {
  const auto parsed =
      parse_holdings("qid=1 session=0x7 host=b entries=16 sq=lender irq=3\nqid=2 session=0x7 host=b ent");
  EXPECT_EQ(parsed.items.size(), 1U);
  EXPECT_TRUE(parsed.cut);
  EXPECT_EQ(parsed.unreadable, 0U);
}

TEST(Holdings, StrangeLinesAreCounted) {
  const auto parsed = parse_holdings(
      "nothing\nqid=99999999999 session=1 host=b entries=16 sq=lender poll\nqid=1\n\n"
      "qid=3 session=1 host=b entries=16 sq=lender poll\n");
  EXPECT_EQ(parsed.items.size(), 1U);
  EXPECT_EQ(parsed.unreadable, 3U);
}

TEST(Allowed, AnyNoneOrHosts) {
  EXPECT_FALSE(parse_allowed("any\n"));
  EXPECT_FALSE(parse_allowed(""));
  EXPECT_THAT(parse_allowed("none\n").value(), testing::IsEmpty());
  EXPECT_THAT(parse_allowed("a,b\n").value(), testing::ElementsAre("a", "b"));
  EXPECT_THAT(parse_allowed("a\x1b").value(), testing::ElementsAre("a?"));
}

TEST(Windows, BothDirections) {
  const auto parsed = parse_windows(
      "in mw=0 base=0x0 size=0x100000000 used=0x400000\nout mw=1 base=0xfee00000 size=0x100000 used=0x0\n");
  EXPECT_THAT(parsed.items,
              ElementsAre(Window{.inbound = true, .mw = 0, .base = 0, .size = 0x100000000, .used = 0x400000},
                          Window{.inbound = false, .mw = 1, .base = 0xfee00000, .size = 0x100000, .used = 0}));
  EXPECT_EQ(parse_windows("in out mw=0 base=0 size=0 used=0\nmw=0 base=0 size=0 used=0\n").unreadable, 2U);
}

TEST(Printable, AnotherHostsNameCanNotDriveTheTerminal) {
  EXPECT_EQ(parse_borrowers("session=1 host=u name=a\033]0; link=ntb0\n").items.at(0).name, "a?]0;");
}

}  // namespace
}  // namespace smartio::ctl
