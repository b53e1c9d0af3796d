// SPDX-License-Identifier: GPL-2.0
// The states of an admin queue entry that a controller can fetch while the manager writes it.
#include <gtest/gtest.h>

#include <cstring>

extern "C" {
#include "admin_entry.h"
void (*shim_on_barrier)(void);
}

namespace {

nvme_command entry;
nvme_command at_barrier;

u32 first(const nvme_command& cmd) {
  u32 dword = 0;
  std::memcpy(&dword, &cmd, sizeof dword);
  return dword;
}

bool same_rest(const nvme_command& a, const nvme_command& b) {
  const auto rest = [](const nvme_command& cmd) { return reinterpret_cast<const u8*>(&cmd) + 4; };
  return std::memcmp(rest(a), rest(b), sizeof a - 4) == 0;
}

class AdminEntry : public testing::Test {
 protected:
  AdminEntry() {
    shim_on_barrier = nullptr;
    admin_entry_clear(&entry);
    std::memset(&at_barrier, 0xee, sizeof at_barrier);
    shim_on_barrier = [] { at_barrier = entry; };
    std::memset(&format, 0x5a, sizeof format);
    format.common.opcode = nvme_admin_format_nvm;
    format.common.command_id = 7;
  }
  ~AdminEntry() override { shim_on_barrier = nullptr; }

  nvme_command format{};
};

TEST_F(AdminEntry, WaitsAsACommandThatIsNoneOverPcie) {
  EXPECT_EQ(entry.common.opcode, nvme_fabrics_command);
  EXPECT_EQ(entry.common.command_id, NVME_AQ_MQ_TAG_DEPTH);
}

TEST_F(AdminEntry, BecomesACommandByItsFirstDwordLast) {
  const u32 invalid = first(entry);
  admin_entry_write(&entry, &format);
  EXPECT_EQ(first(at_barrier), invalid);
  EXPECT_TRUE(same_rest(at_barrier, format));
  EXPECT_EQ(std::memcmp(&entry, &format, sizeof entry), 0);
}

TEST_F(AdminEntry, BecomesInvalidByItsFirstDwordFirst) {
  const nvme_command invalid = entry;
  admin_entry_write(&entry, &format);
  admin_entry_clear(&entry);
  EXPECT_EQ(first(at_barrier), first(invalid));
  EXPECT_TRUE(same_rest(at_barrier, format));
  EXPECT_EQ(std::memcmp(&entry, &invalid, sizeof entry), 0);
}

}  // namespace
