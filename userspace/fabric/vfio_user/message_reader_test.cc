// SPDX-License-Identifier: GPL-2.0
#include "fabric/vfio_user/message_reader.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "fabric/vfio_user/client.h"
#include "fabric/vfio_user/descriptors.h"

namespace smartio::vfio_user {
namespace {

class Reader : public testing::Test {
 protected:
  Reader() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    ours_.reset(ends[0]);
    theirs_.reset(ends[1]);
  }
  static std::vector<std::byte> message(std::uint16_t id, std::size_t body) {
    const Header header{id, 1, static_cast<std::uint32_t>(sizeof(Header) + body), 0, 0};
    std::vector<std::byte> bytes(header.size, static_cast<std::byte>(id));
    std::memcpy(bytes.data(), &header, sizeof(header));
    return bytes;
  }
  void send(std::span<const std::byte> bytes, std::vector<int> fds = {}) {
    ASSERT_EQ(send_with_fds(theirs_.get(), bytes, fds), static_cast<ssize_t>(bytes.size()));
  }
  /// Everything there is: ids and how many descriptors came with each; stops at an error.
  std::vector<std::pair<int, std::size_t>> take() {
    std::vector<std::pair<int, std::size_t>> got;
    while (true) {
      const auto filled = reader_.fill(ours_.get());
      if (!filled) return error_ = filled.error().message, got;
      while (true) {
        const auto next = reader_.next();
        if (!next) return error_ = next.error().message, got;
        if (!*next) break;
        got.emplace_back((*next)->header.id, (*next)->fds.size());
        for (const std::byte b : (*next)->body) EXPECT_EQ(b, static_cast<std::byte>((*next)->header.id));
      }
      if (*filled != MessageReader::Fill::data) return closed_ = *filled == MessageReader::Fill::closed, got;
    }
  }
  using Got = std::vector<std::pair<int, std::size_t>>;
  UniqueFd ours_;
  UniqueFd theirs_;
  MessageReader reader_;
  std::string error_;
  bool closed_ = false;
};

TEST_F(Reader, ManyMessagesOfOneChunk) {
  std::vector<std::byte> bytes;
  for (std::uint16_t id = 0; id < 100; ++id) {
    const auto m = message(id, id);
    bytes.insert(bytes.end(), m.begin(), m.end());
  }
  send(bytes);
  EXPECT_EQ(take().size(), 100U);
  theirs_.reset();
  EXPECT_TRUE(take().empty());
  EXPECT_TRUE(closed_);
}

TEST_F(Reader, AMessageInSingleBytes) {
  const auto bytes = message(7, 30);
  for (std::size_t i = 0; i + 1 < bytes.size(); ++i) {
    send(std::span(bytes).subspan(i, 1));
    EXPECT_TRUE(take().empty());
  }
  send(std::span(bytes).last(1));
  EXPECT_EQ(take(), (Got{{7, 0}}));
}

TEST_F(Reader, DescriptorsStayWithTheirMessage) {
  const UniqueFd fd(::eventfd(0, 0));
  const int f = fd.get();
  send(message(1, 10));
  send(message(2, 20), {f});
  send(message(3, 10));
  send(message(4, 0), {f, f, f});
  send(message(5, 0), {f});
  send(message(6, 10));
  EXPECT_EQ(take(), (Got{{1, 0}, {2, 1}, {3, 0}, {4, 3}, {5, 1}, {6, 0}}));
  EXPECT_EQ(error_, "");
}

TEST_F(Reader, DescriptorsStayWithAMessageThatComesInPieces) {
  const UniqueFd fd(::eventfd(0, 0));
  const auto bytes = message(2, 100);
  send(message(1, 10));
  send(std::span(bytes).first(5), {fd.get()});
  EXPECT_EQ(take(), (Got{{1, 0}}));
  send(std::span(bytes).subspan(5));
  send(message(3, 10));
  EXPECT_EQ(take(), (Got{{2, 1}, {3, 0}}));
}

TEST_F(Reader, DescriptorsInTheMiddleOfAMessageEndIt) {
  const UniqueFd fd(::eventfd(0, 0));
  const auto bytes = message(2, 100);
  send(std::span(bytes).first(50));
  EXPECT_TRUE(take().empty());
  send(std::span(bytes).subspan(50), {fd.get()});
  EXPECT_TRUE(take().empty());
  EXPECT_NE(error_, "");
}

TEST_F(Reader, MoreDescriptorsThanAllowedEndIt) {
  const UniqueFd fd(::eventfd(0, 0));
  send(message(1, 10), std::vector<int>(kMaxFds + 1, fd.get()));
  EXPECT_TRUE(take().empty());
  EXPECT_NE(error_.find("descriptors"), std::string::npos);
}

TEST_F(Reader, TheLargestMessageFitsAndALargerOneDoesNot) {
  const auto largest = message(1, kMaxMessage - sizeof(Header));
  std::size_t at = 0;
  Got got;
  while (at < largest.size()) {
    const std::size_t size = std::min<std::size_t>(largest.size() - at, 50000);
    send(std::span(largest).subspan(at, size));
    at += size;
    for (const auto& g : take()) got.push_back(g);
  }
  EXPECT_EQ(got, (Got{{1, 0}}));
  Header header{1, 1, kMaxMessage + 1, 0, 0};
  send(std::as_bytes(std::span(&header, 1)));
  EXPECT_TRUE(take().empty());
  EXPECT_NE(error_.find("size"), std::string::npos);
}

TEST_F(Reader, SmallMessagesBehindALargeOneDoNotRunOutOfRoom) {
  std::uint64_t seen = 0;
  for (int round = 0; round < 200; ++round) {
    const auto m = message(9, 100000);
    send(m);
    seen += take().size();
    send(std::span(m).first(1000));
    seen += take().size();
    send(std::span(m).subspan(1000));
    seen += take().size();
  }
  EXPECT_EQ(seen, 400U);
  EXPECT_EQ(error_, "");
}

}  // namespace
}  // namespace smartio::vfio_user
