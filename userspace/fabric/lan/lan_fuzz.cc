// SPDX-License-Identifier: GPL-2.0
// Bytes of a guest's network connection, in pieces of any size, through the frame reader and into an out queue.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "fabric/lan/frame_reader.h"
#include "fabric/lan/out_queue.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace smartio::lan;
  static FrameReader reader;
  static OutQueue queue;
  reader.reset();
  queue.clear();
  const std::size_t piece = size == 0 ? 1 : 1 + std::size_t{data[0]} * 7;
  for (std::size_t at = 0; at < size;) {
    const auto room = reader.room();
    if (room.empty()) std::abort();
    const std::size_t count = std::min({piece, room.size(), size - at});
    std::memcpy(room.data(), data + at, count);
    reader.filled(count);
    at += count;
    while (true) {
      const auto next = reader.next();
      if (next.found == FrameReader::Found::malformed) return 0;
      if (next.found == FrameReader::Found::none) break;
      if (next.frame().size() < FrameReader::kMinFrame || next.frame().size() > FrameReader::kMaxFrame) std::abort();
      if (!queue.push(next.wire)) queue.clear();
      queue.pop(queue.front().size() / 2);
    }
  }
  return 0;
}
