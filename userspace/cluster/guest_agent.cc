// SPDX-License-Identifier: GPL-2.0
#include "cluster/guest_agent.h"

#include <fmt/format.h>

#include <chrono>
#include <random>
#include <thread>

#include "cluster/interrupt.h"

namespace smartio::cluster {

namespace {

using nlohmann::json;
using namespace std::chrono_literals;

/// Resets the agent's parser, and stands before its answer to guest-sync-delimited.
constexpr char kSentinel = '\xff';

std::int64_t fresh_number() {
  static thread_local std::mt19937_64 source{std::random_device{}()};
  return static_cast<std::int64_t>(source() >> 12);
}

}  // namespace

Result<void> GuestAgent::Session::synchronise(Deadline deadline) {
  const std::int64_t id = fresh_number();
  const json request = {{"execute", "guest-sync-delimited"}, {"arguments", {{"id", id}}}};
  if (auto sent = stream_.send(kSentinel + request.dump() + "\n", deadline); !sent) return sent;
  for (;;) {
    // Up to the sentinel: the rest of an answer that an earlier client did not read.
    if (auto skipped = stream_.read_to(kSentinel, deadline); !skipped) return std::unexpected(skipped.error());
    const auto line = stream_.read_to('\n', deadline);
    if (!line) return std::unexpected(line.error());
    const json answer = json::parse(*line, nullptr, false);
    if (answer.is_object() && answer.value("return", json()) == json(id)) return {};
  }
}

Result<json> GuestAgent::Session::call(std::string_view command, json arguments, Deadline deadline) {
  refusal_.clear();
  const json request = {{"execute", command}, {"arguments", std::move(arguments)}};
  if (auto sent = stream_.send(request.dump() + "\n", deadline); !sent) return std::unexpected(sent.error());
  const auto line = stream_.read_to('\n', deadline);
  if (!line) return fail(fmt::format("{}: {} failed: {}", host_, command, line.error().message));
  json answer = json::parse(*line, nullptr, false);
  if (answer.is_object() && answer.contains("return")) return std::move(answer["return"]);
  if (answer.is_object() && answer.contains("error") && answer["error"].is_object()) {
    refusal_ = answer["error"].value("desc", "no reason given");
    return fail(fmt::format("{}: {}: {}", host_, command, refusal_));
  }
  return fail(fmt::format("{}: invalid answer to {}", host_, command));
}

Result<GuestAgent::Session> GuestAgent::open(Deadline deadline) {
  // An agent that has just begun to listen is found quickly, a slow one is not flooded with questions.
  auto patience = 250ms;
  std::string last = "no connection";
  for (;;) {
    if (!is_alive_()) return fail(fmt::format("{} is not running", host_));
    auto lock = FileLock::take(lock_, deadline);
    if (!lock) return fail(fmt::format("{}: the agent: {}", host_, lock.error().message));
    if (auto stream = Stream::open_pipes(pipes_)) {
      Session session(std::move(*lock), std::move(*stream), host_);
      const auto answered = session.synchronise(Deadline::in(patience).or_earlier(deadline));
      if (answered) return session;
      last = answered.error().message;
      patience = std::min<std::chrono::milliseconds>(patience * 2, 8s);
    } else {
      last = stream.error().message;
    }
    if (interrupted() != 0) return fail("interrupted");
    if (deadline.passed()) return fail(fmt::format("{}: the agent doesn't answer ({})", host_, last));
    std::this_thread::sleep_for(20ms);
  }
}

}  // namespace smartio::cluster
