// SPDX-License-Identifier: GPL-2.0
// A transport without any hardware: its links keep the contract of smartio_transport.h, and record the core's requests.
#pragma once

#include <functional>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "tests/drivers/smartio/driver.h"

struct Sent {
  wire_message message;
  std::string payload;
};

class FakeLink : public smartio_link {
 public:
  explicit FakeLink(const std::string& its_name);
  ~FakeLink();
  FakeLink(const FakeLink&) = delete;
  FakeLink& operator=(const FakeLink&) = delete;

  /// A host introduces itself. Returns the core's result; the link is up if that is 0.
  int join(const smartio_identity& who);
  /// The link is lost, as by a pulled cable.
  void lose(smartio_link_state next = SMARTIO_LINK_DOWN);
  /// A request of the peer, in this generation of the link or another one. Returns its status.
  int ask(const wire_message& header, const void* payload = nullptr, std::optional<u32> in = {});
  /// An order of the peer.
  int order(const std::string& host, bool fenced, unsigned int timeout_ms = 4000, std::optional<u32> in = {});
  /// The messages of a type that the peer was sent.
  std::vector<Sent> sent_of(u16 type) const;

  /// Where this host finds the peer's open memory: kOpen bytes from its address 0 on, and its interrupts.
  static constexpr u64 kWindow = 1ULL << 44;
  static constexpr u64 kOpen = 1ULL << 36;
  bool reaches_irqs = true;

  std::vector<Sent> sent;
  std::vector<Sent> called;
  std::function<int(const wire_message&, void*, size_t*)> answer;
  std::string reply;
  struct Held {
    page* pages;
    smartio_holder holder;
  };
  std::list<page*> pages;
  std::vector<u32> owners;     // of all pages, so far
  std::vector<u32> forgotten;  // owners for which no pages stay
  std::list<Held> held;
  int exposed = 0;
  std::list<smartio_holder> held_addresses;  // of registers that were concealed
  int restarts = 0;
  int mapped = 0;
  int unmaps = 0;  // how often all of a device's mappings ended
  int rechecks = 0;
  bool asks = false;
  bool released = false;
  /// Called while a fence ends the link: before its windows are shut.
  std::function<void()> settling;
};
