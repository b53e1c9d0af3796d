// SPDX-License-Identifier: GPL-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "cluster/scratch_folder.h"
#include "tcg_count/block_table.h"
#include "tcg_count/line_server.h"
#include "tcg_count/string_move.h"

namespace smartio::tcg_count {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr std::uint64_t kText = 0xFFFFFFFF81000000;

TEST(BlockTable, ProcessesShareACounter) {
  BlockTable table(10);
  EXPECT_EQ(table.counter_of(0x400000), BlockTable::kUser);
  EXPECT_EQ(table.counter_of(0x7FFFFFFFF000), BlockTable::kUser);
  EXPECT_EQ(table.used(), 2U);
}

TEST(BlockTable, KernelCodeHasACounterForEvery16Bytes) {
  BlockTable table(10);
  const std::size_t first = table.counter_of(kText + 3);
  EXPECT_EQ(table.counter_of(kText + 15), first);
  const std::size_t second = table.counter_of(kText + 16);
  EXPECT_NE(second, first);
  EXPECT_EQ(table.counter_of(kText), first);
  EXPECT_THAT(table.kernel(),
              ElementsAre(Pair(0, BlockTable::kOverflow), Pair(kText, first), Pair(kText + 16, second)));
  EXPECT_EQ(table.used(), 4U);
}

TEST(BlockTable, WhenAllAreTakenTheRestSharesOne) {
  BlockTable table(3);
  EXPECT_EQ(table.counter_of(kText), 2U);
  EXPECT_EQ(table.counter_of(kText + 32), BlockTable::kOverflow);
  EXPECT_EQ(table.counter_of(kText), 2U);
}

std::size_t move(std::initializer_list<std::uint8_t> bytes) {
  return string_move_bytes(std::span(bytes.begin(), bytes.size()));
}

TEST(StringMove, StepsOfEachKind) {
  EXPECT_EQ(move({0xF3, 0xA4}), 1U);
  EXPECT_EQ(move({0xF3, 0xA5}), 4U);
  EXPECT_EQ(move({0xF3, 0x48, 0xA5}), 8U);
  EXPECT_EQ(move({0x66, 0xF3, 0xA5}), 2U);
  EXPECT_EQ(move({0x65, 0xA4}), 1U);
  EXPECT_EQ(move({0x48, 0xF3, 0xA5}), 4U);  // the REX prefix does not count there
}

TEST(StringMove, NothingElse) {
  EXPECT_EQ(move({0xF3, 0xAA}), 0U);              // rep stosb
  EXPECT_EQ(move({0x48, 0x89, 0xA4, 0x24}), 0U);  // mov, with A4 among its operands
  EXPECT_EQ(move({0x0F, 0xA4}), 0U);
  EXPECT_EQ(move({}), 0U);
}

class LineServerTest : public ::testing::Test {
 protected:
  UniqueFd connect() const {
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, socket_.c_str(), sizeof address.sun_path - 1);
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fd.reset();
    return fd;
  }
  static void say(const UniqueFd& fd, std::string_view text) {
    ASSERT_EQ(::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  /// Up to the end of the line, or of the connection.
  static std::string hear(const UniqueFd& fd) {
    std::string line;
    for (char c = 0; ::recv(fd.get(), &c, 1, 0) == 1 && c != '\n';) line += c;
    return line;
  }

  cluster::ScratchFolder scratch_;
  std::string socket_ = scratch_.path() / "s.sock";
};

TEST_F(LineServerTest, AnswersLines) {
  const auto server = LineServer::start(socket_, [](std::string_view line) { return "<" + std::string(line) + ">"; });
  ASSERT_TRUE(server);
  const UniqueFd client = connect();
  say(client, "one\ntw");
  EXPECT_EQ(hear(client), "<one>");
  say(client, "o\n");
  EXPECT_EQ(hear(client), "<two>");
}

TEST_F(LineServerTest, AnswersAreAsLongAsTheyAre) {
  const std::string much(4 << 20, 'x');
  const auto server = LineServer::start(socket_, [&](std::string_view) { return much; });
  ASSERT_TRUE(server);
  const UniqueFd client = connect();
  say(client, "\n");
  EXPECT_EQ(hear(client), much);
}

TEST_F(LineServerTest, ASilentClientDoesNotKeepOthersWaitingForEver) {
  const auto server = LineServer::start(socket_, [](std::string_view) { return "yes"; });
  ASSERT_TRUE(server);
  const UniqueFd silent = connect();
  const UniqueFd other = connect();
  say(other, "\n");
  EXPECT_EQ(hear(other), "yes");
  EXPECT_EQ(hear(silent), "");
}

TEST_F(LineServerTest, ALineThatNeverEndsEndsTheConnection) {
  const auto server = LineServer::start(socket_, [](std::string_view) { return "yes"; });
  ASSERT_TRUE(server);
  const UniqueFd client = connect();
  say(client, std::string(300, 'x'));
  EXPECT_EQ(hear(client), "");
}

TEST_F(LineServerTest, EndsWithAClientConnected) {
  auto server = LineServer::start(socket_, [](std::string_view) { return "yes"; });
  ASSERT_TRUE(server);
  const UniqueFd client = connect();
  say(client, "\n");
  EXPECT_EQ(hear(client), "yes");
  server->reset();
  EXPECT_FALSE(std::filesystem::exists(socket_));
}

TEST_F(LineServerTest, ASocketThatCanNotBeMadeIsAnError) {
  EXPECT_FALSE(LineServer::start(scratch_.path() / "no" / "s.sock", [](std::string_view) { return ""; }));
}

}  // namespace
}  // namespace smartio::tcg_count
