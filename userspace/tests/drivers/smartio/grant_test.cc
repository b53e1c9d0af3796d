// SPDX-License-Identifier: GPL-2.0
// A borrower grants registers of its device to another lender, whose device is to reach them.
#include "tests/drivers/smartio/core.h"

namespace {

constexpr u64 kBar = 0xD000'0000;

class Grant : public Core {
 protected:
  Grant() {
    lender.pdev.bars[0] = {};
    lender.pdev.bars[2] = {kBar, 0x8000, IORESOURCE_MEM};
    lender.pdev.dev.iommu_group = &group;
    lender.opening = [](smartio_session* s) { EXPECT_EQ(smartio_session_allow_bar(s, 2, 0, 0x8000), 0); };
    a.dma = &ntb;
    between.dma = &ntb;
    EXPECT_EQ(a.join(host('a')), 0);
    EXPECT_EQ(between.join(host('m')), 0);
    session = open(a, lender.lend(true));
  }
  ~Grant() override {
    if (lender.device) lender.take_back();
    EXPECT_EQ(between.exposed, 0);
    EXPECT_EQ(a.exposed, 0);
    EXPECT_EQ(group.users, 0);
  }

  static wire_grant wish() {
    wire_grant grant{};
    grant.host[0] = 'm';
    grant.offset = 0x1000;
    grant.size = 0x2000;
    grant.bar = 2;
    grant.access = WIRE_PEER_READ | WIRE_PEER_WRITE;
    return grant;
  }
  /// Returns its id, or 0.
  u64 grant(const wire_grant& what, int expected = 0) {
    EXPECT_EQ(ask(a, WIRE_PEER_GRANT, session, what), expected);
    if (a.reply.size() != sizeof(wire_granted)) return 0;
    return reinterpret_cast<const wire_granted*>(a.reply.data())->grant;
  }
  static int revoke(FakeLink& link, u64 in, u64 id) {
    wire_granted granted{};
    granted.grant = id;
    return ask(link, WIRE_PEER_REVOKE, in, granted);
  }
  static wire_take of(u64 id) {
    wire_take take{};
    take.grant = id;
    take.size = 0x2000;
    take.access = WIRE_PEER_READ | WIRE_PEER_WRITE;
    take.borrower[0] = 'a';
    return take;
  }
  static int take(FakeLink& link, const wire_take& what, std::optional<u32> in = {}) {
    wire_message header{};
    header.type = WIRE_PEER_TAKE;
    header.length = sizeof(what);
    return link.ask(header, &what, in);
  }
  /// How often the other lender was asked to let go of a grant.
  size_t ended(u64 id) const {
    size_t count = 0;
    for (const Sent& each : between.called) {
      EXPECT_EQ(each.message.type, WIRE_PEER_END);
      count += each.payload.size() == sizeof(id) && !std::memcmp(each.payload.data(), &id, sizeof(id));
    }
    return count;
  }

