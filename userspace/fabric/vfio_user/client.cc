// SPDX-License-Identifier: GPL-2.0
#include "fabric/vfio_user/client.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/unix_socket.h"
#include "fabric/vfio_user/descriptors.h"

namespace smartio::vfio_user {

Result<Client> Client::connect(const std::filesystem::path& path) {
  return connect_unix(path).transform([](UniqueFd socket) { return Client(std::move(socket)); });
}

Result<Client> Client::open(const std::filesystem::path& path) {
  auto client = connect(path);
  if (!client) return client;
  if (const auto done = client->version(); !done) return std::unexpected(done.error());
  return client;
}

Result<bool> Client::wait(short events, const Deadline& until) {
  while (true) {
    pollfd polled{socket_.get(), events, 0};
    const int ready = ::poll(&polled, 1, until.poll_ms());
    if (ready > 0) return true;
    if (ready == 0 && until.passed()) return false;
    if (ready < 0 && errno != EINTR) return fail(fmt::format("poll: {}", std::strerror(errno)));
  }
}

Result<void> Client::send_raw(std::span<const std::byte> bytes, std::span<const int> fds) {
  const auto until = Deadline::in(deadline_);
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t written = send_with_fds(socket_.get(), bytes.subspan(sent), sent == 0 ? fds : std::span<const int>());
    if (written >= 0) {
      sent += static_cast<std::size_t>(written);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      const auto ready = wait(POLLOUT, until);
      if (!ready) return std::unexpected(ready.error());
      if (!*ready) return fail("the server does not read");
    } else {
      return fail(fmt::format("sendmsg: {}", std::strerror(errno)));
    }
  }
  return {};
}

Result<std::vector<std::byte>> Client::call(Header header, std::span<const std::byte> body, std::span<const int> fds) {
  const auto command = static_cast<Command>(header.command);
  const auto until = Deadline::in(deadline_);
  if (header.size == 0) header.size = static_cast<std::uint32_t>(sizeof(header) + body.size());
  out_.resize(sizeof(header) + body.size());
  std::memcpy(out_.data(), &header, sizeof(header));
  if (!body.empty()) std::memcpy(out_.data() + sizeof(header), body.data(), body.size());
  if (const auto sent = send_raw(out_, fds); !sent) return std::unexpected(sent.error());
  if ((header.flags & kFlagNoReply) != 0) return {};

  while (true) {
    auto message = reader_->next();
    if (!message) return std::unexpected(message.error());
    if (*message) {
      const Message& m = **message;
      if ((m.header.flags & kFlagTypeMask) != kFlagReply) {
        if (const auto done = answer(m); !done) return std::unexpected(done.error());
        continue;
      }
      if (m.header.id != header.id || m.header.command != header.command) {
        return fail(
            fmt::format("{} answered with a reply to {}", name(command), name(static_cast<Command>(m.header.command))));
      }
      last_error_ = (m.header.flags & kFlagError) != 0 ? static_cast<int>(m.header.error) : 0;
      if ((m.header.flags & kFlagError) != 0) {
        return fail(fmt::format("{}: {}", name(command), std::strerror(static_cast<int>(m.header.error))));
      }
      return std::vector(m.body.begin(), m.body.end());
    }
    const auto ready = wait(POLLIN, until);
    if (!ready) return std::unexpected(ready.error());
    if (!*ready) return fail(fmt::format("{}: no reply", name(command)));
    const auto filled = reader_->fill(socket_.get());
    if (!filled) return std::unexpected(filled.error());
    if (*filled == MessageReader::Fill::closed) return fail(fmt::format("{}: connection closed", name(command)));
  }
}

Result<std::vector<std::byte>> Client::call(Command command, std::span<const std::byte> body,
                                            std::span<const int> fds) {
  return call({next_id_++, static_cast<std::uint16_t>(command), 0, 0, 0}, body, fds);
}

Result<void> Client::answer(const Message& request) {
  const auto command = static_cast<Command>(request.header.command);
  if ((command != Command::dma_read && command != Command::dma_write) || request.body.size() < sizeof(DmaAccess)) {
    return fail(fmt::format("the server sent a {}", name(command)));
  }
  const auto access = peek<DmaAccess>(request.body);
  std::vector<std::byte> body(sizeof(access));
  std::memcpy(body.data(), &access, sizeof(access));
  bool ok = false;
  if (command == Command::dma_read) {
    body.resize(sizeof(access) + access.count);
    ok = handler_.read && handler_.read({access.address}, std::span(body).subspan(sizeof(access)));
  } else {
    ok = handler_.write && handler_.write({access.address}, request.body.subspan(sizeof(access)));
  }
  if (ok && (request.header.flags & kFlagNoReply) != 0) return {};
  if (!ok) body.clear();
  const Header header{request.header.id, request.header.command,
                      static_cast<std::uint32_t>(sizeof(Header) + body.size()), kFlagReply | (ok ? 0 : kFlagError),
                      static_cast<std::uint32_t>(ok ? 0 : EFAULT)};
  std::vector<std::byte> out(sizeof(header) + body.size());
  std::memcpy(out.data(), &header, sizeof(header));
  if (!body.empty()) std::memcpy(out.data() + sizeof(header), body.data(), body.size());
  return send_raw(out);
}

