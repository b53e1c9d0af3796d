// SPDX-License-Identifier: GPL-2.0
// A device that is lent here reaches registers of one that another host lends to the same borrower. This host asks that
// one for them, over the link between the two.
#include "tests/drivers/smartio/core.h"

namespace {

constexpr u64 kBase = 0x8'0000'0000;
constexpr u64 kSize = 0x1000'0000;
constexpr u64 kPlace = 1ULL << 38;
constexpr u64 kThere = 0x1234'5000;  // where the other lender has its device's registers for this host
constexpr u64 kGrant = 0xfeed'beef'0042'0017;

class Far : public Core {
 protected:
  Far() {
    lender.pdev.dev.iommu_group = &group;
    a.dma = &ntb;
    between.dma = &ntb;
    EXPECT_EQ(a.join(host('a')), 0);
    EXPECT_EQ(between.join(host('m')), 0);
    between.answer = [this](const wire_message& message, void* reply, size_t* size) {
      EXPECT_EQ(message.type, WIRE_PEER_TAKE);
      EXPECT_EQ(shim::locks(), 0) << "somebody may have to wait for the other lender";
      if (meanwhile) meanwhile();
      if (!says) {
        *size = reply_size;
        static_cast<wire_segment*>(reply)->peer_addr = there;
      }
      return says;
    };
    reaching = open(a, lender.lend(true));
    wire_range range{};
    range.offset = kBase;
    range.size = kSize;
    range.handle = 1;
    EXPECT_EQ(in_session(a, WIRE_OWN_ADDRESSES, reaching, range), 0);
  }
  ~Far() override {
    lender.take_back();
    EXPECT_EQ(group.users, 0);
  }

