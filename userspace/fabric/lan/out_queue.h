// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

namespace smartio::lan {

/// The frames that wait for one port, as the bytes that will be sent: whole frames go in or are refused, pieces of
/// any size come out. Bounded; allocates its bound once. Not thread-safe.
class OutQueue {
 public:
  static constexpr std::size_t kCapacity = 1 << 20;

  OutQueue() : bytes_(kCapacity) {}

  /// False if there is no room: the frame is dropped, as on an Ethernet.
  bool push(std::span<const std::byte> wire) {
    if (wire.size() > kCapacity - (end_ - begin_)) return false;
    if (wire.size() > kCapacity - end_) {
      std::memmove(bytes_.data(), bytes_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    std::memcpy(bytes_.data() + end_, wire.data(), wire.size());
    end_ += wire.size();
    return true;
  }
  [[nodiscard]] std::span<const std::byte> front() const {
    return std::span<const std::byte>(bytes_).subspan(begin_, end_ - begin_);
  }
  void pop(std::size_t bytes) {
    begin_ += bytes;
    if (begin_ == end_) clear();
  }
  void clear() { begin_ = end_ = 0; }
  [[nodiscard]] bool empty() const { return begin_ == end_; }

 private:
  std::vector<std::byte> bytes_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace smartio::lan
