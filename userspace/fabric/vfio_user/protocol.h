// SPDX-License-Identifier: GPL-2.0
// The wire format of vfio-user 0.0 as QEMU 11.1 speaks it (docs/interop/vfio-user.rst of QEMU; section names are
// the commands'). All little endian. Structures follow the 16-byte header.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace smartio::vfio_user {

/// "Commands".
enum class Command : std::uint16_t {
  version = 1,
  dma_map = 2,
  dma_unmap = 3,
  device_get_info = 4,
  device_get_region_info = 5,
  device_get_region_io_fds = 6,
  device_get_irq_info = 7,
  device_set_irqs = 8,
  region_read = 9,
  region_write = 10,
  dma_read = 11,
  dma_write = 12,
  device_reset = 13,
  dirty_pages = 14,
  region_write_multi = 15,
};
inline constexpr std::array kCommandNames{"VERSION",
                                          "DMA_MAP",
                                          "DMA_UNMAP",
                                          "DEVICE_GET_INFO",
                                          "DEVICE_GET_REGION_INFO",
                                          "DEVICE_GET_REGION_IO_FDS",
                                          "DEVICE_GET_IRQ_INFO",
                                          "DEVICE_SET_IRQS",
                                          "REGION_READ",
                                          "REGION_WRITE",
                                          "DMA_READ",
                                          "DMA_WRITE",
                                          "DEVICE_RESET",
                                          "DIRTY_PAGES",
                                          "REGION_WRITE_MULTI"};
static_assert(kCommandNames.size() == static_cast<std::size_t>(Command::region_write_multi));
constexpr const char* name(Command command) {
  const auto index = static_cast<std::size_t>(command) - 1;
  return index < kCommandNames.size() ? kCommandNames[index] : "unknown command";
}

/// "Header".
struct [[gnu::packed]] Header {
  std::uint16_t id;
  std::uint16_t command;
  std::uint32_t size;  ///< of the whole message, header included
  std::uint32_t flags;
  std::uint32_t error;  ///< errno, in a reply with kFlagError
};
static_assert(sizeof(Header) == 16);
inline constexpr std::uint32_t kFlagTypeMask = 0xf;
inline constexpr std::uint32_t kFlagReply = 0x1;
inline constexpr std::uint32_t kFlagNoReply = 0x10;
inline constexpr std::uint32_t kFlagError = 0x20;

/// "VFIO_USER_VERSION"; JSON with a terminating NUL may follow.
struct [[gnu::packed]] Version {
  std::uint16_t major;
  std::uint16_t minor;
};
static_assert(sizeof(Version) == 4);
inline constexpr std::uint16_t kMajor = 0;
inline constexpr std::uint16_t kMinor = 0;

/// "VFIO_USER_DMA_MAP"; the memory file's descriptor may come with it.
struct [[gnu::packed]] DmaMap {
  std::uint32_t argsz;
  std::uint32_t flags;
  std::uint64_t offset;
  std::uint64_t address;
  std::uint64_t size;
};
static_assert(sizeof(DmaMap) == 32 && offsetof(DmaMap, address) == 16);
inline constexpr std::uint32_t kDmaMapRead = 0x1;
inline constexpr std::uint32_t kDmaMapWrite = 0x2;
inline constexpr std::uint32_t kDmaMapMmap = 0x4;
inline constexpr std::uint32_t kDmaMapFileIo = 0x8;

/// "VFIO_USER_DMA_UNMAP". QEMU uses flag 2 of <linux/vfio.h>: all ranges.
struct [[gnu::packed]] DmaUnmap {
  std::uint32_t argsz;
  std::uint32_t flags;
  std::uint64_t address;
  std::uint64_t size;
};
static_assert(sizeof(DmaUnmap) == 24 && offsetof(DmaUnmap, address) == 8);
inline constexpr std::uint32_t kDmaUnmapAll = 0x2;

/// "VFIO_USER_DEVICE_GET_INFO".
struct [[gnu::packed]] DeviceInfo {
  std::uint32_t argsz;
  std::uint32_t flags;
  std::uint32_t regions;
  std::uint32_t irqs;
};
static_assert(sizeof(DeviceInfo) == 16);
inline constexpr std::uint32_t kDeviceReset = 0x1;
inline constexpr std::uint32_t kDevicePci = 0x2;

