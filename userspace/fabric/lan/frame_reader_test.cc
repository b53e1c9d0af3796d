// SPDX-License-Identifier: GPL-2.0
#include "fabric/lan/frame_reader.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "fabric/lan/out_queue.h"

namespace smartio::lan {
namespace {

std::string wire_of(std::string_view frame) {
  const auto size = static_cast<std::uint32_t>(frame.size());
  std::string wire;
  for (int shift = 24; shift >= 0; shift -= 8) wire += static_cast<char>(size >> shift & 0xff);
  return wire.append(frame);
}

std::string text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void give(FrameReader& reader, std::string_view bytes) {
  ASSERT_LE(bytes.size(), reader.room().size());
  std::memcpy(reader.room().data(), bytes.data(), bytes.size());
  reader.filled(bytes.size());
}

TEST(FrameReader, WholeFramesInOnePiece) {
  FrameReader reader;
  const std::string one(60, 'a'), two(1514, 'b');
  give(reader, wire_of(one) + wire_of(two));
  auto next = reader.next();
  ASSERT_EQ(next.found, FrameReader::Found::frame);
  EXPECT_EQ(text(next.frame()), one);
  EXPECT_EQ(text(next.wire), wire_of(one));
  next = reader.next();
  ASSERT_EQ(next.found, FrameReader::Found::frame);
  EXPECT_EQ(text(next.frame()), two);
  EXPECT_EQ(reader.next().found, FrameReader::Found::none);
}

TEST(FrameReader, FramesByteByByte) {
  FrameReader reader;
  const std::string stream = wire_of(std::string(14, 'x')) + wire_of(std::string(20, 'y'));
  std::vector<std::string> frames;
  for (const char c : stream) {
    give(reader, {&c, 1});
    if (const auto next = reader.next(); next.found == FrameReader::Found::frame) frames.push_back(text(next.frame()));
  }
  EXPECT_EQ(frames, (std::vector<std::string>{std::string(14, 'x'), std::string(20, 'y')}));
}

TEST(FrameReader, NeverRunsOutOfRoomOnTheLargestFrames) {
  FrameReader reader;
  std::string stream;
  for (int i = 0; i < 20; i++) stream += wire_of(std::string(FrameReader::kMaxFrame, static_cast<char>('a' + i)));
  std::size_t at = 0;
  int frames = 0;
  while (at < stream.size()) {
    ASSERT_FALSE(reader.room().empty());
    const auto count = std::min(reader.room().size(), stream.size() - at);
    give(reader, std::string_view(stream).substr(at, count));
    at += count;
    for (auto next = reader.next(); next.found != FrameReader::Found::none; next = reader.next()) {
      ASSERT_EQ(next.found, FrameReader::Found::frame);
      ASSERT_EQ(text(next.frame()), std::string(FrameReader::kMaxFrame, static_cast<char>('a' + frames)));
      frames++;
    }
  }
  EXPECT_EQ(frames, 20);
}

TEST(FrameReader, RefusesLengthsThatNoFrameHas) {
  for (const std::size_t length : {std::size_t{0}, std::size_t{1}, FrameReader::kMinFrame - 1,
                                   FrameReader::kMaxFrame + 1, std::size_t{0xffffffff}}) {
    FrameReader reader;
    std::string prefix;
    for (int shift = 24; shift >= 0; shift -= 8) prefix += static_cast<char>(length >> shift & 0xff);
    give(reader, prefix);
    EXPECT_EQ(reader.next().found, FrameReader::Found::malformed) << length;
  }
}

TEST(OutQueue, KeepsOrderAndBound) {
  OutQueue queue;
  const std::vector<std::byte> frame(1000, std::byte{7});
  std::size_t taken = 0;
  while (queue.push(frame)) taken++;
  EXPECT_EQ(taken, OutQueue::kCapacity / 1000);
  queue.pop(600);
  EXPECT_TRUE(queue.push(frame)) << "what was sent makes room";
  EXPECT_FALSE(queue.push(frame));
  EXPECT_EQ(queue.front().size(), taken * 1000 - 600 + 1000);
  queue.pop(queue.front().size());
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace smartio::lan
