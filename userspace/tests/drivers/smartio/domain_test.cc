// SPDX-License-Identifier: GPL-2.0
// A device that one borrower has as a whole, and the IOMMU domain that it has for that.
#include "tests/drivers/smartio/core.h"

namespace {

constexpr u64 kIrqs = 0xFED00000;     // where the device finds the borrower's interrupts
constexpr u64 kHole = 0x200000;       // with those of this host
constexpr u64 kBase = 0x8'0000'0000;  // bus addresses that the borrower gives the device
constexpr int kMemory = IOMMU_READ | IOMMU_WRITE | IOMMU_MMIO;

class Domain : public Core {
 protected:
  Domain() {
    lender.pdev.dev.iommu_group = &group;
    a.dma = &ntb;
    EXPECT_EQ(a.join(host('a')), 0);
  }
  ~Domain() override {
    lender.take_back();
    EXPECT_EQ(group.attached, nullptr);
    EXPECT_EQ(group.users, 0);
  }

  static int ask(FakeLink& link, u64 id, u64 base, u64 size) {
    wire_range range{};
    range.offset = base;
    range.size = size;
    return in_session(link, WIRE_OWN_ADDRESSES, id, range);
  }

  iommu_group group = translated_group(7);
  device ntb{};
  FakeLink a{"ntb0"};
};

TEST_F(Domain, LeadsToTheRangeAndToPagesOfInterrupts) {
  const u64 id = open(a, lender.lend(true));
  ASSERT_EQ(ask(a, id, kBase, 0x1000'0000), 0);
  const auto* reply = reinterpret_cast<const wire_addresses*>(a.reply.data());
  ASSERT_EQ(a.reply.size(), sizeof(*reply));
  EXPECT_EQ(reply->base, 0U);
  EXPECT_EQ(reply->hole, kIrqs);
  EXPECT_EQ(reply->hole_size, kHole);
  ASSERT_NE(group.attached, nullptr);
  ASSERT_EQ(group.attached->mappings, 1);
  EXPECT_EQ(group.attached->mapped[0].iova, 0U);
  EXPECT_EQ(group.attached->mapped[0].phys, FakeLink::kWindow + kBase);
  EXPECT_EQ(group.attached->mapped[0].size, 0x1000'0000U);
  EXPECT_EQ(group.attached->mapped[0].prot, kMemory);
  EXPECT_EQ(group.attached->maps, 1) << "in large pages";
  u64 address = 0;
  for (int twice = 0; twice < 2; ++twice)
    EXPECT_EQ(smartio_session_irq_target(lender.open.at(0), 0xFEE01230, &address), 0);
  EXPECT_EQ(address, kIrqs + 0x1230);
  ASSERT_EQ(group.attached->mappings, 2);
  EXPECT_EQ(group.attached->mapped[1].iova, kIrqs + 0x1000);
  EXPECT_EQ(group.attached->mapped[1].phys, FakeLink::kWindow + 0xFEE01000);
  EXPECT_EQ(group.attached->mapped[1].size, 0x1000U);
  EXPECT_EQ(group.attached->mapped[1].prot, IOMMU_WRITE | IOMMU_MMIO);
  EXPECT_EQ(a.mapped, 0);  // in the domain of this host's drivers
  EXPECT_EQ(in_session(a, WIRE_CLOSE_SESSION, id), 0);
  EXPECT_EQ(group.attached, nullptr);
}

TEST_F(Domain, LeavesOutTheInterruptsInALargeRange) {
  const u64 id = open(a, lender.lend(true));
  ASSERT_EQ(ask(a, id, kBase, 1ULL << 33), 0);
  ASSERT_EQ(group.attached->mappings, 2);
  EXPECT_EQ(group.attached->mapped[0].size, kIrqs);
  EXPECT_EQ(group.attached->mapped[1].iova, kIrqs + kHole);
  EXPECT_EQ(group.attached->mapped[1].phys, FakeLink::kWindow + kBase + kIrqs + kHole);
  EXPECT_EQ(group.attached->mapped[1].size, (1ULL << 33) - kIrqs - kHole);
}

TEST_F(Domain, AddressesOfTheBorrowerAreThoseOfTheDomain) {
  const u64 id = open(a, lender.lend(true));
  smartio_session* session = lender.open.at(0);
  ASSERT_EQ(ask(a, id, kBase, 1ULL << 33), 0);
  u64 address = 0;
  EXPECT_EQ(smartio_session_dma(session, kBase + 0x5000, 16, &address), 0);
  EXPECT_EQ(address, 0x5000U);
  EXPECT_EQ(smartio_session_dma(session, kBase - 1, 16, &address), -ERANGE);
  EXPECT_EQ(smartio_session_dma(session, kBase + (1ULL << 33) - 15, 16, &address), -ERANGE);
  EXPECT_EQ(smartio_session_dma(session, kBase + kIrqs - 8, 16, &address), -ERANGE);
  EXPECT_EQ(smartio_session_dma(session, kBase + kIrqs + kHole, 16, &address), 0);
  EXPECT_EQ(smartio_session_irq_target(session, 0xFEE01230, &address), 0);
  EXPECT_EQ(address, kIrqs + 0x1230);
  EXPECT_EQ(smartio_session_irq_target(session, 0xFEE01232, &address), -EINVAL);
  EXPECT_EQ(smartio_session_irq_target(session, 0xFEDFFFFC, &address), -EINVAL);
  EXPECT_EQ(smartio_session_irq_target(session, 0xFEF00000, &address), -EINVAL);
}

TEST_F(Domain, WithoutAWindowToInterruptsThereAreNone) {
  a.reaches_irqs = false;
  const u64 id = open(a, lender.lend(true));
  ASSERT_EQ(ask(a, id, kBase, 0x1000), 0);
  EXPECT_EQ(group.attached->mappings, 1);
  u64 address = 0;
  EXPECT_EQ(smartio_session_irq_target(lender.open.at(0), 0xFEE01230, &address), -ERANGE);
}

TEST_F(Domain, RefusesWhatIsNotOpenOrAskedTwice) {
  const u64 id = open(a, lender.lend(true));
  EXPECT_EQ(ask(a, id, kBase, 0), -EINVAL);
  EXPECT_EQ(ask(a, id, kBase + 1, 0x1000), -EINVAL);
  EXPECT_EQ(ask(a, id, kBase, 0x1001), -EINVAL);
  EXPECT_EQ(ask(a, id, ~0xFFFULL, 0x2000), -EINVAL);
  EXPECT_EQ(ask(a, id, FakeLink::kOpen - 0x1000, 0x2000), -ERANGE);
  EXPECT_EQ(group.attached, nullptr);
  EXPECT_EQ(ask(a, id, kBase, 0x1000), 0);
  EXPECT_EQ(ask(a, id, kBase, 0x1000), -EBUSY);
}

TEST_F(Domain, IsNotForDevicesThatAreShared) {
  const u64 id = open(a, lender.lend());
  EXPECT_EQ(ask(a, id, kBase, 0x1000), -EOPNOTSUPP);
}

TEST_F(Domain, IsNotForAGroupOfTwo) {
  pci_dev other{};
  group.devices[0] = &lender.pdev.dev;
  group.devices[1] = &other.dev;
  EXPECT_EQ(group_allow("0000:01:00.0", 12, GROUP_ALLOWED_SHARED), 0);
  const u64 id = open(a, lender.lend(true));
  EXPECT_EQ(ask(a, id, kBase, 0x1000), -EOPNOTSUPP);
  EXPECT_EQ(group.attached, nullptr);
}

TEST_F(Domain, ABridgeInTheGroupLeadsToTheDeviceAndIsNoOther) {
  pci_dev bridge{};
  bridge.bridge = 1;
  group.devices[0] = &bridge.dev;
  group.devices[1] = &lender.pdev.dev;
  const u64 id = open(a, lender.lend(true));
  EXPECT_EQ(ask(a, id, kBase, 0x1000), 0);
  EXPECT_NE(group.attached, nullptr);
}

TEST_F(Domain, EndsWithTheLink) {
  const u64 id = open(a, lender.lend(true));
  ASSERT_EQ(ask(a, id, kBase, 0x1000), 0);
  a.lose();
  EXPECT_EQ(group.attached, nullptr);
  EXPECT_TRUE(lender.open.empty());
}

}  // namespace
