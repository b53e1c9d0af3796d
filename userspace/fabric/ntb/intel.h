// SPDX-License-Identifier: GPL-2.0
// BAR0 of the NTB of Intel's Xeon processors of the generations 4 and 5 (PCI 8086:347e), between two processors. It has
// the offsets and bits that the model needs, by their names in Linux 6.12's drivers/ntb/hw/intel/ntb_hw_gen4.h. There
// is no public document of these registers. Where the driver leaves something open, the model follows the first
// generation. Intel's datasheet 323103-001, section 3.21, describes its registers; the comments name the place.
#pragma once

#include <cstdint>

namespace smartio::ntb::intel {

inline constexpr std::uint16_t kVendor = 0x8086;
inline constexpr std::uint16_t kDevice = 0x347e;
inline constexpr std::uint8_t kRevisionIcx = 0x04;  ///< Ice Lake: the driver takes 0x02 to 0x0f for it
inline constexpr std::uint8_t kRevisionSpr = 0x10;  ///< Sapphire Rapids: anything above

inline constexpr std::uint64_t kBar0Size = 0x10000;
inline constexpr std::uint32_t kMsixTable = 0x2000;
inline constexpr std::uint32_t kMsixPba = 0x3000;
inline constexpr unsigned kVectors = 33;  ///< GEN4_DB_MSIX_VECTOR_COUNT

inline constexpr unsigned kDoorbells = 32;
inline constexpr unsigned kLinkSource = 32;  ///< the bit of the link in INT_STATUS, behind those of the doorbells
inline constexpr unsigned kSources = 33;
inline constexpr unsigned kScratchpads = 16;  ///< a bank for each side
inline constexpr std::uint64_t kPage = 4096;  ///< the granularity of translations and limits

/// Configuration space: log2 of the sizes of BAR2 and BAR4 here, and of those that the peer reaches this side by.
namespace config {
inline constexpr std::uint16_t EXPRESS = 0x40;  ///< the PCI Express capability: DEVCTRL is 0x48
inline constexpr std::uint16_t IMBAR23SZ = 0xc4;
inline constexpr std::uint16_t IMBAR45SZ = 0xc5;
inline constexpr std::uint16_t EMBAR23SZ = 0xc6;
inline constexpr std::uint16_t EMBAR45SZ = 0xc7;
}  // namespace config

namespace reg {

inline constexpr std::uint64_t NTBCNTL = 0x0000;  ///< kept, no effect
/// 64 bits: where the peer's window comes out on this host, and the address behind its last byte in this side's own
/// BAR.
inline constexpr std::uint64_t IM23XBASE = 0x0010;
inline constexpr std::uint64_t IM23XLMT = 0x0018;
inline constexpr std::uint64_t IM45XBASE = 0x0020;
inline constexpr std::uint64_t IM45XLMT = 0x0028;
inline constexpr std::uint64_t INT_STATUS = 0x0040;    ///< 64 bits: doorbells and the link, write 1 to clear
inline constexpr std::uint64_t INT_DISABLE = 0x0048;   ///< 64 bits
inline constexpr std::uint64_t INTVEC = 0x0050;        ///< 33 bytes: the vector of each bit of INT_STATUS
inline constexpr std::uint64_t IM23XBASEIDX = 0x0074;  ///< 16 bits, of which kBaseIndex is kept, no effect
inline constexpr std::uint64_t IM45XBASEIDX = 0x0076;
inline constexpr std::uint64_t IM_SPAD = 0x0080;
inline constexpr std::uint64_t IM_SPAD_END = 0x00c0;
inline constexpr std::uint64_t IM_DOORBELL = 0x0100;  ///< 32 words; 1 rings that doorbell of the peer. Read 0
inline constexpr std::uint64_t IM_DOORBELL_END = 0x0180;
inline constexpr std::uint64_t LTR_SWSEL = 0x30ec;  ///< kept, no effect
inline constexpr std::uint64_t LTR_ACTIVE = 0x30f0;
inline constexpr std::uint64_t LTR_IDLE = 0x30f4;
inline constexpr std::uint64_t EM_SPAD = 0x8080;  ///< the peer's IM_SPAD
inline constexpr std::uint64_t EM_SPAD_END = 0x80c0;
inline constexpr std::uint64_t LINK_CTRL = 0xb050;  ///< 16 bits, and LINK_STATUS in the upper half of the word
inline constexpr std::uint64_t SLOTSTS = 0xb058;    ///< in the upper half of this word (0xb05a)
inline constexpr std::uint64_t PPD0 = 0xb0d4;
inline constexpr std::uint64_t PPD1 = 0xb4c0;

}  // namespace reg

/// XBASEIDX is the log2 of a size in a space of 64 bits: 6 bits. No document says whether there are more. The driver
/// writes 0xffff for a window of no bytes, and fails if it does not read that back.
inline constexpr std::uint32_t kBaseIndex = 0x3f;

inline constexpr std::uint64_t kLinkBit = 1ULL << kLinkSource;  ///< of INT_STATUS and INT_DISABLE
inline constexpr std::uint64_t kAllSources = (1ULL << kSources) - 1;

inline constexpr std::uint32_t kLinkDisable = 0x0010;        ///< LINK_CTRL
inline constexpr std::uint32_t kLinkActive = 0x2000U << 16;  ///< LINK_STATUS: Data Link Layer Link Active
inline constexpr std::uint32_t kLinkChanged = 0x0100U
                                              << 16;     ///< SLOTSTS: Data Link Layer State Changed, write 1 to clear
inline constexpr std::uint32_t kTrain = 0x0008;          ///< PPD0: start link training
inline constexpr std::uint32_t kConnectionB2b = 0x0200;  ///< PPD1: to another NTB
inline constexpr std::uint32_t kDownstreamIcx = 0x1000;  ///< PPD1: the downstream device of the two
inline constexpr std::uint32_t kDownstreamSpr = 0x4000;

}  // namespace smartio::ntb::intel
