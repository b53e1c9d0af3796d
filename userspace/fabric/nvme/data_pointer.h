// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/nvme/dma.h"
#include "fabric/nvme/spec.h"

namespace smartio::nvme {

/// The place of a command's data in host memory: its PRPs or SGL, walked once. The pieces are contiguous on the bus, so
/// that a transfer takes as few DMAs as possible. The work for one command is bounded by its length (PRPs) or by
/// kMaxSglDescriptors (SGLs), for any host. Worker only.
class DataMap {
 public:
  /// Descriptors read at most for one command, segment descriptors included.
  static constexpr unsigned kMaxSglDescriptors = 4096;
  /// Bytes a command may move at most; far above the limit by MDTS.
  static constexpr std::uint64_t kMaxLength = 64ULL << 20;

  struct Options {
    std::uint32_t page_size = 4096;  ///< CC.MPS
    bool sgl = true;                 ///< SGLs are supported, and this is not an admin command
  };

  /// Empty again; keeps its memory for the next command.
  void clear();

  /// Walks the data pointer of `entry` for `length` bytes. `to_host` is the direction: bit buckets take bytes only in
  /// transfers to the host.
  Status map(const Dma& dma, const SubmissionEntry& entry, std::uint64_t length, bool to_host, Options options);

  /// Moves bytes between the caller and the data, from `offset` on. Data Transfer Error when the bus refused a read or
  /// the range exceeds the mapped data.
  Status read(const Dma& dma, std::uint64_t offset, std::span<std::byte> into);
  Status write(const Dma& dma, std::uint64_t offset, std::span<const std::byte> from);

  /// One contiguous piece. Tests look at them.
  struct Piece {
    std::uint64_t start = 0;  ///< offset into the command's data
    std::uint64_t length = 0;
    pci::BusAddress address;
    bool bucket = false;  ///< bytes for here are dropped
  };
  [[nodiscard]] std::span<const Piece> pieces() const { return pieces_; }
  [[nodiscard]] std::uint64_t length() const { return length_; }

 private:
  Status map_prp(const Dma& dma, std::uint64_t prp1, std::uint64_t prp2, std::uint64_t length, std::uint32_t page_size);
  Status map_prp_list(const Dma& dma, std::uint64_t list, std::uint64_t length, std::uint32_t page_size);
  Status map_sgl(const Dma& dma, const SglDescriptor& first, std::uint64_t length, bool to_host);
  Status add_descriptor(const SglDescriptor& descriptor, std::uint64_t requested, bool to_host);
  void add(std::uint64_t address, std::uint64_t length, bool bucket = false);
  /// Calls `move(piece, offset into piece, offset into the caller's bytes, count)` over [offset, offset + count).
  template <typename Move>
  bool walk(std::uint64_t offset, std::uint64_t count, Move move);

  std::vector<Piece> pieces_;
  std::vector<std::uint64_t> list_;
  std::vector<SglDescriptor> segment_;
  std::uint64_t length_ = 0;
  std::size_t cursor_ = 0;  // piece of the last transfer: most commands go through their data in order
};

}  // namespace smartio::nvme
