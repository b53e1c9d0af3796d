// SPDX-License-Identifier: GPL-2.0
#include "cluster/fake_agent.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>

#include "base/unix_socket.h"

namespace smartio::cluster {

using nlohmann::json;

FakeAgent::FakeAgent(const std::filesystem::path& socket, Decide decide)
    : decide_(std::move(decide)), listener_(listen_unix(socket).value()) {
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
  while (!stop.stop_requested()) {
    pollfd ready{.fd = listener_.get(), .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, 5) <= 0) continue;
    const UniqueFd client(::accept(listener_.get(), nullptr, nullptr));
    if (client) serve_client(stop, client.get());
  }
}

void FakeAgent::serve_client(const std::stop_token& stop, int fd) {
  auto send = [fd](std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  };
  bool mute = false;
  {
    const std::scoped_lock lock(mutex_);
    send(leftover_);
    leftover_.clear();
    mute = ignored_ > 0;
    if (mute) --ignored_;
  }
  std::string received;
  std::array<char, 4096> buffer{};
  while (!stop.stop_requested()) {
    pollfd ready{.fd = fd, .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, 5) <= 0) continue;
    const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (got <= 0) return;
    received.append(buffer.data(), static_cast<std::size_t>(got));
    for (std::size_t end = received.find('\n'); end != std::string::npos; end = received.find('\n')) {
      std::string line = received.substr(0, end);
      received.erase(0, end + 1);
      const bool delimited = line.starts_with('\xff');
      if (delimited) line.erase(0, 1);
      if (!mute) send((delimited ? "\xff" : "") + answer(json::parse(line)).dump() + "\n");
    }
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
  return {{"return", status}};
}

}  // namespace smartio::cluster
