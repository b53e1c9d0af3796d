// SPDX-License-Identifier: GPL-2.0
// Two devices that one borrower has as a whole: the one reaches registers of the other, as long as both sessions last.
#include "tests/drivers/smartio/core.h"

namespace {

constexpr u64 kBase = 0x8'0000'0000;
constexpr u64 kSize = 0x1000'0000;
constexpr u64 kPlace = 1ULL << 38;
constexpr u64 kTargetBar = 0xD000'0000;

class Peer : public Core {
 protected:
  Peer() {
    lender.pdev.dev.iommu_group = &group;
    std::strcpy(target.pdev.dev.name, "0000:02:00.0");
    target.pdev.bars[2] = {kTargetBar, 0x8000, IORESOURCE_MEM};
    target.pdev.dev.iommu_group = &other_group;
    target.opening = [](smartio_session* s) { EXPECT_EQ(smartio_session_allow_bar(s, 2, 0, 0x8000), 0); };
    a.dma = &ntb;
    EXPECT_EQ(a.join(host('a')), 0);
    reaching = open(a, lender.lend(true));
    reached = open(a, target.lend(true));
    own_addresses(true);
  }
  void own_addresses(bool single) {
    wire_range range{};
    range.offset = kBase;
    range.size = kSize;
    range.handle = single;
    EXPECT_EQ(in_session(a, WIRE_OWN_ADDRESSES, reaching, range), 0);
    EXPECT_EQ(group.attached->maps, single ? 1 + 512 : 1);
  }
  ~Peer() override {
    lender.take_back();
    if (target.device) target.take_back();
    EXPECT_EQ(target.pdev.users, 0);
    EXPECT_EQ(target.pdev.dev.mappings, 0);
    EXPECT_EQ(group.users, 0);
  }

  wire_peer wish() const {
    wire_peer peer{};
    peer.addr = kPlace;
    peer.size = 0x2000;
    peer.target = reached;
    peer.offset = 0x1000;
    peer.bar = 2;
    peer.access = WIRE_PEER_READ | WIRE_PEER_WRITE;
    return peer;
  }
  int map(const wire_peer& peer) { return ask(a, WIRE_PEER_MAP, reaching, peer); }
  int unmap(u64 addr, u64 size) {
    wire_peer peer{};
    peer.addr = addr;
    peer.size = size;
    return ask(a, WIRE_PEER_UNMAP, reaching, peer);
  }
  /// Mappings of the reaching device, but for its borrower's range.
  int mapped() const { return group.attached->mappings - 1; }

