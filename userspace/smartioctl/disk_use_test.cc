// SPDX-License-Identifier: GPL-2.0
#include "smartioctl/disk_use.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smartioctl/fake_sysfs.h"

namespace smartio::ctl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class DiskUseTest : public testing::Test {
 protected:
  DiskUseTest() {
    sys.put("class/block/nvme0n1/dev", "259:0\n");
    sys.put("class/block/nvme0n1/nvme0n1p1/partition", "1\n");
    sys.put("class/block/nvme0n1p1/dev", "259:1\n");
    proc.put("self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
    proc.put("swaps", "Filename\tType\tSize\tUsed\tPriority\n");
  }
  ScratchFolder sys;
  ScratchFolder proc;
  Sysfs sysfs{sys.path()};
  FakeDiskUse use{sysfs, proc.path(), "/nowhere"};
};

TEST_F(DiskUseTest, NobodyUsesIt) { EXPECT_THAT(use.of("nvme0n1"), ElementsAre()); }

TEST_F(DiskUseTest, PartitionMountedByNumber) {
  proc.put("self/mountinfo", "22 1 259:1 / /srv/my\\040data rw shared:1 master:2 - ext4 /dev/root rw\n");
  EXPECT_THAT(use.of("nvme0n1"), ElementsAre("nvme0n1p1 is mounted on /srv/my data"));
}

TEST_F(DiskUseTest, FileSystemWithADeviceNumberOfItsOwn) {
  proc.put("self/mountinfo", "22 1 0:33 / /data rw - btrfs /dev/nvme0n1 rw\n");
  EXPECT_THAT(use.of("nvme0n1"), ElementsAre("nvme0n1 is mounted on /data"));
}

TEST_F(DiskUseTest, SwapAndHolders) {
  proc.put("swaps", "Filename\tType\tSize\tUsed\tPriority\n/dev/nvme0n1p1 partition 1 0 -2\n");
  sys.put("class/block/nvme0n1/holders/dm-0/x", "");
  EXPECT_THAT(use.of("nvme0n1"), ElementsAre("nvme0n1 is part of dm-0", "nvme0n1p1 is swap space"));
}

TEST_F(DiskUseTest, HeldInWaysThatAreNotSeen) {
  use.held = true;
  EXPECT_THAT(use.of("nvme0n1"), ElementsAre(HasSubstr("nvme0n1 is held by something")));
}

TEST(Mounts, StrangeLinesAreLeftOut) {
  EXPECT_TRUE(parse_mounts("").empty());
  EXPECT_TRUE(parse_mounts("22 1 8:1 / /\n- - -\n22 1 8:1 / / rw - ext4\n\\\n").empty());
  EXPECT_EQ(parse_mounts("22 1 8:1 / /a\\ rw - ext4 /dev/x\\04").at(0).source, "/dev/x\\04");
}

}  // namespace
}  // namespace smartio::ctl
