// SPDX-License-Identifier: GPL-2.0
#include "fabric/nvme/identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace smartio::nvme {
namespace {

// FNV-1a, then the finalizer of SplitMix64, so that names that differ in one letter differ everywhere.
std::uint64_t hash(std::string_view text, std::uint64_t salt) {
  std::uint64_t h = fnv1a(text, kFnvBasis ^ salt * 0x9E3779B97F4A7C15);
  h = (h ^ h >> 30U) * 0xBF58476D1CE4E5B9;
  h = (h ^ h >> 27U) * 0x94D049BB133111EB;
  return h ^ h >> 31U;
}

template <std::size_t N>
void fill(std::array<std::uint8_t, N>& bytes, std::string_view text, std::uint64_t salt) {
  std::uint64_t h = 0;
  for (std::size_t i = 0; i < N; ++i) {
    if (i % 8 == 0) h = hash(text, salt + i);
    bytes[i] = static_cast<std::uint8_t>(h >> 8 * (i % 8));
  }
}

// Version 8 (vendor's own) of RFC 9562, variant 10b.
std::array<std::uint8_t, 16> uuid_of(std::string_view text, std::uint64_t salt) {
  std::array<std::uint8_t, 16> uuid{};
  fill(uuid, text, salt);
  uuid[6] = static_cast<std::uint8_t>((uuid[6] & 0x0FU) | 0x80U);
  uuid[8] = static_cast<std::uint8_t>((uuid[8] & 0x3FU) | 0x80U);
  return uuid;
}

}  // namespace

std::string serial_number(std::string_view host, std::string_view name) {
  std::string start;
  for (const char c : name.substr(0, 11)) start += c > 0x20 && c < 0x7F ? c : '-';
  return fmt::format("{}-{:08x}", start, static_cast<std::uint32_t>(hash(fmt::format("{}/{}", host, name), 1)));
}

std::string subsystem_nqn(std::string_view host, std::string_view name) {
  const auto u = uuid_of(fmt::format("{}/{}", host, name), 100);
  return fmt::format(
      "nqn.2014-08.org.nvmexpress:uuid:{:02x}{:02x}{:02x}{:02x}-{:02x}{:02x}-{:02x}{:02x}-{:02x}{:02x}-"
      "{:02x}{:02x}{:02x}{:02x}{:02x}{:02x}",
      u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
}

NamespaceIdentity namespace_identity(std::string_view serial, std::uint32_t nsid, std::uint32_t incarnation) {
  const std::string text = fmt::format("{}/{}/{}", serial, nsid, incarnation);
  NamespaceIdentity id;
  id.uuid = uuid_of(text, 200);
  fill(id.eui64, text, 300);
  fill(id.nguid, text, 400);
  // The OUI that these start with (EUI64: first, NGUID: after 8 bytes) is Identify Controller's, locally administered.
  std::ranges::copy(kOui, id.eui64.begin());
  std::ranges::copy(kOui, id.nguid.begin() + 8);
  return id;
}

}  // namespace smartio::nvme