  iommu_group group = translated_group(7);
  device ntb{};
  FakeLink a{"ntb0"};
  FakeLink between{"ntb1"};
  u64 session = 0;
};

TEST_F(Grant, IsTakenByTheHostThatItIsFor) {
  const u64 id = grant(wish());
  ASSERT_NE(id, 0U);
  EXPECT_EQ(between.exposed, 0) << "nobody has asked yet";
  ASSERT_EQ(take(between, of(id)), 0);
  EXPECT_EQ(between.exposed, 1);
  ASSERT_EQ(between.reply.size(), sizeof(wire_segment));
  EXPECT_EQ(reinterpret_cast<const wire_segment*>(between.reply.data())->peer_addr, kBar + 0x1000);
  EXPECT_EQ(take(between, of(id)), -EBUSY) << "once";
  EXPECT_NE(grant(wish()), id);
  EXPECT_EQ(between.called.size(), 0U);
}

TEST_F(Grant, IsForNoOtherHost) {
  FakeLink other{"ntb2"};
  other.dma = &ntb;
  ASSERT_EQ(other.join(host('x')), 0);
  const u64 id = grant(wish());
  EXPECT_EQ(take(other, of(id)), -EACCES);
  EXPECT_EQ(take(a, of(id)), -EACCES) << "nor the borrower itself";
  EXPECT_EQ(other.exposed, 0);
  EXPECT_EQ(take(between, of(id)), 0);
}

TEST_F(Grant, IsForADeviceOfTheSameBorrower) {
  const u64 id = grant(wish());
  wire_take what = of(id);
  what.borrower[0] = 'x';
  EXPECT_EQ(take(between, what), -EACCES);
  what.borrower[0] = 'm';
  EXPECT_EQ(take(between, what), -EACCES);
  EXPECT_EQ(between.exposed, 0);
}

TEST_F(Grant, IsForJustThatPart) {
  const u64 id = grant(wish());
  wire_take what = of(id);
  what.size += 0x1000;
  EXPECT_EQ(take(between, what), -EACCES);
  wire_grant read_only = wish();
  read_only.access = WIRE_PEER_READ;
  EXPECT_EQ(take(between, of(grant(read_only))), -EACCES);
  EXPECT_EQ(take(between, of(id + 1)), -ENOENT);
  EXPECT_EQ(take(between, of(0)), -ENOENT);
  EXPECT_EQ(between.exposed, 0);
}

TEST_F(Grant, EndsBeforeTheDeviceIsReset) {
  const u64 id = grant(wish());
  ASSERT_EQ(take(between, of(id)), 0);
  int closed = 0;
  lender.closing = [&](smartio_session*) {
    closed++;
    EXPECT_EQ(between.exposed, 0);
    EXPECT_EQ(ended(id), 1U);
  };
  bool held = false;
  between.answer = [&](const wire_message&, void*, size_t*) {
    EXPECT_EQ(between.exposed, 0) << "the other lender is waited for, not trusted";
    EXPECT_EQ(shim::locks(), 0);
    held = between.held_addresses.size() == 1;
    return 0;
  };
  EXPECT_EQ(in_session(a, WIRE_CLOSE_SESSION, session), 0);
  EXPECT_EQ(closed, 1);
  EXPECT_TRUE(held) << "the address was another's before the other lender had answered";
  EXPECT_TRUE(between.held_addresses.empty());
  EXPECT_EQ(between.restarts, 0);
  EXPECT_EQ(take(between, of(id)), -ENOENT);
}

TEST_F(Grant, EndsWhenTheDeviceIsTakenBack) {
  const u64 id = grant(wish());
  ASSERT_EQ(take(between, of(id)), 0);
  lender.take_back();
  EXPECT_EQ(between.exposed, 0);
  EXPECT_EQ(ended(id), 1U);
}

TEST_F(Grant, EndsWithTheLinkToItsBorrower) {
  const u64 id = grant(wish());
  ASSERT_EQ(take(between, of(id)), 0);
  a.lose();
  EXPECT_EQ(between.exposed, 0);
  EXPECT_EQ(ended(id), 1U);
}

TEST_F(Grant, WhoDoesNotLetGoLosesTheLink) {
  for (const int says : {-ETIMEDOUT, -EINVAL, -EBUSY}) {  // the last one again and again
    const int before = between.restarts;
    between.answer = [says](const wire_message&, void*, size_t*) { return says; };
    const u64 id = grant(wish());
    ASSERT_EQ(take(between, of(id)), 0);
    EXPECT_EQ(revoke(a, session, id), 0);
    EXPECT_EQ(between.exposed, 0);
    EXPECT_EQ(between.restarts, before + 1);
  }
  EXPECT_EQ(between.held_addresses.size(), 3U) << "they are others' once the link is down";
}

TEST_F(Grant, WhoIsBusyIsAskedAgain) {
  int asked = 0;
  between.answer = [&](const wire_message&, void*, size_t*) { return ++asked < 4 ? -EBUSY : 0; };
  const u64 id = grant(wish());
  ASSERT_EQ(take(between, of(id)), 0);
  EXPECT_EQ(revoke(a, session, id), 0);
  EXPECT_EQ(asked, 4);
  EXPECT_EQ(between.restarts, 0);
  EXPECT_TRUE(between.held_addresses.empty());
}

TEST_F(Grant, TheEndIsNotHeldUpByWhoIsSlow) {
  FakeLink other{"ntb2"};
  other.dma = &ntb;
  ASSERT_EQ(other.join(host('x')), 0);
  const unsigned long begin = jiffies;
  between.answer = [](const wire_message&, void*, size_t*) {
    shim_pause(4000);
    return 0;
  };
  wire_grant for_other = wish();
  for_other.host[0] = 'x';
  for (int i = 0; i < 20; i++) {
    ASSERT_EQ(take(between, of(grant(wish()))), 0);
    ASSERT_EQ(take(other, of(grant(for_other))), 0);
  }
  EXPECT_EQ(in_session(a, WIRE_CLOSE_SESSION, session), 0);
  EXPECT_LT(jiffies - begin, 10000U);
  EXPECT_EQ(between.exposed, 0);
  EXPECT_GT(between.restarts, 0);
  EXPECT_EQ(other.called.size(), 20U) << "who is not slow";
  EXPECT_EQ(other.restarts, 0);
}

TEST_F(Grant, AFewAreRevokedAtOnce) {
  std::vector<u64> ids;
  int depth = 0;
  int refused = 0;
  for (int i = 0; i < 20; i++) {
    ids.push_back(grant(wish()));
    ASSERT_EQ(take(between, of(ids.back())), 0);
  }
  between.answer = [&](const wire_message&, void*, size_t*) {
    // The borrower revokes the next one while this one is asked for.
    depth++;
    if (depth < 20) refused += revoke(a, session, ids[static_cast<size_t>(depth)]) == -EBUSY;
    return 0;
  };
  EXPECT_EQ(revoke(a, session, ids[0]), 0);
  EXPECT_EQ(depth, 16);
  EXPECT_EQ(refused, 1);
  EXPECT_EQ(between.exposed, 4);
  between.answer = nullptr;
}

TEST_F(Grant, EndsWithTheLinkOverWhichItWasTaken) {
  const u64 id = grant(wish());
  const u64 untaken = grant(wish());
  ASSERT_EQ(take(between, of(id)), 0);
  between.lose();
  EXPECT_EQ(between.exposed, 0);
  EXPECT_EQ(between.called.size(), 0U) << "nobody answers";
  ASSERT_EQ(between.join(host('m')), 0);
  EXPECT_EQ(take(between, of(id)), -ENOENT);
  EXPECT_EQ(revoke(a, session, id), -ENOENT);
  EXPECT_EQ(take(between, of(untaken)), 0);
}

TEST_F(Grant, IsNotTakenOverALinkThatWentDown) {
  const u64 id = grant(wish());
  EXPECT_EQ(take(between, of(id), between.generation - 1), -ENOLINK);
  EXPECT_EQ(between.exposed, 0);
  EXPECT_EQ(take(between, of(id)), 0);
}

TEST_F(Grant, IsRevokedByItsBorrower) {
  FakeLink other{"ntb2"};
  other.dma = &ntb;
  ASSERT_EQ(other.join(host('x')), 0);
  const u64 id = grant(wish());
  const u64 untaken = grant(wish());
  ASSERT_EQ(take(between, of(id)), 0);
  EXPECT_EQ(revoke(other, session, id), -ENOLINK) << "over a link that the session is not of";
  EXPECT_EQ(between.exposed, 1);
  EXPECT_EQ(revoke(a, session, id), 0);
  EXPECT_EQ(between.exposed, 0);
  EXPECT_EQ(ended(id), 1U);
  EXPECT_EQ(revoke(a, session, id), -ENOENT);
  EXPECT_EQ(revoke(a, session, untaken), 0);
  EXPECT_EQ(ended(untaken), 0U);
  EXPECT_EQ(take(between, of(untaken)), -ENOENT);
}

TEST_F(Grant, IsNotRevokedInAnotherSession) {
  Lender second;
  std::strcpy(second.pdev.dev.name, "0000:02:00.0");
  const u64 other = open(a, second.lend());
  const u64 id = grant(wish());
  EXPECT_EQ(revoke(a, other, id), -ENOENT);
  EXPECT_EQ(take(between, of(id)), 0);
  second.take_back();
  EXPECT_EQ(between.exposed, 1);
}

TEST_F(Grant, HasRegistersThatItsBorrowerMayReach) {
  wire_grant what = wish();
  what.bar = 0;
  EXPECT_EQ(grant(what, -EACCES), 0U);
  what = wish();
  what.offset = 0x7000;
  EXPECT_EQ(grant(what, -EACCES), 0U);
  what.offset = ~0xFFFULL;
  EXPECT_EQ(grant(what, -EACCES), 0U);
  for (__le64 wire_grant::* field : {&wire_grant::offset, &wire_grant::size}) {
    what = wish();
    what.*field += 8;
    EXPECT_EQ(grant(what, -EINVAL), 0U);
  }
  what = wish();
  what.size = 0;
  EXPECT_EQ(grant(what, -EINVAL), 0U);
  for (const u32 access : {0U, 4U}) {
    what = wish();
    what.access = access;
    EXPECT_EQ(grant(what, -EINVAL), 0U);
  }
}

TEST_F(Grant, IsOfADeviceThatIsLentAsAWhole) {
  lender.take_back();
  session = open(a, lender.lend());
  EXPECT_EQ(grant(wish(), -EACCES), 0U) << "other borrowers have registers of it";
}

TEST_F(Grant, NeedsALinkBetweenTheLenders) {
  wire_grant what = wish();
  what.host[0] = 'q';
  EXPECT_EQ(grant(what, -EXDEV), 0U);
  between.lose();
  EXPECT_EQ(grant(wish(), -EXDEV), 0U);
}

TEST_F(Grant, IsOneOfAFew) {
  for (int i = 0; i < 256; i++) EXPECT_NE(grant(wish()), 0U);
  const u64 last = grant(wish(), -ENOSPC);
  EXPECT_EQ(last, 0U);
}

}  // namespace
