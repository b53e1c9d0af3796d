// SPDX-License-Identifier: GPL-2.0
// Reservations (NVMe base 2.0, 8.19), command by command.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tests/drivers/smartio_nvme/driver.h"

namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr u16 kConflict = NVME_SC_RESERVATION_CONFLICT | NVME_STATUS_DNR;
constexpr u16 kInvalid = NVME_SC_INVALID_FIELD | NVME_STATUS_DNR;
constexpr u8 kReadWrite = RESV_NO_READ | RESV_NO_WRITE;

using Host = std::array<u8, RESV_HOST_BYTES>;
constexpr Host kA{0xA}, kB{0xB}, kC{0xC};

class ResvTest : public testing::Test {
 protected:
  u16 send(const Host& host, u8 opcode, u32 cdw10, u64 key, u64 other = 0) {
    nvme_command cmd{};
    cmd.common.opcode = opcode;
    cmd.common.cdw10 = cdw10;
    const std::array<u64, 2> keys{key, other};
    resv_command command{};
    if (const u16 status = resv_parse(&cmd, keys.data(), sizeof(keys), &command); status != 0) return status;
    return resv_execute(&ns, host.data(), &command, &outcome);
  }
  u16 enroll(const Host& host, u64 key, u32 flags = 0) { return send(host, nvme_cmd_resv_register, flags, 0, key); }
  u16 unregister(const Host& host, u64 key) { return send(host, nvme_cmd_resv_register, 1, key); }
  u16 acquire(const Host& host, u64 key, u8 type) {
    return send(host, nvme_cmd_resv_acquire, static_cast<u32>(type) << 8U, key);
  }
  u16 preempt(const Host& host, u64 key, u64 victim, u8 type, u32 action = 1) {
    return send(host, nvme_cmd_resv_acquire, action | static_cast<u32>(type) << 8U, key, victim);
  }
  u16 release(const Host& host, u64 key, u8 type) {
    return send(host, nvme_cmd_resv_release, static_cast<u32>(type) << 8U, key);
  }
  u8 access(const Host& host) { return resv_access(&ns, host.data()); }
  std::vector<std::pair<u8, u8>> notices() {
    std::vector<std::pair<u8, u8>> all;
    for (unsigned i = 0; i < outcome.count; ++i) all.emplace_back(outcome.notices[i].host[0], outcome.notices[i].type);
    return all;
  }
  void all_registered() {
    ASSERT_EQ(enroll(kA, 1), 0);
    ASSERT_EQ(enroll(kB, 2), 0);
    ASSERT_EQ(enroll(kC, 3), 0);
  }
  resv_ns ns{};
  resv_outcome outcome{};
};

TEST_F(ResvTest, WhatEachTypeForbids) {
  struct Row {
    u8 type, registrant, stranger;
  };
  for (const Row row : {Row{1, RESV_NO_WRITE, RESV_NO_WRITE}, Row{2, kReadWrite, kReadWrite}, Row{3, 0, RESV_NO_WRITE},
                        Row{4, 0, kReadWrite}, Row{5, 0, RESV_NO_WRITE}, Row{6, 0, kReadWrite}}) {
    ns = {};
    ASSERT_EQ(enroll(kA, 1), 0);
    ASSERT_EQ(enroll(kB, 2), 0);
    EXPECT_EQ(access(kC), 0);
    ASSERT_EQ(acquire(kA, 1, row.type), 0);
    EXPECT_EQ(access(kA), 0) << unsigned{row.type};
    EXPECT_EQ(access(kB), row.registrant) << unsigned{row.type};
    EXPECT_EQ(access(kC), row.stranger) << unsigned{row.type};
  }
}

