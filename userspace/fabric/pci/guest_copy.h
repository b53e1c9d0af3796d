// SPDX-License-Identifier: GPL-2.0
// Copies between a device and guest memory, which a guest's CPUs read and write at the same time.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace smartio::pci {

static_assert(std::endian::native == std::endian::little, "guests are little endian and so are we");

/// Copies into guest memory in ascending order. Every naturally aligned piece of up to 8 bytes becomes visible as a
/// whole, since drivers poll phase bits and flags. Of more than 64 bytes, memcpy copies the middle.
void copy_to_guest(std::byte* guest, std::span<const std::byte> data);

/// Copies out of guest memory; naturally aligned pieces of up to 8 bytes are read as a whole.
void copy_from_guest(std::span<std::byte> data, const std::byte* guest);

/// One store of up to 8 bytes, little endian in `data`: the short cut of copy_to_guest for a guest's own stores.
inline void store_to_guest(std::byte* guest, std::uint64_t data, std::uint32_t size) {
  const auto address = reinterpret_cast<std::uintptr_t>(guest);
  if (size == 8 && address % 8 == 0) {
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(guest)).store(data, std::memory_order_release);
  } else if (size == 4 && address % 4 == 0) {
    std::atomic_ref(*reinterpret_cast<std::uint32_t*>(guest))
        .store(static_cast<std::uint32_t>(data), std::memory_order_release);
  } else {
    copy_to_guest(guest, std::as_bytes(std::span(&data, 1)).first(size));
  }
}

}  // namespace smartio::pci
