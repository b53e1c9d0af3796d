// SPDX-License-Identifier: GPL-2.0
#include "tests/drivers/smartio/core.h"

namespace {

class Hosts : public Core {
 protected:
  static int named(const std::string& text, uuid_t* uuid) {
    char name[SMARTIO_NAME_LEN];
    return smartio_host_named(text.c_str(), uuid, name);
  }
};

TEST_F(Hosts, AHostIsNamedByNameOrUuid) {
  uuid_t found{};
  const smartio_identity a = host('a');
  EXPECT_EQ(named("a", &found), -ENOENT);
  ASSERT_EQ(smartio_host_seen(&a), 0);
  EXPECT_EQ(named("a", &found), 0);
  EXPECT_TRUE(uuid_equal(&found, &a.uuid));
  EXPECT_EQ(named("this", &found), 0);
  EXPECT_TRUE(uuid_equal(&found, &smartio_self.uuid));
  EXPECT_EQ(named(smartio_uuid_text(&a.uuid).text, &found), 0);
  EXPECT_TRUE(uuid_equal(&found, &a.uuid));
}

TEST_F(Hosts, ANameOfTwoHostsIsNone) {
  uuid_t found{};
  const smartio_identity a = host('a');
  smartio_identity b = host('b');
  b.name[0] = 'a';
  smartio_host_seen(&a);
  smartio_host_seen(&b);
  EXPECT_EQ(named("a", &found), -ENOTUNIQ);
}

TEST_F(Hosts, AUuidIsNoName) {
  uuid_t found{};
  const smartio_identity a = host('a');
  smartio_identity b = host('b');
  std::strcpy(b.name, smartio_uuid_text(&a.uuid).text);
  smartio_host_seen(&b);
  EXPECT_EQ(named(b.name, &found), -ENOENT);
}

TEST_F(Hosts, AKnownHostIsKnownOnceByItsLastName) {
  wire_host hosts[4];
  smartio_identity a = host('a');
  uuid_t found{};
  smartio_host_seen(&a);
  a.name[0] = 'x';
  smartio_host_seen(&a);
  EXPECT_EQ(named("a", &found), -ENOENT);
  EXPECT_EQ(named("x", &found), 0);
  EXPECT_EQ(smartio_hosts_fill(hosts, sizeof(hosts)), 2 * sizeof(*hosts));
  EXPECT_EQ(hosts[0].flags, WIRE_HOST_LINKED);
  EXPECT_EQ(hosts[1].flags, 0U);
  EXPECT_EQ(smartio_hosts_fill(hosts, sizeof(*hosts) + 1), sizeof(*hosts));
}

TEST_F(Hosts, SoManyAreKnown) {
  smartio_identity who = host('a');
  for (int i = 1; i < 1024; i++) {
    who.uuid.b[1] = static_cast<u8>(i);
    who.uuid.b[2] = static_cast<u8>(i >> 8);
    ASSERT_EQ(smartio_host_seen(&who), 0) << i;
  }
  EXPECT_EQ(smartio_host_seen(&who), 0);
  who.uuid.b[3] = 1;
  EXPECT_EQ(smartio_host_seen(&who), -ENOSPC);
}

TEST_F(Hosts, WithoutMemoryAHostStaysUnknown) {
  const smartio_identity a = host('a');
  uuid_t found{};
  int tries = 0;
  for (;; tries++) {
    shim::allocations = tries;
    const int ret = smartio_host_seen(&a);
    shim::allocations = -1;
    if (!ret) break;
    EXPECT_EQ(ret, -ENOMEM);
    EXPECT_EQ(named("a", &found), -ENOENT);
  }
  EXPECT_EQ(tries, 2);
}

TEST_F(Hosts, AHostThatHasBegunAnewRejoins) {
  const smartio_identity a = host('a', 1);
  smartio_host_seen(&a);
  EXPECT_TRUE(smartio_host_use(&a.uuid));
  EXPECT_TRUE(smartio_host_mark(&a.uuid, true));
  EXPECT_FALSE(smartio_host_mark(&a.uuid, true));
  EXPECT_FALSE(smartio_host_use(&a.uuid));
  EXPECT_FALSE(smartio_host_rejoin(&a.uuid, 1));
  EXPECT_TRUE(smartio_host_fenced(&a.uuid));
  EXPECT_TRUE(smartio_host_rejoin(&a.uuid, 2));
  EXPECT_FALSE(smartio_host_fenced(&a.uuid));
  EXPECT_EQ(smartio_host_fences(&a.uuid), 1U);
  // Now it is 2 that has used nothing.
  smartio_host_mark(&a.uuid, true);
  EXPECT_EQ(smartio_host_fences(&a.uuid), 2U);
  EXPECT_TRUE(smartio_host_rejoin(&a.uuid, 2));
  smartio_host_use(&a.uuid);
  smartio_host_mark(&a.uuid, true);
  EXPECT_FALSE(smartio_host_rejoin(&a.uuid, 2));
}

TEST_F(Hosts, WhoIsSeenAgainInTheSameIncarnationHasUsedWhatItUsed) {
  const smartio_identity a = host('a', 1);
  smartio_host_seen(&a);
  smartio_host_use(&a.uuid);
  smartio_host_seen(&a);
  smartio_host_mark(&a.uuid, true);
  EXPECT_FALSE(smartio_host_rejoin(&a.uuid, 1));
}

}  // namespace
