// SPDX-License-Identifier: GPL-2.0
#include "cluster/fake_agent.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <utility>

#include "cluster/guest_agent.h"
#include "cluster/stream.h"

namespace smartio::cluster {

using nlohmann::json;

FakeAgent::FakeAgent(const StateFolder& folder, std::string_view host, Decide decide) : decide_(std::move(decide)) {
  const std::filesystem::path base = folder.host_file(host, GuestAgent::kAgentPipes);
  make_pipes(base).value();
  // As QEMU opens them.
  requests_.reset(::open((base.string() + ".in").c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  answers_.reset(::open((base.string() + ".out").c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!requests_ || !answers_) throw std::runtime_error("the agent's pipes");
  thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
}

FakeAgent::~FakeAgent() = default;

void FakeAgent::leave_behind(std::string bytes) {
  const std::scoped_lock lock(mutex_);
  leftover_ = std::move(bytes);
}

void FakeAgent::ignore_clients(int count) {
  const std::scoped_lock lock(mutex_);
  ignored_ = count;
}

void FakeAgent::forget_commands() {
  const std::scoped_lock lock(mutex_);
  running_.clear();
}

std::vector<json> FakeAgent::commands() {
  const std::scoped_lock lock(mutex_);
  return commands_;
}

void FakeAgent::serve(const std::stop_token& stop) {
  std::string received;
  std::array<char, 4096> buffer{};
  while (!stop.stop_requested()) {
    pollfd ready{.fd = requests_.get(), .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, 5) <= 0) continue;
    const ssize_t got = ::read(requests_.get(), buffer.data(), buffer.size());
    if (got <= 0) continue;  // a client has dropped it meanwhile
    received.append(buffer.data(), static_cast<std::size_t>(got));
    for (std::size_t end = received.find('\n'); end != std::string::npos; end = received.find('\n')) {
      const std::string line = received.substr(0, end);
      received.erase(0, end + 1);
      answer_line(line, stop);
    }
  }
}

void FakeAgent::answer_line(std::string_view line, const std::stop_token& stop) {
  const bool delimited = line.starts_with('\xff');
  if (delimited) line.remove_prefix(1);
  std::string text;
  {
    const std::scoped_lock lock(mutex_);
    if (delimited && ignored_ > 0) {
      --ignored_;
      return;
    }
    text = std::exchange(leftover_, {});
  }
  const json answered = answer(json::parse(line));
  if (!answered.is_null()) text += (delimited ? "\xff" : "") + answered.dump() + "\n";
  for (std::string_view rest = text; !rest.empty() && !stop.stop_requested();) {
    pollfd ready{.fd = answers_.get(), .events = POLLOUT, .revents = 0};
    ::poll(&ready, 1, 5);
    const ssize_t sent = ::write(answers_.get(), rest.data(), rest.size());
    if (sent > 0) rest.remove_prefix(static_cast<std::size_t>(sent));
    if (sent < 0 && errno != EAGAIN) return;
  }
}

json FakeAgent::answer(const json& request) {
  const std::scoped_lock lock(mutex_);
  const std::string command = request.at("execute");
  const json& arguments = request.at("arguments");
  if (command == "guest-sync-delimited") return {{"return", arguments.at("id")}};
  if (command == "guest-exec") {
    commands_.push_back(arguments);
    Statuses statuses = decide_(arguments);
    if (!statuses.empty() && statuses[0].contains("error")) return statuses[0];
    running_[++next_pid_] = std::move(statuses);
    return {{"return", {{"pid", next_pid_}}}};
  }
  const auto found = running_.find(arguments.at("pid").get<std::int64_t>());
  if (found == running_.end()) return {{"error", {{"class", "GenericError"}, {"desc", "PID does not exist"}}}};
  json status = found->second.front();
  if (found->second.size() > 1) found->second.erase(found->second.begin());
  if (status.is_null()) return status;
  return {{"return", status}};
}

}  // namespace smartio::cluster
