// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "fabric/pci/memory_file.h"
#include "fabric/pci/types.h"
#include "fabric/pci/writer_first_lock.h"

namespace smartio::pci {

/// A device's rights to a range of its host's memory.
struct Rights {
  bool read = false;
  bool write = false;
};

/// One function's DMA_MAP ranges: the bus addresses that lead straight into memory that this process has mapped.
/// Mapping and unmapping a range is a table insert. Thread-safe. Unmapping waits for the lock that readers hold, so no
/// copy into a range outlives the answer to its DMA_UNMAP. Later readers do not starve the unmapping.
class MemoryMap {
 public:
  static constexpr std::size_t kMaxRanges = 65535;  ///< max_dma_maps of vfio-user
  static constexpr std::size_t kMaxFiles = 64;      ///< distinct files in use by one function

  explicit MemoryMap(MemoryFiles& files) : files_(files) {}

  /// Why a range was refused: `number` is vfio-user's error number for the answer.
  struct MapError {
    int number;
    std::string message;
  };
  /// Adds [address, address + size). Without a descriptor, or with one that is not safe to map (`unsafe` then
  /// says why), the range is remembered but holds no memory: its accesses go to QEMU. EINVAL: size 0, past the
  /// end of the address space or of the file; EEXIST: overlaps a range; ENOSPC: too many ranges or files.
  std::expected<void, MapError> map(BusAddress address, std::uint64_t size, Rights rights, std::uint64_t offset,
                                    UniqueFd fd, std::string* unsafe = nullptr);

  /// Drops every range that overlaps [address, address + size), after the copies into them. An access to a part
  /// that was not meant finds its way through QEMU, so dropping too much is slow but never wrong. Returns how many.
  std::size_t unmap(BusAddress address, std::uint64_t size);
  void clear();

  [[nodiscard]] std::size_t ranges() const;

  enum class Right : std::uint8_t { read, write };

  /// The memory at an address.
  struct Piece {
    std::byte* memory = nullptr;  ///< null: no memory here (or not with that right)
    std::uint64_t length = 0;     ///< bytes for which that holds, at most as many as asked for
  };

  /// Looks up addresses, one after the other, while it holds the map's lock. Keep it for bounded copies only, and
  /// never call another function's BAR or port meanwhile: that could come back here.
  class Reader {
   public:
    explicit Reader(const MemoryMap& map) : map_(map), lock_(map.lock_) {}
    /// `length` > 0; address + length - 1 does not overflow.
    Piece find(BusAddress address, std::uint64_t length, Right right) {
      const std::uint64_t into = address.value - begin_;
      if (into < size_ && (right == Right::write ? rights_.write : rights_.read)) {
        const std::uint64_t left = size_ - into;
        return {memory_ + into, left < length ? left : length};
      }
      return search(address, length, right);
    }

   private:
    Piece search(BusAddress address, std::uint64_t length, Right right);

    const MemoryMap& map_;
    std::shared_lock<WriterFirstLock> lock_;
    // The last range found: stores come in runs.
    std::uint64_t begin_ = 0;
    std::uint64_t size_ = 0;
    Rights rights_{};
    std::byte* memory_ = nullptr;
  };

 private:
  struct Range {
    std::uint64_t size;
    Rights rights;
    std::byte* memory;  // null: known to QEMU only
    std::shared_ptr<MemoryFile> file;
  };

  MemoryFiles& files_;
  mutable WriterFirstLock lock_;                    // protects ranges_ and users_
  std::map<std::uint64_t, Range> ranges_;           // by first address; never overlapping
  std::map<const MemoryFile*, std::size_t> users_;  // ranges per file
};

}  // namespace smartio::pci
