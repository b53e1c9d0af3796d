// SPDX-License-Identifier: GPL-2.0
// BAR0 of AMD's NTB (PCI 1022:148b) as far as it is modelled: offsets and bits as Linux's
// drivers/ntb/hw/amd/ntb_hw_amd.h names them. All registers are 32 bits, little endian, unless said otherwise.
#pragma once

#include <cstdint>

namespace smartio::ntb::amd {

inline constexpr std::uint16_t kVendor = 0x1022;
inline constexpr std::uint16_t kDevice = 0x148b;

inline constexpr std::uint64_t kBar0Size = 0x4000;
inline constexpr std::uint32_t kMsixTable = 0x2000;  ///< room for 256 vectors up to the PBA
inline constexpr std::uint32_t kMsixPba = 0x3000;
inline constexpr unsigned kVectors = 24;  ///< of the hardware; the stock driver asks for as many
inline constexpr unsigned kMaxVectors = (kMsixPba - kMsixTable) / 16;

inline constexpr unsigned kDoorbells = 16;    ///< vectors 0 to 15
inline constexpr unsigned kEventVector = 16;  ///< the driver looks at INTSTAT for any vector above 15
inline constexpr unsigned kScratchpads = 16;  ///< 0 to 7 are the primary's, 8 to 15 the secondary's

namespace reg {

inline constexpr std::uint64_t CNTL = 0x200;  ///< kept, no effect
inline constexpr std::uint64_t SPAD = 0x210;  ///< 16 scratchpads, one bank for both sides
inline constexpr std::uint64_t SPAD_END = 0x250;
inline constexpr std::uint64_t SIDEINFO = 0x408;
inline constexpr std::uint64_t BAR23LMT = 0x418;   ///< 64 bits: bytes of the window that are open, 0: shut
inline constexpr std::uint64_t BAR45LMT = 0x420;   ///< 64 bits
inline constexpr std::uint64_t BAR23XLAT = 0x438;  ///< 64 bits: where the window's first byte comes out
inline constexpr std::uint64_t BAR45XLAT = 0x440;  ///< 64 bits
inline constexpr std::uint64_t DBREQ = 0x454;      ///< write 1: ring that doorbell of the peer. Reads 0
inline constexpr std::uint64_t DBMASK = 0x45c;     ///< 1: doorbell does not interrupt
inline constexpr std::uint64_t DBSTAT = 0x460;     ///< rung doorbells, write 1 to clear
inline constexpr std::uint64_t INTMASK = 0x470;    ///< 1: event does not interrupt
inline constexpr std::uint64_t INTSTAT = 0x474;    ///< events, write 1 to clear
inline constexpr std::uint64_t SMUACK = 0x4a0;     ///< kept, no effect

/// The peer's registers 0x200 to 0x4ff, seen from this side, at +0x400.
inline constexpr std::uint64_t PEER_VIEW = 0x400;
inline constexpr std::uint64_t PEER_VIEW_FIRST = 0x600;
inline constexpr std::uint64_t PEER_VIEW_END = 0x900;

}  // namespace reg

inline constexpr std::uint32_t kSideSecondary = 1U << 0;  ///< SIDEINFO: this is the secondary side
inline constexpr std::uint32_t kSideReady = 1U << 1;      ///< SIDEINFO: a driver is at work on this side

inline constexpr std::uint32_t kLinkUpEvent = 1U << 5;    ///< INTSTAT
inline constexpr std::uint32_t kLinkDownEvent = 1U << 6;  ///< INTSTAT
inline constexpr std::uint32_t kAllEvents = 0x7f;
inline constexpr std::uint32_t kAllDoorbells = (1U << kDoorbells) - 1;

}  // namespace smartio::ntb::amd