  iommu_group group = translated_group(7);
  iommu_group other_group = translated_group(8);
  device ntb{};
  FakeLink a{"ntb0"};
  Lender target;
  u64 reaching = 0;
  u64 reached = 0;
};

TEST_F(Peer, IsReachedWhereTheBorrowerWants) {
  ASSERT_EQ(map(wish()), 0);
  ASSERT_EQ(mapped(), 1);
  EXPECT_EQ(group.attached->mapped[1].iova, kPlace);
  EXPECT_EQ(group.attached->mapped[1].phys, kTargetBar + 0x1000);
  EXPECT_EQ(group.attached->mapped[1].size, 0x2000U);
  EXPECT_EQ(group.attached->mapped[1].prot, IOMMU_READ | IOMMU_WRITE | IOMMU_MMIO);
  EXPECT_EQ(unmap(kPlace, 0x2000), 0);
  EXPECT_EQ(mapped(), 0);
  EXPECT_EQ(unmap(kPlace, 0x2000), -ENOENT);
  wire_peer read_only = wish();
  read_only.access = WIRE_PEER_READ;
  ASSERT_EQ(map(read_only), 0);
  EXPECT_EQ(group.attached->mapped[1].prot, IOMMU_READ | IOMMU_MMIO);
}

TEST_F(Peer, IsNotReachedAnyMoreWhenItsSessionEnds) {
  ASSERT_EQ(map(wish()), 0);
  int left = -1;
  target.closing = [&](smartio_session*) { left = mapped(); };
  EXPECT_EQ(in_session(a, WIRE_CLOSE_SESSION, reached), 0);
  EXPECT_EQ(left, 0) << "it ended after the lender's half was told";
  EXPECT_EQ(mapped(), 0);
  target.closing = nullptr;
  const u64 next = open(a, target.device);
  EXPECT_EQ(map(wish()), -ENOENT) << "the old session's name";
  wire_peer peer = wish();
  peer.target = next;
  EXPECT_EQ(map(peer), 0);
  target.take_back();
  EXPECT_EQ(mapped(), 0);
}

TEST_F(Peer, OutlivesWhoReachedIt) {
  ASSERT_EQ(map(wish()), 0);
  EXPECT_EQ(in_session(a, WIRE_CLOSE_SESSION, reaching), 0);
  EXPECT_EQ(group.attached, nullptr);
  EXPECT_EQ(target.open.size(), 1U);
  EXPECT_EQ(in_session(a, WIRE_CLOSE_SESSION, reached), 0);
}

TEST_F(Peer, EndsWithTheLink) {
  ASSERT_EQ(map(wish()), 0);
  a.lose();
  EXPECT_EQ(group.attached, nullptr);
  EXPECT_TRUE(target.open.empty());
}

TEST_F(Peer, IsOfTheSameBorrower) {
  FakeLink b{"ntb1"};
  b.dma = &ntb;
  ASSERT_EQ(b.join(host('b')), 0);
  EXPECT_EQ(in_session(a, WIRE_CLOSE_SESSION, reached), 0);
  reached = open(b, target.device);
  EXPECT_EQ(map(wish()), -EACCES);
  EXPECT_EQ(ask(b, WIRE_PEER_MAP, reaching, wish()), -ENOLINK) << "over a link that the session is not of";
  EXPECT_EQ(mapped(), 0);
}

TEST_F(Peer, MayBeBorrowedOverAnotherLink) {
  FakeLink second{"ntb1"};
  second.dma = &ntb;
  ASSERT_EQ(second.join(host('a')), 0);
  EXPECT_EQ(in_session(a, WIRE_CLOSE_SESSION, reached), 0);
  reached = open(second, target.device);
  EXPECT_EQ(map(wish()), 0);
  second.lose();
  EXPECT_EQ(mapped(), 0);
}

TEST_F(Peer, IsOneThatIsLentAsAWhole) {
  target.take_back();
  reached = open(a, target.lend());
  EXPECT_EQ(map(wish()), -EACCES) << "other borrowers have registers of it";
}

TEST_F(Peer, HasTheRegistersThatItsBorrowerMayReach) {
  wire_peer peer = wish();
  peer.bar = 0;
  EXPECT_EQ(map(peer), -EACCES);
  peer = wish();
  peer.offset = 0x7000;
  EXPECT_EQ(map(peer), -EACCES);
  peer.offset = ~0xFFFULL;
  EXPECT_EQ(map(peer), -EACCES);
  peer.offset = 0x6000;
  target.pdev.bars[2].size = 0x7800;
  EXPECT_EQ(map(peer), -EACCES) << "half a page may be another device's";
  target.pdev.bars[2] = {kTargetBar + 0x800, 0x8000, IORESOURCE_MEM};
  EXPECT_EQ(map(wish()), -EACCES);
  peer = wish();
  peer.target++;
  EXPECT_EQ(map(peer), -ENOENT);
  EXPECT_EQ(mapped(), 0);
}

TEST_F(Peer, HasAPlaceOfItsOwn) {
  wire_peer peer = wish();
  for (const u64 taken :
       {u64{0}, kSize - 0x201000, kSize - 0x1000, u64{0xFEDF'F000}, u64{0xFEEF'F000}, u64{0x7F'FFFF'F000}}) {
    peer.addr = taken;
    EXPECT_EQ(map(peer), -ERANGE) << std::hex << taken;
  }
  ASSERT_EQ(map(wish()), 0);
  for (const u64 over : {kPlace - 0x1000, kPlace, kPlace + 0x1000}) {
    peer.addr = over;
    EXPECT_EQ(map(peer), -EEXIST);
  }
  EXPECT_EQ(unmap(kPlace, 0x1000), -EINVAL) << "half of it";
  EXPECT_EQ(mapped(), 1);
  EXPECT_EQ(unmap(0, kSize), -ENOENT) << "the borrower's own range";
}

TEST_F(Peer, TakesThePlaceOfPagesAtTheEndOfTheRange) {
  wire_peer peer = wish();
  peer.addr = kSize - 0x200000;
  ASSERT_EQ(map(peer), 0);
  const auto& all = group.attached->mapped;
  ASSERT_EQ(group.attached->mappings, 3);
  EXPECT_EQ(all[0].size, peer.addr);
  EXPECT_EQ(all[1].iova, peer.addr + 0x2000);
  EXPECT_EQ(all[1].phys, FakeLink::kWindow + kBase + peer.addr + 0x2000);
  EXPECT_EQ(all[2].iova, peer.addr);
  EXPECT_EQ(all[2].phys, kTargetBar + 0x1000);
  EXPECT_EQ(map(peer), -EEXIST);
  // Back to the borrower's memory, when the registers are unmapped.
  EXPECT_EQ(in_session(a, WIRE_CLOSE_SESSION, reached), 0);
  ASSERT_EQ(group.attached->mappings, 2);
  EXPECT_EQ(all[0].size, peer.addr + 0x2000);
  EXPECT_EQ(all[1].iova, peer.addr + 0x2000);
  EXPECT_EQ(unmap(peer.addr, 0x2000), -ENOENT);
}

TEST_F(Peer, HasNoPlaceInLargePages) {
  reaching = open(a, lender.device);  // the session before ends
  own_addresses(false);
  wire_peer peer = wish();
  peer.addr = kSize - 0x200000;
  EXPECT_EQ(map(peer), -ERANGE);
  EXPECT_EQ(map(wish()), 0);
}

TEST_F(Peer, IsAskedForInWholePages) {
  wire_peer peer = wish();
  for (__le64 wire_peer::* field : {&wire_peer::addr, &wire_peer::size, &wire_peer::offset}) {
    peer = wish();
    peer.*field += 8;
    EXPECT_EQ(map(peer), -EINVAL);
  }
  peer = wish();
  peer.size = 0;
  EXPECT_EQ(map(peer), -EINVAL);
  peer = wish();
  peer.addr = ~0xFFFULL;
  EXPECT_EQ(map(peer), -EINVAL);
  for (const u32 access : {0U, 4U}) {
    peer = wish();
    peer.access = access;
    EXPECT_EQ(map(peer), -EINVAL);
  }
}

TEST_F(Peer, NeedsADomain) {
  const u64 again = open(a, lender.device);  // the session before ends
  wire_peer peer = wish();
  EXPECT_EQ(ask(a, WIRE_PEER_MAP, again, peer), -EOPNOTSUPP);
}

}  // namespace
