// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "fabric/pci/endpoint.h"
#include "fabric/vfio_user/dma_requests.h"
#include "fabric/vfio_user/message_reader.h"
#include "fabric/vfio_user/outbox.h"

namespace smartio::vfio_user {

/// One client of one endpoint, from its connect to its end: answers its requests. For the one thread that polls the
/// socket. Only the endpoint's DMA comes from other threads, through DmaRequests. The destructor detaches the endpoint,
/// in any state that the client left it in.
class Connection {
 public:
  /// `wake` is signalled when there is something to send; poll it with the socket.
  Connection(pci::Endpoint& endpoint, UniqueFd socket, std::shared_ptr<const Wakeup> wake,
             std::chrono::milliseconds read_deadline);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] int socket() const { return outbox_->socket(); }
  /// Whether to poll for reading (not while the client leaves our replies lying), and for writing.
  [[nodiscard]] bool wants_input() const { return outbox_->pending_replies() <= Outbox::kMaxReplies; }
  [[nodiscard]] bool wants_output() const { return outbox_->queued(); }

  /// Takes in the bytes that have arrived, up to a bound, and answers their messages. False: the client closed. An
  /// error says which message was malformed and how; the connection must end then.
  Result<bool> receive();
  /// Sends queued bytes. False: the client has disconnected.
  bool send() { return outbox_->drain(); }

 private:
  using Handled = Result<void>;  // an error ends the connection
  struct Rule {
    Handled (Connection::*handle)(Message& message);
    std::size_t min_body;
    std::size_t max_body;
    std::size_t max_fds;
  };
  static const Rule* rule(Command command);

  Handled handle(Message& message);
  Handled version(Message& message);
  Handled dma_map(Message& message);
  Handled dma_unmap(Message& message);
  Handled get_info(Message& message);
  Handled get_region_info(Message& message);
  Handled get_region_io_fds(Message& message);
  Handled get_irq_info(Message& message);
  Handled set_irqs(Message& message);
  Handled region_read(Message& message);
  Handled region_write(Message& message);
  Handled region_write_multi(Message& message);
  Handled device_reset(Message& message);
  Handled dirty_pages(Message& message);

  /// Bytes of a region, 0 if there is none.
  [[nodiscard]] std::uint64_t region_size(std::uint32_t region) const;
  [[nodiscard]] bool inside(std::uint32_t region, std::uint64_t offset, std::uint64_t count) const;
  /// Stores that came one after the other go to the function together.
  void add_store(std::uint32_t bar, const pci::Store& store);
  void flush_stores();

  template <typename T>
  void reply_with(const Message& message, const T& body) {
    reply(message, std::as_bytes(std::span(&body, 1)));
  }
  void reply(const Message& message, std::span<const std::byte> part = {}, std::span<const std::byte> data = {});
  void reply_error(const Message& message, int error);

  pci::Endpoint& endpoint_;
  std::shared_ptr<Outbox> outbox_;
  std::shared_ptr<DmaRequests> dma_;
  MessageReader reader_;
  bool negotiated_ = false;
  bool unsafe_memory_logged_ = false;
  std::array<std::uint64_t, kRegions> region_sizes_{};
  std::uint32_t stores_bar_ = 0;
  std::vector<pci::Store> stores_;
  std::vector<std::byte> scratch_;  // data of a read's reply
};

}  // namespace smartio::vfio_user
