// SPDX-License-Identifier: GPL-2.0
#include "fabric/control/commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <stdexcept>

#include "base/text.h"

namespace smartio::control {

namespace {

constexpr std::size_t kMaxWords = 64;

bool is_literal(std::string_view word) {
  return std::ranges::all_of(word, [](char c) { return (c >= 'a' && c <= 'z') || c == '-' || c == '|'; });
}

nlohmann::json refusal(std::string message) { return {{"ok", false}, {"error", std::move(message)}}; }

nlohmann::json success(nlohmann::json answer) {
  auto reply = nlohmann::json::object();
  reply["ok"] = true;
  if (answer.is_object())
    reply.update(answer);
  else if (!answer.is_null())
    reply["result"] = std::move(answer);
  return reply;
}

std::string line_of(const nlohmann::json& answer) {
  // Handlers may quote bytes from outside: UTF-8 errors are replaced, and don't throw.
  return answer.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// The start of a request, fit to be quoted in an answer.
std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 60;
  return printable(text, kMost) + (text.size() > kMost ? "…" : "");
}

}  // namespace

std::vector<Commands::Word> Commands::parse(std::string_view pattern) {
  const auto malformed = [&](std::string_view why) {
    return std::invalid_argument(fmt::format("control command '{}': {}", pattern, why));
  };
  constexpr std::string_view kMany = "…";
  std::vector<Word> words;
  bool in_brackets = false;
  for (auto text : words_of(pattern)) {
    if (!words.empty() && words.back().many) throw malformed("nothing can follow a word with …");
    if (text.starts_with('[')) {
      in_brackets = true;
      text.remove_prefix(1);
    }
    Word word{.optional = in_brackets};
    if (!in_brackets && !words.empty() && words.back().optional)
      throw malformed("only words at the end can be left out");
    const bool closes = text.ends_with(']');
    if (closes) {
      if (!in_brackets) throw malformed("a ] without its [");
      in_brackets = false;
      text.remove_suffix(1);
    }
    if (text.ends_with(kMany)) {
      word.many = true;
      text.remove_suffix(kMany.size());
    }
    if (text.empty()) throw malformed("an empty word");
    if (is_literal(text)) {
      while (true) {
        const auto bar = text.find('|');
        word.choices.emplace_back(text.substr(0, bar));
        if (word.choices.back().empty()) throw malformed("an empty choice");
        if (bar == std::string_view::npos) break;
        text.remove_prefix(bar + 1);
      }
    }
    words.push_back(std::move(word));
  }
  if (words.empty() || words.front().choices.empty()) throw malformed("it must begin with a word in small letters");
  if (in_brackets) throw malformed("a [ without its ]");
  return words;
}

bool Commands::fits(const Command& command, Words words) {
  std::size_t at = 0;
  for (const auto& expected : command.words) {
    if (at == words.size()) return expected.optional;
    if (!expected.choices.empty() && std::ranges::find(expected.choices, words[at]) == expected.choices.end())
      return false;
    at = expected.many ? words.size() : at + 1;
  }
  return at == words.size();
}

void Commands::add(std::string_view pattern, std::string help, Handler handler) {
  Command command{
      .pattern = std::string(pattern), .help = std::move(help), .words = parse(pattern), .handler = std::move(handler)};
  command.literals =
      static_cast<std::size_t>(std::ranges::count_if(command.words, [](const Word& w) { return !w.choices.empty(); }));
  const std::scoped_lock lock(mutex_);
  if (std::ranges::find(commands_, command.pattern, &Command::pattern) != commands_.end())
    throw std::invalid_argument(fmt::format("control command '{}' is there already", pattern));
  const auto place = std::ranges::find_if(commands_, [&](const Command& c) { return c.literals < command.literals; });
  commands_.insert(place, std::move(command));
}

nlohmann::json Commands::help() const {
  std::vector<std::pair<std::string, std::string>> lines;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& command : commands_) lines.emplace_back(command.pattern, command.help);
  }
  lines.emplace_back("help", "every command, in a line each");
  std::ranges::sort(lines);
  auto json = nlohmann::json::array();
  for (const auto& [pattern, help] : lines) json.push_back({{"command", pattern}, {"help", help}});
  return json;
}

std::string Commands::unknown(Words words) const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> same_start;
  std::vector<std::string> starts;
  for (const auto& command : commands_) {
    for (const auto& choice : command.words.front().choices) {
      starts.push_back(choice);
      if (choice == words.front()) same_start.push_back(command.pattern);
    }
  }
  if (!same_start.empty())
    return fmt::format("'{}' fits no command; try: {}", shown(fmt::format("{}", fmt::join(words, " "))),
                       fmt::join(same_start, " · "));
  starts.emplace_back("help");
  std::ranges::sort(starts);
  const auto doubles = std::ranges::unique(starts);
  starts.erase(doubles.begin(), doubles.end());
  return fmt::format("unknown command '{}'; there are: {}", shown(words.front()), fmt::join(starts, ", "));
}

nlohmann::json Commands::run(std::string_view line) const {
  const auto words = words_of(line);
  if (words.empty()) return refusal("an empty line; 'help' lists the commands");
  if (words.size() > kMaxWords)
    return refusal(fmt::format("{} words; a command has at most {}", words.size(), kMaxWords));
  if (words.size() == 1 && words[0] == "help") return success({{"commands", help()}});
  Handler handler;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& command : commands_) {
      if (fits(command, words)) {
        handler = command.handler;
        break;
      }
    }
  }
  if (!handler) return refusal(unknown(words));
  try {
    auto answer = handler(words);
    if (!answer) return refusal(std::move(answer.error().message));
    return success(std::move(*answer));
  } catch (const std::exception& error) {
    return refusal(fmt::format("'{}' failed: {}", shown(line), error.what()));
  }
}

std::string Commands::answer(std::string_view line) const { return line_of(run(line)); }

Result<std::unique_ptr<LineServer>> serve(const std::filesystem::path& path, const Commands& commands) {
  return LineServer::start(
      path, [&commands](std::string_view line) { return commands.answer(line); },
      line_of(refusal(fmt::format("a line of more than {} bytes", LineReader::kMaxLine))));
}

}  // namespace smartio::control