  static wire_peer wish() {
    wire_peer peer{};
    peer.host[0] = 'm';
    peer.addr = kPlace;
    peer.size = 0x2000;
    peer.target = kGrant;
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
  static int end(FakeLink& link, u64 grant) {
    wire_message header{};
    wire_granted granted{};
    header.type = WIRE_PEER_END;
    header.length = sizeof(granted);
    granted.grant = grant;
    return link.ask(header, &granted);
  }
  /// Mappings of the device, but for its borrower's range.
  int mapped() const { return group.attached->mappings - 1; }

  iommu_group group = translated_group(7);
  device ntb{};
  FakeLink a{"ntb0"};
  FakeLink between{"ntb1"};
  u64 reaching = 0;
  int says = 0;
  u64 there = kThere;
  size_t reply_size = sizeof(wire_segment);
  std::function<void()> meanwhile;
};

TEST_F(Far, IsReachedThroughTheWindowToTheOtherLender) {
  ASSERT_EQ(map(wish()), 0);
  ASSERT_EQ(mapped(), 1);
  EXPECT_EQ(group.attached->mapped[1].iova, kPlace);
  EXPECT_EQ(group.attached->mapped[1].phys, FakeLink::kWindow + kThere);
  EXPECT_EQ(group.attached->mapped[1].size, 0x2000U);
  EXPECT_EQ(group.attached->mapped[1].prot, IOMMU_READ | IOMMU_WRITE | IOMMU_MMIO);
  ASSERT_EQ(between.called.size(), 1U);
  wire_take take{};
  ASSERT_EQ(between.called[0].payload.size(), sizeof(take));
  std::memcpy(&take, between.called[0].payload.data(), sizeof(take));
  EXPECT_EQ(take.grant, kGrant);
  EXPECT_EQ(take.size, 0x2000U);
  EXPECT_EQ(take.access, static_cast<u32>(WIRE_PEER_READ | WIRE_PEER_WRITE));
  EXPECT_EQ(take.borrower[0], 'a') << "for whose device";
  EXPECT_EQ(unmap(kPlace, 0x2000), 0);
  EXPECT_EQ(mapped(), 0);
  wire_peer write_only = wish();
  write_only.access = WIRE_PEER_WRITE;
  ASSERT_EQ(map(write_only), 0);
  EXPECT_EQ(group.attached->mapped[1].prot, IOMMU_WRITE | IOMMU_MMIO);
}

TEST_F(Far, EndsWhenTheOtherLenderSaysSo) {
  wire_peer second = wish();
  second.addr += 0x10000;
  second.target++;
  ASSERT_EQ(map(wish()), 0);
  ASSERT_EQ(map(second), 0);
  EXPECT_EQ(end(a, kGrant), 0);
  EXPECT_EQ(mapped(), 2) << "another host has that number, too";
  EXPECT_EQ(end(between, kGrant), 0);
  ASSERT_EQ(mapped(), 1);
  EXPECT_EQ(group.attached->mapped[1].iova, second.addr);
  EXPECT_EQ(end(between, kGrant), 0) << "it may ask again";
  EXPECT_EQ(unmap(kPlace, 0x2000), -ENOENT);
}

TEST_F(Far, EndsWithTheLinkBetweenTheLenders) {
  ASSERT_EQ(map(wish()), 0);
  between.lose();
  EXPECT_EQ(mapped(), 0);
  EXPECT_EQ(lender.open.size(), 1U);
  EXPECT_EQ(map(wish()), -EXDEV);
  ASSERT_EQ(between.join(host('m')), 0);
  EXPECT_EQ(mapped(), 0) << "by itself";
  EXPECT_EQ(map(wish()), 0);
}

TEST_F(Far, EndsWithItsSession) {
  ASSERT_EQ(map(wish()), 0);
  EXPECT_EQ(in_session(a, WIRE_CLOSE_SESSION, reaching), 0);
  EXPECT_EQ(group.attached, nullptr);
  EXPECT_EQ(end(between, kGrant), 0);
  between.lose();
}

TEST_F(Far, EndsWithTheLinkToItsBorrower) {
  ASSERT_EQ(map(wish()), 0);
  a.lose();
  EXPECT_EQ(group.attached, nullptr);
}

TEST_F(Far, TheLendersHalfLearnsThatTheLinkBetweenIsLost) {
  ASSERT_EQ(map(wish()), 0);
  EXPECT_EQ(lender.peer_losses, 0);
  between.lose();
  shim_pause(1);  // others run
  EXPECT_EQ(lender.peer_losses, 1);
}

TEST_F(Far, IsNotMappedIfItEndsWhileItIsAskedFor) {
  for (const auto& ends : std::vector<std::function<void()>>{[this] { EXPECT_EQ(end(between, kGrant), 0); },
                                                             [this] { EXPECT_EQ(unmap(kPlace, 0x2000), 0); },
                                                             [this] {
                                                               between.lose();
                                                               EXPECT_EQ(between.join(host('m')), 0);
                                                             }}) {
    meanwhile = ends;
    EXPECT_EQ(map(wish()), -ENOLINK) << "its borrower asks again";
    EXPECT_EQ(mapped(), 0);
  }
  meanwhile = nullptr;
  EXPECT_EQ(map(wish()), 0) << "its place is free";
}

TEST_F(Far, HasItsPlaceFromTheBeginning) {
  int second = 0;
  meanwhile = [&] {
    meanwhile = nullptr;
    second = map(wish());
  };
  EXPECT_EQ(map(wish()), 0);
  EXPECT_EQ(second, -EBUSY);
  wire_peer peer = wish();
  peer.addr = 0;
  EXPECT_EQ(map(peer), -ERANGE);
  EXPECT_EQ(between.called.size(), 1U) << "nobody is asked for what has no place";
}

TEST_F(Far, AFewAreAskedForAtOnce) {
  int asked = 0;
  int refused = 0;
  meanwhile = [&] {
    wire_peer next = wish();
    next.addr += 0x10000 * static_cast<u64>(++asked);
    refused += map(next) == -EBUSY;
  };
  wire_peer read_only = wish();
  read_only.access = WIRE_PEER_READ;
  says = -EACCES;
  EXPECT_EQ(map(read_only), -EACCES);
  EXPECT_EQ(asked, 16);
  EXPECT_EQ(refused, 1);
}

TEST_F(Far, TakesThePlaceOfPagesAtTheEndOfTheRange) {
  wire_peer peer = wish();
  peer.addr = kSize - 0x200000;
  ASSERT_EQ(map(peer), 0);
  ASSERT_EQ(group.attached->mappings, 3);
  EXPECT_EQ(group.attached->mapped[2].phys, FakeLink::kWindow + kThere);
  EXPECT_EQ(end(between, kGrant), 0);
  ASSERT_EQ(group.attached->mappings, 2);
  EXPECT_EQ(group.attached->mapped[0].size, peer.addr + 0x2000) << "its borrower's again";
}

TEST_F(Far, NeedsALink) {
  wire_peer peer = wish();
  peer.host[0] = 'q';
  EXPECT_EQ(map(peer), -EXDEV);
  EXPECT_EQ(between.called.size(), 0U);
  EXPECT_EQ(a.called.size(), 0U);
}

TEST_F(Far, NeedsADomain) {
  const u64 again = open(a, lender.device);  // the session before ends
  EXPECT_EQ(ask(a, WIRE_PEER_MAP, again, wish()), -EOPNOTSUPP);
  EXPECT_EQ(between.called.size(), 0U);
}

TEST_F(Far, IsWhatTheOtherLenderSays) {
  says = -EACCES;
  EXPECT_EQ(map(wish()), -EACCES);
  says = 0;
  there = FakeLink::kOpen - 0x1000;
  EXPECT_EQ(map(wish()), -ERANGE) << "not open to this host";
  there = kThere + 8;
  EXPECT_EQ(map(wish()), -EPROTO);
  there = kThere;
  reply_size = 0;
  EXPECT_EQ(map(wish()), -EPROTO);
  reply_size = sizeof(wire_segment);
  EXPECT_EQ(mapped(), 0);
  EXPECT_EQ(map(wish()), 0) << "its place is free";
}

}  // namespace
