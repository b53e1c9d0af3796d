// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace smartio::lan {

/// Cuts the byte stream of QEMU's `-netdev stream` into Ethernet frames: each stands behind its length, 4 bytes, big
/// endian (QEMU, net/stream.c). Frames are handed out in place, their length before them, so that passing one on is
/// one copy. Not thread-safe.
class FrameReader {
 public:
  static constexpr std::size_t kPrefix = 4;
  /// An Ethernet header; less is no frame.
  static constexpr std::size_t kMinFrame = 14;
  /// QEMU's own limit (NET_BUFSIZE): the largest segment that an offloading card hands over, and some.
  static constexpr std::size_t kMaxFrame = 4096 + 65536;

  FrameReader() : buffer_(kCapacity) {}

  /// Where the next bytes go; never empty once next() has returned `none`.
  [[nodiscard]] std::span<std::byte> room() { return std::span(buffer_).subspan(end_); }
  void filled(std::size_t bytes) { end_ += bytes; }

  enum class Found : std::uint8_t { frame, none, malformed };
  struct Next {
    Found found = Found::none;
    std::span<const std::byte> wire{};  ///< length and frame; good until the next filled()
    [[nodiscard]] std::span<const std::byte> frame() const { return wire.subspan(kPrefix); }
  };
  /// The next whole frame. After `malformed` the stream has lost its place: close it.
  Next next();

  /// Forgets the bytes received so far.
  void reset() { begin_ = end_ = 0; }

 private:
  static constexpr std::size_t kCapacity = 256 * 1024;
  static_assert(kCapacity > 2 * (kPrefix + kMaxFrame));

  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0;  ///< of the bytes that next() has not returned
  std::size_t end_ = 0;
};

}  // namespace smartio::lan
