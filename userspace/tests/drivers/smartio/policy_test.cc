// SPDX-License-Identifier: GPL-2.0
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/drivers/smartio/core.h"

namespace {

std::string uuid(char letter) {
  const uuid_t named = host(letter).uuid;
  return smartio_uuid_text(&named).text;
}

int allow(const std::string& text) { return lend_allow(text.c_str(), text.size()); }

std::string allowed(const char* pci = "0000:01:00.0") {
  std::vector<char> page(PAGE_SIZE);
  return {page.data(), static_cast<std::size_t>(policy_show(pci, page.data()))};
}

std::string rules() {
  std::vector<char> page(PAGE_SIZE);
  return {page.data(), static_cast<std::size_t>(policy_show_all(page.data()))};
}

int times(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) found++;
  return found;
}

class Policy : public Core {
 protected:
  Policy() {
    EXPECT_EQ(a.join(host('a')), 0);
    EXPECT_EQ(b.join(host('b')), 0);
  }
  FakeLink a{"ntb0"};
  FakeLink b{"ntb1"};
};

TEST_F(Policy, AnyHostMayUnlessThereIsARule) {
  lender.lend();
  EXPECT_EQ(allowed(), "any\n");
  EXPECT_NE(open(a, lender.device), 0U);
  EXPECT_EQ(allow("0000:01:00.0 " + uuid('b') + "\n"), 0);
  EXPECT_EQ(allowed(), uuid('b') + "\n");
  open(a, lender.device, -EPERM);
  EXPECT_NE(open(b, lender.device), 0U);
  EXPECT_EQ(allow("0000:01:00.0 any"), 0);
  EXPECT_NE(open(a, lender.device), 0U);
}

TEST_F(Policy, ARuleIsThereBeforeItsDeviceAndAfter) {
  ASSERT_EQ(allow("0000:01:00.0 none"), 0);
  EXPECT_EQ(allowed(), "none\n");
  open(a, lender.lend(), -EPERM);
  lender.take_back();
  open(a, lender.lend(), -EPERM);
  EXPECT_TRUE(lender.open.empty());
  EXPECT_EQ(lender.module.users, 0);
}

TEST_F(Policy, ARuleIsOfOneDevice) {
  ASSERT_EQ(allow("0000:01:00.1 none"), 0);
  ASSERT_EQ(allow("10000:01:00.0 none"), 0);
  lender.lend();
  EXPECT_EQ(allowed(), "any\n");
  EXPECT_NE(open(a, lender.device), 0U);
  ASSERT_EQ(allow("0000:01:00.0 " + uuid('a')), 0);
  EXPECT_EQ(lender.closed, 0);
  open(b, lender.device, -EPERM);
  ASSERT_EQ(allow("0000:01:00.1 any"), 0);
  open(b, lender.device, -EPERM);
}

TEST_F(Policy, WhoMayNoLongerLosesItsSession) {
  open(a, lender.lend());
  const u64 id = open(b, lender.device);
  a.sent.clear();
  b.sent.clear();
  ASSERT_EQ(allow("0000:01:00.0 " + uuid('a')), 0);
  EXPECT_EQ(lender.closed, 1);
  ASSERT_EQ(lender.open.size(), 1U);
  EXPECT_EQ(lender.open[0]->host.b[0], 'a');
  EXPECT_TRUE(a.sent_of(WIRE_ENDED).empty());
  ASSERT_EQ(b.sent_of(WIRE_ENDED).size(), 1U);
  EXPECT_EQ(b.sent[0].message.type, WIRE_ENDED);
  EXPECT_EQ(in_session(b, WIRE_REQUEST, id), -ENOLINK);
  open(b, lender.device, -EPERM);
}

