// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "fabric/vfio_user/protocol.h"

namespace smartio::vfio_user {

/// One message, valid until the reader's next fill().
struct Message {
  Header header;
  std::span<const std::byte> body;
  std::vector<UniqueFd> fds;
};

/// Cuts a vfio-user byte stream into messages, many for each recvmsg. Descriptors stay with their message. A recvmsg on
/// an AF_UNIX stream ends at (or inside) the piece that brings descriptors. A sender's sendmsg starts with the message
/// that they belong to. So they belong to the last message that starts in that chunk. For one thread.
class MessageReader {
 public:
  MessageReader();

  enum class Fill : std::uint8_t { data, nothing, closed };
  /// One recvmsg, without waiting. An error means that the stream cannot be trusted any more.
  Result<Fill> fill(int socket);
  /// Whether the last fill() left no room, so that the socket may well have more.
  [[nodiscard]] bool filled_up() const { return filled_up_; }

  /// The next whole message; nothing if more bytes are needed. An error as above.
  Result<std::optional<Message>> next();

 private:
  struct Rights {
    std::uint64_t begin;  // the chunk that brought them, as offsets into the stream
    std::uint64_t end;
    std::vector<UniqueFd> fds;
  };

  static constexpr std::size_t kCapacity = 2 * std::size_t{kMaxMessage};

  std::unique_ptr<std::byte[]> buffer_;
  std::size_t begin_ = 0;       // of the unparsed bytes in buffer_
  std::size_t end_ = 0;         // of the received bytes in buffer_
  std::uint64_t position_ = 0;  // in the stream, of begin_
  std::deque<Rights> rights_;   // not yet given to a message, in order
  bool filled_up_ = false;      // by the last fill()
};

}  // namespace smartio::vfio_user
