// SPDX-License-Identifier: GPL-2.0
#include "base/line_reader.h"

namespace smartio {

void LineReader::feed(std::string_view bytes, const std::function<void(std::string_view)>& on_line,
                      const std::function<void()>& on_too_long) {
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    const auto part = bytes.substr(0, end);
    if (!skipping_) {
      if (begun_.size() + part.size() > kMaxLine) {
        skipping_ = true;
        begun_.clear();
        on_too_long();
      } else {
        begun_.append(part);
      }
    }
    if (end == std::string_view::npos) return;
    if (!skipping_) {
      on_line(begun_);
      begun_.clear();
    }
    skipping_ = false;
    bytes.remove_prefix(end + 1);
  }
}

}  // namespace smartio
