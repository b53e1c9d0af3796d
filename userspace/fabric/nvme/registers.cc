// SPDX-License-Identifier: GPL-2.0
#include "fabric/nvme/registers.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace smartio::nvme {
namespace {

static_assert(std::endian::native == std::endian::little, "registers are laid out as the host stores them");

constexpr std::uint32_t kVersion14 = 0x00010400;
constexpr std::uint32_t kCcWritable = 0x00FFFFF1;
constexpr std::uint32_t kAqaWritable = 0x0FFF0FFF;
constexpr std::uint64_t kPageMask = ~std::uint64_t{0xFFF};
constexpr std::uint64_t kCmbEnable = 1U << 0;       // CMBMSC.CRE
constexpr std::uint64_t kCmbSpaceEnable = 1U << 1;  // CMBMSC.CMSE
constexpr std::uint64_t kLow = 0xFFFFFFFF;

std::uint64_t merge(std::uint64_t old, std::uint64_t value, std::uint64_t lanes, std::uint64_t writable) {
  return (old & ~(lanes & writable)) | (value & lanes & writable);
}

}  // namespace

Registers::Registers(std::uint64_t cmb_bytes, unsigned cmb_bar) : cmb_bytes_(cmb_bytes), cmb_bar_(cmb_bar) {}

std::uint64_t Registers::capabilities() const {
  std::uint64_t cap = kMaxQueueEntries - 1;            // MQES
  cap |= std::uint64_t{1} << 16;                       // CQR: queues are physically contiguous
  cap |= std::uint64_t{kReadyTimeout} << 24;           // TO
  cap |= std::uint64_t{1} << 36;                       // NSSRS
  cap |= std::uint64_t{1} << 37;                       // CSS: NVM command set
  cap |= std::uint64_t{kMaxMps} << 52;                 // MPSMAX; MPSMIN 0 and DSTRD 0
  if (cmb_bytes_ != 0) cap |= std::uint64_t{1} << 57;  // CMBS
  return cap;
}

// The 8 bytes at `offset`, which is a multiple of 8.
std::uint64_t Registers::register_at(std::uint64_t offset) const {
  switch (offset) {
    case reg::kCap:
      return capabilities();
    case reg::kVs:  // and INTMS
      return kVersion14 | std::uint64_t{interrupt_mask_} << 32;
    case reg::kIntmc:  // and CC
      return interrupt_mask_ | std::uint64_t{cc_} << 32;
    case 0x18:  // reserved, and CSTS
      return std::uint64_t{csts_} << 32;
    case reg::kNssr:  // reads 0, and AQA
      return std::uint64_t{aqa_} << 32;
    case reg::kAsq:
      return asq_;
    case reg::kAcq:
      return acq_;
    case reg::kCmbloc: {  // and CMBSZ; both 0 until the host sets CMBMSC.CRE
      if (cmb_bytes_ == 0 || (cmbmsc_ & kCmbEnable) == 0) return 0;
      const std::uint64_t location = cmb_bar_;  // BIR; OFST 0
      // SQS, CQS, LISTS, RDS, WDS; SZU 0: units of 4 KiB.
      const std::uint64_t size = 0x1F | (cmb_bytes_ >> 12) << 12;
      return location | size << 32;
    }
    case reg::kCmbmsc:
      return cmbmsc_;
    case reg::kCmbsts: {
      const std::uint64_t base = cmbmsc_ & kPageMask;
      const bool invalid = (cmbmsc_ & kCmbSpaceEnable) != 0 && base + cmb_bytes_ < base;
      return invalid ? 1 : 0;  // CBAI
    }
    default:
      return 0;
  }
}

void Registers::read(std::uint64_t offset, std::span<std::byte> data) const {
  const std::lock_guard lock(mutex_);
  std::size_t done = 0;
  while (done < data.size()) {
    const std::uint64_t at = offset + done;
    const std::uint64_t value = register_at(at & ~std::uint64_t{7});
    const std::size_t skip = at & 7;
    const std::size_t count = std::min(data.size() - done, 8 - skip);
    std::memcpy(data.data() + done, reinterpret_cast<const std::byte*>(&value) + skip, count);
    done += count;
  }
}

