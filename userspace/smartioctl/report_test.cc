// SPDX-License-Identifier: GPL-2.0
#include "smartioctl/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smartioctl/fake_cluster.h"

namespace smartio::ctl {
namespace {

using testing::HasSubstr;

View lender() {
  const ScratchFolder root;
  put_lender(root);
  const Sysfs sysfs(root.path());
  return read_view(sysfs, Choices(root.path() / "lend.d")).value();
}

TEST(Table, ColumnsAndEmptyCells) {
  EXPECT_EQ(table({{"A", "B"}, {"long", ""}, {"x", "yy"}}), "  A     B\n  long  -\n  x     yy\n");
}

TEST(Size, Units) {
  EXPECT_EQ(size_text(0), "0 B");
  EXPECT_EQ(size_text(4096), "4 KiB");
  EXPECT_EQ(size_text(4294967296), "4 GiB");
  EXPECT_EQ(size_text(1234567), "1205 KiB");
}

TEST(List, HasEverything) {
  const std::string text = list_text(lender());
  EXPECT_THAT(text, HasSubstr("  lender    aaaa  yes   no      -\n"));
  EXPECT_THAT(text, HasSubstr("  ntb0  up     borrower  3           1       -\n"));
  EXPECT_THAT(text, HasSubstr("  0000:01:00.0  nvme     Emulated drive  S1      2          3            any\n"));
  EXPECT_THAT(text, HasSubstr("  0000:01:00.0  borrower  ntb0   0x11     2\n"));
  EXPECT_THAT(text, HasSubstr("  0000:01:00.0  3    borrower  0x11     64       cmb     poll\n"));
  EXPECT_THAT(text, HasSubstr("  lender  0000:01:00.0  nvme     local  open   nvme1    nvme1n1\n"));
  EXPECT_THAT(text, HasSubstr("  nvme1n1    7     00112233-4455-6677-8899-aabbccddeeff  0011223344556677  S_1-ns7\n"));
}

TEST(List, NamespaceOfTwoPathsOnce) {
  View view = lender();
  const std::string once = list_text(view);
  view.paths.push_back(view.paths.front());
  view.paths.back().link = "ntb0";
  const std::string twice = list_text(view);
  EXPECT_EQ(once.substr(once.find("Namespaces")), twice.substr(twice.find("Namespaces")));
}

TEST(List, OfNothing) {
  const std::string text = list_text(View{});
  EXPECT_THAT(text, HasSubstr("Links: none"));
  EXPECT_THAT(text, HasSubstr("Lent by this host: nothing"));
}

TEST(Status, SaysThatAllIsWellOrWhatIsNot) {
  View view = lender();
  EXPECT_THAT(status_text(view), HasSubstr("nothing is wrong"));
  EXPECT_THAT(status_text(view),
              HasSubstr("link ntb0: up, peer borrower (bbbb), generation 3, 1 loss, last heartbeat"));
  EXPECT_THAT(status_text(view), HasSubstr("window 0 in: 4 GiB from 0x0, 4 MiB in use"));
  view.links[0].state = "down";
  EXPECT_THAT(status_text(view), HasSubstr("1 problem:\n  link ntb0 to borrower is down"));
}

TEST(Allowed, HostsByNameOrUuid) {
  View view = lender();
  EXPECT_THAT(status_text(view), testing::Not(HasSubstr("may borrow")));
  view.exports[0].allowed = {"bbbb", "dddd"};
  EXPECT_THAT(list_text(view), HasSubstr("  3            borrower, dddd\n"));
  EXPECT_THAT(status_text(view), HasSubstr("\n  hosts that may borrow it: borrower, dddd\n"));
  view.exports[0].allowed->clear();
  EXPECT_THAT(list_text(view), HasSubstr("  3            none\n"));
}

TEST(Topology, Tree) {
  View view = lender();
  EXPECT_EQ(topology_text(view),
            "lender (this host)\n"
            "|-- lends 0000:01:00.0 (nvme) Emulated drive\n"
            "|   |-- used by itself: 1 queue pair\n"
            "|   `-- borrowed by borrower over ntb0: 2 queue pairs\n"
            "|-- uses its own 0000:01:00.0 (nvme) open: nvme1n1\n"
            "`-- ntb0 ==== up ====> borrower\n");
  view.links[0].state = "down";
  view.links[0].reason = "cable out";
  view.hosts[1].fenced = true;
  EXPECT_THAT(topology_text(view), HasSubstr("`-- ntb0 -- down -- borrower, fenced: cable out\n"));
}

TEST(Functions, AreListedWithTheirAddressAndWhatTheyGive) {
  const ScratchFolder root;
  put_borrower_of_function(root);
  const Sysfs sysfs(root.path());
  const View view = read_view(sysfs, Choices(root.path() / "lend.d")).value();
  EXPECT_THAT(list_text(view), HasSubstr("lender    0000:03:00.0  pci      ntb0   open   1000:00:00.0  eth1\n"));
  EXPECT_THAT(status_text(view), HasSubstr("export 0000:05:00.0: pci, 1 borrower\n  third over ntb1\n"));
  EXPECT_THAT(status_text(view), HasSubstr("  here as 1000:00:00.0, driver e1000e, eth1\n"));
  EXPECT_THAT(topology_text(view), HasSubstr("`-- borrowed by third over ntb1\n"));
}

}  // namespace
}  // namespace smartio::ctl
