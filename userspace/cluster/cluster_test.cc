// SPDX-License-Identifier: GPL-2.0
// The life of a cluster whose QEMU and fabric are small shell scripts: its programs, their arguments, and its remains.
#include "cluster/cluster.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <mutex>
#include <thread>

#include "base/deadline.h"
#include "base/files.h"
#include "base/line_server.h"
#include "base/scratch_folder.h"
#include "cluster/fake_agent.h"
#include "cluster/interrupt.h"

namespace smartio::cluster {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

constexpr const char* kTopology = "[cluster]\nname = \"t\"\n[[host]]\nname = \"a\"\n[[host]]\nname = \"b\"\n";
constexpr const char* kGoodFabric = "#!/bin/sh\necho fabric \"$@\"; touch fabric.ready; exec sleep 1000\n";
/// "$1 -name HOST …": writes a line to its console, and continues.
constexpr const char* kGoodQemu = "#!/bin/sh\nshift 2\necho \"hello from $1\" > $1.console.log; exec sleep 1000\n";

class ClusterTest : public ::testing::Test {
 protected:
  ClusterTest() {
    for (const char* file : {"cache/tree/usr/bin/qemu-system-x86_64", "cache/guest/vmlinux", "cache/guest/initrd",
                             "cache/guest/root.img"}) {
      write(file, "x");
    }
    write("cache/guest/cmdline", "console=ttyS0\n");
    write("t.toml", kTopology);
    // Stands for in-tree: it runs a script of the same name here.
    program("scripts/in-tree", "#!/bin/sh\nexec \"$(dirname \"$0\")/../fake-$(basename \"$1\")\" \"$@\"\n");
    program("fake-fabric", kGoodFabric);
    program("fake-qemu-system-x86_64", kGoodQemu);
    write("fabric", "x");
  }
  ~ClusterTest() override {
    clear_interrupt();
    EXPECT_TRUE(cluster().down());
  }

  void write(const std::string& name, std::string_view text) {
    const auto file = scratch_.path() / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void program(const std::string& name, std::string_view text) {
    write(name, text);
    std::filesystem::permissions(scratch_.path() / name, std::filesystem::perms::owner_all);
  }
  Cluster cluster() {
    const auto& top = scratch_.path();
    return {Installation{.top = top, .cache = top / "cache", .fabric = top / "fabric"}, folder_,
            [this](std::string_view line) { said_ += std::string(line) + "\n"; }};
  }
  UpOptions options() {
    return {.topology = (scratch_.path() / "t.toml").string(), .accel = "tcg", .append = "", .patience = 20s};
  }
  /// Answers for a host as soon as its QEMU has begun.
  std::jthread agent_for(const std::string& host) {
    return std::jthread([this, host](const std::stop_token& stop) {
      while (!stop.stop_requested() && !std::filesystem::exists(folder_.host_file(host, "console.log"))) {
        std::this_thread::sleep_for(1ms);
      }
      FakeAgent agent(folder_, host, [](const json&) { return FakeAgent::Statuses{}; });
      while (!stop.stop_requested()) std::this_thread::sleep_for(1ms);
    });
  }
  State state() { return folder_.load().value().value_or(State{}); }

  ScratchFolder scratch_;
  StateFolder folder_{scratch_.path() / "build/run/c"};
  std::string said_;
};

TEST_F(ClusterTest, ComesUpAndGoesDown) {
  const auto a = agent_for("a");
  const auto b = agent_for("b");
  Cluster one = cluster();
  const auto up = one.up(options());
  ASSERT_TRUE(up) << up.error().message;
  EXPECT_THAT(said_, AllOf(HasSubstr("fabric"), HasSubstr("a  "), HasSubstr("b  "), HasSubstr("2 hosts")));
  const State running = state();
  ASSERT_TRUE(running.fabric);
  EXPECT_EQ(running.hosts.size(), 2U);
  EXPECT_TRUE(alive(*running.fabric));

  const auto status = one.status();
  ASSERT_TRUE(status);
  EXPECT_EQ(status->at("up"), true);
  EXPECT_EQ(status->at("fabric").at("state"), "running");
  EXPECT_EQ(status->at("hosts").at(0).at("name"), "a");
  EXPECT_EQ(status->at("hosts").at(0).at("state"), "running");
  EXPECT_EQ(status->at("hosts").at(1).at("pid"), running.hosts.at("b").pid);

  const auto again = one.up(options());
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, AllOf(HasSubstr("is up already"), HasSubstr("scripts/cluster down")));
  EXPECT_TRUE(alive(*running.fabric));

