// SPDX-License-Identifier: GPL-2.0
// For tests, benchmarks and fuzzers only: memory files and eventfds made in place.
#pragma once

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>

#include "base/unique_fd.h"

namespace smartio::pci {

inline UniqueFd duplicate(const UniqueFd& fd) { return UniqueFd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0)); }

/// A memfd of `size` bytes, mapped.
class TestMemory {
 public:
  explicit TestMemory(std::size_t size, bool seal = true)
      : fd_(::memfd_create("test", MFD_ALLOW_SEALING | MFD_CLOEXEC)), size_(size) {
    if (::ftruncate(fd_.get(), static_cast<off_t>(size)) != 0) throw std::runtime_error("ftruncate");
    if (seal && ::fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0) throw std::runtime_error("seal");
    base_ = static_cast<std::byte*>(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0));
    if (base_ == MAP_FAILED) throw std::runtime_error("mmap");
  }
  ~TestMemory() { ::munmap(base_, size_); }
  TestMemory(const TestMemory&) = delete;
  TestMemory& operator=(const TestMemory&) = delete;

  [[nodiscard]] UniqueFd fd() const { return duplicate(fd_); }
  [[nodiscard]] int raw_fd() const { return fd_.get(); }
  [[nodiscard]] std::byte* base() const { return base_; }
  [[nodiscard]] std::span<std::byte> bytes() const { return {base_, size_}; }
  template <typename T = std::uint64_t>
  [[nodiscard]] T at(std::size_t offset) const {
    T value;
    std::memcpy(&value, base_ + offset, sizeof(value));
    return value;
  }
  template <typename T>
  void put(std::size_t offset, T value) {
    std::memcpy(base_ + offset, &value, sizeof(value));
  }

 private:
  UniqueFd fd_;
  std::size_t size_;
  std::byte* base_;
};

inline UniqueFd new_eventfd() { return UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

/// How often it was signalled since the last call.
inline std::uint64_t signals(const UniqueFd& fd) {
  std::uint64_t count = 0;
  return ::read(fd.get(), &count, sizeof(count)) == sizeof(count) ? count : 0;
}

template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}
template <typename T>
std::span<std::byte> writable_bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

}  // namespace smartio::pci
