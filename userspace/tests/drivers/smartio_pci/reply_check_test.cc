// SPDX-License-Identifier: GPL-2.0
// The replies that a lender may give about a function.
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <vector>

#include "tests/drivers/smartio_pci/driver.h"

namespace {

constexpr unsigned kMsix = 0x50;

spci_describe_reply good() {
  spci_describe_reply reply{};
  reply.version = SPCI_VERSION;
  reply.config_size = SPCI_CONFIG_SIZE;
  reply.vectors = 65;
  reply.bars[0] = {.bus = 0x38'0000'4000, .size = 0x4000, .flags = SPCI_BAR_64 | SPCI_BAR_PREFETCH, .rsvd = 0};
  reply.bars[2] = {.bus = 0xFEBC0000, .size = 0x20000, .flags = 0, .rsvd = 0};
  reply.config[PCI_CAPABILITY_LIST] = kMsix;
  reply.config[kMsix] = PCI_CAP_ID_MSIX;
  reply.config[PCI_CFG_SPACE_SIZE] = PCI_EXT_CAP_ID_DSN;
  reply.config[PCI_CFG_SPACE_SIZE + 2] = 1;
  return reply;
}

bool ok(const spci_describe_reply& reply) { return spci_reply_ok(&reply, sizeof(reply)); }

TEST(ReplyCheck, AFunctionIsAccepted) { EXPECT_TRUE(ok(good())); }

TEST(ReplyCheck, ASmallOneIsAccepted) {
  spci_describe_reply reply = good();
  reply.config_size = 256;
  reply.vectors = 0;
  reply.bars[2].size = 16;
  EXPECT_TRUE(ok(reply));
}

TEST(ReplyCheck, OneThingWrongIsRefused) {
  const std::vector<std::function<void(spci_describe_reply&)>> wrongs = {
      [](auto& r) { r.version = SPCI_VERSION + 1; },
      [](auto& r) { r.config_size = 0; },
      [](auto& r) { r.config_size = 8192; },
      [](auto& r) { r.vectors = 2049; },
      [](auto& r) { r.bars[0].size = 0x5000; },
      [](auto& r) { r.bars[0].size = 8; },
      [](auto& r) { r.bars[0].bus += 0x1000; },
      [](auto& r) { r.bars[0].flags = 4; },
      [](auto& r) { r.bars[1] = r.bars[2]; },
      [](auto& r) { r.bars[2].bus = 0x1'0000'0000; },
      [](auto& r) { r.bars[5] = r.bars[0]; },
      [](auto& r) { r.config[PCI_HEADER_TYPE] = PCI_HEADER_TYPE_BRIDGE; },
      [](auto& r) { r.config[kMsix] = PCI_CAP_ID_PM; },
      [](auto& r) { r.config[kMsix + 1] = kMsix; },
      [](auto& r) { r.config[kMsix + 1] = 0x20; },
      [](auto& r) { r.config[PCI_CAPABILITY_LIST] = kMsix + 1; },
      [](auto& r) {
        r.config[PCI_CAPABILITY_LIST] = 0xFC;
        r.config[0xFC] = PCI_CAP_ID_MSIX;
      },
      [](auto& r) { r.config[PCI_CFG_SPACE_SIZE] = PCI_EXT_CAP_ID_SRIOV; },
      [](auto& r) { r.config[PCI_CFG_SPACE_SIZE + 3] = 0x12; },
  };
  for (std::size_t i = 0; i < wrongs.size(); ++i) {
    spci_describe_reply reply = good();
    wrongs[i](reply);
    EXPECT_FALSE(ok(reply)) << i;
  }
  const spci_describe_reply reply = good();
  EXPECT_FALSE(spci_reply_ok(&reply, sizeof(reply) - 1));
}

}  // namespace
