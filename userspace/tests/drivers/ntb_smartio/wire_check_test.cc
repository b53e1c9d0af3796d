// SPDX-License-Identifier: GPL-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <string_view>
#include <vector>

#include "tests/drivers/ntb_smartio/driver.h"

namespace {

constexpr u32 kGeneration = 0x11223344;
constexpr u32 kEcho = 0x55667788;
constexpr u32 kSlots = 4096;
constexpr u32 kMaxLength = 67584;
constexpr std::array<u64, 2> kWindows = {1ULL << 32, 1ULL << 20};

wire_hello good_hello() {
  wire_hello hello{};
  hello.magic = WIRE_MAGIC << 16 | WIRE_VERSION;
  hello.generation = kGeneration;
  hello.echo = kEcho;
  hello.doorbell = 3;
  hello.heartbeat_ms = 100;
  hello.ring = 0x10000;
  hello.ring_slots = 8192;
  hello.apertures[0].size = 1ULL << 32;
  std::strcpy(hello.name, "lender");
  hello.crc = wire_hello_crc(&hello);
  hello.valid = kGeneration;
  return hello;
}

template <std::size_t N>
void set_text(char (&field)[N], std::string_view text) {
  std::fill(std::begin(field), std::end(field), '\0');
  std::copy(text.begin(), text.end(), field);
}

wire_message message_of(u16 type, u32 length) {
  wire_message message{};
  message.type = type;
  message.length = length;
  return message;
}

TEST(Hello, GoodOneIsAccepted) {
  const wire_hello hello = good_hello();
  EXPECT_EQ(wire_hello_check(&hello, kGeneration, kEcho), WIRE_REASON_NONE);
  EXPECT_TRUE(wire_apertures_ok(hello.apertures, kWindows.size(), kWindows.data()));
}

TEST(Hello, OneThatIsNotThereYetIsWaitedFor) {
  const wire_hello hello = good_hello();
  EXPECT_EQ(wire_hello_check(&hello, kGeneration + 1, kEcho), WIRE_REASONS);
  EXPECT_EQ(wire_hello_check(&hello, kGeneration, kEcho + 1), WIRE_REASONS);
  wire_hello half = hello;
  half.valid = 0;
  EXPECT_EQ(wire_hello_check(&half, kGeneration, kEcho), WIRE_REASONS);
}

TEST(Hello, EveryBitIsCoveredByTheChecksum) {
  for (std::size_t bit = 0; bit < sizeof(wire_hello) * 8; bit++) {
    wire_hello hello = good_hello();
    reinterpret_cast<unsigned char*>(&hello)[bit / 8] ^= static_cast<unsigned char>(1U << bit % 8);
    EXPECT_EQ(wire_hello_check(&hello, kGeneration, kEcho), WIRE_REASONS) << "bit " << bit;
  }
}

TEST(Hello, WithOneThingWrongIsRefused) {
  struct Wrong {
    std::function<void(wire_hello&)> make;
    wire_reason reason;
  };
  const std::vector<Wrong> wrongs = {
      {[](auto& h) { h.magic = WIRE_MAGIC << 16 | (WIRE_VERSION + 1); }, WIRE_REASON_VERSION},
      {[](auto& h) { h.magic = WIRE_VERSION; }, WIRE_REASON_VERSION},
      {[](auto& h) { h.ring_slots = WIRE_RING_MIN - 1; }, WIRE_REASON_BAD_HELLO},
      {[](auto& h) { h.ring_slots = WIRE_RING_MAX + 1; }, WIRE_REASON_BAD_HELLO},
      {[](auto& h) { h.ring = 0x10020; }, WIRE_REASON_BAD_HELLO},
      {[](auto& h) { h.doorbell = 64; }, WIRE_REASON_BAD_HELLO},
      {[](auto& h) { set_text(h.name, ""); }, WIRE_REASON_BAD_HELLO},
      {[](auto& h) { set_text(h.name, "a b"); }, WIRE_REASON_BAD_HELLO},
      {[](auto& h) { set_text(h.name, "../x"); }, WIRE_REASON_BAD_HELLO},
      {[](auto& h) { std::memset(h.name, 'a', sizeof(h.name)); }, WIRE_REASON_BAD_HELLO},
  };
  for (std::size_t i = 0; i < wrongs.size(); i++) {
    wire_hello hello = good_hello();
    wrongs[i].make(hello);
    hello.crc = wire_hello_crc(&hello);
    EXPECT_EQ(wire_hello_check(&hello, kGeneration, kEcho), wrongs[i].reason) << "number " << i;
  }
}

TEST(Doorbells, OnlyThoseOfTheNtbThatAreNotForMessages) {
  constexpr u64 kValid = 0x8000'0000'ffff'fffeULL;
  EXPECT_TRUE(wire_doorbell_ok(2, kValid, 1));
  EXPECT_TRUE(wire_doorbell_ok(31, kValid, 1));
  EXPECT_TRUE(wire_doorbell_ok(63, kValid, 1));
  EXPECT_FALSE(wire_doorbell_ok(1, kValid, 1)) << "that of messages";
  EXPECT_FALSE(wire_doorbell_ok(0, kValid, 1));
  EXPECT_FALSE(wire_doorbell_ok(32, kValid, 1));
  EXPECT_FALSE(wire_doorbell_ok(64, ~0ULL, 1));
  EXPECT_FALSE(wire_doorbell_ok(65, ~0ULL, 1)) << "not the doorbell 1";
  EXPECT_FALSE(wire_doorbell_ok(0xffffffff, ~0ULL, 1));
}

TEST(Hello, FlagsThatAreNotKnownAreIgnored) {
  wire_hello hello = good_hello();
  hello.flags = ~0U;
  hello.crc = wire_hello_crc(&hello);
  EXPECT_EQ(wire_hello_check(&hello, kGeneration, kEcho), WIRE_REASON_NONE);
}

TEST(Apertures, OutsideTheWindowsAreRefused) {
  const auto ok = [](const std::function<void(wire_aperture*)>& change) {
    wire_hello hello = good_hello();
    change(hello.apertures);
    return wire_apertures_ok(hello.apertures, kWindows.size(), kWindows.data());
  };
  EXPECT_TRUE(ok([](auto* a) { a[3] = {.mw = 1, .rsvd = 0, .base = 0xFEE00000, .size = 1 << 20}; }));
  EXPECT_FALSE(ok([](auto* a) { a[0].size = 0; }));
  EXPECT_FALSE(ok([](auto* a) { a[0].size = (1ULL << 32) + 1; }));
  EXPECT_TRUE(ok([](auto* a) { a[1] = {.mw = 1, .rsvd = 0, .base = 0, .size = kWindows[1]}; }));
  EXPECT_FALSE(ok([](auto* a) { a[1] = {.mw = 1, .rsvd = 0, .base = 0, .size = kWindows[1] + 1}; }));
  EXPECT_FALSE(ok([](auto* a) { a[0].mw = 2; }));
  EXPECT_FALSE(ok([](auto* a) { a[1] = {.mw = 0xFFFFFFFF, .rsvd = 0, .base = 0, .size = 1}; }));
  EXPECT_FALSE(ok([](auto* a) { a[1] = {.mw = 1, .rsvd = 0, .base = ~0ULL, .size = 2}; }));
}

TEST(WindowSizes, ComeThroughAScratchpad) {
  const std::array<u64, 5> sizes = {1ULL << 38, 64 << 20, 0, 4096, 1 << 20};
  const u32 packed = wire_windows_pack(sizes.data(), sizes.size());
  for (u32 mw = 0; mw < WIRE_WINDOWS; mw++) EXPECT_EQ(wire_window_size(packed, mw), sizes[mw]) << "window " << mw;
  EXPECT_EQ(wire_window_size(packed, WIRE_WINDOWS), 0U) << "there is no room for a fifth one";
  EXPECT_EQ(wire_windows_pack(sizes.data(), 1), 38U) << "of as many windows as there are";
}

TEST(WindowSizes, OfNoPowerOfTwoAreRoundedDown) {
  const std::array<u64, 3> sizes = {(1ULL << 32) - 4096, 4095, 12288};
  const u32 packed = wire_windows_pack(sizes.data(), sizes.size());
  EXPECT_EQ(wire_window_size(packed, 0), 1ULL << 31);
  EXPECT_EQ(wire_window_size(packed, 1), 0U) << "less than a page is no window";
  EXPECT_EQ(wire_window_size(packed, 2), 8192U);
}

TEST(WindowSizes, OfAnotherHostAreChecked) {
  EXPECT_EQ(wire_window_size(11, 0), 0U);
  EXPECT_EQ(wire_window_size(12, 0), 4096U);
  EXPECT_EQ(wire_window_size(63, 0), 1ULL << 63);
  EXPECT_EQ(wire_window_size(64, 0), 0U);
  EXPECT_EQ(wire_window_size(0xFF00FFFF, 0), 0U);
  EXPECT_EQ(wire_window_size(0xFFFFFFFF, 7), 0U);
}

TEST(Head, LengthsStayInTheRing) {
  const auto slots = [](u16 type, u32 length, u32 position) {
    wire_head head{};
    wire_message message{};
    head.type = type;
    head.length = length;
    return wire_head_check(&head, kSlots, position, kMaxLength, &message);
  };
  EXPECT_EQ(slots(WIRE_NOTIFY, 0, 0), 1);
  EXPECT_EQ(slots(WIRE_NOTIFY, 1, 0), 2);
  EXPECT_EQ(slots(WIRE_NOTIFY, 64, 0), 2);
  EXPECT_EQ(slots(WIRE_NOTIFY, 65, 0), 3);
  EXPECT_EQ(slots(WIRE_NOTIFY, kMaxLength, 0), 1 + static_cast<int>(kMaxLength) / WIRE_SLOT);
  EXPECT_EQ(slots(WIRE_NOTIFY, kMaxLength + 1, 0), -EBADMSG);
  EXPECT_EQ(slots(WIRE_NOTIFY, 0xFFFFFFFF, 0), -EBADMSG);
  EXPECT_EQ(slots(WIRE_NOTIFY, 0, kSlots - 1), 1);
  EXPECT_EQ(slots(WIRE_NOTIFY, 1, kSlots - 1), -EBADMSG);
  EXPECT_EQ(slots(WIRE_PAD, 0xFFFFFFFF, kSlots - 7), 7);
  EXPECT_EQ(slots(WIRE_PAD, 0, kSlots), -EBADMSG);
  EXPECT_EQ(slots(WIRE_TYPES, 0, 0), -EBADMSG);
}

TEST(Head, IsDecoded) {
  wire_head head{};
  head.type = WIRE_REPLY;
  head.length = 5;
  head.object = 6;
  head.request = 7;
  head.context = 0x123456789ABCDEF0;
  head.status = static_cast<u32>(-EACCES);
  head.timeout_ms = 8;
  head.reply_max = 9;
  wire_message message{};
  ASSERT_EQ(wire_head_check(&head, kSlots, 0, kMaxLength, &message), 2);
  EXPECT_EQ(message.type, WIRE_REPLY);
  EXPECT_EQ(message.length, 5U);
  EXPECT_EQ(message.object, 6U);
  EXPECT_EQ(message.request, 7U);
  EXPECT_EQ(message.context, 0x123456789ABCDEF0U);
  EXPECT_EQ(message.status, -EACCES);
  EXPECT_EQ(message.timeout_ms, 8U);
  EXPECT_EQ(message.reply_max, 9U);
}

TEST(Payload, HasTheLengthOfItsType) {
  const std::array<unsigned char, 256> bytes{};
  const auto ok = [&](u16 type, u32 length) {
    const wire_message message = message_of(type, length);
    return payload_ok(message, bytes.data());
  };
  for (const u16 type : std::array<u16, 6>{WIRE_DEVICE_GONE, WIRE_DEVICE_END, WIRE_ENDED, WIRE_OPEN_SESSION,
                                           WIRE_CLOSE_SESSION, WIRE_REVOKE}) {
    EXPECT_TRUE(ok(type, 0)) << type;
    EXPECT_FALSE(ok(type, 1)) << type;
  }
  for (const u16 type : std::array<u16, 3>{WIRE_SEGMENT_ALLOC, WIRE_SEGMENT_FREE, WIRE_MAP_BAR}) {
    EXPECT_TRUE(ok(type, sizeof(wire_range))) << type;
    EXPECT_FALSE(ok(type, sizeof(wire_range) - 1)) << type;
    EXPECT_FALSE(ok(type, 0)) << type;
  }
  EXPECT_TRUE(ok(WIRE_APERTURE, WIRE_APERTURES * sizeof(wire_aperture)));
  EXPECT_FALSE(ok(WIRE_APERTURE, sizeof(wire_aperture)));
  EXPECT_TRUE(ok(WIRE_REQUEST, 1));
  EXPECT_FALSE(ok(WIRE_REQUEST, 0));
  EXPECT_TRUE(ok(WIRE_NOTIFY, 0));
}

TEST(Payload, StatusOfAReplyIsAnErrorNumber) {
  const auto ok = [](s32 status) {
    wire_message message = message_of(WIRE_REPLY, 0);
    message.status = status;
    return payload_ok(message, nullptr);
  };
  EXPECT_TRUE(ok(0));
  EXPECT_TRUE(ok(-4095));
  EXPECT_FALSE(ok(1));
  EXPECT_FALSE(ok(-4096));
}

TEST(Payload, NamesOfADeviceAreText) {
  const auto ok = [](std::string_view service, std::string_view pci) {
    wire_device device{};
    set_text(device.service, service);
    set_text(device.pci, pci);
    const wire_message message = message_of(WIRE_DEVICE, sizeof(device));
    return payload_ok(message, &device);
  };
  EXPECT_TRUE(ok("nvme", "0000:01:00.0"));
  EXPECT_FALSE(ok("", "0000:01:00.0"));
  EXPECT_FALSE(ok("nvme", ""));
  EXPECT_FALSE(ok("nv me", "0000:01:00.0"));
  EXPECT_FALSE(ok("nvme", "../0000"));
  EXPECT_FALSE(ok("0123456789abcdef", "0000:01:00.0"));
  EXPECT_FALSE(ok("nvme", "\x7f"));
}

}  // namespace