TEST_F(ResvTest, Register) {
  EXPECT_EQ(enroll(kA, 0), kInvalid);
  EXPECT_EQ(enroll(kA, 1), 0);
  EXPECT_EQ(enroll(kA, 1), 0) << "the same key again";
  EXPECT_EQ(enroll(kA, 2), kConflict);
  EXPECT_EQ(ns.generation, 2U);
  EXPECT_EQ(send(kA, nvme_cmd_resv_register, 2, 7, 9), kConflict) << "replace, wrong key";
  EXPECT_EQ(send(kA, nvme_cmd_resv_register, 2, 1, 9), 0);
  EXPECT_EQ(ns.registrants[0].key, 9U);
  EXPECT_EQ(send(kA, nvme_cmd_resv_register, 2 | 8, 0, 10), 0) << "IEKEY";
  EXPECT_EQ(send(kB, nvme_cmd_resv_register, 2, 0, 5), kConflict) << "replace, not registered";
  EXPECT_EQ(send(kB, nvme_cmd_resv_register, 2 | 8, 0, 5), 0) << "whatever there was";
  EXPECT_EQ(unregister(kB, 6), kConflict);
  EXPECT_EQ(unregister(kB, 5), 0);
  EXPECT_EQ(unregister(kB, 5), kConflict);
  EXPECT_EQ(ns.count, 1);
}

TEST_F(ResvTest, PersistenceIsChosenByRegister) {
  EXPECT_EQ(enroll(kA, 1, 3U << 30U), 0);
  EXPECT_TRUE(ns.ptpl);
  EXPECT_EQ(enroll(kB, 2), 0);
  EXPECT_TRUE(ns.ptpl);
  EXPECT_EQ(enroll(kB, 2, 1U << 30U), kInvalid);
  EXPECT_EQ(enroll(kB, 2, 2U << 30U), 0);
  EXPECT_FALSE(ns.ptpl);
}

TEST_F(ResvTest, AcquireAndRelease) {
  EXPECT_EQ(acquire(kA, 1, 1), kConflict) << "not registered";
  all_registered();
  EXPECT_EQ(acquire(kA, 9, 1), kConflict) << "wrong key";
  EXPECT_EQ(acquire(kA, 1, 0), kInvalid);
  EXPECT_EQ(acquire(kA, 1, 7), kInvalid);
  EXPECT_EQ(send(kA, nvme_cmd_resv_acquire, 8 | 1U << 8U, 1), kInvalid) << "IEKEY";
  EXPECT_EQ(acquire(kA, 1, 1), 0);
  EXPECT_EQ(acquire(kA, 1, 1), 0) << "again";
  EXPECT_EQ(acquire(kA, 1, 2), kConflict) << "another type";
  EXPECT_EQ(acquire(kB, 2, 1), kConflict);
  EXPECT_EQ(release(kB, 2, 1), 0) << "not the holder: nothing";
  EXPECT_EQ(ns.type, 1);
  EXPECT_EQ(release(kA, 1, 2), kInvalid) << "wrong type";
  EXPECT_EQ(release(kA, 1, 1), 0);
  EXPECT_EQ(ns.type, 0);
  EXPECT_THAT(notices(), IsEmpty());
  EXPECT_EQ(ns.generation, 3U);
}

TEST_F(ResvTest, ReleaseIsToldToRegistrantsThatDependOnIt) {
  all_registered();
  ASSERT_EQ(acquire(kA, 1, 3), 0);
  ASSERT_EQ(release(kA, 1, 3), 0);
  EXPECT_THAT(notices(), UnorderedElementsAre(Pair(0xB, 2), Pair(0xC, 2)));
}

TEST_F(ResvTest, TheHolderUnregisters) {
  all_registered();
  ASSERT_EQ(acquire(kA, 1, 4), 0);
  EXPECT_EQ(unregister(kA, 1), 0);
  EXPECT_EQ(ns.type, 0);
  EXPECT_THAT(notices(), UnorderedElementsAre(Pair(0xB, 2), Pair(0xC, 2)));
}

TEST_F(ResvTest, AllRegistrantsHoldIt) {
  all_registered();
  ASSERT_EQ(acquire(kA, 1, 6), 0);
  EXPECT_EQ(acquire(kB, 2, 6), 0);
  EXPECT_EQ(unregister(kA, 1), 0);
  EXPECT_EQ(ns.type, 6) << "others hold it still";
  EXPECT_EQ(unregister(kB, 2), 0);
  EXPECT_EQ(unregister(kC, 3), 0);
  EXPECT_EQ(ns.type, 0);
}

