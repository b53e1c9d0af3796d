// SPDX-License-Identifier: GPL-2.0
#include <utility>

#include "tests/drivers/smartio/core.h"

namespace {

class Lend : public Core {
 protected:
  Lend() { EXPECT_EQ(a.join(host('a')), 0); }
  FakeLink a{"ntb0"};
};

TEST_F(Lend, ALentDeviceIsAnnouncedAndTakenBack) {
  FakeLink late{"ntb1"};
  a.sent.clear();
  const u32 id = lender.lend()->id;
  const std::vector<Sent> named = a.sent_of(WIRE_DEVICE);
  ASSERT_EQ(named.size(), 1U);
  EXPECT_EQ(named[0].message.object, id);
  EXPECT_TRUE(a.client->valid(&named[0].message, named[0].payload.data()));
  EXPECT_EQ(reinterpret_cast<const wire_device*>(named[0].payload.data())->flags, WIRE_OFFERED);
  EXPECT_TRUE(late.sent.empty());
  ASSERT_EQ(late.join(host('b')), 0);
  ASSERT_EQ(late.sent.size(), 2U);
  EXPECT_EQ(late.sent[0].message.object, id);
  EXPECT_EQ(late.sent[1].message.type, WIRE_DEVICE_END);
  open(a, lender.device);
  EXPECT_GT(a.mapped, 0);
  lender.take_back();
  ASSERT_EQ(a.sent_of(WIRE_DEVICE_GONE).size(), 1U);
  EXPECT_EQ(a.sent.back().message.type, WIRE_DEVICE_GONE);
  EXPECT_EQ(a.sent_of(WIRE_ENDED).size(), 1U);
  EXPECT_EQ(late.sent_of(WIRE_DEVICE_GONE).size(), 1U);
  EXPECT_EQ(a.mapped, 0);
  EXPECT_EQ(export_find(id), nullptr);
}

TEST_F(Lend, PagesStayForTheDeviceThatHadThemUntilItIsTakenBack) {
  iommu_group group = translated_group(7);
  device ntb{};
  a.dma = &ntb;
  lender.pdev.dev.iommu_group = &group;
  const u32 id = lender.lend(true)->id;
  u64 session = open(a, lender.device);
  segment(a, session, 4096);
  EXPECT_EQ(in_session(a, WIRE_CLOSE_SESSION, session), 0);
  session = open(a, lender.device);
  wire_range addresses{};
  addresses.offset = 0x8'0000'0000;
  addresses.size = 0x1000;
  ASSERT_EQ(in_session(a, WIRE_OWN_ADDRESSES, session, addresses), 0);
  segment(a, session, 4096);
  a.lose();
  EXPECT_EQ(a.owners, (std::vector<u32>{id, id}));
  EXPECT_TRUE(a.forgotten.empty()) << "by the end of a session, or by a domain";
  lender.take_back();
  EXPECT_EQ(a.forgotten, std::vector<u32>{id});
}

TEST_F(Lend, NoNumberIsUsedTwice) {
  const u32 first = lender.lend()->id;
  lender.take_back();
  EXPECT_GT(lender.lend()->id, first);
}

TEST_F(Lend, ASuspendedDeviceHasNoSessions) {
  open(a, lender.lend());
  a.sent.clear();
  smartio_export_suspend(lender.device);
  EXPECT_EQ(lender.closed, 1);
  ASSERT_EQ(a.sent.size(), 2U);
  EXPECT_EQ(a.sent[0].message.type, WIRE_ENDED);
  EXPECT_EQ(a.sent[0].message.status, 0);
  EXPECT_EQ(reinterpret_cast<const wire_device*>(a.sent[1].payload.data())->flags, 0U);
  open(a, lender.device, -EAGAIN);
  smartio_export_resume(lender.device);
  EXPECT_EQ(reinterpret_cast<const wire_device*>(a.sent[2].payload.data())->flags, WIRE_OFFERED);
  EXPECT_NE(open(a, lender.device), 0U);
}

TEST_F(Lend, AHostFencedOpensNothing) {
  lender.lend();
  const uuid_t uuid = host('a').uuid;
  smartio_host_mark(&uuid, true);
  open(a, lender.device, -EACCES);
  smartio_export_suspend(lender.device);
  open(a, lender.device, -EACCES);
  EXPECT_TRUE(lender.open.empty());
}

TEST_F(Lend, AModuleThatGoesOpensNothing) {
  lender.lend();
  lender.module.going = true;
  open(a, lender.device, -EAGAIN);
}

TEST_F(Lend, RequestsRunInTheirSessionOnly) {
  FakeLink other{"ntb1"};
  ASSERT_EQ(other.join(host('b')), 0);
  const u64 id = open(a, lender.lend());
  lender.request = [&](smartio_session* session, void* reply, size_t* size) {
    EXPECT_EQ(session->id, id);
    std::memcpy(reply, "yes", *size = 3);
    return 0;
  };
  EXPECT_EQ(in_session(a, WIRE_REQUEST, id), 0);
  EXPECT_EQ(a.reply, "yes");
  EXPECT_EQ(in_session(other, WIRE_REQUEST, id), -ENOLINK);
  EXPECT_EQ(in_session(other, WIRE_CLOSE_SESSION, id), -EACCES);
  EXPECT_EQ(in_session(other, WIRE_REVOKE, id), -EACCES);
  EXPECT_EQ(lender.closed, 0);
  EXPECT_EQ(in_session(a, WIRE_CLOSE_SESSION, id), 0);
  EXPECT_EQ(lender.closed, 1);
  EXPECT_EQ(in_session(a, WIRE_REQUEST, id), -ENOLINK);
}

TEST_F(Lend, ARequestLearnsThatItsSessionEnds) {
  lender.lend();
  lender.closing = [&](smartio_session*) { EXPECT_EQ(lender.ending, lender.closed + 1); };
  EXPECT_EQ(in_session(a, WIRE_CLOSE_SESSION, open(a, lender.device)), 0);
  EXPECT_EQ(lender.closed, 1);
  open(a, lender.device);
  a.lose();
  EXPECT_EQ(lender.closed, 2);
  lender.open_says = -ENOSPC;
  ASSERT_EQ(a.join(host('a')), 0);
  open(a, lender.device, -ENOSPC);
  EXPECT_EQ(lender.ending, 2);
}

TEST_F(Lend, AHostRevokesItsSessionOverAnotherLink) {
  FakeLink other{"ntb1"};
  ASSERT_EQ(other.join(host('a')), 0);
  const u64 id = open(a, lender.lend());
  EXPECT_EQ(in_session(other, WIRE_REVOKE, id), 0);
  EXPECT_EQ(lender.closed, 1);
  EXPECT_EQ(a.sent_of(WIRE_ENDED).size(), 1U);
}

TEST_F(Lend, ANewSessionEndsTheOneBefore) {
  const u64 first = open(a, lender.lend());
  const u64 second = open(a, lender.device);
  EXPECT_GT(second, first);
  EXPECT_EQ(lender.closed, 1);
  EXPECT_EQ(lender.open.size(), 1U);
}

TEST_F(Lend, AnExclusiveDeviceHasOneBorrower) {
  FakeLink other{"ntb1"};
  ASSERT_EQ(other.join(host('b')), 0);
  ASSERT_EQ(group_allow("0000:01:00.0", 12, GROUP_ALLOWED_TRUST), 0);
  open(a, lender.lend(true));
  open(other, lender.device, -EBUSY);
  EXPECT_EQ(lender.closed, 0);
  open(a, lender.device);  // which ends its own session before
  EXPECT_EQ(lender.closed, 1);
  EXPECT_EQ(a.unmaps, 1);
  a.lose();
  EXPECT_EQ(a.unmaps, 2);
  open(other, lender.device);
  EXPECT_EQ(lender.open.size(), 1U);
}

TEST_F(Lend, ALostLinkEndsItsSessions) {
  FakeLink other{"ntb1"};
  ASSERT_EQ(other.join(host('b')), 0);
  const u64 id = open(a, lender.lend());
  open(other, lender.device);
  segment(a, id, 4096);
  a.lose();
  EXPECT_EQ(lender.closed, 1);
  ASSERT_EQ(lender.open.size(), 1U);
  EXPECT_EQ(lender.open[0]->host.b[0], 'b');
  EXPECT_TRUE(a.pages.empty());
  ASSERT_EQ(a.held.size(), 1U);  // its borrower may write when the link is up again
  EXPECT_EQ(a.held.front().holder.owner, lender.device->id);
  EXPECT_EQ(a.held.front().holder.key, id);
  ASSERT_EQ(a.join(host('a')), 0);
  open(a, lender.device);
  EXPECT_TRUE(a.held.empty());
}

TEST_F(Lend, ASessionThatOpensTooLateIsOver) {
  lender.lend();
  lender.opening = [&](smartio_session*) { shim_pause(msecs_to_jiffies(61000)); };
  EXPECT_EQ(open(a, lender.device, -ETIMEDOUT), 0U);
  EXPECT_EQ(lender.closed, 1);
  EXPECT_TRUE(lender.open.empty());
}

TEST_F(Lend, ALinkLostWhileASessionOpensLeavesNone) {
  lender.lend();
  lender.opening = [&](smartio_session*) {
    a.state = SMARTIO_LINK_DOWN;  // the thread that ended its sessions has missed this one
  };
  EXPECT_EQ(open(a, lender.device, -ENOLINK), 0U);
  EXPECT_EQ(lender.closed, 1);
}

TEST_F(Lend, ALinkThatJoinedAgainWhileASessionOpensHasNone) {
  lender.lend();
  lender.opening = [&](smartio_session*) { a.generation++; };
  EXPECT_EQ(open(a, lender.device, -ENOLINK), 0U);
  EXPECT_EQ(lender.closed, 1);
}

TEST_F(Lend, WhatIsFreedMayBeHadAgain) {
  const u64 id = open(a, lender.lend());
  wire_range range{};
  range.handle = segment(a, id, 32ULL << 20);
  segment(a, id, 32ULL << 20);
  segment(a, id, 1, -ENOSPC);
  EXPECT_EQ(in_session(a, WIRE_SEGMENT_FREE, id, range), 0);
  EXPECT_NE(segment(a, id, 32ULL << 20), 0U);
}

TEST_F(Lend, OfTwoThatOpenAtOnceOneDoes) {
  static std::function<void()> meanwhile;
  session_ops ops{};
  const uuid_t uuid = host('a').uuid;
  struct borrower who{};
  struct session* first = nullptr;
  struct session* second = nullptr;
  ops.acquire = [](struct session*) {
    if (meanwhile) std::exchange(meanwhile, nullptr)();
  };
  who.ops = &ops;
  who.host = &uuid;
  who.name = who.link_name = "a";
  lender.lend();
  meanwhile = [&] { EXPECT_EQ(session_open(lender.device, &who, &first), 0); };
  EXPECT_EQ(session_open(lender.device, &who, &second), -EAGAIN);
  EXPECT_EQ(lender.open.size(), 1U);
  EXPECT_EQ(lender.module.users, 0);
  session_end(first, SESSION_END_CLOSED);
  session_put(first);
}

TEST_F(Lend, WhatNobodyAnswersIsRefused) {
  wire_message header{};
  header.type = WIRE_DEVICE_END;
  EXPECT_EQ(a.ask(header), -EINVAL);
  header.type = WIRE_TYPES;
  EXPECT_EQ(a.ask(header), -EINVAL);
}

TEST_F(Lend, ALenderThatRefusesIsNotCalledAgain) {
  lender.lend();
  lender.open_says = -ENOSPC;
  open(a, lender.device, -ENOSPC);
  EXPECT_EQ(lender.closed, 0);
}

TEST_F(Lend, SegmentsComeAndGo) {
  const u64 id = open(a, lender.lend());
  u64 address = 0;
  const u32 first = segment(a, id, 5000);
  const u32 second = segment(a, id, 4096);
  EXPECT_NE(first, 0U);
  EXPECT_NE(first, second);
  EXPECT_EQ(a.pages.size(), 2U);
  smartio_session* session = lender.open.at(0);
  EXPECT_EQ(smartio_session_segment(session, first, 8000, 192, &address), 0);
  EXPECT_EQ(smartio_session_segment(session, first, 8000, 193, &address), -ERANGE);
  EXPECT_EQ(smartio_session_segment(session, 99, 0, 1, &address), -ENOENT);
  wire_range range{};
  range.handle = first;
  EXPECT_EQ(in_session(a, WIRE_SEGMENT_FREE, id, range), -EBUSY);
  smartio_session_segment_put(session, first);
  EXPECT_EQ(in_session(a, WIRE_SEGMENT_FREE, id, range), 0);
  EXPECT_EQ(in_session(a, WIRE_SEGMENT_FREE, id, range), -ENOENT);
  EXPECT_EQ(a.pages.size(), 1U);
  segment(a, id, 64ULL << 20, -ENOSPC);
  segment(a, id, (64ULL << 20) + 1, -EINVAL);
  segment(a, id, 0, -EINVAL);
  EXPECT_EQ(in_session(a, WIRE_CLOSE_SESSION, id), 0);
  EXPECT_TRUE(a.pages.empty());
  EXPECT_TRUE(a.held.empty());
}

TEST_F(Lend, MemoryOfAnEndedSessionIsHeldUntilItsBorrowerHasStopped) {
  const u64 id = open(a, lender.lend());
  segment(a, id, 4096);
  smartio_export_end_sessions(lender.device, &id, 1);
  ASSERT_EQ(a.held.size(), 1U);
  EXPECT_EQ(a.held.front().holder.owner, lender.device->id);
  EXPECT_EQ(a.held.front().holder.key, id);
  *static_cast<char*>(a.held.front().pages->memory) = 1;  // as the peer, which doesn't know yet
  EXPECT_EQ(in_session(a, WIRE_CLOSE_SESSION, id + 1), 0);
  EXPECT_EQ(a.held.size(), 1U);
  EXPECT_EQ(in_session(a, WIRE_CLOSE_SESSION, 0), 0);
  EXPECT_EQ(a.held.size(), 1U);
  EXPECT_EQ(in_session(a, WIRE_CLOSE_SESSION, id), 0);
  EXPECT_TRUE(a.held.empty());
}

TEST_F(Lend, WhoOpensAgainHasStopped) {
  const u64 id = open(a, lender.lend());
  segment(a, id, 4096);
  smartio_export_end_sessions(lender.device, &id, 1);
  EXPECT_EQ(a.held.size(), 1U);
  open(a, lender.device);
  EXPECT_TRUE(a.held.empty());
}

TEST_F(Lend, RegistersAreReachedAsFarAsTheLenderAllows) {
  const u64 id = open(a, lender.lend());
  smartio_session* session = lender.open.at(0);
  wire_range range{};
  range.offset = 0x1000;
  range.size = 0x1000;
  EXPECT_EQ(in_session(a, WIRE_MAP_BAR, id, range), -EACCES);
  EXPECT_EQ(smartio_session_allow_bar(session, 0, 0x4000, 1), -EINVAL);
  EXPECT_EQ(smartio_session_allow_bar(session, 1, 0, 1), -EINVAL);
  lender.pdev.bars[0].start = 0xE0000800;
  EXPECT_EQ(smartio_session_allow_bar(session, 0, 0x1004, 8), -EINVAL) << "others share its pages";
  lender.pdev.bars[0] = {0xE0000000, 0x3f00, IORESOURCE_MEM};
  EXPECT_EQ(smartio_session_allow_bar(session, 0, 0x1004, 8), -EINVAL);
  lender.pdev.bars[0].size = 0x4000;
  EXPECT_EQ(smartio_session_allow_bar(session, 0, 0x1004, 8), 0);
  EXPECT_EQ(in_session(a, WIRE_MAP_BAR, id, range), 0);
  EXPECT_EQ(in_session(a, WIRE_MAP_BAR, id, range), 0);
  EXPECT_EQ(a.exposed, 1);
  EXPECT_EQ(reinterpret_cast<const wire_segment*>(a.reply.data())->peer_addr, 0xE0001000U);
  range.size = 0x1001;
  EXPECT_EQ(in_session(a, WIRE_MAP_BAR, id, range), -EACCES);
  range.offset = ~0ULL;
  EXPECT_EQ(in_session(a, WIRE_MAP_BAR, id, range), -EINVAL);
  EXPECT_EQ(in_session(a, WIRE_CLOSE_SESSION, id), 0);
  EXPECT_EQ(a.exposed, 0);
}

TEST_F(Lend, VectorsGoBackWithTheirSession) {
  const u64 id = open(a, lender.lend());
  smartio_session* session = lender.open.at(0);
  unsigned int vector = 0;
  for (unsigned int i = 0; i < 3; i++) {
    EXPECT_EQ(smartio_session_set_irq(session, 0x1234, 7, &vector), 0);
    EXPECT_EQ(vector, 2 + i);
  }
  EXPECT_EQ(smartio_session_set_irq(session, 0x1234, 7, &vector), -ENOSPC);
  const irq_data* data = irq_get_irq_data(vector + 1);
  EXPECT_TRUE(data->open);
  EXPECT_EQ(data->message.address_lo, 0x1234U);
  EXPECT_EQ(data->message.address_hi, 0x100U);
  EXPECT_EQ(data->message.data, 7U);
  EXPECT_EQ(in_session(a, WIRE_CLOSE_SESSION, id), 0);
  EXPECT_FALSE(data->open);
  EXPECT_EQ(*lender.device->vectors_used, 0U);
}

TEST_F(Lend, AnInterruptThatMovesGetsANewMessage) {
  const u64 id = open(a, lender.lend());
  smartio_session* session = lender.open.at(0);
  const auto data = [](u64 addr) { return static_cast<u32>(addr >> 12); };
  unsigned int first = 0;
  unsigned int second = 0;
  EXPECT_EQ(smartio_session_set_irq(session, 0x1000, data(0x1000), &first), 0);
  EXPECT_EQ(smartio_session_set_irq(session, 0x2000, data(0x2000), &second), 0);
  wire_message header{};
  header.type = WIRE_IRQ_MOVE;
  header.context = id;
  header.length = sizeof(wire_irq_move);
  const auto move = [&](u32 serial, unsigned int vector, u64 from, u64 to) {
    const wire_irq_move request{.from_addr = from,
                                .from_data = data(from),
                                .serial = serial,
                                .to_addr = to,
                                .to_data = data(to),
                                .vector = vector};
    return a.ask(header, &request);
  };
  const auto message = [](unsigned int vector) { return irq_get_irq_data(vector + 1)->message.address_lo; };
  EXPECT_EQ(move(5, second, 0x2000, 0x3000), 0);
  EXPECT_EQ(message(first), 0x1000U);
  EXPECT_EQ(message(second), 0x3000U);
  EXPECT_EQ(irq_get_irq_data(second + 1)->message.data, data(0x3000));
  EXPECT_TRUE(irq_get_irq_data(second + 1)->open);
  EXPECT_EQ(move(5, second, 0x2000, 0x3000), -ESTALE);
  // Its answer was late, and it is asked again. Another vector that sends the old message by now stays as it is.
  EXPECT_EQ(move(6, first, 0x1000, 0x2000), 0);
  EXPECT_EQ(move(7, second, 0x2000, 0x3000), 0);
  EXPECT_EQ(message(first), 0x2000U);
  EXPECT_EQ(message(second), 0x3000U);
  EXPECT_EQ(move(8, first, 0x5000, 0x6000), -ENOENT);       // it sends neither
  EXPECT_EQ(move(8, second + 1, 0x5000, 0x6000), -ENOENT);  // not the session's
  // Back again: the first request, should it be executed late, is too old by then.
  EXPECT_EQ(move(9, second, 0x3000, 0x2000), 0);
  EXPECT_EQ(move(5, second, 0x2000, 0x3000), -ESTALE);
  EXPECT_EQ(message(second), 0x2000U);
  header.length = sizeof(wire_irq_move) - 1;
  EXPECT_NE(move(10, second, 0x2000, 0x3000), 0);
  EXPECT_EQ(in_session(a, WIRE_CLOSE_SESSION, id), 0);
}

TEST_F(Lend, AllSessionsOfADeviceEnd) {
  FakeLink b{"ntb1"};
  FakeLink c{"ntb2"};
  ASSERT_EQ(b.join(host('b')), 0);
  ASSERT_EQ(c.join(host('c')), 0);
  lender.lend();
  for (FakeLink* link : {&a, &b, &c}) open(*link, lender.device);
  for (smartio_session* session : lender.open) EXPECT_EQ(smartio_session_notify(session, "news", 4), 0);
  lender.take_back();
  EXPECT_EQ(lender.closed, 3);
  for (FakeLink* link : {&a, &b, &c}) {
    ASSERT_EQ(link->sent_of(WIRE_NOTIFY).size(), 1U);
    EXPECT_EQ(link->sent_of(WIRE_NOTIFY)[0].payload, "news");
    EXPECT_EQ(link->sent_of(WIRE_ENDED).size(), 1U);
  }
}

TEST_F(Lend, WithoutMemoryNothingIsLeft) {
  lender.lend();
  for (int tries = 0;; tries++) {
    wire_message header{};
    header.type = WIRE_OPEN_SESSION;
    header.object = lender.device->id;
    header.timeout_ms = 60000;
    shim::allocations = tries;
    const int ret = a.ask(header);
    shim::allocations = -1;
    if (!ret) break;
    ASSERT_EQ(ret, -ENOMEM);
    ASSERT_LT(tries, 10);
    EXPECT_TRUE(lender.open.empty());
  }
}

}  // namespace
