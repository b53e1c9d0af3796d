// SPDX-License-Identifier: GPL-2.0
// A ring and a hello of another host: for any bytes, an accepted value stays within its bounds. The ring is read as
// link_rx_one() does it; only the numbers that say whether a message is there are taken as right.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tests/drivers/ntb_smartio/driver.h"

namespace {

constexpr u32 kMaxLength = 2048;
constexpr u64 kWindows[] = {1ULL << 32, 1ULL << 20};

void require(bool held) {
  if (!held) std::abort();
}

void require_text(const char* text, std::size_t size) {
  const std::size_t length = strnlen(text, size);
  require(length > 0 && length < size);
}

void require_apertures(const wire_aperture* apertures) {
  for (int i = 0; i < WIRE_APERTURES; i++) {
    if (apertures[i].size == 0) continue;
    require(apertures[i].mw < 2 && apertures[i].size <= kWindows[apertures[i].mw]);
    require(apertures[i].base <= ~0ULL - apertures[i].size);
  }
}

void look_at_hello(const std::uint8_t* data) {
  wire_hello hello;
  std::memcpy(&hello, data, sizeof(hello));
  hello.valid = hello.generation;
  hello.crc = wire_hello_crc(&hello);  // no fuzzer finds it
  if (wire_apertures_ok(hello.apertures, 2, kWindows)) require_apertures(hello.apertures);
  if (wire_hello_check(&hello, hello.generation, hello.echo) != WIRE_REASON_NONE) return;
  require_text(hello.name, sizeof(hello.name));
  require(hello.ring_slots >= WIRE_RING_MIN && hello.ring_slots <= WIRE_RING_MAX && hello.doorbell < 64);
}

void look_at_payload(const wire_message& message, const std::vector<std::uint8_t>& payload) {
  if (!payload_ok(message, payload.data())) return;
  if (message.type == WIRE_DEVICE) {
    wire_device device;
    require(payload.size() == sizeof(device));
    std::memcpy(&device, payload.data(), sizeof(device));
    require_text(device.service, sizeof(device.service));
    require_text(device.pci, sizeof(device.pci));
  } else if (message.type == WIRE_APERTURE) {
    wire_aperture apertures[WIRE_APERTURES];
    require(payload.size() == sizeof(apertures));
    std::memcpy(apertures, payload.data(), sizeof(apertures));
    if (wire_apertures_ok(apertures, 2, kWindows)) require_apertures(apertures);
  } else if (message.type == WIRE_REPLY) {
    require(message.status <= 0 && message.status >= -4095);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < sizeof(wire_hello) + WIRE_SLOT) return 0;
  look_at_hello(data);
  const u32 slots = static_cast<u32>((size - sizeof(wire_hello)) / WIRE_SLOT);
  const std::vector<std::uint8_t> ring(data + sizeof(wire_hello), data + sizeof(wire_hello) + slots * WIRE_SLOT);
  for (u32 position = 0; position < slots;) {
    wire_head head;
    wire_message message{};
    std::memcpy(&head, &ring[position * WIRE_SLOT], sizeof(head));
    const int taken = wire_head_check(&head, slots, position, kMaxLength, &message);
    if (taken < 0) return 0;
    require(taken >= 1 && static_cast<u32>(taken) <= slots - position && message.length <= kMaxLength);
    const auto first = ring.begin() + static_cast<std::ptrdiff_t>((position + 1) * WIRE_SLOT);
    require(message.length <= static_cast<u32>(taken - 1) * WIRE_SLOT);
    if (message.length > 0) {
      look_at_payload(message, std::vector<std::uint8_t>(first, first + static_cast<std::ptrdiff_t>(message.length)));
    } else if (message.type != WIRE_PAD) {
      look_at_payload(message, {});
    }
    position += static_cast<u32>(taken);
  }
  return 0;
}
