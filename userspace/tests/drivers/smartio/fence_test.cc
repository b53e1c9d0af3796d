// SPDX-License-Identifier: GPL-2.0
#include "tests/drivers/smartio/core.h"

namespace {

class Fence : public Core {
 protected:
  Fence() {
    EXPECT_EQ(a.join(host('a')), 0);
    EXPECT_EQ(b.join(host('b')), 0);
  }
  const uuid_t uuid_a = host('a').uuid;
  FakeLink a{"ntb0"};
  FakeLink b{"ntb1"};
};

TEST_F(Fence, AFencedHostIsRefused) {
  EXPECT_EQ(fence_here("a\n", true), 0);
  EXPECT_TRUE(a.client->fenced(&uuid_a));
  EXPECT_EQ(a.state, SMARTIO_LINK_REFUSED);
  EXPECT_EQ(b.state, SMARTIO_LINK_UP);
  EXPECT_EQ(b.rechecks, 0);
  EXPECT_EQ(a.join(host('a')), -EACCES);
  EXPECT_EQ(a.join(host('a', 2)), -EACCES);
  EXPECT_EQ(fence_here("a", false), 0);
  EXPECT_FALSE(a.client->fenced(&uuid_a));
  EXPECT_EQ(a.state, SMARTIO_LINK_DOWN);
  EXPECT_EQ(a.join(host('a')), 0);
}

TEST_F(Fence, NobodyFencesItselfOrAStranger) {
  EXPECT_EQ(fence_here("this", true), -EINVAL);
  EXPECT_EQ(fence_here("nobody", true), -ENOENT);
  EXPECT_EQ(fence_here(std::string(100, 'x').c_str(), true), -EINVAL);
  EXPECT_EQ(a.order("a", true), -EINVAL);
  EXPECT_EQ(a.order("a", false), 0);
}

TEST_F(Fence, WaitsForWhatRunsInASession) {
  const u64 id = open(a, lender.lend());
  struct session* session = session_find(id);
  ASSERT_NE(session, nullptr);
  ASSERT_EQ(session_enter(session), 0);
  int waits = 0;
  shim::meanwhile = [&] {
    if (waits == 5) return;  // the fence waits for the session, which has ended
    EXPECT_EQ(lender.closed, 0);
    EXPECT_EQ(session_enter(session), -ENOLINK);
    if (++waits == 5) session_leave(session);
  };
  EXPECT_EQ(fence_here("a", true), 0);
  EXPECT_EQ(waits, 5);
  EXPECT_EQ(lender.closed, 1);
  EXPECT_EQ(session_find(id), nullptr);
  session_put(session);
}

TEST_F(Fence, ALinksSessionsEndOnceItIsDown) {
  open(a, lender.lend());
  bool asked = false;
  a.settling = [&] {
    asked = true;
    EXPECT_EQ(lender.closed, 0);
    EXPECT_TRUE(smartio_host_fenced(&uuid_a));
  };
  EXPECT_EQ(fence_here("a", true), 0);
  EXPECT_TRUE(asked);
  EXPECT_EQ(lender.closed, 1);
  a.settling = nullptr;
}

TEST_F(Fence, EndsWhatNoLinkEnds) {
  static const session_ops ops = {};
  struct session* session = nullptr;
  struct borrower who{};
  who.ops = &ops;
  who.host = &uuid_a;
  who.name = "a";
  who.link_name = "elsewhere";
  ASSERT_EQ(session_open(lender.lend(), &who, &session), 0);
  session_put(session);
  EXPECT_EQ(fence_here("b", true), 0);
  EXPECT_EQ(lender.closed, 0);
  EXPECT_EQ(fence_here("a", true), 0);
  EXPECT_EQ(lender.closed, 1);
  EXPECT_EQ(session_open(lender.device, &who, &session), -EACCES);
}

TEST_F(Fence, AStaleWishIsRefusedForGood) {
  open(a, lender.lend());
  EXPECT_EQ(fence_here("a", true), 0);
  // It began again as 2, asked, and was fenced: that it asked before doesn't count, now or later.
  EXPECT_FALSE(a.client->may_rejoin(&uuid_a, 2, true));
  EXPECT_FALSE(a.client->may_rejoin(&uuid_a, 2, false));
  EXPECT_TRUE(smartio_host_fenced(&uuid_a));
  EXPECT_TRUE(a.client->may_rejoin(&uuid_a, 3, false));
  EXPECT_FALSE(smartio_host_fenced(&uuid_a));
}

TEST_F(Fence, AHostThatCameBackInAnotherIncarnationRejoins) {
  open(a, lender.lend());
  EXPECT_EQ(fence_here("a", true), 0);
  EXPECT_FALSE(a.client->may_rejoin(&uuid_a, 1, false));
  EXPECT_TRUE(a.client->may_rejoin(&uuid_a, 2, false));
  EXPECT_EQ(a.join(host('a', 2)), 0);
}

TEST_F(Fence, APeerOrdersAFence) {
  EXPECT_EQ(b.order("a", true), 0);
  EXPECT_EQ(a.state, SMARTIO_LINK_REFUSED);
  EXPECT_EQ(a.join(host('a')), -EACCES);
  EXPECT_EQ(b.order("a", false), 0);
  EXPECT_EQ(a.join(host('a')), 0);
  EXPECT_EQ(b.order("nobody", true), -ENOENT);
}

TEST_F(Fence, WithoutRemoteFenceNoPeerOrders) {
  *shim_param_remote_fence = false;
  EXPECT_EQ(b.order("a", true), -EACCES);
  EXPECT_EQ(a.state, SMARTIO_LINK_UP);
  EXPECT_EQ(fence_here("a", true), 0);
  EXPECT_EQ(b.order("a", false), -EACCES);
  EXPECT_FALSE(a.client->may_rejoin(&uuid_a, 2, false));
  EXPECT_TRUE(smartio_host_fenced(&uuid_a));
}

TEST_F(Fence, AnOrderOfAnotherGenerationIsNone) {
  EXPECT_EQ(b.order("a", true, 4000, b.generation - 1), -ENOLINK);
  EXPECT_FALSE(smartio_host_fenced(&uuid_a));
}

TEST_F(Fence, AnOrderWaitsForAnotherAndNotLongerThanItsGiver) {
  int ret = 0;
  unsigned long waited = 0;
  a.settling = [&] {
    const unsigned long begin = jiffies;
    ret = b.order("a", false, 4000);
    waited = jiffies - begin;
  };
  EXPECT_EQ(fence_here("a", true), 0);
  EXPECT_EQ(ret, -ETIMEDOUT);
  EXPECT_GE(waited, 3000U);
  EXPECT_LT(waited, 3100U);
  EXPECT_TRUE(smartio_host_fenced(&uuid_a));
  a.settling = nullptr;
}

TEST_F(Fence, AnOrderOfAHostThatIsBeingFencedEnds) {
  // A fence of host a waits for its link, which waits for its requests.
  int ret = 0;
  a.settling = [&] { ret = a.order("b", true, 600000); };
  EXPECT_EQ(fence_here("a", true), 0);
  EXPECT_EQ(ret, -ENOLINK);
  EXPECT_EQ(b.state, SMARTIO_LINK_UP);
  a.settling = nullptr;
}

TEST_F(Fence, OneOrderOfALinkAtATime) {
  int second = 0;
  a.settling = [&] {
    shim::meanwhile = [&] { second = b.order("a", true); };
    b.order("a", true);
  };
  EXPECT_EQ(fence_here("a", true), 0);
  EXPECT_EQ(second, -EBUSY);
  a.settling = nullptr;
}

TEST_F(Fence, AHostThatIsLetInWhileItIsFencedIsFencedAgain) {
  int times = 0;
  a.settling = [&] {
    if (times++ < 3) {
      EXPECT_TRUE(a.client->may_rejoin(&uuid_a, 7, false));
    }
  };
  EXPECT_EQ(fence_here("a", true), 0);
  EXPECT_EQ(times, 4);
  EXPECT_TRUE(smartio_host_fenced(&uuid_a));
  EXPECT_EQ(fence_here("a", false), 0);
  a.settling = [&] { a.client->may_rejoin(&uuid_a, 8, false); };
  EXPECT_EQ(fence_here("a", true), -EBUSY);
  a.settling = nullptr;
}

TEST_F(Fence, AFencedLenderLosesItsOwnPathAndCannotUndoIt) {
  static bool ended;
  session_ops ops{};
  ops.ended = [](struct session*) { ended = true; };
  struct session* session = nullptr;
  struct borrower who{};
  who.ops = &ops;
  who.host = &smartio_self.uuid;
  who.name = "this";
  who.link_name = "local";
  who.local = true;
  ASSERT_EQ(session_open(lender.lend(), &who, &session), 0);
  session_put(session);
  EXPECT_EQ(a.order("this", true), 0);
  EXPECT_EQ(lender.closed, 1);
  EXPECT_TRUE(ended);
  EXPECT_EQ(fence_here("this", false), -EPERM);
  EXPECT_EQ(fence_at(&smartio_self.uuid, "b", true), -EPERM);
  EXPECT_EQ(fence_rejoin(), -EPERM);
  EXPECT_EQ(fence_here("b", true), 0);
  EXPECT_EQ(a.order("this", false), 0);
  EXPECT_EQ(fence_rejoin(), 0);
}

TEST_F(Fence, AnotherHostIsAskedOverEachLinkUntilOneAnswers) {
  FakeLink second{"ntb2"};
  ASSERT_EQ(second.join(host('a')), 0);
  a.answer = [](const wire_message&, void*, size_t*) { return -ETIMEDOUT; };
  EXPECT_EQ(fence_at(&uuid_a, "b", true), 0);
  ASSERT_EQ(second.called.size(), 1U);
  EXPECT_EQ(second.called[0].message.type, WIRE_FENCE);
  EXPECT_EQ(b.called.size(), 0U);
  a.answer = [](const wire_message&, void*, size_t*) { return -EACCES; };
  EXPECT_EQ(fence_at(&uuid_a, "b", true), -EACCES);
  EXPECT_EQ(second.called.size(), 1U);
  a.lose();
  second.lose();
  EXPECT_EQ(fence_at(&uuid_a, "b", true), -ENOLINK);
}

TEST_F(Fence, AHostAsksToBeLetInWhereItIsFenced) {
  a.lose(SMARTIO_LINK_REFUSED);
  a.fenced = true;
  a.answer = [](const wire_message&, void*, size_t*) { return -EPERM; };
  EXPECT_EQ(fence_rejoin(), -EPERM);
  EXPECT_FALSE(a.asks);
  a.answer = [](const wire_message&, void*, size_t*) { return 0; };
  EXPECT_EQ(fence_rejoin(), 0);
  EXPECT_EQ(a.state, SMARTIO_LINK_UP);
  a.lose();
  b.lose();
  EXPECT_EQ(fence_rejoin(), -ENOLINK);
}

TEST_F(Fence, ShowsWhoIsKnown) {
  char page[PAGE_SIZE];
  fence_here("a", true);
  ASSERT_GT(fence_hosts_show(&smartio_self.uuid, page), 0);
  const std::string text = page;
  EXPECT_NE(text.find("fenced a\n"), std::string::npos);
  EXPECT_NE(text.find("linked b\n"), std::string::npos);
  EXPECT_NE(text.find("linked this\n"), std::string::npos);
}

}  // namespace