  EXPECT_EQ(one.log("a").value(), "hello from a\n");
  EXPECT_FALSE(one.boot("a", 1s));
  EXPECT_TRUE(one.wait("a", 10s));
  EXPECT_TRUE(one.agent("a"));
  EXPECT_THAT(one.agent("nobody").error().message, HasSubstr("the hosts are a, b"));

  EXPECT_TRUE(one.down());
  EXPECT_FALSE(running.anything_alive());
  EXPECT_EQ(one.status()->at("up"), false);
  EXPECT_TRUE(one.down());
  EXPECT_EQ(one.log("a").value(), "hello from a\n");
}

TEST_F(ClusterTest, AHostIsKilledAndBooted) {
  const auto a = agent_for("a");
  const auto b = agent_for("b");
  Cluster one = cluster();
  ASSERT_TRUE(one.up(options()));
  const ProcessId before = state().hosts.at("a");
  EXPECT_TRUE(one.kill("a"));
  EXPECT_FALSE(alive(before));
  EXPECT_EQ(one.status()->at("hosts").at(0).at("state"), "stopped");
  EXPECT_EQ(one.status()->at("hosts").at(1).at("state"), "running");
  EXPECT_THAT(one.agent("a").error().message, HasSubstr("a is not running"));
  EXPECT_FALSE(one.kill("a"));
  EXPECT_FALSE(one.reset("a", 1s));
  EXPECT_TRUE(one.boot("a", 20s));
  EXPECT_TRUE(alive(state().hosts.at("a")));
  EXPECT_NE(state().hosts.at("a"), before);
}

TEST_F(ClusterTest, AHostThatPanickedIsNamedSo) {
  program("fake-qemu-system-x86_64",
          "#!/bin/sh\nshift 2\necho fine > $1.console.log\nwhile ! [ -e panic ]; do sleep 0.01; done\n"
          "echo '---[ end Kernel panic - not syncing: Fatal exception ]---' >> $1.console.log\n");
  const auto a = agent_for("a");
  const auto b = agent_for("b");
  Cluster one = cluster();
  ASSERT_TRUE(one.up(options()));
  const ProcessId running = state().hosts.at("a");
  ASSERT_TRUE(write_file(folder_.path() / "panic", ""));
  ASSERT_TRUE(wait_gone(running, Deadline::in(10s)));
  EXPECT_THAT(one.agent("a").error().message,
              HasSubstr("a is not running, it ended with \"Kernel panic - not syncing: Fatal exception ]---\""));
}

/// For a fake QEMU of host b: the first time its kernel oopses with these words, then it runs. Nothing but its second
/// process makes the file `second`.
std::string oops_once(std::string_view words) {
  return fmt::format(
      "#!/bin/sh\nshift 2\nif [ $1 = b ] && ! [ -e first ]; then touch first; echo '{}' > $1.console.log; "
      "echo 'Kernel panic - not syncing' >> $1.console.log; exit 1; fi\n"
      "[ $1 != b ] || touch second\necho fine >> $1.console.log; exec sleep 1000\n",
      words);
}

TEST_F(ClusterTest, AHostThatTheTranslatorEndedIsStartedOnceMore) {
  program("fake-qemu-system-x86_64", oops_once("Oops: int3: 0000 [#1] PREEMPT SMP NOPTI"));
  const auto a = agent_for("a");
  const std::jthread b([this](const std::stop_token& stop) {
    while (!stop.stop_requested() && !std::filesystem::exists(folder_.path() / "second")) {
      std::this_thread::sleep_for(1ms);
    }
    FakeAgent agent(folder_, "b", [](const json&) { return FakeAgent::Statuses{}; });
    while (!stop.stop_requested()) std::this_thread::sleep_for(1ms);
  });
  const auto up = cluster().up(options());
  ASSERT_TRUE(up) << up.error().message;
  EXPECT_THAT(said_, HasSubstr("Oops: int3"));
  EXPECT_TRUE(alive(state().hosts.at("b")));
}

TEST_F(ClusterTest, AHostThatEndsForAnotherReasonIsNot) {
  program("fake-qemu-system-x86_64", oops_once("Oops: general protection fault: 0000 [#1]"));
  const auto a = agent_for("a");
  EXPECT_FALSE(cluster().up(options()));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "second"));
}

