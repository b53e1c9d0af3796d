// SPDX-License-Identifier: GPL-2.0
// The core, loaded again for each test, a drive to lend, and hosts.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/drivers/kernel_shim/shim.h"
#include "tests/drivers/smartio/driver.h"
#include "tests/drivers/smartio/fake_link.h"

inline smartio_identity host(char letter, u32 incarnation = 1) {
  smartio_identity who{};
  who.uuid.b[0] = static_cast<u8>(letter);
  who.name[0] = letter;
  who.incarnation = incarnation;
  return who;
}

/// An IOMMU group without devices yet, translated.
inline iommu_group translated_group(int id) {
  iommu_group group{};
  group.id = id;
  group.domain.type = __IOMMU_DOMAIN_PAGING;
  return group;
}

/// The lender's half of a device.
class Lender {
 public:
  Lender() {
    std::strcpy(pdev.dev.name, "0000:01:00.0");
    pdev.bars[0] = {0xE0000000, 0x4000, IORESOURCE_MEM};
  }

  smartio_export* lend(bool exclusive = false) {
    return device = smartio_lend(&pdev, "test", exclusive ? &exclusive_ops : &ops, this, &module, 2, 3);
  }

  void take_back() {
    smartio_unlend(device);
    device = nullptr;
  }

  pci_dev pdev{};
  struct module module{};
  smartio_export* device = nullptr;
  std::vector<smartio_session*> open;
  int ending = 0;
  int closed = 0;
  int peer_losses = 0;
  int open_says = 0;
  std::function<void(smartio_session*)> opening;
  std::function<void(smartio_session*)> closing;
  std::function<int(smartio_session*, void*, size_t*)> request;

 private:
  static Lender& of(smartio_session* session) {
    return *static_cast<Lender*>(smartio_export_context(session->export_member));
  }

  static int do_open(smartio_session* session) {
    Lender& self = of(session);
    if (self.opening) self.opening(session);
    if (!self.open_says) self.open.push_back(session);
    return self.open_says;
  }

  static void do_ending(smartio_session* session) { of(session).ending++; }

  static void do_close(smartio_session* session) {
    if (of(session).closing) of(session).closing(session);
    std::erase(of(session).open, session);
    of(session).closed++;
  }

  static int do_request(smartio_session* session, const void* /*request*/, size_t /*size*/, void* reply, size_t* size) {
    if (of(session).request) return of(session).request(session, reply, size);
    *size = 0;
    return 0;
  }

  static void do_peers_lost(smartio_session* session) { of(session).peer_losses++; }

  static const smartio_lender_ops ops;
  static const smartio_lender_ops exclusive_ops;
};

inline const smartio_lender_ops Lender::ops = {.open = do_open,
                                               .ending = do_ending,
                                               .close = do_close,
                                               .request = do_request,
                                               .show = nullptr,
                                               .peers_lost = nullptr,
                                               .exclusive = false};
inline const smartio_lender_ops Lender::exclusive_ops = {.open = do_open,
                                                         .ending = nullptr,
                                                         .close = do_close,
                                                         .request = do_request,
                                                         .show = nullptr,
                                                         .peers_lost = do_peers_lost,
                                                         .exclusive = true};

/// A host with links to others, loaded and ready.
class Core : public testing::Test {
 protected:
  Core() { EXPECT_EQ(shim_module_init(), 0); }
  ~Core() override {
    shim::meanwhile = nullptr;
    if (lender.device) lender.take_back();
    EXPECT_TRUE(lender.open.empty());
    EXPECT_EQ(lender.pdev.users, 0);
    EXPECT_EQ(lender.module.users, 0);
    EXPECT_EQ(lender.pdev.dev.mappings, 0);
    shim_module_exit();
    EXPECT_EQ(shim::locks(), 0);
  }

  /// A session of the peer of a link. Returns its id, or 0.
  static u64 open(FakeLink& link, const smartio_export* device, int expected = 0) {
    wire_message header{};
    header.type = WIRE_OPEN_SESSION;
    header.object = device->id;
    header.timeout_ms = 60000;
    EXPECT_EQ(link.ask(header), expected);
    if (link.reply.size() != sizeof(wire_opened)) return 0;
    return reinterpret_cast<const wire_opened*>(link.reply.data())->session;
  }

  static int in_session(FakeLink& link, u16 type, u64 session, const wire_range& range = {}) {
    wire_message header{};
    header.type = type;
    header.context = session;
    const bool ranged =
        type == WIRE_SEGMENT_ALLOC || type == WIRE_SEGMENT_FREE || type == WIRE_MAP_BAR || type == WIRE_OWN_ADDRESSES;
    header.length = ranged ? sizeof(range) : type == WIRE_REQUEST ? 4 : 0;
    return link.ask(header, &range);
  }

  /// A message in a session, with its payload. Returns the status that the core answers.
  template <class Payload>
  static int ask(FakeLink& link, u16 type, u64 session, const Payload& payload) {
    wire_message header{};
    header.type = type;
    header.context = session;
    header.length = sizeof(payload);
    return link.ask(header, &payload);
  }

  /// Memory beside the device for a session. Returns its handle, or 0.
  static u32 segment(FakeLink& link, u64 session, u64 size, int expected = 0) {
    wire_range range{};
    range.size = size;
    EXPECT_EQ(in_session(link, WIRE_SEGMENT_ALLOC, session, range), expected);
    if (link.reply.size() != sizeof(wire_segment)) return 0;
    return reinterpret_cast<const wire_segment*>(link.reply.data())->handle;
  }

  Lender lender;
};