std::uint32_t Registers::store(std::uint64_t offset, std::uint64_t value, std::uint64_t lanes) {
  const std::uint64_t high = value >> 32;
  const std::uint64_t high_lanes = lanes >> 32;
  switch (offset) {
    case reg::kVs:  // INTMS in the upper half: sets mask bits
      interrupt_mask_ |= static_cast<std::uint32_t>(high & high_lanes);
      return kNothing;
    case reg::kIntmc: {  // INTMC clears mask bits; CC in the upper half
      interrupt_mask_ &= ~static_cast<std::uint32_t>(value & lanes & kLow);
      if (high_lanes == 0) return kNothing;
      const std::uint32_t before = cc_;
      cc_ = static_cast<std::uint32_t>(merge(cc_, high, high_lanes, kCcWritable));
      // A host that polls CSTS right after it asked for a shutdown must not see an old answer.
      if (cc::shn(cc_) != 0 && cc::shn(before) != cc::shn(cc_)) {
        csts_ = (csts_ & ~csts::kShutdownMask) | csts::kShutdownOccurring;
      }
      const bool disabled = (before & ~cc_ & cc::kEnable) != 0;
      return (before == cc_ ? kNothing : kControl) | (disabled ? kDisable : kNothing);
    }
    case reg::kNssr: {  // and AQA
      aqa_ = static_cast<std::uint32_t>(merge(aqa_, high, high_lanes, kAqaWritable));
      const bool key = (lanes & kLow) == kLow && (value & kLow) == kSubsystemResetKey;
      return key ? kSubsystemReset : kNothing;
    }
    case 0x18:  // CSTS.NSSRO is cleared by writing 1
      if ((high & high_lanes & csts::kSubsystemReset) != 0) csts_ &= ~csts::kSubsystemReset;
      return kNothing;
    case reg::kAsq:
      asq_ = merge(asq_, value, lanes, kPageMask);
      return kNothing;
    case reg::kAcq:
      acq_ = merge(acq_, value, lanes, kPageMask);
      return kNothing;
    case reg::kCmbmsc:
      if (cmb_bytes_ == 0) return kNothing;
      cmbmsc_ = merge(cmbmsc_, value, lanes, kPageMask | kCmbEnable | kCmbSpaceEnable);
      return kCmbSpace;
    default:
      return kNothing;  // read-only or reserved
  }
}

std::uint32_t Registers::write(std::uint64_t offset, std::span<const std::byte> data) {
  const std::lock_guard lock(mutex_);
  std::uint32_t actions = kNothing;
  std::size_t done = 0;
  while (done < data.size()) {
    const std::uint64_t at = offset + done;
    const std::size_t skip = at & 7;
    const std::size_t count = std::min(data.size() - done, 8 - skip);
    std::uint64_t value = 0;
    std::uint64_t lanes = 0;
    std::memcpy(reinterpret_cast<std::byte*>(&value) + skip, data.data() + done, count);
    std::memset(reinterpret_cast<std::byte*>(&lanes) + skip, 0xFF, count);
    actions |= store(at & ~std::uint64_t{7}, value, lanes);
    done += count;
  }
  return actions;
}

Registers::Control Registers::control() const {
  const std::lock_guard lock(mutex_);
  return {cc_, aqa_, asq_, acq_};
}

std::uint64_t Registers::cmb_space() const {
  const std::lock_guard lock(mutex_);
  return cmbmsc_;
}

std::uint32_t Registers::status() const {
  const std::lock_guard lock(mutex_);
  return csts_;
}

void Registers::set_status(std::uint32_t clear, std::uint32_t set) {
  const std::lock_guard lock(mutex_);
  csts_ = (csts_ & ~clear) | set;
}

void Registers::controller_reset(bool keep_control) {
  const std::lock_guard lock(mutex_);
  interrupt_mask_ = 0;
  if (!keep_control) cc_ = 0;
  csts_ &= csts::kSubsystemReset;
}

void Registers::power_on(bool subsystem_reset) {
  const std::lock_guard lock(mutex_);
  interrupt_mask_ = 0;
  cc_ = 0;
  csts_ = subsystem_reset ? csts::kSubsystemReset : 0;
  aqa_ = 0;
  asq_ = 0;
  acq_ = 0;
  cmbmsc_ = 0;
}

}  // namespace smartio::nvme