TEST_F(ResvTest, WhoAcquiredForAllGoesAndTheOthersHoldItStill) {
  ASSERT_EQ(enroll(kA, 1, 3U << 30U), 0);
  ASSERT_EQ(enroll(kB, 2), 0);
  ASSERT_EQ(acquire(kB, 2, 5), 0);
  ASSERT_EQ(unregister(kB, 2), 0);
  EXPECT_EQ(ns.type, 5);
  EXPECT_TRUE(resv_holds(&ns, 0));
  std::vector<u8> bytes(resv_packed_size(&ns));
  resv_pack(&ns, bytes.data());
  resv_ns other{};
  EXPECT_EQ(resv_unpack(bytes.data(), bytes.size(), &other), bytes.size());
}

TEST_F(ResvTest, ANewKeyOfZeroUnregisters) {
  ASSERT_EQ(enroll(kA, 1), 0);
  EXPECT_EQ(send(kA, nvme_cmd_resv_register, 2, 9, 0), kConflict);
  EXPECT_EQ(send(kA, nvme_cmd_resv_register, 2, 1, 0), 0);
  EXPECT_EQ(ns.count, 0);
}

TEST_F(ResvTest, PreemptWithoutAReservationOnlyUnregisters) {
  all_registered();
  EXPECT_EQ(preempt(kA, 1, 0, 1), kInvalid);
  EXPECT_EQ(preempt(kA, 1, 77, 1), kConflict);
  EXPECT_EQ(preempt(kA, 1, 2, 1), 0);
  EXPECT_EQ(ns.count, 2);
  EXPECT_EQ(ns.type, 0);
  EXPECT_THAT(notices(), ElementsAre(Pair(0xB, 1)));
}

TEST_F(ResvTest, PreemptTakesTheReservation) {
  all_registered();
  ASSERT_EQ(acquire(kB, 2, 1), 0);
  EXPECT_EQ(preempt(kA, 9, 2, 2), kConflict) << "wrong key";
  EXPECT_EQ(preempt(kA, 1, 3, 2), 0) << "not the holder's key: only unregisters";
  EXPECT_EQ(ns.type, 1);
  EXPECT_THAT(notices(), ElementsAre(Pair(0xC, 1)));
  EXPECT_EQ(preempt(kA, 1, 2, 2, 2), 0);
  EXPECT_EQ(ns.type, 2);
  EXPECT_EQ(ns.count, 1);
  EXPECT_THAT(notices(), ElementsAre(Pair(0xB, 3)));
  EXPECT_EQ(access(kA), 0);
  EXPECT_EQ(access(kB), kReadWrite);
}

TEST_F(ResvTest, PreemptOfAnotherTypeIsToldToThoseThatStay) {
  all_registered();
  ASSERT_EQ(acquire(kB, 2, 3), 0);
  EXPECT_EQ(preempt(kA, 1, 2, 4), 0);
  EXPECT_THAT(notices(), UnorderedElementsAre(Pair(0xB, 3), Pair(0xC, 2)));
}

TEST_F(ResvTest, TheHolderPreemptsItselfForAnotherType) {
  all_registered();
  ASSERT_EQ(acquire(kB, 2, 1), 0);
  EXPECT_EQ(preempt(kB, 2, 2, 2), 0);
  EXPECT_EQ(ns.type, 2);
  EXPECT_EQ(ns.count, 3);
  EXPECT_TRUE(resv_holds(&ns, 1));
}

TEST_F(ResvTest, PreemptOfAllRegistrants) {
  all_registered();
  ASSERT_EQ(acquire(kB, 2, 5), 0);
  EXPECT_EQ(preempt(kC, 3, 0, 1), 0);
  EXPECT_EQ(ns.count, 1);
  EXPECT_EQ(ns.type, 1);
  EXPECT_EQ(access(kC), 0);
  EXPECT_EQ(access(kA), RESV_NO_WRITE);
  EXPECT_THAT(notices(), UnorderedElementsAre(Pair(0xA, 3), Pair(0xB, 3)));
}

TEST_F(ResvTest, TheHoldersPlaceIsKeptWhenOthersGo) {
  all_registered();
  ASSERT_EQ(acquire(kC, 3, 1), 0);
  EXPECT_EQ(unregister(kA, 1), 0);
  EXPECT_TRUE(resv_holds(&ns, static_cast<unsigned>(resv_find(&ns, kC.data()))));
  EXPECT_EQ(access(kC), 0);
  EXPECT_EQ(access(kB), RESV_NO_WRITE);
}

