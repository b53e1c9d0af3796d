// SPDX-License-Identifier: GPL-2.0
#include "fabric/lan/switch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ranges>

#include "base/unix_socket.h"

namespace smartio::lan {

namespace {

/// More addresses than a cluster has; a guest that makes up more only makes the switch flood.
constexpr std::size_t kMaxLearned = 4096;

// epoll's data: the kind of a descriptor, and its port.
constexpr std::uint64_t kWake = 0;
constexpr std::uint64_t listener_key(std::size_t port) { return 1 + 2 * port; }
constexpr std::uint64_t connection_key(std::size_t port) { return 2 + 2 * port; }

bool watch(int epoll, int operation, int fd, std::uint32_t events, std::uint64_t key) {
  epoll_event event{.events = events, .data = {.u64 = key}};
  return ::epoll_ctl(epoll, operation, fd, &event) == 0;
}

std::uint64_t mac_at(std::span<const std::byte> frame, std::size_t at) {
  std::uint64_t mac = 0;
  for (std::size_t i = 0; i < 6; i++) mac = mac << 8 | std::to_integer<std::uint64_t>(frame[at + i]);
  return mac;
}

/// The I/G bit: broadcast and multicast addresses have it (IEEE 802.3, 3.2.3).
bool is_group(std::uint64_t mac) { return (mac >> 40 & 1) != 0; }

}  // namespace

Switch::Switch(UniqueFd epoll) : epoll_(std::move(epoll)) {}

Result<std::unique_ptr<Switch>> Switch::start(const std::vector<PortConfig>& ports) {
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  std::unique_ptr<Switch> made(new Switch(std::move(epoll)));
  if (!watch(made->epoll_.get(), EPOLL_CTL_ADD, made->wake_.fd(), EPOLLIN, kWake))
    return fail(fmt::format("lan: epoll: {}", std::strerror(errno)));
  for (const auto& port : ports)
    if (auto listening = made->listen(port); !listening) return std::unexpected(listening.error());
  for (auto& port : made->ports_) port.cut.assign(ports.size(), false);
  made->thread_ = std::jthread([lan = made.get()](const std::stop_token& stop) { lan->serve(stop); });
  return made;
}

Switch::~Switch() {
  if (thread_.joinable()) {
    thread_.request_stop();
    wake_.signal();
    thread_.join();
  }
  for (const auto& port : ports_) ::unlink(port.socket.c_str());
}

Result<void> Switch::listen(const PortConfig& config) {
  if (find(config.name)) return fail(fmt::format("lan: two ports are called {}", config.name));
  auto listener = listen_unix(config.socket);
  if (!listener) return std::unexpected(listener.error());
  const auto index = ports_.size();
  if (!watch(epoll_.get(), EPOLL_CTL_ADD, listener->get(), EPOLLIN, listener_key(index)))
    return fail(fmt::format("lan: epoll: {}", std::strerror(errno)));
  auto& port = ports_.emplace_back();
  port.name = config.name;
  port.socket = config.socket;
  port.listener = std::move(*listener);
  return {};
}

// ---- the switch's thread ------------------------------------------------------------------------------------------

void Switch::serve(const std::stop_token& stop) {
  std::array<epoll_event, 32> events;
  while (!stop.stop_requested()) {
    const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), -1);
    if (count < 0) {
      if (errno == EINTR) continue;
      spdlog::error("lan: epoll_wait: {}", std::strerror(errno));
      return;
    }
    const std::scoped_lock lock(mutex_);
    for (const auto& event : std::span(events).first(static_cast<std::size_t>(count))) {
      const auto key = event.data.u64;
      if (key == kWake) continue;
      const auto index = static_cast<std::size_t>((key - 1) / 2);
      if (key == listener_key(index)) {
        attach(index);
        continue;
      }
      // A connection replaced in this very round may still have had an event: receive() just finds nothing then.
      if ((event.events & EPOLLOUT) != 0) flush(index);
      if ((event.events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) receive(index);
    }
    flush_all();
  }
}

