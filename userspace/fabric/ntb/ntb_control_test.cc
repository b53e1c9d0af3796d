// SPDX-License-Identifier: GPL-2.0
#include "fabric/ntb/ntb_control.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "base/eventually.h"
#include "fabric/ntb/ntb_test_support.h"

namespace smartio::ntb {
namespace {

using namespace amd;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LinkCommands : public ::testing::Test {
 protected:
  LinkCommands() {
    for (auto* cable : {&one, &two}) {
      cable->function(Side::primary).bind(host_a);
      cable->function(Side::secondary).bind(host_b);
      cable->function(Side::primary).connected();
    }
    add_commands(commands, {{&one, "a", "b"}, {&two, "a", "b"}});
  }
  std::string error(std::string_view line) {
    const auto answer = commands.run(line);
    return answer["ok"] == false ? answer["error"].get<std::string>() : "no error: " + answer.dump();
  }

  test::FakeHost host_a, host_b;
  Cable one{{.name = "ab.0", .windows = {1 << 20, 1 << 16}}};
  Cable two{{.name = "ab.1", .windows = {1 << 20, 1 << 16}}};
  control::Commands commands;
};

TEST_F(LinkCommands, ListsLinks) {
  const auto answer = commands.run("link list");
  ASSERT_EQ(answer["ok"], true) << answer;
  ASSERT_EQ(answer["links"].size(), 2U);
  const auto& link = answer["links"][1];
  EXPECT_EQ(link["name"], "ab.1");
  EXPECT_EQ(link["family"], "amd");
  EXPECT_EQ(link["state"], "up");
  EXPECT_EQ(link["primary"]["host"], "a");
  EXPECT_EQ(link["primary"]["connected"], true);
  EXPECT_EQ(link["secondary"]["host"], "b");
  EXPECT_EQ(link["secondary"]["connected"], false);
  EXPECT_EQ(link["secondary"]["inbound_windows"][1]["size"], 1 << 16);
}

TEST_F(LinkCommands, StatusShowsRegisters) {
  test::Driver driver(one.function(Side::primary));
  driver.set_ready();
  driver.open(1, 0xabc000, 0x1000);
  const auto answer = commands.run("link ab.0 status");
  EXPECT_EQ(answer["primary"]["ready"], true) << answer;
  EXPECT_EQ(answer["primary"]["inbound_windows"][1]["translation"], "0xabc000");
  EXPECT_EQ(answer["primary"]["inbound_windows"][1]["limit"], 0x1000);
  EXPECT_EQ(answer["primary"]["event_mask"], "0x7f");
  EXPECT_EQ(answer["primary"]["event"], "0x0");
  EXPECT_EQ(answer["primary"]["doorbell_mask"], "0xffff");
  EXPECT_EQ(answer["primary"]["doorbells"], "0x0");
  EXPECT_EQ(answer["secondary"]["ready"], false);
  driver.write(reg::INTMASK, 0);
  one.function(Side::secondary).connected();
  one.function(Side::secondary).disconnected();
  const auto after = commands.run("link ab.0 status")["primary"];
  EXPECT_EQ(after["event_mask"], "0x0");
  EXPECT_NE(after["event"], "0x0") << "one is told";
  EXPECT_EQ(after["waiting_events"], 1) << "the other waits for it to be cleared";
}

TEST_F(LinkCommands, StatusOfAnIntelLink) {
  Cable intel{{.name = "ab.2", .windows = {1 << 20, 1 << 16}, .family = Family::intel_icx}};
  control::Commands commands;
  add_commands(commands, {{&intel, "a", "b"}});
  const auto answer = commands.run("link ab.2 status");
  EXPECT_EQ(answer["family"], "intel-icx") << answer;
  EXPECT_EQ(answer["state"], "down") << "no driver has trained it";
  EXPECT_EQ(answer["primary"]["ready"], false);
  EXPECT_EQ(answer["primary"]["doorbell_mask"], "0xffffffff");
  EXPECT_EQ(answer["primary"]["event_mask"], "0x1");
}

TEST_F(LinkCommands, UpDownSilent) {
  EXPECT_EQ(commands.run("link ab.0 down")["state"], "down");
  EXPECT_EQ(one.state(), LinkState::down);
  EXPECT_EQ(two.state(), LinkState::up) << "the other one stays";
  EXPECT_EQ(commands.run("link ab.0 silent")["state"], "silent");
  EXPECT_EQ(commands.run("link ab.0 up")["state"], "up");
  EXPECT_TRUE(one.is_up());
}

TEST_F(LinkCommands, Flap) {
  EXPECT_EQ(commands.run("link ab.0 flap 3600000")["up_in_ns"], 3'600'000'000'000);
  EXPECT_EQ(one.state(), LinkState::down);
  EXPECT_EQ(commands.run("link ab.0 flap 1ms")["ok"], true);
  EXPECT_TRUE(eventually([&] { return one.is_up(); }));
  EXPECT_THAT(error("link ab.0 flap soon"), HasSubstr("'soon' is not a time such as"));
}

TEST_F(LinkCommands, SlowWindows) {
  constexpr std::chrono::milliseconds kPause(30);
  test::Driver driver(one.function(Side::primary));
  EXPECT_EQ(commands.run("link ab.0 slow 30")["pause_ns"], 30'000'000);
  const auto begin = std::chrono::steady_clock::now();
  driver.read(reg::PEER_VIEW + reg::BAR23XLAT, 8);
  driver.read(reg::PEER_VIEW + reg::BAR45LMT, 8);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 2 * kPause);
  EXPECT_EQ(commands.run("link ab.0 slow 0")["pause_ns"], 0);
  EXPECT_THAT(error("link ab.0 slow down"), HasSubstr("'down' is not a time such as"));
  EXPECT_EQ(error("link ba slow 1"), "no such link; there are: ab.0, ab.1");
}

TEST_F(LinkCommands, StuckWindow) {
  test::Driver driver(one.function(Side::primary));
  const auto limits = [&] {
    const auto limit = one.function(Side::primary).status().limit;
    return std::vector(limit.begin(), limit.end());
  };
  driver.open(0, 0x1000, 0x2000);
  driver.open(1, 0x3000, 0x4000);
  EXPECT_EQ(commands.run("link ab.0 stuck 1")["stuck"], "1");
  driver.open(0, 0, 0);
  driver.open(1, 0, 0);
  EXPECT_THAT(limits(), ElementsAre(0, 0x4000)) << "the second keeps what it held";
  EXPECT_EQ(commands.run("link ab.0 stuck 0")["stuck"], "0");
  driver.open(0, 0x1000, 0x2000);
  driver.open(1, 0, 0);
  EXPECT_THAT(limits(), ElementsAre(0, 0));
  EXPECT_EQ(commands.run("link ab.0 stuck none")["stuck"], "none");
  driver.open(0, 0x1000, 0x2000);
  EXPECT_THAT(limits(), ElementsAre(0x2000, 0));
}

TEST_F(LinkCommands, NamesWhatThereIs) {
  EXPECT_EQ(error("link ba down"), "no such link; there are: ab.0, ab.1");
  EXPECT_EQ(error("link ba flap 1"), "no such link; there are: ab.0, ab.1");
  EXPECT_EQ(error("ledger ba"), "no such link; there are: ab.0, ab.1");
  EXPECT_EQ(error("ledger reset ba"), "no such link; there are: ab.0, ab.1");
  EXPECT_THAT(error("link ab.0 sideways"), HasSubstr("link NAME up|down|silent"));
}

TEST_F(LinkCommands, Ledger) {
  test::Driver(one.function(Side::secondary)).open(0, 0, 0x1000);
  test::Driver(two.function(Side::secondary)).open(0, 0, 0x1000);
  for (auto* cable : {&one, &two}) {
    cable->ledger().reset();
    test::Driver(cable->function(Side::primary)).write(0, 1, 8, 2);
  }
  auto answer = commands.run("ledger");
  EXPECT_EQ(answer["links"]["ab.0"]["from_primary"]["posted"]["message"]["bytes"], 8) << answer;
  EXPECT_EQ(answer["links"]["ab.1"]["from_primary"]["posted"]["message"]["transactions"], 1);
  answer = commands.run("ledger ab.1");
  EXPECT_EQ(answer["links"].size(), 1U);
  EXPECT_EQ(commands.run("ledger reset ab.1"), (nlohmann::json{{"ok", true}}));
  answer = commands.run("ledger");
  EXPECT_EQ(answer["links"]["ab.0"]["from_primary"]["posted"]["message"]["bytes"], 8);
  EXPECT_EQ(answer["links"]["ab.1"]["from_primary"]["posted"]["message"]["bytes"], 0);
  EXPECT_EQ(commands.run("ledger reset")["ok"], true);
  EXPECT_EQ(commands.run("ledger ab.0")["links"]["ab.0"]["from_primary"]["posted"]["message"]["bytes"], 0);
}

/// As Fabric does it where a topology says surprise_removal.
TEST_F(LinkCommands, ACableTellsWhenItIsPulledAndWhenItIsIn) {
  std::vector<bool> seen;
  std::mutex mutex;
  const auto all = [&] {
    const std::scoped_lock lock(mutex);
    return seen;
  };
  Cable cable{{.name = "c", .windows = {1 << 20, 1 << 16}}};
  cable.follow_plug([&](bool in) {
    const std::scoped_lock lock(mutex);
    seen.push_back(in);
  });
  cable.down();
  EXPECT_THAT(all(), ElementsAre(false));
  cable.up();
  EXPECT_THAT(all(), ElementsAre(false, true));
  cable.flap(std::chrono::milliseconds(1));
  EXPECT_TRUE(eventually([&] { return all().size() == 4; }));
  EXPECT_THAT(all(), ElementsAre(false, true, false, true));
  cable.flap(std::chrono::hours(1));
  cable.down();
  cable.up();
  EXPECT_THAT(all(), ElementsAre(false, true, false, true, false, false, true));
}

}  // namespace
}  // namespace smartio::ntb
