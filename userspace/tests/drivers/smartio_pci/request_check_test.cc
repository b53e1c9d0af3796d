// SPDX-License-Identifier: GPL-2.0
// The requests that a borrower may make, and those of a hostile one.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "tests/drivers/smartio_pci/driver.h"

namespace {

constexpr spci_limits kLimits{.vectors = 8, .msi_order = 2};
constexpr u64 kMessage = 0xFEE01000;

template <typename T>
int check(const T& request, const spci_limits& limits = kLimits, std::size_t size = sizeof(T)) {
  return spci_request_check(&limits, &request, size);
}

struct Vectors {
  std::vector<std::byte> bytes;

  explicit Vectors(const std::vector<spci_vector>& vectors)
      : bytes(sizeof(spci_vectors_req) + vectors.size() * sizeof(spci_vector)) {
    spci_vectors_req head{};
    head.op = SPCI_VECTORS;
    head.count = static_cast<std::uint16_t>(vectors.size());
    std::memcpy(bytes.data(), &head, sizeof(head));
    if (!vectors.empty())
      std::memcpy(bytes.data() + sizeof(head), vectors.data(), vectors.size() * sizeof(spci_vector));
  }
  int check() const { return spci_request_check(&kLimits, bytes.data(), bytes.size()); }
  void count(std::uint16_t value) {
    std::memcpy(bytes.data() + offsetof(spci_vectors_req, count), &value, sizeof(value));
  }
};

spci_vector vector(std::uint16_t index, std::uint16_t flags = 0, u64 addr = kMessage) {
  return {.index = index, .flags = flags, .data = 0x41, .addr = addr};
}

spci_msi_req msi() {
  spci_msi_req request{};
  request.op = SPCI_MSI;
  request.on = 1;
  request.order = 2;
  request.data = 0x40;
  request.addr = kMessage;
  return request;
}

TEST(RequestCheck, WhatAFunctionNeedsIsAllowed) {
  EXPECT_EQ(check(spci_describe_req{.op = SPCI_DESCRIBE, .version = SPCI_VERSION, .rsvd = 0}), SPCI_DESCRIBE);
  EXPECT_EQ(check(spci_master_req{.op = SPCI_MASTER, .on = 1, .serial = 1}), SPCI_MASTER);
  EXPECT_EQ(check(spci_reset_req{.op = SPCI_RESET, .rsvd = 0, .serial = 2}), SPCI_RESET);
  EXPECT_EQ(check(msi()), SPCI_MSI);
  EXPECT_EQ(Vectors({vector(0), vector(7, SPCI_MASKED)}).check(), SPCI_VECTORS);
  EXPECT_EQ(Vectors({vector(3, SPCI_MASKED, 0)}).check(), SPCI_VECTORS);
}

TEST(RequestCheck, NothingIsShortOrLong) {
  const spci_master_req master{.op = SPCI_MASTER, .on = 1, .serial = 1};
  EXPECT_EQ(check(master, kLimits, 0), -EINVAL);
  EXPECT_EQ(check(master, kLimits, 1), -EINVAL);
  EXPECT_EQ(check(master, kLimits, sizeof(master) - 1), -EINVAL);
  EXPECT_EQ(check(msi(), kLimits, sizeof(spci_msi_req) - 1), -EINVAL);
}

TEST(RequestCheck, RsvdIsZero) {
  EXPECT_EQ(check(spci_describe_req{.op = SPCI_DESCRIBE, .version = SPCI_VERSION, .rsvd = 1}), -EINVAL);
  EXPECT_EQ(check(spci_reset_req{.op = SPCI_RESET, .rsvd = 1, .serial = 2}), -EINVAL);
}

TEST(RequestCheck, NoneIsExecutedAfterALaterOne) {
  u32 last = 0;
  const auto newer = [&last](u32 serial) {
    const spci_master_req request{.op = SPCI_MASTER, .on = 1, .serial = serial};
    return spci_request_newer(&request, &last);
  };
  EXPECT_FALSE(newer(0));
  EXPECT_TRUE(newer(1));
  EXPECT_FALSE(newer(1));
  EXPECT_TRUE(newer(3));
  EXPECT_FALSE(newer(2));
  EXPECT_EQ(last, 3U);
  last = UINT32_MAX;
  EXPECT_FALSE(newer(UINT32_MAX - 1));
  EXPECT_TRUE(newer(0));
  EXPECT_TRUE(newer(1));
}

TEST(RequestCheck, TheSerialHasOnePlaceInAll) {
  EXPECT_EQ(offsetof(spci_master_req, serial), offsetof(spci_ordered, serial));
  EXPECT_EQ(offsetof(spci_vectors_req, serial), offsetof(spci_ordered, serial));
  EXPECT_EQ(offsetof(spci_msi_req, serial), offsetof(spci_ordered, serial));
  EXPECT_EQ(offsetof(spci_reset_req, serial), offsetof(spci_ordered, serial));
}

TEST(RequestCheck, UnknownOperationsAreRefused) {
  for (const unsigned op : {0U, 6U, 255U, 65535U})
    EXPECT_EQ(check(spci_master_req{.op = static_cast<std::uint16_t>(op), .on = 0, .serial = 1}), -EINVAL) << op;
}

TEST(RequestCheck, MasterIsOnOrOff) {
  EXPECT_EQ(check(spci_master_req{.op = SPCI_MASTER, .on = 2, .serial = 1}), -EINVAL);
}

TEST(RequestCheck, EntriesOutsideTheTableAreRefused) {
  EXPECT_EQ(Vectors({vector(8)}).check(), -EINVAL);
  EXPECT_EQ(Vectors({vector(0), vector(65535)}).check(), -EINVAL);
  EXPECT_EQ(Vectors({vector(0, 2)}).check(), -EINVAL);
  EXPECT_EQ(Vectors({vector(0, 0, kMessage + 2)}).check(), -EINVAL);
  EXPECT_EQ(Vectors({vector(0, 0, 0)}).check(), -EINVAL);
}

TEST(RequestCheck, TheCountIsThatOfTheEntries) {
  Vectors vectors({vector(0), vector(1)});
  for (const unsigned count : {0U, 1U, 3U, 257U, 65535U}) {
    vectors.count(static_cast<std::uint16_t>(count));
    EXPECT_EQ(vectors.check(), -EINVAL) << count;
  }
  EXPECT_EQ(Vectors({}).check(), -EINVAL);
  EXPECT_EQ(Vectors(std::vector<spci_vector>(SPCI_VECTORS_MAX, vector(0))).check(), SPCI_VECTORS);
  EXPECT_EQ(Vectors(std::vector<spci_vector>(SPCI_VECTORS_MAX + 1, vector(0))).check(), -EINVAL);
}

TEST(RequestCheck, MsiWithOneThingWrongIsRefused) {
  const std::vector<std::function<void(spci_msi_req&)>> wrongs = {
      [](auto& r) { r.on = 2; },      [](auto& r) { r.order = 3; }, [](auto& r) { r.data = 0x10000; },
      [](auto& r) { r.data = 0x41; }, [](auto& r) { r.addr = 0; },  [](auto& r) { r.addr = kMessage + 1; },
  };
  for (std::size_t i = 0; i < wrongs.size(); ++i) {
    spci_msi_req request = msi();
    wrongs[i](request);
    EXPECT_EQ(check(request), -EINVAL) << i;
  }
  EXPECT_EQ(check(msi(), {.vectors = 8, .msi_order = -1}), -EINVAL);
}

}  // namespace
