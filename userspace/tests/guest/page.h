// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace smartio {

/// 4 KiB whose writer, place and order are known, in memory or on a disk. The first words are host, number and
/// sequence; the others are computed from these: a page of two writes, or of another place, shows.
using Page = std::array<std::uint64_t, 4096 / sizeof(std::uint64_t)>;

/// A page's first word for the writer of that name.
inline std::uint64_t host_word(const std::string& name) { return std::hash<std::string>{}(name); }

inline Page page_of(std::uint64_t host, std::uint64_t number, std::uint64_t sequence) {
  Page page;
  page[0] = host;
  page[1] = number;
  page[2] = sequence;
  std::uint64_t state = host ^ (number << 32U) ^ sequence;
  for (std::size_t n = 3; n < page.size(); ++n) {  // SplitMix64
    std::uint64_t word = state += 0x9e3779b97f4a7c15U;
    word = (word ^ (word >> 30U)) * 0xbf58476d1ce4e5b9U;
    word = (word ^ (word >> 27U)) * 0x94d049bb133111ebU;
    page[n] = word ^ (word >> 31U);
  }
  return page;
}

/// The sequence of a page of that host and number: 0 for zeroes, which no host has written, nothing for any other page.
inline std::optional<std::uint64_t> sequence_of(const Page& page, std::uint64_t host, std::uint64_t number) {
  if (page == Page{}) return 0;
  return page == page_of(host, number, page[2]) ? std::optional(page[2]) : std::nullopt;
}

}  // namespace smartio
