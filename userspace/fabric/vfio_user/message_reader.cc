// SPDX-License-Identifier: GPL-2.0
#include "fabric/vfio_user/message_reader.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace smartio::vfio_user {

// Not value-initialised: pages that no message ever needed are never touched.
MessageReader::MessageReader() : buffer_(std::make_unique_for_overwrite<std::byte[]>(kCapacity)) {}

Result<MessageReader::Fill> MessageReader::fill(int socket) {
  if (begin_ == end_) {
    begin_ = end_ = 0;
  } else if (kCapacity - begin_ < kMaxMessage) {  // the message at begin_ might not fit behind it
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == kCapacity) return fail("fill() before next() gave all messages");
  iovec chunk{buffer_.get() + end_, kCapacity - end_};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(kMaxFds * sizeof(int))> control;
  msghdr message{};
  message.msg_iov = &chunk;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t received;
  do {
    received = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (received < 0 && errno == EINTR);
  if (received < 0) {
    if (errno == EAGAIN || errno == EWOULDBLOCK) return Fill::nothing;
    if (errno == ECONNRESET || errno == EPIPE) return Fill::closed;
    return fail(fmt::format("recvmsg: {}", std::strerror(errno)));
  }

  std::vector<UniqueFd> fds;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t i = 0; i < (part->cmsg_len - CMSG_LEN(0)) / sizeof(int); ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(fd));
      fds.emplace_back(fd);
    }
  }
  if ((message.msg_flags & MSG_CTRUNC) != 0) return fail(fmt::format("more than {} descriptors at once", kMaxFds));
  if (received == 0) return Fill::closed;
  filled_up_ = static_cast<std::size_t>(received) == chunk.iov_len;
  const std::uint64_t begin = position_ + (end_ - begin_);
  end_ += static_cast<std::size_t>(received);
  if (!fds.empty()) rights_.push_back({begin, begin + static_cast<std::uint64_t>(received), std::move(fds)});
  return Fill::data;
}

Result<std::optional<Message>> MessageReader::next() {
  const std::size_t available = end_ - begin_;
  if (available < sizeof(Header)) return std::nullopt;
  const std::span<const std::byte> bytes(buffer_.get() + begin_, available);
  const auto header = peek<Header>(bytes);
  if (header.size < sizeof(Header) || header.size > kMaxMessage) {
    return fail(fmt::format("{} with a message size of {}", name(static_cast<Command>(header.command)),
                            std::uint32_t{header.size}));
  }
  if ((header.flags & kFlagTypeMask) > kFlagReply) {
    return fail(fmt::format("{} of type {}", name(static_cast<Command>(header.command)), header.flags & kFlagTypeMask));
  }
  if (available < header.size) return std::nullopt;

  Message message{header, bytes.subspan(sizeof(Header), header.size - sizeof(Header)), {}};
  const std::uint64_t start = position_;
  begin_ += header.size;
  position_ += header.size;
  // Ours, if this is the last message that starts in their chunk.
  if (!rights_.empty() && rights_.front().begin <= start && rights_.front().end <= position_) {
    message.fds = std::move(rights_.front().fds);
    rights_.pop_front();
  }
  if (!rights_.empty() && rights_.front().end <= position_) {
    return fail(fmt::format("descriptors in the middle of a {}", name(static_cast<Command>(header.command))));
  }
  return message;
}

}  // namespace smartio::vfio_user