/// "VFIO_USER_DEVICE_GET_REGION_INFO".
struct [[gnu::packed]] RegionInfo {
  std::uint32_t argsz;
  std::uint32_t flags;
  std::uint32_t index;
  std::uint32_t cap_offset;
  std::uint64_t size;
  std::uint64_t offset;
};
static_assert(sizeof(RegionInfo) == 32 && offsetof(RegionInfo, size) == 16);
inline constexpr std::uint32_t kRegionRead = 0x1;
inline constexpr std::uint32_t kRegionWrite = 0x2;
// <linux/vfio.h>: VFIO_PCI_BAR0_REGION_INDEX to VFIO_PCI_NUM_REGIONS.
inline constexpr std::uint32_t kBars = 6;
inline constexpr std::uint32_t kConfigRegion = 7;
inline constexpr std::uint32_t kRegions = 9;

/// "VFIO_USER_DEVICE_GET_REGION_IO_FDS".
struct [[gnu::packed]] RegionIoFds {
  std::uint32_t argsz;
  std::uint32_t flags;
  std::uint32_t index;
  std::uint32_t count;
};
static_assert(sizeof(RegionIoFds) == 16);

/// "VFIO_USER_DEVICE_GET_IRQ_INFO".
struct [[gnu::packed]] IrqInfo {
  std::uint32_t argsz;
  std::uint32_t flags;
  std::uint32_t index;
  std::uint32_t count;
};
static_assert(sizeof(IrqInfo) == 16);
inline constexpr std::uint32_t kIrqEventfd = 0x1;
inline constexpr std::uint32_t kIrqNoResize = 0x8;
// <linux/vfio.h>: VFIO_PCI_MSIX_IRQ_INDEX, VFIO_PCI_NUM_IRQS.
inline constexpr std::uint32_t kIrqMsix = 2;
inline constexpr std::uint32_t kIrqs = 5;

/// "VFIO_USER_DEVICE_SET_IRQS"; eventfds may come with it.
struct [[gnu::packed]] IrqSet {
  std::uint32_t argsz;
  std::uint32_t flags;
  std::uint32_t index;
  std::uint32_t start;
  std::uint32_t count;
};
static_assert(sizeof(IrqSet) == 20);
inline constexpr std::uint32_t kIrqDataNone = 0x1;
inline constexpr std::uint32_t kIrqDataBool = 0x2;
inline constexpr std::uint32_t kIrqDataEventfd = 0x4;
inline constexpr std::uint32_t kIrqActionMask = 0x8;
inline constexpr std::uint32_t kIrqActionUnmask = 0x10;
inline constexpr std::uint32_t kIrqActionTrigger = 0x20;

/// "VFIO_USER_REGION_READ", "VFIO_USER_REGION_WRITE"; the data follows.
struct [[gnu::packed]] RegionAccess {
  std::uint64_t offset;
  std::uint32_t region;
  std::uint32_t count;
};
static_assert(sizeof(RegionAccess) == 16);

/// "VFIO_USER_REGION_WRITE_MULTI": a count, then this number of stores.
struct [[gnu::packed]] WriteMulti {
  std::uint64_t count;
};
struct [[gnu::packed]] WriteMultiStore {
  std::uint64_t offset;
  std::uint32_t region;
  std::uint32_t count;  ///< 1 to 8
  std::uint64_t data;
};
static_assert(sizeof(WriteMulti) == 8 && sizeof(WriteMultiStore) == 24);

/// "VFIO_USER_DMA_READ", "VFIO_USER_DMA_WRITE"; the data follows.
struct [[gnu::packed]] DmaAccess {
  std::uint64_t address;
  std::uint64_t count;
};
static_assert(sizeof(DmaAccess) == 16);

// Limits, ours towards every client. QEMU refuses max_msg_fds above 16.
inline constexpr std::uint32_t kMaxTransfer = 1U << 20;
inline constexpr std::uint32_t kMaxFds = 16;
inline constexpr std::uint32_t kMaxVersionText = 4096;
inline constexpr std::uint32_t kMaxMessage = sizeof(Header) + 16 + kMaxTransfer;
inline constexpr std::uint32_t kMaxStores = 8192;  ///< in a WRITE_MULTI; QEMU sends 200 at most

/// Takes a structure off the front of a message's body, which need not be aligned. The caller has checked the size.
template <typename T>
T peek(std::span<const std::byte> body, std::size_t at = 0) {
  T value;
  std::memcpy(&value, body.data() + at, sizeof(value));
  return value;
}

}  // namespace smartio::vfio_user
