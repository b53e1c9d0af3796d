// SPDX-License-Identifier: GPL-2.0
// A PCI function that a program drives by vfio. Errors are thrown as std::system_error, which names the call.
#pragma once

#include <linux/vfio.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/unique_fd.h"

namespace smartio {

/// Memory that is mapped for this process, unmapped at the end.
class Mapping {
 public:
  /// As mmap(2).
  Mapping(std::size_t size, int flags, int file, std::uint64_t offset);
  ~Mapping() { ::munmap(memory_, size_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  [[nodiscard]] void* get() const { return memory_; }
  [[nodiscard]] std::span<std::uint8_t> bytes() const { return {static_cast<std::uint8_t*>(memory_), size_}; }

 private:
  void* memory_;
  std::size_t size_;
};

/// Who maps memory for a function: a container of type 1, in which its group is (Linux,
/// Documentation/driver-api/vfio.rst), or iommufd (Documentation/userspace-api/iommufd.rst).
enum class Iommu : std::uint8_t { kType1, kIommufd };

/// A PCI function that vfio-pci has, opened, with addresses of its own. Released at the end.
class VfioFunction {
 public:
  /// `pci`: DOMAIN:BUS:SLOT.FUNCTION.
  VfioFunction(const std::string& pci, Iommu iommu);

  /// The first of the addresses that can be mapped. Prints "range FIRST-LAST" for each range of them.
  [[nodiscard]] std::uint64_t first_address() const;
  /// Maps memory of this process at an address of the function's, to read and to write.
  void map(const void* memory, std::uint64_t address, std::size_t size) const;
  /// Returns the number of bytes that were mapped there.
  [[nodiscard]] std::uint64_t unmap(std::uint64_t address, std::size_t size) const;

  /// Of iommufd: the function gets a hardware page table that stays when it is released. Nothing may use it meanwhile.
  void keep_addresses() const;
  /// The function is released. Mapped memory stays so until the end.
  void release() { device_ = UniqueFd(); }

  /// VFIO_DEVICE_GET_REGION_INFO. `index`: VFIO_PCI_..._REGION_INDEX.
  [[nodiscard]] vfio_region_info region(std::uint32_t index) const;
  /// 16 bits of configuration space.
  [[nodiscard]] std::uint16_t config(std::uint64_t at) const;
  void set_config(std::uint64_t at, std::uint16_t value) const;
  /// How many interrupts it has of a kind, VFIO_PCI_..._IRQ_INDEX.
  [[nodiscard]] std::uint32_t interrupts(std::uint32_t kind) const;
  /// The first message of MSI counts in `event`, or with -1 nowhere any more.
  void enable_msi(int event) const;
  /// For mmap of its regions.
  [[nodiscard]] int file() const { return device_.get(); }

 private:
  void open_type1(const std::string& pci);
  void open_iommufd(const std::string& pci);

  /// The container, or iommufd.
  UniqueFd iommu_;
  UniqueFd group_;
  UniqueFd device_;
  /// Of iommufd: the address space that the function is attached to. Without it, a container.
  std::optional<std::uint32_t> space_;
  /// Of iommufd: its id of the function.
  std::uint32_t id_ = 0;
};

}  // namespace smartio