TEST_F(ResvTest, Clear) {
  all_registered();
  ASSERT_EQ(acquire(kC, 3, 2), 0);
  EXPECT_EQ(send(kA, nvme_cmd_resv_release, 1, 9), kConflict);
  EXPECT_EQ(send(kA, nvme_cmd_resv_release, 1, 1), 0);
  EXPECT_EQ(ns.count, 0);
  EXPECT_EQ(ns.type, 0);
  EXPECT_THAT(notices(), UnorderedElementsAre(Pair(0xB, 3), Pair(0xC, 3)));
}

TEST_F(ResvTest, NoMoreRoom) {
  for (unsigned i = 0; i < RESV_REGISTRANTS_MAX; ++i) {
    const Host host{static_cast<u8>(i), 1};
    ASSERT_EQ(enroll(host, i + 1), 0);
  }
  EXPECT_EQ(enroll(kA, 1), NVME_SC_INTERNAL | NVME_STATUS_DNR);
  EXPECT_EQ(ns.count, RESV_REGISTRANTS_MAX);
}

TEST_F(ResvTest, ReportInBothFormats) {
  all_registered();
  ASSERT_EQ(acquire(kB, 2, 3), 0);
  const std::array<resv_entry, 3> entries{resv_entry{0x1000, 0}, {0x1001, 1}, {0xFFFF, 2}};
  std::array<u8, 64 + 3 * 64> data{};
  EXPECT_EQ(resv_report(&ns, true, entries.data(), 3, data.data(), data.size()), data.size());
  EXPECT_EQ(data[0], 3) << "generation";
  EXPECT_EQ(data[4], 3) << "type";
  EXPECT_EQ(data[5], 3) << "controllers";
  EXPECT_EQ(data[64 + 64 + 2], 1) << "B holds it";
  EXPECT_EQ(data[64 + 64 + 8], 2) << "B's key";
  EXPECT_EQ(data[64 + 64 + 16], 0xB) << "B";
  EXPECT_EQ(data[64 + 128], 0xFF) << "C has no controller";
  EXPECT_EQ(resv_report(&ns, false, entries.data(), 3, data.data(), data.size()), 24U + 3 * 24);
  EXPECT_EQ(data[24 + 24 + 8], 0xB);
  EXPECT_EQ(data[24 + 24 + 16], 2);
  std::array<u8, 30> little{};
  EXPECT_EQ(resv_report(&ns, false, entries.data(), 3, little.data(), little.size()), 24U + 3 * 24) << "cut";
}

TEST_F(ResvTest, WhatSurvives) {
  all_registered();
  ns.nsid = 7;
  ns.ptpl = true;
  ASSERT_EQ(acquire(kB, 2, 4), 0);
  std::vector<u8> bytes(resv_packed_size(&ns));
  resv_pack(&ns, bytes.data());
  resv_ns other{};
  EXPECT_EQ(resv_unpack(bytes.data(), bytes.size(), &other), bytes.size());
  // Between these two there is padding, which has any value.
  EXPECT_EQ(std::memcmp(&ns, &other, offsetof(resv_ns, count) + sizeof(ns.count)), 0);
  EXPECT_EQ(std::memcmp(ns.registrants, other.registrants, sizeof(ns.registrants)), 0);
  EXPECT_EQ(resv_unpack(bytes.data(), bytes.size() - 1, &other), 0U);
  bytes[26] = 99;  // the holder
  EXPECT_EQ(resv_unpack(bytes.data(), bytes.size(), &other), 0U);
}

TEST(ResvNeeds, WhatCommandsDo) {
  EXPECT_EQ(resv_needs(nvme_cmd_read), RESV_NO_READ);
  EXPECT_EQ(resv_needs(nvme_cmd_compare), RESV_NO_READ);
  EXPECT_EQ(resv_needs(nvme_cmd_verify), RESV_NO_READ);
  EXPECT_EQ(resv_needs(0x19), kReadWrite) << "copy";
  for (const unsigned opcode : {0U, 1U, 4U, 8U, 9U, 0x7DU, 0xC1U}) {
    EXPECT_EQ(resv_needs(static_cast<u8>(opcode)), RESV_NO_WRITE) << opcode;
  }
  EXPECT_EQ(resv_needs(nvme_cmd_resv_release), 0);
}

}  // namespace
