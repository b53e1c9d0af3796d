// SPDX-License-Identifier: GPL-2.0
#include "bench/guests/guests.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/deadline.h"
#include "base/text.h"
#include "cluster/execute.h"
#include "cluster/interrupt.h"
#include "cluster/transfer.h"

namespace smartio::bench {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

void sleep_for(std::chrono::duration<double> time) {
  const auto end = Clock::now() + time;
  while (Clock::now() < end) {
    if (cluster::interrupted() != 0) throw std::runtime_error("interrupted");
    std::this_thread::sleep_for(std::min<std::chrono::duration<double>>(200ms, end - Clock::now()));
  }
}

void wait_for(std::chrono::milliseconds pause, std::chrono::seconds patience, const std::function<bool()>& holds,
              const std::function<std::string()>& late) {
  const auto deadline = Deadline::in(patience);
  while (!holds()) {
    if (deadline.passed()) throw std::runtime_error(late());
    sleep_for(pause);
  }
}

std::string Guests::shell(const std::string& host, std::string_view text, std::vector<std::string> arguments,
                          std::chrono::seconds patience) {
  auto agent = checked(cluster_.agent(host));
  std::vector<std::string> words{"bash", "-euo", "pipefail", "-c", std::string(text), "bash"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  auto outcome = checked(cluster::execute(agent, {.command = std::move(words), .input = {}, .timeout = patience}));
  if (outcome.exit_status() != 0) {
    throw std::runtime_error(
        fmt::format("{}: status {} of: {}\n{}{}", host, outcome.exit_status(), text, outcome.output, outcome.errors));
  }
  return std::move(outcome.output);
}

void Guests::start(const std::string& host, const std::vector<std::string>& command) {
  shell(host, R"(rm -f /run/bench.out /run/bench.status
    setsid bash -c '"$@" > /run/bench.out 2>&1; echo $? > /run/bench.status' bash "$@" > /dev/null 2>&1 < /dev/null &)",
        command);
}

std::string Guests::finish(const std::string& host, std::chrono::seconds patience) {
  std::string status;
  auto ended = [&] {
    status = trimmed(shell(host, "cat /run/bench.status 2> /dev/null || true"));
    return !status.empty();
  };
  wait_for(500ms, patience, ended, [&] { return fmt::format("{}: the program does not end", host); });
  std::string text = output(host);
  if (status != "0") throw std::runtime_error(fmt::format("{}: the program ended with {}: {}", host, status, text));
  return text;
}

double Guests::completed(const std::string& host, const std::string& disk) {
  return number(host, R"sh(read -r r _ _ _ w _ < "/sys/block/${1##*/}/stat"; echo $((r + w)))sh", {disk});
}

double Guests::number(const std::string& host, std::string_view text, std::vector<std::string> arguments) {
  const std::string printed = shell(host, text, std::move(arguments));
  try {
    return std::stod(printed);
  } catch (const std::logic_error&) {
    throw std::runtime_error(fmt::format("{}: expected a number, saw: {:.80}", host, printed));
  }
}

std::string Guests::file(const std::string& host, std::string_view path) {
  auto agent = checked(cluster_.agent(host));
  std::string text;
  checked(cluster::Transfer(cluster_.folder(), agent).pull(std::string(path), [&](std::string_view bytes) {
    text += bytes;
    return Result<void>();
  }));
  return text;
}

}  // namespace smartio::bench