TEST_F(Policy, WhoMayFromNowOnIsToldSo) {
  ASSERT_EQ(allow("0000:01:00.0 none"), 0);
  lender.lend();
  b.sent.clear();
  ASSERT_EQ(allow("0000:01:00.0 " + uuid('b')), 0);
  const std::vector<Sent> named = b.sent_of(WIRE_DEVICE);
  ASSERT_EQ(named.size(), 1U);
  EXPECT_EQ(reinterpret_cast<const wire_device*>(named[0].payload.data())->flags, WIRE_OFFERED);
  EXPECT_TRUE(b.sent_of(WIRE_DEVICE_GONE).empty());
}

TEST_F(Policy, NobodyIsToldOfADeviceThatIsNotOffered) {
  lender.lend();
  smartio_export_suspend(lender.device);
  b.sent.clear();
  ASSERT_EQ(allow("0000:01:00.0 " + uuid('a')), 0);
  EXPECT_TRUE(b.sent.empty());
}

TEST_F(Policy, TheSameRuleAgainIsNoNews) {
  open(a, lender.lend());
  ASSERT_EQ(allow("0000:01:00.0 " + uuid('a') + "," + uuid('b')), 0);
  a.sent.clear();
  shim::log.clear();
  EXPECT_EQ(allow("0000:01:00.0 " + uuid('a') + "," + uuid('b') + "," + uuid('a') + "\n"), 0);
  EXPECT_EQ(allow("0000:01:00.1 any\n"), 0);
  EXPECT_TRUE(a.sent.empty());
  EXPECT_EQ(shim::log, "");
}

TEST_F(Policy, TheLendersOwnDriversAlwaysMay) {
  session_ops ops{};
  const uuid_t self = host('s').uuid;
  struct borrower who{};
  struct session* session = nullptr;
  who.ops = &ops;
  who.host = &self;
  who.name = who.link_name = "local";
  who.local = true;
  lender.lend();
  ASSERT_EQ(allow("0000:01:00.0 none"), 0);
  ASSERT_EQ(session_open(lender.device, &who, &session), 0);
  ASSERT_EQ(allow("0000:01:00.0 " + uuid('a')), 0);
  EXPECT_EQ(lender.closed, 0);
  session_end(session, SESSION_END_CLOSED);
  session_put(session);
  who.local = false;
  EXPECT_EQ(session_open(lender.device, &who, &session), -EPERM) << "another host, whatever it calls itself";
}

// The rule changes after a session was asked for.
TEST_F(Policy, WhatCountsIsTheRuleOfTheMomentOfOpening) {
  static std::function<void()> meanwhile;
  session_ops ops{};
  const uuid_t named = host('a').uuid;
  struct borrower who{};
  struct session* session = nullptr;
  ops.acquire = [](struct session*) {
    if (meanwhile) std::exchange(meanwhile, nullptr)();
  };
  who.ops = &ops;
  who.host = &named;
  who.name = who.link_name = "a";
  lender.lend();
  meanwhile = [&] { EXPECT_EQ(allow("0000:01:00.0 none"), 0); };
  EXPECT_EQ(session_open(lender.device, &who, &session), -EPERM);
  EXPECT_TRUE(lender.open.empty());
}

TEST_F(Policy, AFencedHostHearsThatItIsFenced) {
  lender.lend();
  ASSERT_EQ(allow("0000:01:00.0 none"), 0);
  const uuid_t named = host('a').uuid;
  open(a, lender.device, -EPERM);
  smartio_host_mark(&named, true);
  open(a, lender.device, -EACCES);
  EXPECT_TRUE(smartio_host_rejoin(&named, 1)) << "a host that was refused has used nothing here";
}

TEST_F(Policy, ChangesAndRefusalsAreLogged) {
  lender.lend();
  shim::log.clear();
  ASSERT_EQ(allow("0000:01:00.0 none"), 0);
  EXPECT_EQ(times(shim::log, "0000:01:00.0: may be borrowed by none"), 1) << shim::log;
  for (int i = 0; i < 3; i++) {
    open(a, lender.device, -EPERM);
    open(b, lender.device, -EPERM);
  }
  EXPECT_EQ(times(shim::log, "0000:01:00.0: host a (" + uuid('a') + ") over ntb0 is refused"), 1) << shim::log;
  EXPECT_EQ(times(shim::log, "is refused"), 2) << shim::log;
  ASSERT_EQ(allow("0000:01:00.0 " + uuid('b')), 0);
  open(a, lender.device, -EPERM);
  EXPECT_EQ(times(shim::log, "is refused"), 3) << "by another rule";
}

