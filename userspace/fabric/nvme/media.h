// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "base/result.h"

namespace smartio::nvme {

/// The bytes behind one namespace: memory or a file, both sparse. Offsets and sizes are bytes; the caller has checked
/// that they lie inside. Failures are those of the machine below (no space, I/O error) and the drive reports them as
/// media errors. Not thread-safe.
class Media {
 public:
  virtual ~Media() = default;

  [[nodiscard]] virtual std::uint64_t size() const = 0;
  /// `bytes` at `offset`, without a copy where the media is memory, else read into `scratch`, which is at least as
  /// long. Valid until the next call. Empty when the read failed.
  virtual std::span<const std::byte> view(std::uint64_t offset, std::uint64_t bytes, std::span<std::byte> scratch) = 0;
  /// False when it failed; how much was written is then unknown.
  virtual bool write(std::uint64_t offset, std::span<const std::byte> data) = 0;
  /// Makes the range read as zeroes and gives its space back where it can.
  virtual bool discard(std::uint64_t offset, std::uint64_t bytes) = 0;
  /// Bytes beyond the old size read as zeroes.
  virtual bool resize(std::uint64_t bytes) = 0;
};

/// Memory, filled with zeroes. Fails where the address space does not suffice.
Result<std::unique_ptr<Media>> make_ram_media(std::uint64_t bytes);

/// A sparse file, made or grown to `bytes`. One that is larger already is refused: it belongs to another topology.
///
/// It is read and written with system calls, not mapped. A full disk under a mapped file kills the process, and a guest
/// could fill it. Nothing is synced either: WriteCache decides which data a power cut of the *drive* loses. The file
/// outlives the fabric's process in any case. It is not meant to outlive the machine's own power cut.
Result<std::unique_ptr<Media>> open_file_media(const std::filesystem::path& path, std::uint64_t bytes);

}  // namespace smartio::nvme