Result<bool> Client::serve(std::chrono::milliseconds time) {
  const auto until = Deadline::in(time);
  while (true) {
    auto message = reader_->next();
    if (!message) return std::unexpected(message.error());
    if (*message) {
      if (const auto done = answer(**message); !done) return std::unexpected(done.error());
      return true;
    }
    const auto ready = wait(POLLIN, until);
    if (!ready) return std::unexpected(ready.error());
    if (!*ready) return false;
    const auto filled = reader_->fill(socket_.get());
    if (!filled) return std::unexpected(filled.error());
    if (*filled == MessageReader::Fill::closed) return fail("connection closed");
  }
}

bool Client::closed_within(std::chrono::milliseconds time) {
  const auto until = Deadline::in(time);
  while (true) {
    const auto ready = wait(POLLIN, until);
    if (!ready || !*ready) return false;
    std::array<std::byte, 4096> dropped;
    const ssize_t got = ::recv(socket_.get(), dropped.data(), dropped.size(), MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno == ECONNRESET)) return true;
  }
}

// ---- the commands -------------------------------------------------------------------------------------------------

namespace {
Result<void> done(const Result<std::vector<std::byte>>& reply) {
  return reply.transform([](const auto&) {});
}
}  // namespace

template <typename T>
Result<T> Client::query(Command command, T body) {
  const auto reply = call(command, std::as_bytes(std::span(&body, 1)));
  if (!reply) return std::unexpected(reply.error());
  if (reply->size() < sizeof(T)) return fail(fmt::format("{}: a reply of {} bytes", name(command), reply->size()));
  return peek<T>(*reply);
}

Result<void> Client::version(std::string_view json) {
  const Version version{kMajor, kMinor};
  std::vector<std::byte> body(sizeof(version) + json.size() + (json.empty() ? 0 : 1));
  std::memcpy(body.data(), &version, sizeof(version));
  if (!json.empty()) std::memcpy(body.data() + sizeof(version), json.data(), json.size());
  return done(call(Command::version, body));
}

Result<DeviceInfo> Client::info() { return query(Command::device_get_info, DeviceInfo{sizeof(DeviceInfo), 0, 0, 0}); }

Result<RegionInfo> Client::region_info(std::uint32_t region) {
  return query(Command::device_get_region_info, RegionInfo{sizeof(RegionInfo), 0, region, 0, 0, 0});
}

Result<IrqInfo> Client::irq_info(std::uint32_t index) {
  return query(Command::device_get_irq_info, IrqInfo{sizeof(IrqInfo), 0, index, 0});
}

Result<void> Client::dma_map(pci::BusAddress address, std::uint64_t size, int fd, std::uint64_t offset,
                             std::uint32_t flags) {
  const DmaMap map{sizeof(DmaMap), flags, offset, address.value, size};
  return done(call(Command::dma_map, std::as_bytes(std::span(&map, 1)),
                   fd >= 0 ? std::span<const int>(&fd, 1) : std::span<const int>{}));
}

Result<void> Client::dma_unmap(pci::BusAddress address, std::uint64_t size, std::uint32_t flags) {
  const DmaUnmap unmap{sizeof(DmaUnmap), flags, address.value, size};
  return done(call(Command::dma_unmap, std::as_bytes(std::span(&unmap, 1))));
}

Result<void> Client::set_irqs(std::uint32_t first, std::span<const int> eventfds) {
  const IrqSet set{sizeof(IrqSet), kIrqDataEventfd | kIrqActionTrigger, kIrqMsix, first,
                   static_cast<std::uint32_t>(eventfds.size())};
  return done(call(Command::device_set_irqs, std::as_bytes(std::span(&set, 1)), eventfds));
}

Result<void> Client::irqs_off() {
  const IrqSet set{sizeof(IrqSet), kIrqDataNone | kIrqActionTrigger, kIrqMsix, 0, 0};
  return done(call(Command::device_set_irqs, std::as_bytes(std::span(&set, 1))));
}

Result<void> Client::reset() { return done(call(Command::device_reset, {})); }

Result<void> Client::region_read(std::uint32_t region, std::uint64_t offset, std::span<std::byte> data) {
  const RegionAccess access{offset, region, static_cast<std::uint32_t>(data.size())};
  const auto reply = call(Command::region_read, std::as_bytes(std::span(&access, 1)));
  if (!reply) return std::unexpected(reply.error());
  if (reply->size() != sizeof(access) + data.size()) {
    return fail(fmt::format("REGION_READ: a reply of {} bytes", reply->size()));
  }
  std::memcpy(data.data(), reply->data() + sizeof(access), data.size());
  return {};
}

Result<void> Client::region_write(std::uint32_t region, std::uint64_t offset, std::span<const std::byte> data,
                                  std::uint32_t flags) {
  const RegionAccess access{offset, region, static_cast<std::uint32_t>(data.size())};
  std::vector<std::byte> body(sizeof(access) + data.size());
  std::memcpy(body.data(), &access, sizeof(access));
  std::memcpy(body.data() + sizeof(access), data.data(), data.size());
  return done(call({next_id_++, static_cast<std::uint16_t>(Command::region_write), 0, flags, 0}, body));
}

Result<void> Client::post_many(std::span<const WriteMultiStore> stores) {
  const std::uint64_t count = stores.size();
  const Header header{next_id_++, static_cast<std::uint16_t>(Command::region_write_multi),
                      static_cast<std::uint32_t>(sizeof(Header) + sizeof(count) + stores.size_bytes()), kFlagNoReply,
                      0};
  out_.resize(header.size);
  std::memcpy(out_.data(), &header, sizeof(header));
  std::memcpy(out_.data() + sizeof(header), &count, sizeof(count));
  std::memcpy(out_.data() + sizeof(header) + sizeof(count), stores.data(), stores.size_bytes());
  return send_raw(out_);
}

}  // namespace smartio::vfio_user
