// SPDX-License-Identifier: GPL-2.0
#include "fabric/control/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "base/line_reader.h"

namespace smartio::control {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A handler that answers its own name and the words it got.
Handler echo(std::string name) {
  return [name](Words words) -> Result<nlohmann::json> {
    return nlohmann::json{{"by", name}, {"words", std::vector<std::string>(words.begin(), words.end())}};
  };
}

TEST(Commands, TakesThePatternThatFits) {
  Commands commands;
  commands.add("link NAME ORDER", "", echo("any"));
  commands.add("link list", "", echo("list"));
  commands.add("link NAME up|down", "", echo("updown"));
  commands.add("link NAME flap MS", "", echo("flap"));
  EXPECT_EQ(commands.run("link list")["by"], "list");
  EXPECT_EQ(commands.run("link a.0 up")["by"], "updown");
  EXPECT_EQ(commands.run("link a.0 down")["by"], "updown");
  EXPECT_EQ(commands.run("link a.0 sideways")["by"], "any") << "more literal words come first";
  EXPECT_EQ(commands.run("  link\ta.0   flap 5ms \r")["words"], (nlohmann::json{"link", "a.0", "flap", "5ms"}));
}

TEST(Commands, OptionalAndManyWords) {
  Commands commands;
  commands.add("ledger [LINK]", "", echo("ledger"));
  commands.add("ledger reset", "", echo("reset"));
  commands.add("lan partition HOSTS…", "", echo("partition"));
  commands.add("fault DRIVE [KIND] [COUNT]", "", echo("fault"));
  EXPECT_EQ(commands.run("ledger")["by"], "ledger");
  EXPECT_EQ(commands.run("ledger a")["by"], "ledger");
  EXPECT_EQ(commands.run("ledger reset")["by"], "reset");
  EXPECT_EQ(commands.run("ledger a b")["ok"], false);
  EXPECT_EQ(commands.run("lan partition a")["by"], "partition");
  EXPECT_EQ(commands.run("lan partition a b c")["words"].size(), 5U);
  EXPECT_EQ(commands.run("lan partition")["ok"], false) << "one word at least";
  EXPECT_EQ(commands.run("fault d")["by"], "fault");
  EXPECT_EQ(commands.run("fault d k 3")["by"], "fault");
  EXPECT_EQ(commands.run("fault")["ok"], false);
}

TEST(Commands, AnswersOkAndError) {
  Commands commands;
  commands.add("nothing", "", [](Words) -> Result<nlohmann::json> { return nullptr; });
  commands.add("number", "", [](Words) -> Result<nlohmann::json> { return 7; });
  commands.add("members", "", [](Words) -> Result<nlohmann::json> { return nlohmann::json{{"a", 1}}; });
  commands.add("refused", "", [](Words) -> Result<nlohmann::json> { return fail("use 'members'"); });
  commands.add("thrown", "", [](Words) -> Result<nlohmann::json> { throw std::runtime_error("out of order"); });
  EXPECT_EQ(commands.run("nothing"), (nlohmann::json{{"ok", true}}));
  EXPECT_EQ(commands.run("number"), (nlohmann::json{{"ok", true}, {"result", 7}}));
  EXPECT_EQ(commands.run("members"), (nlohmann::json{{"ok", true}, {"a", 1}}));
  EXPECT_EQ(commands.run("refused"), (nlohmann::json{{"ok", false}, {"error", "use 'members'"}}));
  EXPECT_THAT(commands.run("thrown")["error"].get<std::string>(), HasSubstr("out of order"));
}

TEST(Commands, UnknownWordsGetWhatWouldBeRight) {
  Commands commands;
  commands.add("link list", "", echo(""));
  commands.add("link NAME up", "", echo(""));
  commands.add("ledger", "", echo(""));
  EXPECT_THAT(commands.run("lnk up")["error"].get<std::string>(),
              ::testing::AllOf(HasSubstr("'lnk'"), HasSubstr("help, ledger, link")));
  EXPECT_THAT(commands.run("link x upp")["error"].get<std::string>(),
              ::testing::AllOf(HasSubstr("link x upp"), HasSubstr("link list"), HasSubstr("link NAME up")));
  EXPECT_EQ(commands.run("")["ok"], false);
  EXPECT_EQ(commands.run(" \t ")["ok"], false);
  std::string words = "link";
  for (int i = 0; i < 100; i++) words += " x";
  EXPECT_THAT(commands.run(words)["error"].get<std::string>(), HasSubstr("at most 64"));
}

TEST(Commands, QuotesNoControlBytes) {
  Commands commands;
  const auto answer = commands.run("\x01\xff\x7f");
  EXPECT_THAT(answer["error"].get<std::string>(), HasSubstr("'" + std::string(3, '?') + "'"));
  EXPECT_NO_THROW(static_cast<void>(answer.dump()));
}

TEST(Commands, HelpListsEverythingSorted) {
  Commands commands;
  commands.add("link list", "all links", echo(""));
  commands.add("drive NAME remove", "pulls it", echo(""));
  const auto help = commands.run("help");
  ASSERT_EQ(help["ok"], true);
  ASSERT_EQ(help["commands"].size(), 3U);
  EXPECT_EQ(help["commands"][0], (nlohmann::json{{"command", "drive NAME remove"}, {"help", "pulls it"}}));
  EXPECT_EQ(help["commands"][1]["command"], "help");
  EXPECT_EQ(help["commands"][2]["command"], "link list");
}

TEST(Commands, RefusesMalformedPatterns) {
  Commands commands;
  commands.add("link list", "", echo(""));
  for (const auto* wrong : {"", "  ", "NAME up", "link [NAME", "link NAME]", "link [A] B", "link A… B", "link |up",
                            "link up|", "link []", "link list"})
    EXPECT_THROW(commands.add(wrong, "", echo("")), std::invalid_argument) << wrong;
}

TEST(LineReader, CutsLines) {
  LineReader reader;
  std::vector<std::string> lines;
  int too_long = 0;
  const auto feed = [&](std::string_view bytes) {
    reader.feed(bytes, [&](std::string_view line) { lines.emplace_back(line); }, [&] { too_long++; });
  };
  feed("one\ntw");
  feed("o\n\nthr");
  EXPECT_THAT(lines, ElementsAre("one", "two", ""));
  feed("ee\n");
  EXPECT_EQ(lines.back(), "three");
  lines.clear();

  feed(std::string(LineReader::kMaxLine, 'x') + "\n");
  EXPECT_EQ(lines.size(), 1U) << "the longest that fits";
  lines.clear();
  feed(std::string(LineReader::kMaxLine, 'y'));
  EXPECT_EQ(too_long, 0);
  feed("y");
  EXPECT_EQ(too_long, 1);
  for (int i = 0; i < 10; i++) feed(std::string(LineReader::kMaxLine, 'z'));
  EXPECT_EQ(too_long, 1) << "told once";
  feed("the rest of it\nfour\n");
  EXPECT_THAT(lines, ElementsAre("four"));
}

}  // namespace
}  // namespace smartio::control
