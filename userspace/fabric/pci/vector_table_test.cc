// SPDX-License-Identifier: GPL-2.0
#include "fabric/pci/vector_table.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "fabric/pci/test_memory.h"

namespace smartio::pci {
namespace {

using Signalled = VectorTable::Signalled;

class Vectors : public testing::Test {
 protected:
  void assign(unsigned first, const UniqueFd& fd) {
    std::array<UniqueFd, 1> fds = {duplicate(fd)};
    table_.assign(first, fds);
  }
  VectorTable table_{70};
  UniqueFd fd_ = new_eventfd();
};

TEST_F(Vectors, SendWhereThereIsAnEventfd) {
  assign(3, fd_);
  EXPECT_EQ(table_.assigned(), 1U);
  EXPECT_EQ(table_.signal(3), Signalled::sent);
  EXPECT_EQ(signals(fd_), 1U);
  EXPECT_EQ(table_.signal(70), Signalled::ignored);
}

TEST_F(Vectors, KeepWhatMeetsNoneAndSendItOnceWhenThereIsOne) {
  EXPECT_EQ(table_.signal(69), Signalled::kept);
  EXPECT_EQ(table_.signal(69), Signalled::kept);
  assign(69, fd_);
  EXPECT_EQ(signals(fd_), 1U);
  assign(69, fd_);
  EXPECT_EQ(signals(fd_), 0U) << "sent already";
}

TEST_F(Vectors, LoseNothingWhenAllAreTakenAwayAndGivenBack) {
  assign(0, fd_);
  table_.remove_all();
  EXPECT_EQ(table_.assigned(), 0U);
  EXPECT_EQ(table_.signal(0), Signalled::kept);
  const UniqueFd other = new_eventfd();
  assign(0, other);
  EXPECT_EQ(signals(other), 1U);
  EXPECT_EQ(signals(fd_), 0U);
}

TEST_F(Vectors, RemoveOnlyTheRangeAsked) {
  const UniqueFd other = new_eventfd();
  assign(4, fd_);
  assign(5, other);
  table_.remove(4, 1);
  EXPECT_EQ(table_.signal(4), Signalled::kept);
  EXPECT_EQ(table_.signal(5), Signalled::sent);
  table_.remove(60, ~0U);
  table_.remove(~0U, ~0U);
}

TEST_F(Vectors, ForgetWhatWasPendingAtAReset) {
  table_.signal(1);
  table_.forget_pending();
  assign(1, fd_);
  EXPECT_EQ(signals(fd_), 0U);
}

TEST_F(Vectors, PendingBitsReadAsAGuestSeesThem) {
  EXPECT_EQ(table_.pending_bytes(), 16U);
  table_.signal(0);
  table_.signal(9);
  table_.signal(69);
  std::array<std::uint64_t, 3> words{};
  table_.read_pending(0, std::as_writable_bytes(std::span(words)));
  EXPECT_EQ(words[0], 0x201U);
  EXPECT_EQ(words[1], 0x20U);
  EXPECT_EQ(words[2], 0U);
  std::uint8_t byte = 0;
  table_.read_pending(1, writable_bytes_of(byte));
  EXPECT_EQ(byte, 2U);
}

TEST_F(Vectors, AFullEventfdDoesNotBlock) {
  const std::uint64_t most = ~0ULL - 1;
  ASSERT_EQ(::write(fd_.get(), &most, sizeof(most)), 8);
  assign(0, fd_);
  EXPECT_EQ(table_.signal(0), Signalled::sent);
  EXPECT_EQ(signals(fd_), most);
}

TEST(PrepareEventfd, TakesEventfdsOnlyAndMakesThemNonBlocking) {
  const UniqueFd blocking(::eventfd(0, 0));
  ASSERT_TRUE(prepare_eventfd(blocking.get()));
  EXPECT_NE(::fcntl(blocking.get(), F_GETFL) & O_NONBLOCK, 0);
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  EXPECT_FALSE(prepare_eventfd(ends[1]));
  ::close(ends[0]);
  ::close(ends[1]);
  EXPECT_FALSE(prepare_eventfd(-1));
}

}  // namespace
}  // namespace smartio::pci
