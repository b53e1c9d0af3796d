// SPDX-License-Identifier: GPL-2.0
#include "fabric/lan/frame_reader.h"

#include <cstring>

namespace smartio::lan {

FrameReader::Next FrameReader::next() {
  const std::size_t left = end_ - begin_;
  if (left >= kPrefix) {
    std::uint32_t length = 0;
    for (std::size_t i = 0; i < kPrefix; i++)
      length = length << 8 | std::to_integer<std::uint32_t>(buffer_[begin_ + i]);
    if (length < kMinFrame || length > kMaxFrame) return {.found = Found::malformed};
    if (left >= kPrefix + length) {
      const auto wire = std::span<const std::byte>(buffer_).subspan(begin_, kPrefix + length);
      begin_ += wire.size();
      return {.found = Found::frame, .wire = wire};
    }
  }
  // The rest begins a frame. Moving it to the front makes room for the frame's other bytes.
  if (begin_ != 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, left);
    begin_ = 0;
    end_ = left;
  }
  return {};
}

}  // namespace smartio::lan
