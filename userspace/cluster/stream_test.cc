// SPDX-License-Identifier: GPL-2.0
#include "cluster/stream.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <thread>

#include "base/scratch_folder.h"
#include "cluster/qmp.h"

namespace smartio::cluster {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

class StreamTest : public ::testing::Test {
 protected:
  StreamTest() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) throw std::runtime_error("socketpair");
    stream_.emplace(UniqueFd(ends[0]));
    peer_.reset(ends[1]);
  }
  void say(std::string_view text) {
    ASSERT_EQ(::send(peer_.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  }
  std::optional<Stream> stream_;
  UniqueFd peer_;
};

TEST_F(StreamTest, CutsWhatComesAtTheEndByte) {
  say("one\ntwo\nthr");
  EXPECT_EQ(stream_->read_to('\n', Deadline::in(5s)).value(), "one");
  EXPECT_EQ(stream_->read_to('\n', Deadline::in(5s)).value(), "two");
  EXPECT_THAT(stream_->read_to('\n', Deadline::in(1ms)).error().message, HasSubstr("no answer in time"));
  say("ee\n");
  EXPECT_EQ(stream_->read_to('\n', Deadline::in(5s)).value(), "three");
}

TEST_F(StreamTest, TheEndOfTheConnectionIsAnError) {
  say("half");
  peer_.reset();
  EXPECT_THAT(stream_->read_to('\n', Deadline::in(5s)).error().message, HasSubstr("connection ended"));
  EXPECT_FALSE(stream_->send("x", Deadline::in(5s)));
}

TEST_F(StreamTest, ALongAnswerIsRefused) {
  say(std::string(1000, 'x'));
  EXPECT_THAT(stream_->read_to('\n', Deadline::in(5s), 100).error().message, HasSubstr("longer than 100"));
}

TEST_F(StreamTest, SendsMoreThanTheSocketHolds) {
  const std::string large(4 << 20, 'y');
  std::size_t received = 0;
  std::jthread reader([&] {
    std::array<char, 65536> buffer{};
    while (received < large.size()) {
      const ssize_t got = ::recv(peer_.get(), buffer.data(), buffer.size(), 0);
      if (got <= 0) return;
      received += static_cast<std::size_t>(got);
    }
  });
  EXPECT_TRUE(stream_->send(large, Deadline::in(20s)));
  reader.join();
  EXPECT_EQ(received, large.size());
}

TEST_F(StreamTest, SendingToOneWhoDoesNotReadEndsAtTheDeadline) {
  EXPECT_THAT(stream_->send(std::string(16 << 20, 'z'), Deadline::in(20ms)).error().message, HasSubstr("in time"));
}

/// Listens in a folder, under a name relative to it, as QEMU does.
UniqueFd listen_in(const std::filesystem::path& folder, const std::string& name) {
  const UniqueFd directory(::open(folder.c_str(), O_PATH | O_CLOEXEC));
  const std::string path = "/proc/self/fd/" + std::to_string(directory.get()) + "/" + name;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(fd.get(), 4) != 0) {
    throw std::runtime_error("bind");
  }
  return fd;
}

TEST(StreamConnect, ReachesSocketsWhosePathIsLongerThanAnAddress) {
  ScratchFolder scratch;
  const auto deep = scratch.path() / std::string(100, 'd') / std::string(100, 'e');
  std::filesystem::create_directories(deep);
  const UniqueFd listener = listen_in(deep, "s.sock");
  EXPECT_TRUE(Stream::connect(deep / "s.sock"));
  EXPECT_THAT(Stream::connect(deep / "t.sock").error().message, HasSubstr("t.sock: No such file"));
  EXPECT_FALSE(Stream::connect(scratch.path() / "nowhere" / "t.sock"));
  EXPECT_FALSE(Stream::connect(deep / std::string(120, 'f')));
}

class QmpTest : public ::testing::Test {
 protected:
  /// Answers the n-th line it gets with the n-th of these.
  void serve(std::vector<std::string> answers) {
    server_ = std::jthread([this, answers = std::move(answers)] {
      const UniqueFd client(::accept(listener_.get(), nullptr, nullptr));
      for (const std::string& text : answers) {
        ASSERT_EQ(::send(client.get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
        if (&text == &answers.back()) return;
        std::string line;
        for (char c = 0; c != '\n'; line += c) {
          if (::recv(client.get(), &c, 1, 0) != 1) return;
        }
        asked_.push_back(line);
      }
    });
  }
  ScratchFolder scratch_;
  StateFolder folder_{scratch_.path()};
  UniqueFd listener_ = listen_in(scratch_.path(), "a.qmp.sock");
  std::vector<std::string> asked_;  // valid when server_ has ended
  std::jthread server_;
};

TEST_F(QmpTest, ArgumentsAreSent) {
  serve({"{\"QMP\": {}}\n", "{\"return\": {}}\n", "{\"return\": {}}\n", ""});
  {
    auto qmp = Qmp::open(folder_, "a", Deadline::in(10s));
    ASSERT_TRUE(qmp);
    EXPECT_TRUE(qmp->call("set-action", Deadline::in(10s), {{"reboot", "reset"}}));
  }
  server_.join();
  ASSERT_EQ(asked_.size(), 2U);
  EXPECT_EQ(nlohmann::json::parse(asked_[1]),
            nlohmann::json::parse(R"({"execute": "set-action", "arguments": {"reboot": "reset"}})"));
}

TEST_F(QmpTest, AnswersAreFoundBetweenEvents) {
  serve({"{\"QMP\": {}}\n", "{\"return\": {}}\n",
         "{\"event\": \"STOP\"}\n{\"return\": {\"x\": 1}}\n{\"event\": \"OTHER\"}\n{\"event\": \"RESET\"}\n"});
  auto qmp = Qmp::open(folder_, "a", Deadline::in(10s));
  ASSERT_TRUE(qmp) << qmp.error().message;
  const auto answer = qmp->call("system_reset", Deadline::in(10s));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->at("x"), 1);
  EXPECT_TRUE(qmp->wait_event("RESET", Deadline::in(10s)));
  EXPECT_FALSE(qmp->wait_event("RESET", Deadline::in(10s)));  // the connection ended
}

TEST_F(QmpTest, ErrorsAreTold) {
  serve({"{\"QMP\": {}}\n", "{\"return\": {}}\n", "{\"error\": {\"desc\": \"no such command\"}}\n"});
  auto qmp = Qmp::open(folder_, "a", Deadline::in(10s));
  ASSERT_TRUE(qmp);
  EXPECT_THAT(qmp->call("nonsense", Deadline::in(10s)).error().message, HasSubstr("no such command"));
}

TEST_F(QmpTest, NonsenseIsRefused) {
  serve({"nonsense\n"});
  EXPECT_FALSE(Qmp::open(folder_, "a", Deadline::in(10s)));
  EXPECT_FALSE(Qmp::open(folder_, "b", Deadline::in(10ms)));
}

}  // namespace
}  // namespace smartio::cluster
