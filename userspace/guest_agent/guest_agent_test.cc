// SPDX-License-Identifier: GPL-2.0
#include "guest_agent/guest_agent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "base/base64.h"
#include "base/deadline.h"
#include "base/eventually.h"
#include "base/unique_fd.h"

namespace smartio::guest_agent {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

/// A client of an agent that runs on a thread of this process.
class Agent : public ::testing::Test {
 protected:
  explicit Agent(std::size_t most_output = GuestAgent::kMostOutput) : most_output_(most_output) {}
  void SetUp() override {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    client_.reset(ends[0]);
    port_.reset(ends[1]);
    thread_ = std::jthread([this] {
      try {
        GuestAgent(port_.get(), most_output_).serve();
      } catch (const std::system_error& error) {
        // A test that failed left answers unread.
        if (error.code() != std::errc::connection_reset) ADD_FAILURE() << error.what();
      }
    });
  }
  void TearDown() override {
    client_.reset();
    if (thread_.joinable()) thread_.join();
  }

  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::write(client_.get(), bytes.data(), bytes.size());
      ASSERT_GT(sent, 0);
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  std::string read_line() {
    for (std::size_t searched = 0;;) {
      if (const std::size_t end = received_.find('\n', searched); end != std::string::npos) {
        std::string line = received_.substr(0, end);
        received_.erase(0, end + 1);
        return line;
      }
      searched = received_.size();
      std::array<char, 65536> piece{};
      const ssize_t got = ::read(client_.get(), piece.data(), piece.size());
      if (got <= 0) return "the agent has gone";
      received_.append(piece.data(), static_cast<std::size_t>(got));
    }
  }
  json ask(const json& request) {
    send(request.dump() + "\n");
    return json::parse(read_line(), nullptr, false);
  }
  std::int64_t start(const std::vector<std::string>& words, std::string_view input = "") {
    json arguments = {
        {"path", words[0]}, {"arg", std::vector(words.begin() + 1, words.end())}, {"capture-output", true}};
    if (!input.empty()) arguments["input-data"] = base64_encode(input);
    const json started = ask({{"execute", "guest-exec"}, {"arguments", arguments}});
    if (!started.contains("return")) throw std::runtime_error(started.dump());
    return started["return"]["pid"].get<std::int64_t>();
  }
  json status(std::int64_t id) { return ask({{"execute", "guest-exec-status"}, {"arguments", {{"pid", id}}}}); }
  json end_of(std::int64_t id) {
    for (;;) {
      json answer = status(id);
      if (!answer.contains("return")) return answer;
      if (answer["return"]["exited"].get<bool>()) return answer["return"];
    }
  }
  json run(const std::vector<std::string>& words, std::string_view input = "") { return end_of(start(words, input)); }
  static std::string text(const json& status, const char* name) {
    return status.contains(name) ? base64_decode(status[name].get<std::string>()).value() : std::string();
  }

