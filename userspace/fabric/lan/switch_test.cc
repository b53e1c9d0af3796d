// SPDX-License-Identifier: GPL-2.0
#include "fabric/lan/switch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <cstring>
#include <optional>

#include "base/eventually.h"
#include "base/scratch_folder.h"
#include "base/unix_socket.h"
#include "fabric/lan/lan_control.h"

namespace smartio::lan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A guest's network card: QEMU's end of the socket.
class Card {
 public:
  Card(const std::filesystem::path& path, char address) : address_(address) {
    if (auto connected = connect_unix(path)) fd_ = std::move(*connected);
  }
  static std::string mac(char address) { return std::string("\x02\0\0\0\0", 5) + address; }
  static std::string broadcast() { return std::string(6, '\xff'); }

  bool raw(std::string_view bytes) {
    return ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }
  bool send(const std::string& to, std::string_view payload) { return raw(wire(to, payload)); }
  [[nodiscard]] std::string wire(const std::string& to, std::string_view payload) const {
    std::string frame = to + mac(address_) + "\x08\x00" + std::string(payload);
    frame.insert(13, 1, '\0');  // the literal above ends at its zero
    std::string out;
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(frame.size() >> shift & 0xff);
    return out + frame;
  }
  /// The next frame's payload; none if the connection ended or 20 s passed.
  std::optional<std::string> receive() {
    while (true) {
      const auto next = reader_.next();
      if (next.found == FrameReader::Found::frame)
        return std::string(reinterpret_cast<const char*>(next.frame().data()) + 14, next.frame().size() - 14);
      if (next.found == FrameReader::Found::malformed) return "malformed";
      pollfd polled{.fd = fd_.get(), .events = POLLIN, .revents = 0};
      if (::poll(&polled, 1, 20'000) != 1) return std::nullopt;
      const auto room = reader_.room();
      const auto got = ::recv(fd_.get(), room.data(), room.size(), 0);
      if (got <= 0) return std::nullopt;
      reader_.filled(static_cast<std::size_t>(got));
    }
  }
  [[nodiscard]] bool ended() {
    pollfd polled{.fd = fd_.get(), .events = POLLIN, .revents = 0};
    char byte = 0;
    return ::poll(&polled, 1, 20'000) == 1 && ::recv(fd_.get(), &byte, 1, 0) <= 0;
  }
  [[nodiscard]] int fd() const { return fd_.get(); }
  void unplug() { fd_.reset(); }

 private:
  UniqueFd fd_;
  char address_;
  FrameReader reader_;
};

class SwitchTest : public ::testing::Test {
 protected:
  SwitchTest() {
    lan = Switch::start({{"a", folder / "a"}, {"b", folder / "b"}, {"c", folder / "c"}}).value();
    add_commands(commands, *lan);
    a.emplace(folder / "a", 'a');
    b.emplace(folder / "b", 'b');
    c.emplace(folder / "c", 'c');
    EXPECT_TRUE(eventually([&] { return port("a").connected && port("b").connected && port("c").connected; }));
  }
  ~SwitchTest() override { lan.reset(); }
  PortStatus port(std::string_view name) {
    for (const auto& status : lan->status())
      if (status.name == name) return status;
    return {};
  }
  /// Makes the switch learn where all are. The last frames flooded tell that all has been through.
  void learn_all() {
    a->send(Card::broadcast(), "A");
    EXPECT_EQ(b->receive(), "A");
    EXPECT_EQ(c->receive(), "A");
    b->send(Card::broadcast(), "B");
    EXPECT_EQ(a->receive(), "B");
    EXPECT_EQ(c->receive(), "B");
    c->send(Card::broadcast(), "C");
    EXPECT_EQ(a->receive(), "C");
    EXPECT_EQ(b->receive(), "C");
  }

  ScratchFolder folder;
  std::unique_ptr<Switch> lan;
  control::Commands commands;
  std::optional<Card> a, b, c;
};

TEST_F(SwitchTest, FloodsUntilItHasLearned) {
  a->send(Card::mac('b'), "where is b");
  EXPECT_EQ(b->receive(), "where is b");
  EXPECT_EQ(c->receive(), "where is b");
  b->send(Card::mac('a'), "here");
  EXPECT_EQ(a->receive(), "here");
  a->send(Card::mac('b'), "hello");
  EXPECT_EQ(b->receive(), "hello");
  a->send(Card::broadcast(), "all");
  EXPECT_EQ(c->receive(), "all") << "c got neither 'here' nor 'hello' before";
  EXPECT_EQ(port("c").counters.frames_out, 2U);
}

TEST_F(SwitchTest, MulticastGoesToAllButItsSender) {
  learn_all();
  a->send(std::string("\x01\0\x5e\0\0\x01", 6), "group");
  EXPECT_EQ(b->receive(), "group");
  EXPECT_EQ(c->receive(), "group");
  b->send(Card::mac('a'), "mark");
  EXPECT_EQ(a->receive(), "mark") << "not its own";
}

TEST_F(SwitchTest, FrameToItselfGoesNowhere) {
  learn_all();
  a->send(Card::mac('a'), "me");
  a->send(Card::mac('b'), "mark");
  EXPECT_EQ(b->receive(), "mark");
  b->send(Card::mac('a'), "mark");
  EXPECT_EQ(a->receive(), "mark");
  EXPECT_EQ(port("c").counters.frames_out, 2U);
}

TEST_F(SwitchTest, LargestFrameGoesThrough) {
  learn_all();
  const std::string payload(FrameReader::kMaxFrame - 14, 'x');
  std::jthread sender([&] { a->send(Card::mac('b'), payload); });
  EXPECT_EQ(b->receive(), payload);
}

TEST_F(SwitchTest, ManyFramesStayWholeAndInOrder) {
  learn_all();
  constexpr int kFrames = 5000;
  std::jthread sender([&] {
    for (int i = 0; i < kFrames; i++) {
      a->send(Card::mac('b'), std::to_string(i) + std::string(static_cast<std::size_t>(i) % 1400, '.'));
      if (i % 100 == 99) {
        EXPECT_EQ(a->receive(), "go on") << "so that no queue is full";
      }
    }
  });
  for (int i = 0; i < kFrames; i++) {
    ASSERT_EQ(b->receive(), std::to_string(i) + std::string(static_cast<std::size_t>(i) % 1400, '.'));
    if (i % 100 == 99) b->send(Card::mac('a'), "go on");
  }
  EXPECT_EQ(port("b").counters.dropped_full, 0U);
}

TEST_F(SwitchTest, RelearnsWhenAnAddressMoves) {
  learn_all();
  c->unplug();
  EXPECT_TRUE(eventually([&] { return !port("c").connected; }));
  c.emplace(folder / "c", 'b');  // the guest of c returns with the former address of b
  EXPECT_TRUE(eventually([&] { return port("c").connected; }));
  c->send(Card::broadcast(), "moved");
  EXPECT_EQ(a->receive(), "moved");
  a->send(Card::mac('b'), "new place");
  EXPECT_EQ(c->receive(), "new place");
}

TEST_F(SwitchTest, ForgetsTheAddressesOfAGuestThatWent) {
  learn_all();
  b->unplug();
  EXPECT_TRUE(eventually([&] { return !port("b").connected; }));
  a->send(Card::mac('b'), "still there?");
  EXPECT_EQ(c->receive(), "still there?") << "flooded, as an unknown address";
}

TEST_F(SwitchTest, RestartedGuestTakesItsPortEvenIfTheOldConnectionHangs) {
  learn_all();
  Card again(folder / "b", 'b');
  EXPECT_TRUE(b->ended());
  again.send(Card::mac('a'), "back");
  EXPECT_EQ(a->receive(), "back");
  a->send(Card::mac('b'), "welcome");
  EXPECT_EQ(again.receive(), "welcome");
}

TEST_F(SwitchTest, NonsenseClosesThatPortOnly) {
  learn_all();
  a->raw(std::string("\xff\xff\xff\xff nonsense", 13));
  EXPECT_TRUE(a->ended());
  EXPECT_EQ(port("a").counters.malformed, 1U);
  b->send(Card::mac('c'), "we live");
  EXPECT_EQ(c->receive(), "we live");
  a.emplace(folder / "a", 'a');
  a->send(Card::broadcast(), "back");
  EXPECT_EQ(b->receive(), "back");
}

TEST_F(SwitchTest, SlowGuestLosesFramesAndHoldsUpNobody) {
  learn_all();
  const std::string payload(1400, 's');
  for (int i = 0; i < 5000; i++) ASSERT_TRUE(a->send(Card::mac('b'), payload));  // b does not read: 7 MB
  a->send(Card::mac('c'), "through");
  EXPECT_EQ(c->receive(), "through");
  EXPECT_GT(port("b").counters.dropped_full, 0U);
  std::uint64_t got = 0;
  a->send(Card::mac('b'), "lost or not");
  while (got < port("b").counters.frames_out - 2) {
    const auto frame = b->receive();
    ASSERT_TRUE(frame);
    ASSERT_TRUE(*frame == payload || *frame == "lost or not") << "frames are lost whole, never torn";
    got++;
  }
}

TEST_F(SwitchTest, PortDownAndUp) {
  learn_all();
  EXPECT_EQ(commands.run("lan b down"), (nlohmann::json{{"ok", true}}));
  a->send(Card::mac('b'), "lost");
  EXPECT_TRUE(eventually([&] { return port("b").counters.dropped_cut == 1; }));
  b->send(Card::mac('a'), "lost too");
  EXPECT_TRUE(eventually([&] { return port("b").counters.dropped_cut == 2; }));
  EXPECT_FALSE(port("b").up);
  EXPECT_EQ(commands.run("lan b up")["ok"], true);
  a->send(Card::mac('b'), "found");
  EXPECT_EQ(b->receive(), "found");
  b->send(Card::mac('a'), "found too");
  EXPECT_EQ(a->receive(), "found too");
}

TEST_F(SwitchTest, PairIsCutBothWaysAndOthersAreNot) {
  learn_all();
  EXPECT_EQ(commands.run("lan pair a b down")["ok"], true);
  EXPECT_THAT(port("a").cut_from, ElementsAre("b"));
  EXPECT_THAT(port("b").cut_from, ElementsAre("a"));
  a->send(Card::broadcast(), "from a");
  EXPECT_EQ(c->receive(), "from a");
  b->send(Card::broadcast(), "from b");
  EXPECT_EQ(c->receive(), "from b");
  c->send(Card::broadcast(), "from c");
  EXPECT_EQ(a->receive(), "from c");
  EXPECT_EQ(b->receive(), "from c");
  EXPECT_EQ(commands.run("lan pair a b up")["ok"], true);
  a->send(Card::mac('b'), "again");
  EXPECT_EQ(b->receive(), "again");
}

TEST_F(SwitchTest, PartitionAndHeal) {
  learn_all();
  EXPECT_EQ(commands.run("lan partition a,b c")["ok"], true);
  EXPECT_THAT(port("c").cut_from, ElementsAre("a", "b"));
  EXPECT_THAT(port("a").cut_from, ElementsAre("c"));
  EXPECT_EQ(commands.run("lan partition b")["ok"], true) << "those not named are a group";
  EXPECT_THAT(port("a").cut_from, ElementsAre("b"));
  EXPECT_THAT(port("b").cut_from, ElementsAre("a", "c"));
  EXPECT_EQ(commands.run("lan heal")["ok"], true);
  for (const auto* name : {"a", "b", "c"}) EXPECT_THAT(port(name).cut_from, IsEmpty());
}

TEST_F(SwitchTest, RefusesOrdersWithWhatWouldBeRight) {
  const auto error = [&](std::string_view line) { return commands.run(line).value("error", "no error"); };
  EXPECT_THAT(error("lan d down"), HasSubstr("there are: a, b, c"));
  EXPECT_THAT(error("lan pair a d down"), HasSubstr("there are: a, b, c"));
  EXPECT_THAT(error("lan pair d a down"), HasSubstr("there are: a, b, c"));
  EXPECT_THAT(error("lan pair a a down"), HasSubstr("two different hosts"));
  EXPECT_THAT(error("lan partition a,a"), HasSubstr("a is named twice"));
  EXPECT_THAT(error("lan partition a, b"), HasSubstr("no such host"));
  for (const auto* name : {"a", "b", "c"}) EXPECT_THAT(port(name).cut_from, IsEmpty()) << "nothing half done";
}

TEST_F(SwitchTest, ListShowsPortsAndCounters) {
  learn_all();
  const auto answer = commands.run("lan list");
  ASSERT_EQ(answer["hosts"].size(), 3U) << answer;
  EXPECT_EQ(answer["hosts"][1]["host"], "b");
  EXPECT_EQ(answer["hosts"][1]["connected"], true);
  EXPECT_EQ(answer["hosts"][1]["frames_in"], 1);
  EXPECT_EQ(answer["hosts"][1]["bytes_in"], 15);
  EXPECT_EQ(answer["hosts"][1]["frames_out"], 2);
}

TEST_F(SwitchTest, RefusesPortsThatCannotBe) {
  EXPECT_FALSE(Switch::start({{"x", folder / "no" / "x"}}));
  const auto twice = Switch::start({{"x", folder / "x"}, {"x", folder / "y"}});
  ASSERT_FALSE(twice);
  EXPECT_THAT(twice.error().message, HasSubstr("two ports are called x"));
}

TEST_F(SwitchTest, LeavesNoSocketBehind) {
  lan.reset();
  EXPECT_TRUE(a->ended());
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace smartio::lan
