// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <span>

namespace smartio::nvme {

/// Offsets of the controller's registers in BAR0 (NVMe 1.4, section 3.1).
namespace reg {
inline constexpr std::uint64_t kCap = 0x00;
inline constexpr std::uint64_t kVs = 0x08;
inline constexpr std::uint64_t kIntms = 0x0C;
inline constexpr std::uint64_t kIntmc = 0x10;
inline constexpr std::uint64_t kCc = 0x14;
inline constexpr std::uint64_t kCsts = 0x1C;
inline constexpr std::uint64_t kNssr = 0x20;
inline constexpr std::uint64_t kAqa = 0x24;
inline constexpr std::uint64_t kAsq = 0x28;
inline constexpr std::uint64_t kAcq = 0x30;
inline constexpr std::uint64_t kCmbloc = 0x38;
inline constexpr std::uint64_t kCmbsz = 0x3C;
inline constexpr std::uint64_t kCmbmsc = 0x50;
inline constexpr std::uint64_t kCmbsts = 0x58;
inline constexpr std::uint64_t kDoorbells = 0x1000;
}  // namespace reg

/// Fields of CC and CSTS.
namespace cc {
inline constexpr std::uint32_t kEnable = 1U << 0;
constexpr std::uint32_t css(std::uint32_t value) { return value >> 4 & 0x7; }
constexpr std::uint32_t mps(std::uint32_t value) { return value >> 7 & 0xF; }
constexpr std::uint32_t ams(std::uint32_t value) { return value >> 11 & 0x7; }
constexpr std::uint32_t shn(std::uint32_t value) { return value >> 14 & 0x3; }
constexpr std::uint32_t iosqes(std::uint32_t value) { return value >> 16 & 0xF; }
constexpr std::uint32_t iocqes(std::uint32_t value) { return value >> 20 & 0xF; }
}  // namespace cc
namespace csts {
inline constexpr std::uint32_t kReady = 1U << 0;
inline constexpr std::uint32_t kFatal = 1U << 1;
inline constexpr std::uint32_t kShutdownMask = 3U << 2;
inline constexpr std::uint32_t kShutdownOccurring = 1U << 2;
inline constexpr std::uint32_t kShutdownComplete = 2U << 2;
inline constexpr std::uint32_t kSubsystemReset = 1U << 4;
inline constexpr std::uint32_t kPaused = 1U << 5;
}  // namespace csts

/// Largest memory page the host may choose: 4 KiB << kMaxMps (CAP.MPSMAX).
inline constexpr std::uint32_t kMaxMps = 4;
/// Entries that a queue may have at most: CAP.MQES + 1.
inline constexpr std::uint32_t kMaxQueueEntries = 4096;
/// CAP.TO in units of 500 ms: a command may wait this long for a read through the guest's QEMU.
inline constexpr std::uint32_t kReadyTimeout = 60;
/// The host writes this key to NSSR for an NVM subsystem reset: "NVMe".
inline constexpr std::uint32_t kSubsystemResetKey = 0x4E564D65;

/// The controller's registers below the doorbells: their values, their writable bits, and the writes that ask the queue
/// engine to act. Any thread; one mutex, never held across a call to anything else. The engine, not the writing thread,
/// carries a change of CC out, and answers by setting CSTS.
class Registers {
 public:
  /// The engine's tasks after a write, as bits.
  enum Action : std::uint32_t {
    kNothing = 0,
    kControl = 1U << 0,         ///< CC changed: enable, shut down
    kSubsystemReset = 1U << 1,  ///< the key was written to NSSR
    kCmbSpace = 1U << 2,        ///< CMBMSC changed
    kDisable = 1U << 3,         ///< CC.EN went from 1 to 0, and may be 1 again by now
  };

  /// `cmb_bytes` 0: no controller memory buffer; else a multiple of 4 KiB in BAR `cmb_bar`.
  Registers(std::uint64_t cmb_bytes, unsigned cmb_bar);

  /// Fills all of `data` from `offset`; reserved bytes read as 0.
  void read(std::uint64_t offset, std::span<std::byte> data) const;
  /// A store of any size and alignment, by byte lanes. Returns Action bits.
  std::uint32_t write(std::uint64_t offset, std::span<const std::byte> data);

  /// The control registers as the engine latches them.
  struct Control {
    std::uint32_t cc = 0;
    std::uint32_t aqa = 0;
    std::uint64_t asq = 0;
    std::uint64_t acq = 0;
  };
  [[nodiscard]] Control control() const;

  /// CMBMSC as the host wrote it.
  [[nodiscard]] std::uint64_t cmb_space() const;

  [[nodiscard]] std::uint32_t status() const;
  /// CSTS = (CSTS & ~clear) | set.
  void set_status(std::uint32_t clear, std::uint32_t set);

  /// The state after a controller reset: AQA, ASQ, ACQ and CMBMSC stay (NVMe 1.4, 7.3.2). CC and CSTS are as after
  /// power-on but for CSTS.NSSRO. With `keep_control` CC is left as the host wrote it: the reset that clearing CC.EN
  /// asks for.
  void controller_reset(bool keep_control);
  /// Everything as after power-on. `subsystem_reset` sets CSTS.NSSRO.
  void power_on(bool subsystem_reset);

 private:
  [[nodiscard]] std::uint64_t capabilities() const;
  [[nodiscard]] std::uint64_t register_at(std::uint64_t offset) const;
  /// Stores the bytes of `value` that `lanes` has set into the 8 bytes at `offset`.
  std::uint32_t store(std::uint64_t offset, std::uint64_t value, std::uint64_t lanes);

  mutable std::mutex mutex_;  // guards everything below that is not const
  const std::uint64_t cmb_bytes_;
  const unsigned cmb_bar_;
  std::uint32_t interrupt_mask_ = 0;
  std::uint32_t cc_ = 0;
  std::uint32_t csts_ = 0;
  std::uint32_t aqa_ = 0;
  std::uint64_t asq_ = 0;
  std::uint64_t acq_ = 0;
  std::uint64_t cmbmsc_ = 0;
};

}  // namespace smartio::nvme