  const std::size_t most_output_;
  UniqueFd client_;
  UniqueFd port_;
  std::string received_;
  std::jthread thread_;
};

TEST_F(Agent, OutputErrorsAndStatusComeBack) {
  const json ended = run({"sh", "-c", "echo out; echo err >&2; exit 7"});
  EXPECT_EQ(ended.at("exitcode"), 7);
  EXPECT_EQ(text(ended, "out-data"), "out\n");
  EXPECT_EQ(text(ended, "err-data"), "err\n");
  EXPECT_FALSE(ended.contains("out-truncated"));
}

TEST_F(Agent, ASignalIsToldFromAStatus) {
  const json ended = run({"sh", "-c", "kill -KILL $$"});
  EXPECT_EQ(ended.at("signal"), SIGKILL);
  EXPECT_FALSE(ended.contains("exitcode"));
}

TEST_F(Agent, InputOfAnyBytesComesBackFromCat) {
  std::string all;
  for (int i = 0; i < 1 << 20; ++i) all += static_cast<char>(i * 7 >> (i & 3));
  EXPECT_EQ(text(run({"cat"}, all), "out-data"), all);
}

TEST_F(Agent, ACommandThatReadsNoInputEnds) {
  EXPECT_EQ(run({"true"}, std::string(1 << 20, 'x')).at("exitcode"), 0);
  const json ended = run({"cat"});
  EXPECT_EQ(ended.at("exitcode"), 0);
  EXPECT_EQ(text(ended, "out-data"), "");
}

TEST_F(Agent, SetsidMakesALeaderOfTheCommand) {
  const std::int64_t id = start({"setsid", "sh", "-c", "ps -o pid=,pgid=,sid= -p $$"});
  const std::string seen = text(end_of(id), "out-data");
  std::vector<std::int64_t> numbers;
  for (std::size_t at = 0; at < seen.size();) {
    std::size_t used = 0;
    if (seen.find_first_of("0123456789", at) == std::string::npos) break;
    numbers.push_back(std::stoll(seen.substr(at), &used));
    at += used;
  }
  EXPECT_EQ(numbers, (std::vector<std::int64_t>{id, id, id})) << seen;
}

TEST_F(Agent, ACommandOfItsOwnSessionIsKilledWithItsChildren) {
  const std::int64_t id = start({"setsid", "sh", "-c", "sleep 1000 & sleep 1000"});
  ask({{"execute", "guest-exec"},
       {"arguments", {{"path", "/bin/kill"}, {"arg", {"-KILL", "--", "-" + std::to_string(id)}}}}});
  // The child in the background holds the output: it has ended, too.
  EXPECT_EQ(end_of(id).at("signal"), SIGKILL);
}

TEST_F(Agent, WhatItLeavesBehindHoldsItsOutput) {
  // Within the parentheses $$ is the shell that has ended, and been reaped, by then.
  const char* const text_of_shell = "(while kill -0 $$ 2> /dev/null; do sleep 0.02; done; echo late) & echo now";
  EXPECT_EQ(text(run({"sh", "-c", text_of_shell}), "out-data"), "now\nlate\n");
  // With none of its output a process may live on.
  const std::string left = text(run({"sh", "-c", "sleep 1000 > /dev/null 2>&1 & echo $!"}), "out-data");
  ::kill(static_cast<pid_t>(std::stol(left)), SIGKILL);
}

TEST_F(Agent, AProgramThatIsNotThereIs127) {
  const json missing = run({"setsid", "no-such-program"});
  EXPECT_EQ(missing.at("exitcode"), 127);
  EXPECT_THAT(text(missing, "err-data"), HasSubstr("no-such-program: No such file"));
  EXPECT_EQ(run({"setsid", "/"}).at("exitcode"), 126);
  EXPECT_EQ(run({"setsid", "no-such-program"}).at("exitcode"), 127) << "a second one has a number of its own";
  const json refused = ask({{"execute", "guest-exec"}, {"arguments", {{"path", "no-such-program"}}}});
  EXPECT_THAT(refused.at("error").at("desc").get<std::string>(), HasSubstr("No such file"));
}

TEST_F(Agent, AStatusOfALongCommandIsHeldForAShortTime) {
  const std::int64_t lasting = start({"setsid", "sleep", "1000"});
  const auto begin = Deadline::Clock::now();
  EXPECT_FALSE(status(lasting).at("return").at("exited").get<bool>());
  EXPECT_GE(Deadline::Clock::now() - begin, GuestAgent::kHold);
  ::kill(static_cast<pid_t>(lasting), SIGKILL);
  EXPECT_EQ(end_of(lasting).at("signal"), SIGKILL);
  EXPECT_THAT(status(lasting).at("error").at("desc").get<std::string>(), HasSubstr("does not exist"));
}

TEST_F(Agent, AnEndedCommandIsAnsweredAtOnce) {
  // The best of some: a slow machine is no reason to fail.
  auto best = Deadline::Clock::duration::max();
  for (int i = 0; i < 20; ++i) {
    const std::int64_t id = start({"setsid", "no-such-program"});
    const auto begin = Deadline::Clock::now();
    EXPECT_TRUE(status(id).at("return").at("exited").get<bool>());
    best = std::min(best, Deadline::Clock::now() - begin);
  }
  EXPECT_LT(best, GuestAgent::kHold);
}

TEST_F(Agent, ManyCommandsMayRunAndMayBeForgotten) {
  std::vector<std::int64_t> running;
  for (int i = 0; i < 100; ++i) running.push_back(start({"sleep", "1000"}));
  for (const std::int64_t id : running) ::kill(static_cast<pid_t>(id), SIGKILL);
  // The first one is not asked for. The agent has reaped it when there is no such process.
  EXPECT_TRUE(eventually([&] { return ::kill(static_cast<pid_t>(running.front()), 0) != 0; }));
  EXPECT_EQ(end_of(running.back()).at("signal"), SIGKILL);
  for (int i = 0; i < 200; ++i) start({"setsid", "no-such-program"});
  EXPECT_TRUE(status(running.front()).contains("error"));
  EXPECT_EQ(text(run({"echo", "alive"}), "out-data"), "alive\n");
}

TEST_F(Agent, WithoutDescriptorsARequestIsRefusedAndTheNextIsNot) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 3, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const json refused = ask({{"execute", "guest-exec"}, {"arguments", {{"path", "true"}, {"capture-output", true}}}});
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(refused.contains("error")) << refused.dump();
  EXPECT_EQ(run({"true"}).at("exitcode"), 0);
}