TEST_F(ClusterTest, AHostWithoutAMonitorIsResetByBootingIt) {
  const auto a = agent_for("a");
  const auto b = agent_for("b");
  Cluster one = cluster();
  ASSERT_TRUE(one.up(options()));
  const ProcessId before = state().hosts.at("a");
  EXPECT_TRUE(one.reset("a", 20s));
  EXPECT_THAT(said_, HasSubstr("killed and booted instead"));
  EXPECT_FALSE(alive(before));
}

TEST_F(ClusterTest, AHostThatDoesNotBootIsNamedWithTheEndOfItsConsole) {
  program("fake-qemu-system-x86_64",
          "#!/bin/sh\nshift 2\n"
          "if [ $1 = b ]; then echo 'Kernel panic - not syncing' > $1.console.log; "
          "else echo fine > $1.console.log; fi; exec sleep 1000\n");
  const auto a = agent_for("a");
  Cluster one = cluster();
  auto options = ClusterTest::options();
  options.patience = 3s;
  const auto up = one.up(options);
  ASSERT_FALSE(up);
  EXPECT_THAT(up.error().message,
              AllOf(HasSubstr("b "), HasSubstr("the end of its console"), HasSubstr("not syncing")));
  EXPECT_FALSE(state().anything_alive());
  EXPECT_EQ(one.status()->at("up"), false);
}

TEST_F(ClusterTest, AQemuThatEndsAtOnceIsToldWithWhatItSaid) {
  program("fake-qemu-system-x86_64", "#!/bin/sh\necho 'no such machine' >&2; exit 1\n");
  const auto up = cluster().up(options());
  ASSERT_FALSE(up);
  EXPECT_THAT(up.error().message, AllOf(HasSubstr("a ended"), HasSubstr("no such machine"), HasSubstr("b ended")));
}

TEST_F(ClusterTest, WithKeepWhatRunsIsLeft) {
  auto options = ClusterTest::options();
  options.patience = 0s;
  options.keep = true;
  EXPECT_FALSE(cluster().up(options));
  EXPECT_TRUE(state().anything_alive());
}

TEST_F(ClusterTest, AFabricThatEndsIsToldWithWhatItSaid) {
  program("fake-fabric", "#!/bin/sh\necho 'bad topology' >&2; exit 1\n");
  const auto up = cluster().up(options());
  ASSERT_FALSE(up);
  EXPECT_THAT(up.error().message, AllOf(HasSubstr("the fabric ended"), HasSubstr("bad topology")));
  EXPECT_FALSE(std::filesystem::exists(folder_.host_file("a", "qemu.log")));
}

TEST_F(ClusterTest, AnInterruptedUpLeavesNothing) {
  catch_interrupts();
  std::jthread interrupting([this] {
    while (!std::filesystem::exists(folder_.host_file("b", "console.log"))) std::this_thread::sleep_for(1ms);
    ::kill(::getpid(), SIGTERM);
  });
  const auto up = cluster().up(options());
  ASSERT_FALSE(up);
  EXPECT_EQ(up.error().message, "interrupted");
  EXPECT_FALSE(state().anything_alive());
}

TEST_F(ClusterTest, WhatIsMissingIsNamed) {
  auto missing = [&](const std::string& file) {
    std::filesystem::remove(scratch_.path() / file);
    return cluster().up(options()).error().message;
  };
  EXPECT_THAT(missing("fabric"), HasSubstr("make build"));
  EXPECT_THAT(missing("cache/guest/root.img"), AllOf(HasSubstr("root.img is missing"), HasSubstr("make setup")));
  auto options = ClusterTest::options();
  options.topology = "nosuch";
  EXPECT_THAT(cluster().up(options).error().message, HasSubstr("no topology \"nosuch\""));
  write("t.toml", "[cluster]\nname = 3\n");
  EXPECT_THAT(cluster().up(ClusterTest::options()).error().message, HasSubstr("t.toml:2: "));
}

