// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace smartio {

/// Cuts a byte stream into lines, and keeps no more than one line of at most kMaxLine bytes: a longer one is reported
/// once and skipped up to its end.
class LineReader {
 public:
  static constexpr std::size_t kMaxLine = 4096;

  /// Calls on_line(line) for each line that ends within `bytes`, without its newline. Calls on_too_long() once for each
  /// line that is too long, as soon as that is known.
  void feed(std::string_view bytes, const std::function<void(std::string_view)>& on_line,
            const std::function<void()>& on_too_long);

 private:
  std::string begun_;
  bool skipping_ = false;
};

}  // namespace smartio