TEST_F(Policy, ManyHostsThatAreRefusedAreEachLogged) {
  lender.lend();
  ASSERT_EQ(allow("0000:01:00.0 none"), 0);
  shim::log.clear();
  for (int round = 0; round < 2; round++) {
    for (char name = 'c'; name < 'c' + 16; name++) {
      FakeLink link{"ntb2"};
      ASSERT_EQ(link.join(host(name)), 0);
      open(link, lender.device, -EPERM);
    }
  }
  EXPECT_EQ(times(shim::log, "is refused"), 16);
}

TEST_F(Policy, AllRulesAreShown) {
  EXPECT_EQ(rules(), "");
  EXPECT_EQ(allow("0000:01:00.0 none"), 0);
  EXPECT_EQ(allow("0000:02:00.0 " + uuid('b') + "," + uuid('a')), 0);
  EXPECT_EQ(rules(), "0000:01:00.0 none\n0000:02:00.0 " + uuid('b') + "," + uuid('a') + "\n");
  EXPECT_EQ(allow("0000:01:00.0 any"), 0);
  EXPECT_EQ(rules(), "0000:02:00.0 " + uuid('b') + "," + uuid('a') + "\n");
}

TEST_F(Policy, WhatIsNoRuleIsRefused) {
  for (const std::string& text :
       {std::string(), std::string("\n"), std::string("0000:01:00.0"), std::string("0000:01:00.0 "),
        std::string("01:00.0 none"), std::string("0000:01:00 none"), std::string("0000:0A:00.0 none"),
        std::string("0000:01:00.0x none"), std::string("0000:01:00.0 all"), "0000:01:00.0 none," + uuid('a'),
        "0000:01:00.0 " + uuid('a') + ",", "0000:01:00.0 " + uuid('a') + " " + uuid('b'),
        "0000:01:00.0 " + uuid('a').substr(0, 35), "0000:01:00.0 " + uuid('a') + "0",
        std::string(40, '0') + ":01:00.0 none"}) {
    EXPECT_EQ(allow(text), -EINVAL) << text;
  }
  EXPECT_EQ(rules(), "");
}

TEST_F(Policy, RulesAreBounded) {
  std::string text = "0000:01:00.0 ";
  for (int i = 0; i < 64; i++) text += uuid(static_cast<char>(i + 1)) + ",";
  EXPECT_EQ(allow(text + uuid('\x7f')), -ENOSPC);
  EXPECT_EQ(allowed(), "any\n");
  text.pop_back();
  ASSERT_EQ(allow(text), 0);
  EXPECT_EQ(times(allowed(), "\n"), 1);
  char pci[16];
  for (int i = 0; i < 255; i++) {
    std::snprintf(pci, sizeof(pci), "0000:%02x:02.0", i);
    ASSERT_EQ(allow(std::string(pci) + " none"), 0);
  }
  EXPECT_EQ(allow("0000:01:00.1 none"), -ENOSPC);
  EXPECT_EQ(allow("0000:01:00.0 none"), 0) << "in place of another";
  EXPECT_EQ(allow("0000:fe:02.0 any"), 0);
  EXPECT_EQ(allow("0000:01:00.1 none"), 0);
}

TEST_F(Policy, WithoutMemoryTheRuleStays) {
  ASSERT_EQ(allow("0000:01:00.0 none"), 0);
  for (int allocations = 0; allocations < 2; allocations++) {
    shim::allocations = allocations;
    EXPECT_EQ(allow("0000:01:00.0 " + uuid('a')), -ENOMEM);
    shim::allocations = -1;
    EXPECT_EQ(allowed(), "none\n");
  }
}

}  // namespace
