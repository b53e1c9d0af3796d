// SPDX-License-Identifier: GPL-2.0
#include "fabric/control/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <optional>

namespace smartio::control {
namespace {

/// A client that waits at most 20 s for anything.
class Client {
 public:
  explicit Client(const std::filesystem::path& path) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    connected_ = ::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  [[nodiscard]] bool connected() const { return connected_; }
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
  nlohmann::json ask(std::string_view request) {
    if (!send(std::string(request) + "\n")) return {};
    const auto answer = line();
    return answer ? nlohmann::json::parse(*answer, nullptr, false) : nlohmann::json();
  }

 private:
  UniqueFd fd_;
  bool connected_ = false;
  std::string got_;
};

class ServerTest : public ::testing::Test {
 protected:
  ServerTest() {
    commands.add("echo WORD", "says it", [](Words words) -> Result<nlohmann::json> { return std::string(words[1]); });
    commands.add("big", "a long answer", [](Words) -> Result<nlohmann::json> { return std::string(4000, 'x'); });
    char name[] = "/tmp/smartio-control-XXXXXX";
    folder = ::mkdtemp(name);
    server = Server::start(folder / "control.sock", commands).value();
  }
  ~ServerTest() override {
    server.reset();
    std::filesystem::remove_all(folder);
  }
  Commands commands;
  std::filesystem::path folder;
  std::unique_ptr<Server> server;
};

TEST_F(ServerTest, ManyRequestsOnOneConnection) {
  Client client(folder / "control.sock");
  for (int i = 0; i < 100; i++)
    EXPECT_EQ(client.ask("echo " + std::to_string(i)), (nlohmann::json{{"ok", true}, {"result", std::to_string(i)}}));
  EXPECT_EQ(client.ask("help")["commands"].size(), 3U);
}

TEST_F(ServerTest, RequestsInOnePieceAndInManyPieces) {
  Client client(folder / "control.sock");
  client.send("echo a\necho b\nec");
  EXPECT_EQ(*client.line(), R"({"ok":true,"result":"a"})");
  EXPECT_EQ(*client.line(), R"({"ok":true,"result":"b"})");
  client.send("ho c\n");
  EXPECT_EQ(*client.line(), R"({"ok":true,"result":"c"})");
}

TEST_F(ServerTest, AnswersWhatWasAskedBeforeTheEnd) {
  Client client(folder / "control.sock");
  client.send("echo a\n");
  client.finish();
  EXPECT_EQ(*client.line(), R"({"ok":true,"result":"a"})");
  EXPECT_EQ(client.line(), std::nullopt);
}

TEST_F(ServerTest, SeveralClients) {
  Client a(folder / "control.sock"), b(folder / "control.sock");
  EXPECT_EQ(a.ask("echo a")["result"], "a");
  EXPECT_EQ(b.ask("echo b")["result"], "b");
  EXPECT_EQ(a.ask("echo c")["result"], "c");
}

TEST_F(ServerTest, LongLineIsRefusedAndTheNextOneServed) {
  Client client(folder / "control.sock");
  const auto answer = client.ask(std::string(5000, 'x'));
  EXPECT_EQ(answer["ok"], false);
  EXPECT_EQ(answer["error"], "a line of more than 4096 bytes");
  EXPECT_EQ(client.ask("echo on")["result"], "on");
}

TEST_F(ServerTest, BytesThatAreNoTextGetAnAnswer) {
  Client client(folder / "control.sock");
  EXPECT_EQ(client.ask("\xff\xfe\x01")["ok"], false);
  EXPECT_EQ(client.ask("echo \xff")["ok"], true);
}

TEST_F(ServerTest, ClientThatReadsNothingHoldsUpNobody) {
  Client slow(folder / "control.sock");
  std::string requests;
  for (int i = 0; i < 1000; i++) requests += "big\n";
  // Far more answers than any buffer holds: 4 MB for each round.
  std::size_t taken = 0;
  for (int i = 0; i < 200; i++) {
    const auto sent = slow.send_some(requests);
    if (sent < 0) break;
    taken += static_cast<std::size_t>(sent);
    Client other(folder / "control.sock");
    ASSERT_EQ(other.ask("echo quick")["result"], "quick");
  }
  EXPECT_LT(taken, 200U * 4000U) << "it should not be read from for ever";
}

TEST_F(ServerTest, MoreClientsThanItTakesWaitTheirTurn) {
  std::vector<std::unique_ptr<Client>> clients;
  for (std::size_t i = 0; i < Server::kMaxClients; i++) {
    clients.push_back(std::make_unique<Client>(folder / "control.sock"));
    ASSERT_EQ(clients.back()->ask("echo in")["ok"], true);
  }
  Client late(folder / "control.sock");
  ASSERT_TRUE(late.connected());
  late.send("echo late\n");
  clients.pop_back();
  EXPECT_EQ(*late.line(), R"({"ok":true,"result":"late"})");
}

TEST_F(ServerTest, EndsWithClientsThere) {
  Client client(folder / "control.sock");
  EXPECT_EQ(client.ask("echo a")["ok"], true);
  server.reset();
  EXPECT_EQ(client.line(), std::nullopt);
  EXPECT_FALSE(std::filesystem::exists(folder / "control.sock"));
}

TEST_F(ServerTest, TakesTheplaceOfASocketLeftBehind) {
  {
    const auto left = std::filesystem::path(folder / "old.sock");
    std::filesystem::create_symlink("nowhere", left);
  }
  const auto second = Server::start(folder / "old.sock", commands);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(Client(folder / "old.sock").ask("echo a")["ok"], true);
}

TEST_F(ServerTest, PathThatCannotBe) {
  EXPECT_FALSE(Server::start(folder / "no" / "such" / "folder.sock", commands));
  const auto too_long = Server::start(folder / std::string(200, 'x'), commands);
  ASSERT_FALSE(too_long);
  EXPECT_THAT(too_long.error().message, ::testing::HasSubstr("107 bytes"));
}

}  // namespace
}  // namespace smartio::control
