// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace smartio::nvme {

/// Zeroed memory that costs nothing until it is written: an anonymous mapping without reserved swap. Throws
/// std::bad_alloc where the address space is exhausted. Not thread-safe.
class SparseMemory {
 public:
  SparseMemory() = default;
  explicit SparseMemory(std::uint64_t bytes) { resize(bytes); }
  SparseMemory(SparseMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  SparseMemory& operator=(SparseMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  SparseMemory(const SparseMemory&) = delete;
  SparseMemory& operator=(const SparseMemory&) = delete;
  ~SparseMemory() {
    if (data_ != nullptr) ::munmap(data_, mapped(size_));
  }

  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(data_); }
  [[nodiscard]] std::uint64_t size() const { return size_; }

  /// Keeps the bytes inside both sizes; the rest is zero. Pointers into it are void afterwards.
  void resize(std::uint64_t bytes) {
    if (bytes > kMaxBytes) throw std::bad_alloc();
    // The tail of the last page is not given back by a shrink: make it zero, for a growth later on.
    if (bytes < size_) discard(bytes, size_ - bytes);
    void* moved = data_ == nullptr ? ::mmap(nullptr, mapped(bytes), PROT_READ | PROT_WRITE,
                                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                                   : ::mremap(data_, mapped(size_), mapped(bytes), MREMAP_MAYMOVE);
    if (moved == MAP_FAILED) throw std::bad_alloc();
    data_ = moved;
    size_ = bytes;
  }

  /// Makes [offset, offset + bytes) zero, and gives whole pages back.
  void discard(std::uint64_t offset, std::uint64_t bytes);

 private:
  static constexpr std::uint64_t kPage = 4096;
  static constexpr std::uint64_t kMaxBytes = 1ULL << 46U;
  static constexpr std::uint64_t mapped(std::uint64_t bytes) {
    return bytes == 0 ? kPage : (bytes + kPage - 1) & ~(kPage - 1);
  }

  void* data_ = nullptr;
  std::uint64_t size_ = 0;
};

}  // namespace smartio::nvme