TEST_F(Agent, ACommandHasNoDescriptorOfAnotherAndNoSignalIgnored) {
  const std::vector<std::string> count = {"sh", "-c", "set -- /proc/$$/fd/*; echo $#"};
  const std::string alone = text(run(count, "x"), "out-data");
  std::vector<std::int64_t> others;
  for (int i = 0; i < 3; ++i) others.push_back(start({"sleep", "1000"}, "x"));
  EXPECT_EQ(text(run(count, "x"), "out-data"), alone);
  for (const std::int64_t id : others) ::kill(static_cast<pid_t>(id), SIGKILL);
  // From the 32nd on they are those of the C library.
  EXPECT_EQ(run({"grep", "-qE", "^SigIgn:\\s+0*[0-9a-f]?[08]0000000$", "/proc/self/status"}).at("exitcode"), 0);
  EXPECT_EQ(run({"grep", "-qE", "^SigBlk:\\s+0+$", "/proc/self/status"}).at("exitcode"), 0);
}

static_assert(GuestAgent::kMostOutput == 16ULL << 20, "as of qemu-ga, and as docs/cluster.md says");
/// For a test a smaller limit does.
class AgentOfLittleOutput : public Agent {
 protected:
  AgentOfLittleOutput() : Agent(100'000) {}
};
TEST_F(AgentOfLittleOutput, OutputOverTheLimitIsCutAndSaid) {
  const json ended = run({"sh", "-c", "head -c 1000000 /dev/zero; echo end >&2"});
  EXPECT_EQ(text(ended, "out-data").size(), most_output_);
  EXPECT_TRUE(ended.at("out-truncated").get<bool>());
  EXPECT_EQ(text(ended, "err-data"), "end\n");
}

TEST_F(Agent, ASentinelDropsWhatAnEarlierClientLeft) {
  // The agent has read the part of a line when it answers what stands before it.
  send(R"({"execute": "guest-sync", "arguments": {"id": 76}})"
       "\n{\"execute\": \"guest-ex");
  EXPECT_EQ(read_line(), "{\"return\":76}");
  send("ec\xff{\"execute\": \"guest-sync-delimited\", \"arguments\": {\"id\": 77}}\n");
  EXPECT_EQ(read_line(), "\xff{\"return\":77}");
  EXPECT_EQ(ask({{"execute", "guest-sync"}, {"arguments", {{"id", 78}}}}), json({{"return", 78}}));
}

TEST_F(Agent, QuestionsInOnePieceAreAnsweredInOrder) {
  const std::int64_t lasting = start({"sleep", "1000"});
  const std::string question = json{{"execute", "guest-exec-status"}, {"arguments", {{"pid", lasting}}}}.dump();
  send(question + "\n" + question + "\n" + R"({"execute": "guest-sync", "arguments": {"id": 1}})" + "\n");
  EXPECT_FALSE(json::parse(read_line()).at("return").at("exited").get<bool>());
  EXPECT_FALSE(json::parse(read_line()).at("return").at("exited").get<bool>());
  EXPECT_EQ(json::parse(read_line()), json({{"return", 1}}));
  ::kill(static_cast<pid_t>(lasting), SIGKILL);
}

TEST_F(Agent, WhatIsNoRequestGetsAnError) {
  for (const char* wrong : {"no json", "[]", "7", "{}", R"({"execute": "guest-shutdown"})",
                            R"({"execute": "guest-exec"})", R"({"execute": "guest-exec", "arguments": {"path": 7}})",
                            R"({"execute": "guest-exec", "arguments": {"path": "true", "input-data": "%"}})",
                            R"({"execute": "guest-exec", "arguments": []})",
                            R"({"execute": "guest-exec-status", "arguments": {"pid": 1}})", R"({"execute": 7})"}) {
    send(std::string(wrong) + "\n");
    EXPECT_TRUE(json::parse(read_line(), nullptr, false).contains("error")) << wrong;
  }
}

TEST(GuestAgentsPort, IsServedUntilItsClientHasGone) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const UniqueFd port(ends[0]);
  const UniqueFd client(ends[1]);
  GuestAgent agent(port.get());
  const std::string request = R"({"execute": "guest-sync", "arguments": {"id": 5}})"
                              "\n";
  ASSERT_GT(::write(client.get(), request.data(), request.size()), 0);
  ::shutdown(client.get(), SHUT_WR);
  agent.serve();
  std::array<char, 200> answer{};
  ASSERT_GT(::read(client.get(), answer.data(), answer.size() - 1), 0);
  EXPECT_STREQ(answer.data(), "{\"return\":5}\n");
}

}  // namespace
}  // namespace smartio::guest_agent
