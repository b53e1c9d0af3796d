// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "base/result.h"

namespace smartio::pci {

/// A guest's memory file, mapped as a whole. Lives as long as a DMA_MAP range points into it.
class MemoryFile {
 public:
  MemoryFile(std::byte* base, std::uint64_t size, bool writable) : base_(base), size_(size), writable_(writable) {}
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  [[nodiscard]] std::byte* base() const { return base_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] bool writable() const { return writable_; }

 private:
  std::byte* base_;
  std::uint64_t size_;
  bool writable_;
};

/// Every memory file that this process has mapped, each once, however many descriptors, ranges and functions name
/// it. Only a file that cannot shrink is mapped (a memfd with F_SEAL_SHRINK, which QEMU's memory-backend-memfd
/// sets): behind any other a truncation would turn our next copy into a SIGBUS. Thread-safe.
class MemoryFiles {
 public:
  /// Larger files are not mapped: address space is shared by all guests.
  static constexpr std::uint64_t kMaxFileSize = 1ULL << 40;

  /// The mapping of the file behind `fd`, which stays the caller's. Fails, with the reason, when the file can
  /// shrink or cannot be mapped.
  Result<std::shared_ptr<MemoryFile>> open(int fd);

  /// Files mapped now.
  [[nodiscard]] std::size_t count() const;

 private:
  mutable std::mutex mutex_;                                                            // protects files_
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::weak_ptr<MemoryFile>> files_;  // by st_dev, st_ino
};

}  // namespace smartio::pci