TEST_F(ClusterTest, CommandsOfAClusterThatIsNotUpSaySo) {
  Cluster one = cluster();
  for (const auto& message :
       {one.kill("a").error().message, one.boot("a", 1s).error().message, one.fabric("help").error().message,
        one.agent("a").error().message, one.reset("a", 1s).error().message}) {
    EXPECT_THAT(message, HasSubstr("cluster c is not up"));
  }
  EXPECT_THAT(one.log("a").error().message, HasSubstr("no console log"));
}

TEST_F(ClusterTest, InstructionsAreCountedIfUpWasToldSo) {
  const auto a = agent_for("a");
  const auto b = agent_for("b");
  Cluster one = cluster();
  auto options = ClusterTest::options();
  options.count_instructions = true;
  EXPECT_THAT(one.up(options).error().message, AllOf(HasSubstr("smartio-tcg-count.so is missing"), HasSubstr("make")));
  write("build/userspace/tcg_count/smartio-tcg-count.so", "x");
  ASSERT_TRUE(one.up(options));
  EXPECT_THAT(one.running_hosts().value(), ::testing::ElementsAre("a", "b"));
  EXPECT_THAT(one.instructions("a", "mode").error().message, HasSubstr("a's counter is not there"));

  const auto counter = LineServer::start(
      folder_.host_file("a", "counts.sock"),
      [](std::string_view line) {
        return line == "mode" ? std::string(R"({"user":[1,2],"kernel":[3,4]})") : std::string(R"({"error":"no"})");
      },
      "");
  EXPECT_EQ(one.instructions("a", "mode").value(), json::parse(R"({"user":[1,2],"kernel":[3,4]})"));
  EXPECT_THAT(one.instructions("a", "?").error().message, HasSubstr("\"no\""));
  EXPECT_THAT(one.instructions("c", "mode").error().message, HasSubstr("no host \"c\""));

  // A host that is booted again counts again.
  EXPECT_TRUE(state().count_instructions);
  EXPECT_THAT(one.qemu_words("b", "").value(), ::testing::Contains(HasSubstr("socket=b.counts.sock")));
  ASSERT_TRUE(one.kill("b"));
  EXPECT_THAT(one.running_hosts().value(), ::testing::ElementsAre("a"));
  EXPECT_THAT(one.instructions("b", "mode").error().message, HasSubstr("b is not running"));
  EXPECT_TRUE(one.boot("b", 20s));
  EXPECT_TRUE(state().count_instructions);
}

TEST_F(ClusterTest, WithoutBeingToldSoNothingIsCounted) {
  const auto a = agent_for("a");
  const auto b = agent_for("b");
  Cluster one = cluster();
  ASSERT_TRUE(one.up(options()));
  EXPECT_THAT(one.instructions("a", "mode").error().message, HasSubstr("--count-instructions"));
  EXPECT_THAT(one.qemu_words("a", "").value(), ::testing::Not(::testing::Contains("-plugin")));
}

TEST_F(ClusterTest, TheOverlayIsPutBehindTheInitrd) {
  write("build/guest-overlay.cpio", "OVERLAY");
  const auto a = agent_for("a");
  const auto b = agent_for("b");
  Cluster one = cluster();
  ASSERT_TRUE(one.up(options()));
  const std::string initrd = read_file(folder_.file("initrd")).value();
  EXPECT_EQ(initrd, "x" + std::string(511, '\0') + "OVERLAY");
  EXPECT_THAT(one.qemu_words("a", "").value(), ::testing::Contains("initrd"));
}

TEST_F(ClusterTest, TheFabricIsAskedALine) {
  const auto a = agent_for("a");
  const auto b = agent_for("b");
  Cluster one = cluster();
  ASSERT_TRUE(one.up(options()));
  EXPECT_THAT(one.fabric("help").error().message, HasSubstr("the fabric is not there"));

  std::vector<std::string> heard;
  auto server = LineServer::start(
      folder_.file("control.sock"),
      [&](std::string_view line) {
        heard.emplace_back(line);
        return std::string(heard.size() == 1 ? R"({"ok": false, "error": "no"})" : "nonsense");
      },
      "");
  ASSERT_TRUE(server);
  const auto answer = one.fabric("link cable0 down");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->at("error"), "no");
  EXPECT_THAT(one.fabric("x").error().message, HasSubstr("no JSON object"));
  EXPECT_FALSE(one.fabric("two\nlines"));
  server->reset();
  EXPECT_THAT(heard, ::testing::ElementsAre("link cable0 down", "x"));
}

}  // namespace
}  // namespace smartio::cluster
