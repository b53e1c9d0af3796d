// SPDX-License-Identifier: GPL-2.0
#include "base/line_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <optional>
#include <vector>

#include "base/scratch_folder.h"
#include "base/unix_socket.h"

namespace smartio {
namespace {

/// A client that waits at most 20 s for anything.
class Client {
 public:
  explicit Client(const std::filesystem::path& path) : fd_(connect_unix(path).value()) {}
  bool send(std::string_view bytes) {
    return ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }
  /// As much as the socket takes at once.
  ssize_t send_some(std::string_view bytes) {
    return ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  void finish() { ::shutdown(fd_.get(), SHUT_WR); }
  /// The next line; none at the connection's end or after 20 s.
  std::optional<std::string> line() {
    while (true) {
      if (const auto end = got_.find('\n'); end != std::string::npos) {
        auto line = got_.substr(0, end);
        got_.erase(0, end + 1);
        return line;
      }
      pollfd polled{.fd = fd_.get(), .events = POLLIN, .revents = 0};
      if (::poll(&polled, 1, 20'000) != 1) return std::nullopt;
      char buffer[4096];
      const auto got = ::recv(fd_.get(), buffer, sizeof buffer, 0);
      if (got <= 0) return std::nullopt;
      got_.append(buffer, static_cast<std::size_t>(got));
    }
  }
  std::optional<std::string> ask(std::string_view request) {
    return send(std::string(request) + "\n") ? line() : std::nullopt;
  }

 private:
  UniqueFd fd_;
  std::string got_;
};

class LineServerTest : public ::testing::Test {
 protected:
  LineServerTest() { server = start(folder / "a.sock").value(); }
  static Result<std::unique_ptr<LineServer>> start(const std::filesystem::path& path) {
    return LineServer::start(
        path,
        [](std::string_view line) { return line == "big" ? std::string(4000, 'x') : "<" + std::string(line) + ">"; },
        "too long");
  }
  ScratchFolder folder;
  std::unique_ptr<LineServer> server;
};

TEST_F(LineServerTest, ManyRequestsOnOneConnection) {
  Client client(folder / "a.sock");
  for (int i = 0; i < 100; i++) EXPECT_EQ(client.ask(std::to_string(i)), "<" + std::to_string(i) + ">");
}

TEST_F(LineServerTest, RequestsInOnePieceAndInManyPieces) {
  Client client(folder / "a.sock");
  client.send("one\ntwo\nth");
  EXPECT_EQ(client.line(), "<one>");
  EXPECT_EQ(client.line(), "<two>");
  client.send("ree\n");
  EXPECT_EQ(client.line(), "<three>");
}

TEST_F(LineServerTest, AnswersWhatWasAskedBeforeTheEnd) {
  Client client(folder / "a.sock");
  client.send("a\n");
  client.finish();
  EXPECT_EQ(client.line(), "<a>");
  EXPECT_EQ(client.line(), std::nullopt);
}

TEST_F(LineServerTest, ASilentClientHoldsUpNobody) {
  Client silent(folder / "a.sock"), a(folder / "a.sock"), b(folder / "a.sock");
  EXPECT_EQ(a.ask("a"), "<a>");
  EXPECT_EQ(b.ask("b"), "<b>");
  EXPECT_EQ(a.ask("c"), "<c>");
  EXPECT_EQ(silent.ask("d"), "<d>");
}

TEST_F(LineServerTest, AnswersAreAsLongAsTheyAre) {
  const std::string much(4 << 20, 'x');
  const auto other = LineServer::start(folder / "b.sock", [&](std::string_view) { return much; }, "");
  ASSERT_TRUE(other);
  EXPECT_EQ(Client(folder / "b.sock").ask("?"), much);
}

TEST_F(LineServerTest, LongLineIsRefusedAndTheNextOneServed) {
  Client client(folder / "a.sock");
  EXPECT_EQ(client.ask(std::string(5000, 'x')), "too long");
  EXPECT_EQ(client.ask("on"), "<on>");
}

TEST_F(LineServerTest, ClientThatReadsNothingHoldsUpNobody) {
  Client slow(folder / "a.sock");
  std::string requests;
  for (int i = 0; i < 1000; i++) requests += "big\n";
  // Far more answers than any buffer holds: 4 MB for each round.
  std::size_t taken = 0;
  for (int i = 0; i < 200; i++) {
    const auto sent = slow.send_some(requests);
    if (sent < 0) break;
    taken += static_cast<std::size_t>(sent);
    Client other(folder / "a.sock");
    ASSERT_EQ(other.ask("quick"), "<quick>");
  }
  EXPECT_LT(taken, 200U * 4000U) << "it should not be read from for ever";
}

TEST_F(LineServerTest, MoreClientsThanItTakesWaitTheirTurn) {
  std::vector<std::unique_ptr<Client>> clients;
  for (std::size_t i = 0; i < LineServer::kMaxClients; i++) {
    clients.push_back(std::make_unique<Client>(folder / "a.sock"));
    ASSERT_EQ(clients.back()->ask("in"), "<in>");
  }
  Client late(folder / "a.sock");
  late.send("late\n");
  clients.pop_back();
  EXPECT_EQ(late.line(), "<late>");
}

TEST_F(LineServerTest, EndsWithClientsThere) {
  Client client(folder / "a.sock");
  EXPECT_EQ(client.ask("a"), "<a>");
  server.reset();
  EXPECT_EQ(client.line(), std::nullopt);
  EXPECT_FALSE(std::filesystem::exists(folder / "a.sock"));
}

TEST_F(LineServerTest, TakesThePlaceOfASocketLeftBehind) {
  {
    const auto left = folder / "old.sock";
    std::filesystem::create_symlink("missing", left);
  }
  const auto second = start(folder / "old.sock");
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(Client(folder / "old.sock").ask("a"), "<a>");
}

TEST_F(LineServerTest, PathThatCannotBe) {
  EXPECT_FALSE(start(folder / "no" / "such" / "folder.sock"));
  const auto too_long = start(folder / std::string(200, 'x'));
  ASSERT_FALSE(too_long);
  EXPECT_THAT(too_long.error().message, ::testing::HasSubstr("107 bytes"));
}

}  // namespace
}  // namespace smartio
