// SPDX-License-Identifier: GPL-2.0
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <vector>

#include "tests/drivers/smartio_nvme/driver.h"

namespace {

constexpr u32 kMaxEntries = 4096;

template <typename T>
int check(const T& message, snvme_request& request) {
  return snvme_check_request(&message, sizeof(message), kMaxEntries, &request);
}

snvme_create_req good_create() {
  snvme_create_req req{};
  req.op = SNVME_CREATE;
  req.entries = 128;
  req.placement = SNVME_SQ_SEGMENT;
  req.flags = SNVME_CREATE_IRQ;
  req.sq_handle = 7;
  req.sq_addr = 0x2000;
  req.cq_addr = 0x10000;
  req.irq_addr = 0xFEE00000;
  req.irq_data = 0x41;
  return req;
}

TEST(ProtoCheck, CreateIsDecoded) {
  snvme_request request{};
  ASSERT_EQ(check(good_create(), request), 0);
  EXPECT_EQ(request.op, SNVME_CREATE);
  EXPECT_EQ(request.create.entries, 128);
  EXPECT_EQ(request.create.sq_handle, 7U);
  EXPECT_EQ(request.create.sq_addr, 0x2000U);
  EXPECT_EQ(request.create.cq_addr, 0x10000U);
  EXPECT_TRUE(request.create.irq);
  EXPECT_EQ(request.create.irq_addr, 0xFEE00000U);
}

TEST(ProtoCheck, CreateWithOneThingWrongIsRefused) {
  const std::vector<std::function<void(snvme_create_req&)>> wrongs = {
      [](auto& r) { r.entries = 0; },
      [](auto& r) { r.entries = 1; },
      [](auto& r) { r.entries = kMaxEntries + 1; },
      [](auto& r) { r.placement = 3; },
      [](auto& r) { r.flags = 2; },
      [](auto& r) { r.flags = 0; },  // the message without the interrupt
      [](auto& r) { r.sq_handle = 0; },
      [](auto& r) { r.sq_addr = 0x2010; },
      [](auto& r) { r.cq_addr = 0x10800; },
      [](auto& r) {
        r.cq_addr = ~0xFFFULL;
        r.entries = 512;
      },
      [](auto& r) { r.sq_addr = ~0xFFFULL; },
      [](auto& r) { r.placement = SNVME_SQ_BORROWER; },  // with a handle
      [](auto& r) { r.placement = SNVME_SQ_CMB; },       // with a handle
      [](auto& r) {
        r.placement = SNVME_SQ_CMB;
        r.sq_handle = 0;
      },  // with an address
      [](auto& r) { r.op = 6; },
      [](auto& r) { r.op = 0; },
  };
  for (std::size_t i = 0; i < wrongs.size(); ++i) {
    snvme_create_req req = good_create();
    wrongs[i](req);
    snvme_request request{};
    EXPECT_EQ(check(req, request), -EINVAL) << "wrong " << i;
  }
}

TEST(ProtoCheck, SizesAreExact) {
  const snvme_create_req req = good_create();
  std::vector<char> bytes(sizeof(req) + 1);
  std::memcpy(bytes.data(), &req, sizeof(req));
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    snvme_request request{};
    EXPECT_EQ(snvme_check_request(bytes.data(), size, kMaxEntries, &request), size == sizeof(req) ? 0 : -EINVAL)
        << size;
  }
}

TEST(ProtoCheck, ReservedFieldsAreZero) {
  snvme_request request{};
  EXPECT_EQ(check(snvme_attach_req{.op = SNVME_ATTACH, .version = 1, .rsvd = 0}, request), 0);
  EXPECT_EQ(request.version, 1);
  EXPECT_EQ(check(snvme_attach_req{.op = SNVME_ATTACH, .version = 1, .rsvd = 1}, request), -EINVAL);
  EXPECT_EQ(check(snvme_delete_req{.op = SNVME_DELETE, .qid = 3, .rsvd = 0}, request), 0);
  EXPECT_EQ(request.qid, 3);
  EXPECT_EQ(check(snvme_delete_req{.op = SNVME_DELETE, .qid = 3, .rsvd = 9}, request), -EINVAL);
  EXPECT_EQ(check(snvme_delete_req{.op = SNVME_DELETE, .qid = 0, .rsvd = 0}, request), -EINVAL) << "the admin queue";
  EXPECT_EQ(check(snvme_abort_req{.op = SNVME_ABORT, .qid = 3, .cid = 5, .rsvd = 0}, request), 0);
  EXPECT_EQ(request.cid, 5);
  EXPECT_EQ(check(snvme_abort_req{.op = SNVME_ABORT, .qid = 3, .cid = 5, .rsvd = 1}, request), -EINVAL);
}

struct Admin {
  u16 flags;
  u32 data_len;
  std::size_t data;
  int expected;
};

TEST(ProtoCheck, AdminDataMatchesItsLength) {
  const std::array cases = {
      Admin{.flags = 0, .data_len = 4096, .data = 0, .expected = 0},
      Admin{.flags = 0, .data_len = 4096, .data = 4096, .expected = -EINVAL},
      Admin{.flags = SNVME_ADMIN_WRITE, .data_len = 16, .data = 16, .expected = 0},
      Admin{.flags = SNVME_ADMIN_WRITE, .data_len = 16, .data = 15, .expected = -EINVAL},
      Admin{.flags = SNVME_ADMIN_WRITE, .data_len = 0, .data = 0, .expected = 0},
      Admin{.flags = 0, .data_len = SNVME_ADMIN_DATA_MAX, .data = 0, .expected = 0},
      Admin{.flags = 0, .data_len = SNVME_ADMIN_DATA_MAX + 1, .data = 0, .expected = -EINVAL},
      Admin{.flags = 2, .data_len = 0, .data = 0, .expected = -EINVAL},
  };
  for (const Admin& one : cases) {
    snvme_admin_req req{};
    req.op = SNVME_ADMIN;
    req.flags = one.flags;
    req.data_len = one.data_len;
    std::vector<u8> bytes(sizeof(req) + one.data);
    std::memcpy(bytes.data(), &req, sizeof(req));
    snvme_request request{};
    EXPECT_EQ(snvme_check_request(bytes.data(), bytes.size(), kMaxEntries, &request), one.expected)
        << one.flags << " " << one.data_len << " " << one.data;
    if (one.expected == 0) {
      EXPECT_EQ(request.admin.data != nullptr, one.data != 0);
      EXPECT_EQ(request.admin.sqe, bytes.data() + offsetof(snvme_admin_req, sqe));
    }
  }
}

}  // namespace
