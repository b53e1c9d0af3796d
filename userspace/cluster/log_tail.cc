// SPDX-License-Identifier: GPL-2.0
#include "cluster/log_tail.h"

#include <algorithm>

#include "base/files.h"

namespace smartio::cluster {

std::string last_lines_of(std::string_view text, std::size_t count) {
  std::string clean;
  std::ranges::copy_if(text, std::back_inserter(clean),
                       [](char c) { return c == '\n' || c == '\t' || (c >= ' ' && c != '\x7f') || c < 0; });
  while (clean.ends_with('\n')) clean.pop_back();
  std::size_t at = clean.size();
  for (std::size_t i = 0; i < count && at != std::string::npos && at != 0; ++i) at = clean.rfind('\n', at - 1);
  return at == std::string::npos || at == 0 ? clean : clean.substr(at + 1);
}

std::string last_lines(const std::filesystem::path& file, std::size_t count) {
  return last_lines_of(read_file(file).value_or(""), count);
}

std::string_view boot_stage(std::string_view console) {
  if (console.find("Kernel panic") != std::string_view::npos) return "with a kernel panic";
  if (console.find("READY ") != std::string_view::npos) return "after it was ready, but its agent doesn't answer";
  return console.empty() ? "before its console said anything" : "while its kernel and init started";
}

}  // namespace smartio::cluster
