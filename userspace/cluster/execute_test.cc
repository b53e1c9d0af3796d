// SPDX-License-Identifier: GPL-2.0
#include "cluster/execute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "base/base64.h"
#include "base/scratch_folder.h"
#include "cluster/fake_agent.h"
#include "cluster/interrupt.h"

namespace smartio::cluster {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

const json kRunning = {{"exited", false}};
json ended(int status) { return {{"exited", true}, {"exitcode", status}}; }

class Execute : public ::testing::Test {
 protected:
  FakeAgent& start(FakeAgent::Decide decide) { return fake_.emplace(folder_, "a", std::move(decide)); }
  GuestAgent agent() {
    return {folder_, "a", [this] { return alive_.load(); }};
  }
  Result<Outcome> run(const Request& request) {
    GuestAgent one = agent();
    return execute(one, request);
  }

  ScratchFolder scratch_;
  StateFolder folder_{scratch_.path()};
  std::atomic<bool> alive_ = true;
  std::optional<FakeAgent> fake_;
};

TEST_F(Execute, OutputErrorsAndStatusComeBack) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  auto& fake = start([&](const json&) {
    json status = ended(7);
    status["out-data"] = base64_encode(all);
    status["err-data"] = base64_encode("oh\n");
    return FakeAgent::Statuses{kRunning, status};
  });
  const auto outcome = run({.command = {"prog", "one", ""}, .input = all, .timeout = {}});
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->exit_status(), 7);
  EXPECT_EQ(outcome->output, all);
  EXPECT_EQ(outcome->errors, "oh\n");
  ASSERT_EQ(fake.commands().size(), 1U);
  const json command = fake.commands()[0];
  EXPECT_EQ(command.at("arg"), json({"prog", "one", ""}));
  EXPECT_EQ(command.at("input-data"), base64_encode(all));
}

TEST_F(Execute, ASignalIsTold) {
  start([](const json&) { return FakeAgent::Statuses{{{"exited", true}, {"signal", 9}}}; });
  const auto outcome = run({.command = {"x"}, .input = {}, .timeout = {}});
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->signal, 9);
  EXPECT_EQ(outcome->exit_status(), 137);
}

TEST_F(Execute, CutOutputIsTold) {
  start([](const json&) {
    json status = ended(0);
    status["out-truncated"] = true;
    return FakeAgent::Statuses{status};
  });
  const auto outcome = run({.command = {"x"}, .input = {}, .timeout = {}});
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->output_cut);
}

TEST_F(Execute, WhatAnEarlierClientLeftIsSkipped) {
  start([](const json&) {
    return FakeAgent::Statuses{ended(3)};
  }).leave_behind("{\"return\": {\"pid\": 1}}\n\xff{\"return\": 12}\n{\"ret");
  const auto outcome = run({.command = {"x"}, .input = {}, .timeout = {}});
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->status, 3);
}

TEST_F(Execute, AnAgentThatIsSlowToAnswerIsAskedAgain) {
  start([](const json&) { return FakeAgent::Statuses{ended(4)}; }).ignore_clients(2);
  const auto outcome = run({.command = {"x"}, .input = {}, .timeout = {}});
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->status, 4);
}

TEST_F(Execute, TheAgentsRefusalIsAnError) {
  start([](const json&) { return FakeAgent::Statuses{{{"error", {{"desc", "no such thing"}}}}}; });
  const auto outcome = run({.command = {"x"}, .input = {}, .timeout = {}});
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message, HasSubstr("no such thing"));
}

TEST_F(Execute, ATimeoutKillsTheWholeSession) {
  auto& fake = start([&](const json& arguments) {
    if (arguments.at("path") == "/bin/kill") return FakeAgent::Statuses{ended(0)};
    return FakeAgent::Statuses{kRunning};
  });
  const auto outcome = run({.command = {"sleep"}, .input = {}, .timeout = 60ms});
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_TRUE(outcome->timed_out);
  EXPECT_EQ(outcome->exit_status(), 124);
  ASSERT_EQ(fake.commands().size(), 2U);
  EXPECT_EQ(fake.commands()[1].at("arg"), json({"-KILL", "--", "-101"}));
}

TEST_F(Execute, AnInterruptKillsTheCommand) {
  catch_interrupts();
  auto& fake = start([&](const json& arguments) {
    if (arguments.at("path") == "/bin/kill") return FakeAgent::Statuses{ended(0)};
    std::raise(SIGINT);
    return FakeAgent::Statuses{kRunning, kRunning, kRunning, ended(0)};
  });
  const auto outcome = run({.command = {"sleep"}, .input = {}, .timeout = {}});
  clear_interrupt();
  // The interrupt may come before the agent's answer to guest-exec is read; then there is nothing to kill yet.
  if (!outcome) {
    EXPECT_THAT(outcome.error().message, HasSubstr("interrupted"));
    return;
  }
  EXPECT_TRUE(outcome->interrupted);
  EXPECT_EQ(outcome->exit_status(), 130);
  EXPECT_EQ(fake.commands().size(), 2U);
}

TEST_F(Execute, AnInterruptWhileTheAgentHoldsItsAnswerKillsTheCommand) {
  catch_interrupts();
  std::jthread interrupting;
  auto& fake = start([&](const json& arguments) {
    if (arguments.at("path") == "/bin/kill") return FakeAgent::Statuses{ended(0)};
    interrupting = std::jthread([] {
      std::this_thread::sleep_for(30ms);
      std::raise(SIGINT);
    });
    return FakeAgent::Statuses{nullptr, ended(0)};
  });
  const auto outcome = run({.command = {"sleep"}, .input = {}, .timeout = {}});
  clear_interrupt();
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->exit_status(), 130);
  EXPECT_EQ(fake.commands().size(), 2U);
}

TEST_F(Execute, AHostThatWasStartedAnewIsTold) {
  FakeAgent* fake = nullptr;
  std::atomic<bool> started = false;
  fake = &start([&](const json&) {
    started = true;
    return FakeAgent::Statuses{kRunning};
  });
  std::jthread resetting([&] {
    while (!started) std::this_thread::yield();
    fake->forget_commands();
  });
  const auto outcome = run({.command = {"x"}, .input = {}, .timeout = 20s});
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message, HasSubstr("restarted"));
}

TEST_F(Execute, AHostThatIsNotRunningIsAnErrorAtOnce) {
  alive_ = false;
  const auto outcome = run({.command = {"x"}, .input = {}, .timeout = {}});
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message, HasSubstr("a is not running"));
}

TEST_F(Execute, NoAgentUntilTheDeadlineIsAnError) {
  const auto outcome = run({.command = {"x"}, .input = {}, .timeout = 50ms});
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message, HasSubstr("doesn't answer"));
}

TEST_F(Execute, NoCommandAndTooMuchInputAreErrors) {
  EXPECT_FALSE(run({}));
  EXPECT_FALSE(run({.command = {"x"}, .input = std::string(kLargestInput + 1, 'x'), .timeout = {}}));
}

TEST_F(Execute, ManyCommandsShareOneAgent) {
  start([](const json& arguments) {
    json status = ended(0);
    status["out-data"] = base64_encode(arguments.at("arg").at(0).get<std::string>());
    return FakeAgent::Statuses{kRunning, kRunning, status};
  });
  std::atomic<int> right = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&, name = std::to_string(i)] {
        GuestAgent one = agent();
        const auto outcome = execute(one, {.command = {name}, .input = {}, .timeout = {}});
        if (outcome && outcome->output == name) ++right;
      });
    }
  }
  EXPECT_EQ(right, 8);
}

}  // namespace
}  // namespace smartio::cluster
