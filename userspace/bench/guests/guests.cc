// SPDX-License-Identifier: GPL-2.0
#include "bench/guests/guests.h"

#include <fmt/format.h>

#include <thread>

#include "base/deadline.h"
#include "base/text.h"
#include "cluster/execute.h"
#include "cluster/interrupt.h"
#include "cluster/transfer.h"

namespace smartio::bench {

using namespace std::chrono_literals;

Result<std::string> Guests::shell(const std::string& host, std::string_view text, std::vector<std::string> arguments,
                                  std::chrono::seconds patience) {
  auto agent = cluster_.agent(host);
  if (!agent) return std::unexpected(agent.error());
  std::vector<std::string> words{"bash", "-euo", "pipefail", "-c", std::string(text), "bash"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const auto outcome = cluster::execute(*agent, {.command = std::move(words), .input = {}, .timeout = patience});
  if (!outcome) return std::unexpected(outcome.error());
  if (outcome->exit_status() != 0) {
    return fail(fmt::format("{}: status {} of: {}\n{}{}", host, outcome->exit_status(), text, outcome->output,
                            outcome->errors));
  }
  return outcome->output;
}

Result<void> Guests::start(const std::string& host, const std::vector<std::string>& command) {
  const auto started = shell(host, R"(rm -f /run/bench.out /run/bench.status
    setsid bash -c '"$@" > /run/bench.out 2>&1; echo $? > /run/bench.status' bash "$@" > /dev/null 2>&1 < /dev/null &)",
                             command);
  if (!started) return std::unexpected(started.error());
  return {};
}

Result<std::string> Guests::finish(const std::string& host, std::chrono::seconds patience) {
  const auto deadline = Deadline::in(patience);
  while (cluster::interrupted() == 0) {
    const auto status = shell(host, "cat /run/bench.status 2> /dev/null || true");
    if (!status) return status;
    if (const auto code = trimmed(*status); !code.empty()) {
      auto output = shell(host, "cat /run/bench.out");
      if (output && code != "0") return fail(fmt::format("{}: the program ended with {}: {}", host, code, *output));
      return output;
    }
    if (deadline.passed()) return fail(fmt::format("{}: the program does not end", host));
    std::this_thread::sleep_for(500ms);
  }
  return fail("interrupted");
}

Result<std::string> Guests::file(const std::string& host, std::string_view path) {
  auto agent = cluster_.agent(host);
  if (!agent) return std::unexpected(agent.error());
  std::string text;
  const auto pulled = cluster::Transfer(cluster_.folder(), *agent).pull(std::string(path), [&](std::string_view bytes) {
    text += bytes;
    return Result<void>();
  });
  if (!pulled) return std::unexpected(pulled.error());
  return text;
}

}  // namespace smartio::bench
