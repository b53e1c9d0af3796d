// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "fabric/pci/types.h"
#include "fabric/vfio_user/message_reader.h"
#include "fabric/vfio_user/protocol.h"

namespace smartio::vfio_user {

/// The other side of the protocol: stands in for a guest's QEMU in tests, benchmarks and fuzzers. Every call waits for
/// its answer (but for posted writes) and meanwhile answers the device's DMA through the handler. For one thread.
/// Errors include a server's error reply ("REGION_READ: Invalid argument").
class Client {
 public:
  /// Answers a device's DMA requests; false is an error reply.
  struct DmaHandler {
    std::function<bool(pci::BusAddress, std::span<std::byte>)> read;
    std::function<bool(pci::BusAddress, std::span<const std::byte>)> write;
  };

  /// Connects, without a VERSION.
  static Result<Client> connect(const std::filesystem::path& path);
  /// Connects and negotiates.
  static Result<Client> open(const std::filesystem::path& path);
  Client(Client&&) = default;
  Client& operator=(Client&&) = default;

  void set_dma_handler(DmaHandler handler) { handler_ = std::move(handler); }

  Result<void> version(std::string_view json = R"({"capabilities":{"max_data_xfer_size":1048576}})");
  Result<DeviceInfo> info();
  Result<RegionInfo> region_info(std::uint32_t region);
  Result<IrqInfo> irq_info(std::uint32_t index);
  /// `fd` -1: no memory behind it.
  Result<void> dma_map(pci::BusAddress address, std::uint64_t size, int fd, std::uint64_t offset,
                       std::uint32_t flags = kDmaMapRead | kDmaMapWrite);
  Result<void> dma_unmap(pci::BusAddress address, std::uint64_t size, std::uint32_t flags = 0);
  /// Gives vectors from `first` on these eventfds.
  Result<void> set_irqs(std::uint32_t first, std::span<const int> eventfds);
  Result<void> irqs_off();
  Result<void> reset();

  Result<void> region_read(std::uint32_t region, std::uint64_t offset, std::span<std::byte> data);
  Result<void> region_write(std::uint32_t region, std::uint64_t offset, std::span<const std::byte> data,
                            std::uint32_t flags = 0);
  template <typename T>
  Result<T> load(std::uint32_t region, std::uint64_t offset) {
    T value{};
    const auto done = region_read(region, offset, std::as_writable_bytes(std::span(&value, 1)));
    if (!done) return std::unexpected(done.error());
    return value;
  }
  template <typename T>
  Result<void> store(std::uint32_t region, std::uint64_t offset, T value) {
    return region_write(region, offset, std::as_bytes(std::span(&value, 1)));
  }
  /// A posted store, as a guest's.
  Result<void> post(std::uint32_t region, std::uint64_t offset, std::span<const std::byte> data) {
    return region_write(region, offset, data, kFlagNoReply);
  }
  /// Posted stores in one message, as QEMU sends them when it lags behind.
  Result<void> post_many(std::span<const WriteMultiStore> stores);

  /// A request with any header and body, and its reply's body. The header's size is filled in if it is 0.
  Result<std::vector<std::byte>> call(Header header, std::span<const std::byte> body, std::span<const int> fds = {});
  Result<std::vector<std::byte>> call(Command command, std::span<const std::byte> body, std::span<const int> fds = {});
  /// Bytes as they are.
  Result<void> send_raw(std::span<const std::byte> bytes, std::span<const int> fds = {});

  /// Answers the device's DMA for so long, or until one was answered. Whether one was.
  Result<bool> serve(std::chrono::milliseconds time);
  /// Waits until the server has ended the connection; false if it has not in that time.
  bool closed_within(std::chrono::milliseconds time);

  void set_deadline(std::chrono::milliseconds deadline) { deadline_ = deadline; }
  [[nodiscard]] int socket() const { return socket_.get(); }
  /// Errno of the last error reply, 0 after a success.
  [[nodiscard]] int last_error() const { return last_error_; }

 private:
  explicit Client(UniqueFd socket) : socket_(std::move(socket)), reader_(std::make_unique<MessageReader>()) {}
  /// Waits for the socket. False: the time is up.
  Result<bool> wait(short events, const Deadline& until);
  Result<void> answer(const Message& request);
  template <typename T>
  Result<T> query(Command command, T body);

  UniqueFd socket_;
  std::unique_ptr<MessageReader> reader_;
  DmaHandler handler_;
  std::chrono::milliseconds deadline_{10000};
  std::uint16_t next_id_ = 0;
  int last_error_ = 0;
  std::vector<std::byte> out_;
};

}  // namespace smartio::vfio_user
