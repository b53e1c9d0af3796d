// SPDX-License-Identifier: GPL-2.0
#include "fabric/pci/guest_copy.h"

#include <algorithm>

namespace smartio::pci {
namespace {

constexpr std::size_t kBulk = 64;  // above this, the middle goes by memcpy

template <typename T>
void store_one(std::byte* guest, const std::byte* data) {
  T value;
  std::memcpy(&value, data, sizeof(value));
  std::atomic_ref(*reinterpret_cast<T*>(guest)).store(value, std::memory_order_release);
}

template <typename T>
void load_one(std::byte* data, const std::byte* guest) {
  // atomic_ref wants a mutable object even to load from it; nothing is stored.
  const T value = std::atomic_ref(*reinterpret_cast<T*>(const_cast<std::byte*>(guest))).load(std::memory_order_acquire);
  std::memcpy(data, &value, sizeof(value));
}

/// The largest naturally aligned piece at `address` that is no longer than `left`.
std::size_t piece(const std::byte* address, std::size_t left) {
  const auto lowest_bit =
      std::size_t{1} << std::min(3, std::countr_zero(reinterpret_cast<std::uintptr_t>(address) | 8));
  return std::min(lowest_bit, std::bit_floor(left));
}

}  // namespace

void copy_to_guest(std::byte* guest, std::span<const std::byte> data) {
  const std::byte* from = data.data();
  std::size_t left = data.size();
  while (left > 0) {
    const std::size_t size = piece(guest, left);
    if (size == 8 && left > kBulk) {
      const std::size_t bulk = (left - 1) & ~std::size_t{7};  // the last word stays for an atomic store
      std::memcpy(guest, from, bulk);
      guest += bulk, from += bulk, left -= bulk;
      continue;
    }
    switch (size) {
      case 8:
        store_one<std::uint64_t>(guest, from);
        break;
      case 4:
        store_one<std::uint32_t>(guest, from);
        break;
      case 2:
        store_one<std::uint16_t>(guest, from);
        break;
      default:
        store_one<std::uint8_t>(guest, from);
        break;
    }
    guest += size, from += size, left -= size;
  }
}

void copy_from_guest(std::span<std::byte> data, const std::byte* guest) {
  std::byte* to = data.data();
  std::size_t left = data.size();
  while (left > 0) {
    const std::size_t size = piece(guest, left);
    if (size == 8 && left > kBulk) {
      const std::size_t bulk = (left - 1) & ~std::size_t{7};
      std::memcpy(to, guest, bulk);
      guest += bulk, to += bulk, left -= bulk;
      continue;
    }
    switch (size) {
      case 8:
        load_one<std::uint64_t>(to, guest);
        break;
      case 4:
        load_one<std::uint32_t>(to, guest);
        break;
      case 2:
        load_one<std::uint16_t>(to, guest);
        break;
      default:
        load_one<std::uint8_t>(to, guest);
        break;
    }
    guest += size, to += size, left -= size;
  }
}

}  // namespace smartio::pci