void Switch::attach(std::size_t index) {
  auto& port = ports_[index];
  UniqueFd fd(::accept4(port.listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!fd) return;
  // A host has one QEMU. A new connection means that it was started again: the earlier QEMU has ended.
  if (port.fd) detach(index);
  if (!watch(epoll_.get(), EPOLL_CTL_ADD, fd.get(), EPOLLIN, connection_key(index))) {
    spdlog::error("lan: {}: epoll: {}", port.name, std::strerror(errno));
    return;
  }
  port.fd = std::move(fd);
  spdlog::debug("lan: {} is connected", port.name);
}

void Switch::detach(std::size_t index) {
  auto& port = ports_[index];
  port.fd.reset();  // which takes it out of epoll as well
  port.wants_out = false;
  port.in.reset();
  port.out.clear();
  std::erase_if(learned_, [index](const auto& entry) { return entry.second == index; });
  spdlog::debug("lan: {} disconnected", port.name);
}

void Switch::receive(std::size_t index) {
  auto& port = ports_[index];
  if (!port.fd) return;
  const auto room = port.in.room();
  const auto got = ::recv(port.fd.get(), room.data(), room.size(), MSG_DONTWAIT);
  if (got == 0 || (got < 0 && !would_block(errno))) return detach(index);
  if (got < 0) return;
  port.in.filled(static_cast<std::size_t>(got));
  while (true) {
    const auto next = port.in.next();
    switch (next.found) {
      case FrameReader::Found::frame:
        forward(index, next);
        break;
      case FrameReader::Found::none:
        return;
      case FrameReader::Found::malformed:
        port.counters.malformed++;
        spdlog::warn("lan: {} sent an invalid frame; its connection is closed", port.name);
        return detach(index);
    }
  }
}

void Switch::forward(std::size_t from, const FrameReader::Next& next) {
  auto& port = ports_[from];
  const auto frame = next.frame();
  port.counters.frames_in++;
  port.counters.bytes_in += frame.size();
  if (!port.up) {
    port.counters.dropped_cut++;
    return;
  }
  const Mac source = mac_at(frame, 6);
  if (!is_group(source)) {
    if (const auto known = learned_.find(source); known != learned_.end())
      known->second = from;
    else if (learned_.size() < kMaxLearned)
      learned_.emplace(source, from);
  }
  const Mac destination = mac_at(frame, 0);
  if (!is_group(destination)) {
    if (const auto known = learned_.find(destination); known != learned_.end()) {
      if (known->second != from) deliver(from, known->second, next.wire);
      return;
    }
  }
  for (std::size_t to = 0; to < ports_.size(); to++)
    if (to != from && ports_[to].fd) deliver(from, to, next.wire);
}

void Switch::deliver(std::size_t from, std::size_t to, std::span<const std::byte> wire) {
  auto& port = ports_[to];
  if (!port.up || port.cut[from]) {
    port.counters.dropped_cut++;
    return;
  }
  if (!port.out.push(wire)) {
    flush(to);
    if (!port.fd) return;
    if (!port.out.push(wire)) {
      port.counters.dropped_full++;
      return;
    }
  }
  port.counters.frames_out++;
  port.counters.bytes_out += wire.size() - FrameReader::kPrefix;
}

void Switch::flush(std::size_t index) {
  auto& port = ports_[index];
  if (!port.fd) return;
  while (!port.out.empty()) {
    const auto bytes = port.out.front();
    const auto sent = ::send(port.fd.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (!would_block(errno)) port.out.clear();  // the connection has ended: receive() detaches it
      break;
    }
    port.out.pop(static_cast<std::size_t>(sent));
  }
  const bool wants = !port.out.empty();
  if (wants != port.wants_out) {
    port.wants_out = wants;
    watch(epoll_.get(), EPOLL_CTL_MOD, port.fd.get(), wants ? EPOLLIN | EPOLLOUT : EPOLLIN, connection_key(index));
  }
}

void Switch::flush_all() {
  // epoll reports a port that waits for its socket. All others send this round's frames now.
  for (std::size_t index = 0; index < ports_.size(); index++)
    if (!ports_[index].wants_out) flush(index);
}

// ---- orders -------------------------------------------------------------------------------------------------------

Result<std::size_t> Switch::find(std::string_view name) const {
  for (std::size_t index = 0; index < ports_.size(); index++)
    if (ports_[index].name == name) return index;
  return fail(fmt::format("no such host on the LAN; there are: {}",
                          fmt::join(ports_ | std::views::transform(&Port::name), ", ")));
}

Result<void> Switch::set_port(std::string_view name, bool up) {
  const std::scoped_lock lock(mutex_);
  return find(name).transform([&](std::size_t index) { ports_[index].up = up; });
}

Result<void> Switch::set_pair(std::string_view a, std::string_view b, bool up) {
  const std::scoped_lock lock(mutex_);
  const auto first = find(a);
  if (!first) return std::unexpected(first.error());
  const auto second = find(b);
  if (!second) return std::unexpected(second.error());
  if (*first == *second) return fail("a pair is of two different hosts");
  ports_[*first].cut[*second] = ports_[*second].cut[*first] = !up;
  return {};
}

Result<void> Switch::partition(const std::vector<std::vector<std::string_view>>& groups) {
  const std::scoped_lock lock(mutex_);
  std::vector<std::size_t> group_of(ports_.size(), groups.size());
  for (std::size_t group = 0; group < groups.size(); group++) {
    for (const auto name : groups[group]) {
      const auto index = find(name);
      if (!index) return std::unexpected(index.error());
      if (group_of[*index] != groups.size()) return fail(fmt::format("{} is named twice", ports_[*index].name));
      group_of[*index] = group;
    }
  }
  for (std::size_t a = 0; a < ports_.size(); a++)
    for (std::size_t b = 0; b < ports_.size(); b++) ports_[a].cut[b] = group_of[a] != group_of[b];
  return {};
}

void Switch::heal() {
  const std::scoped_lock lock(mutex_);
  for (auto& port : ports_) port.cut.assign(ports_.size(), false);
}

std::vector<PortStatus> Switch::status() const {
  const std::scoped_lock lock(mutex_);
  std::vector<PortStatus> all;
  for (const auto& port : ports_) {
    auto& status = all.emplace_back(PortStatus{.name = port.name,
                                               .connected = static_cast<bool>(port.fd),
                                               .up = port.up,
                                               .cut_from = {},
                                               .counters = port.counters});
    for (std::size_t other = 0; other < ports_.size(); other++)
      if (port.cut[other]) status.cut_from.push_back(ports_[other].name);
  }
  return all;
}

}  // namespace smartio::lan
