// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>

#include "base/result.h"

namespace smartio::ntb {

/// The offset in BAR0 of a register that no hardware has. A store there is a fence: smartio-tcg-fence, a plugin of the
/// host's QEMU, makes one before each fence instruction of the host's CPUs (docs/fabric.md).
inline constexpr std::uint64_t kFenceRegister = 0x3f00;

/// A file of one page that tells the plugin where a host's fence registers are: for each NTB the bus address, 0 while
/// its BAR0 answers nowhere. Lives as long as the process uses it; the file stays.
class FencePage {
 public:
  static constexpr std::size_t kEntries = 128;
  using Address = std::atomic<std::uint64_t>;

  /// Creates the file; one from before is replaced.
  static Result<std::unique_ptr<FencePage>> create(const std::filesystem::path& file);
  ~FencePage();
  FencePage(const FencePage&) = delete;
  FencePage& operator=(const FencePage&) = delete;

  [[nodiscard]] Address& entry(std::size_t ntb) { return (*entries_)[ntb]; }

 private:
  using Entries = std::array<Address, kEntries>;
  explicit FencePage(Entries* entries) : entries_(entries) {}
  Entries* entries_;
};

}  // namespace smartio::ntb
