// SPDX-License-Identifier: GPL-2.0
#include "base/text.h"

#include <algorithm>

namespace smartio {

namespace {
constexpr std::string_view kSpace = " \t\r\n\v\f";
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
    if (text.empty()) return words;
    words.push_back(text.substr(0, text.find_first_of(kSpace)));
    text.remove_prefix(words.back().size());
  }
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

std::string printable(std::string_view text, std::size_t most) {
  std::string result(text.substr(0, most));
  std::ranges::replace_if(result, [](char c) { return c < ' ' || c > '~'; }, '?');
  return result;
}

std::uint64_t fnv1a(std::string_view text, std::uint64_t basis) {
  for (const char c : text) basis = (basis ^ static_cast<std::uint8_t>(c)) * 0x100000001b3;
  return basis;
}

}  // namespace smartio
