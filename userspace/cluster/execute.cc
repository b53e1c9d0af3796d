// SPDX-License-Identifier: GPL-2.0
#include "cluster/execute.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/base64.h"
#include "base/deadline.h"
#include "cluster/interrupt.h"

namespace smartio::cluster {

namespace {

using nlohmann::json;
using namespace std::chrono_literals;

/// For so long a conversation is kept open to see a short command end; then others get their turn.
constexpr auto kShortCommand = 150ms;
/// Each question costs the host a millisecond of its CPU, which the command could use. So the intervals between them
/// grow with the time that the command takes.
constexpr Deadline::Clock::duration kFirstQuestion = 6ms;
constexpr Deadline::Clock::duration kRarestQuestion = 200ms;
constexpr int kPartOfElapsed = 5;

Result<Outcome> outcome_of(const json& status) {
  Outcome outcome;
  outcome.status = status.value("exitcode", 0);
  if (status.contains("signal")) outcome.signal = status.value("signal", 0);
  for (auto [key, target] : {std::pair{"out-data", &outcome.output}, {"err-data", &outcome.errors}}) {
    if (!status.contains(key)) continue;
    auto bytes = base64_decode(status[key].get_ref<const std::string&>());
    if (!bytes) return std::unexpected(bytes.error());
    *target = std::move(*bytes);
  }
  outcome.output_cut = status.value("out-truncated", false) || status.value("err-truncated", false);
  return outcome;
}

/// One command that runs in the host.
class Running {
 public:
  Running(GuestAgent& agent, std::int64_t pid, std::chrono::milliseconds patience)
      : agent_(agent), pid_(pid), agent_patience_(patience) {}

  /// The time between two questions.
  void pause() const {
    const auto elapsed = Deadline::Clock::now() - begin_;
    std::this_thread::sleep_for(std::clamp(elapsed / kPartOfElapsed, kFirstQuestion, kRarestQuestion));
  }

  /// Its outcome if it has ended, none if it hasn't.
  Result<std::optional<Outcome>> look(GuestAgent::Session& session) const {
    const auto status = session.call("guest-exec-status", {{"pid", pid_}}, Deadline::in(agent_patience_));
    if (!status && !session.refusal().empty()) {
      return fail(fmt::format("{}: the command was lost: the host or its agent restarted", agent_.host()));
    }
    if (!status) return std::unexpected(status.error());
    if (!status->is_object()) return fail(fmt::format("{}: invalid answer to guest-exec-status", agent_.host()));
    if (!status->value("exited", false)) return std::nullopt;
    auto outcome = outcome_of(*status);
    if (!outcome) return fail(fmt::format("{}: {}", agent_.host(), outcome.error().message));
    return std::move(*outcome);
  }

  /// Each question is a conversation of its own. `stop` ends the waiting.
  template <typename Stop>
  Result<std::optional<Outcome>> wait(Stop stop) const {
    while (!stop()) {
      pause();
      auto session = agent_.open(Deadline::in(agent_patience_));
      if (!session && interrupted() != 0) return std::nullopt;
      if (!session) return std::unexpected(session.error());
      auto seen = look(*session);
      if (!seen && interrupted() != 0) return std::nullopt;
      if (!seen || *seen) return seen;
    }
    return std::nullopt;
  }

  /// Ends it with all that is left of its session.
  Result<void> kill() const {
    auto session = agent_.open(Deadline::in(agent_patience_));
    if (!session) return std::unexpected(session.error());
    const json arguments = {{"path", "/bin/kill"}, {"arg", {"-KILL", "--", fmt::format("-{}", pid_)}}};
    const auto started = session->call("guest-exec", arguments, Deadline::in(agent_patience_));
    if (!started) return std::unexpected(started.error());
    return {};
  }

 private:
  GuestAgent& agent_;
  std::int64_t pid_;
  std::chrono::milliseconds agent_patience_;
  Deadline::Clock::time_point begin_ = Deadline::Clock::now();
};

/// setsid makes the command the leader of a process group, so that a timeout ends its children too.
json arguments_of(const Request& request) {
  json arguments = {{"path", "setsid"}, {"arg", request.command}, {"capture-output", true}};
  if (!request.input.empty()) arguments["input-data"] = base64_encode(request.input);
  return arguments;
}

}  // namespace

int Outcome::exit_status() const {
  if (timed_out) return 124;
  if (interrupted) return 130;
  return signal ? 128 + *signal : status;
}

Result<Outcome> execute(GuestAgent& agent, const Request& request) {
  if (request.command.empty()) return fail("there is no command");
  if (request.input.size() > kLargestInput) {
    return fail(fmt::format("the command's input is larger than {} MiB: push a file", kLargestInput >> 20));
  }
  const auto deadline = request.timeout ? Deadline::in(*request.timeout) : Deadline::never();
  std::optional<Running> running;
  {
    auto session = agent.open(Deadline::in(request.agent_patience).or_earlier(deadline));
    if (!session) return std::unexpected(session.error());
    const auto started = session->call("guest-exec", arguments_of(request), Deadline::in(request.agent_patience));
    if (!started) return std::unexpected(started.error());
    if (!started->is_object() || !started->contains("pid")) return fail("invalid answer to guest-exec");
    running.emplace(agent, (*started)["pid"].get<std::int64_t>(), request.agent_patience);
    const auto patience = Deadline::in(kShortCommand).or_earlier(deadline);
    while (!patience.passed() && interrupted() == 0) {
      auto seen = running->look(*session);
      if (!seen && interrupted() != 0) break;
      if (!seen) return std::unexpected(seen.error());
      if (*seen) return std::move(**seen);
      running->pause();
    }
  }
  auto ended = running->wait([&] { return deadline.passed() || interrupted() != 0; });
  if (!ended) return std::unexpected(ended.error());
  if (*ended) return std::move(**ended);

  // Out of time. The output so far is shown, if the process can be ended: one stuck in the kernel can't.
  const bool was_interrupted = interrupted() != 0;
  clear_interrupt();
  Outcome outcome;
  if (running->kill()) {
    const auto patience = Deadline::in(3s);
    if (auto rest = running->wait([&] { return patience.passed() || interrupted() != 0; }); rest && *rest) {
      outcome = std::move(**rest);
    }
  }
  outcome.interrupted = was_interrupted;
  outcome.timed_out = !was_interrupted;
  return outcome;
}

}  // namespace smartio::cluster
