// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/line_server.h"
#include "base/result.h"

namespace smartio::control {

using Words = std::span<const std::string_view>;
/// Gets all words of the request, the command's own included. Must not wait for a guest or for long: it runs on the
/// control socket's one thread. The members of a returned object become the answer's members ("ok" is added). Any value
/// but an object or null becomes the member "result".
using Handler = std::function<Result<nlohmann::json>(Words)>;

/// The commands of the control socket. Each part of the fabric adds its own, so this class knows none of them.
///
/// A pattern is the text that `help` shows: `link NAME up`, `link NAME flap MS`, `ledger [LINK]`, `lan partition
/// HOSTS…`. Small letters stand for themselves, capitals for any word, `a|b` for one of several. Brackets hold words
/// that may be missing at the end, `…` means one or more words. The first pattern that fits is taken, those with more
/// literal words first. Any thread.
class Commands {
 public:
  /// Throws std::invalid_argument for a pattern that is malformed or there already.
  void add(std::string_view pattern, std::string help, Handler handler);

  /// Runs one request line and returns the answer: {"ok": true, …} or {"ok": false, "error": "…"}.
  [[nodiscard]] nlohmann::json run(std::string_view line) const;
  /// The same as a line of JSON.
  [[nodiscard]] std::string answer(std::string_view line) const;

  /// Every pattern with its help line, sorted: the answer of the command `help`.
  [[nodiscard]] nlohmann::json help() const;

 private:
  struct Word {
    std::vector<std::string> choices{};  ///< empty: any word
    bool optional = false;
    bool many = false;
  };
  struct Command {
    std::string pattern;
    std::string help;
    std::vector<Word> words;
    std::size_t literals = 0;
    Handler handler;
  };
  static std::vector<Word> parse(std::string_view pattern);
  static bool fits(const Command& command, Words words);
  [[nodiscard]] std::string unknown(Words words) const;

  mutable std::mutex mutex_;  ///< guards commands_
  std::vector<Command> commands_;
};

/// Serves the control socket at `path`: a line of words in, a line of JSON out. `commands` outlives the server;
/// commands may be added at any time.
Result<std::unique_ptr<LineServer>> serve(const std::filesystem::path& path, const Commands& commands);

}  // namespace smartio::control
