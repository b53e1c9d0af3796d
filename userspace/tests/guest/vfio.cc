// SPDX-License-Identifier: GPL-2.0
#include "tests/guest/vfio.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/iommufd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "tests/guest/file.h"

namespace smartio {

namespace {

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

/// An ioctl that fails throws.
template <typename Argument>
int ask(int file, unsigned long request, Argument argument, const char* what) {
  const int result = ::ioctl(file, request, argument);
  if (result < 0) fail(what);
  return result;
}

/// A range of addresses, both ends included.
struct Range {
  std::uint64_t first;
  std::uint64_t last;
};

std::vector<Range> ranges_of_container(int container) {
  constexpr std::size_t kRoom = 4096;
  std::vector<std::uint8_t> room(kRoom);
  vfio_iommu_type1_info info{};
  info.argsz = kRoom;
  std::memcpy(room.data(), &info, sizeof(info));
  ask(container, VFIO_IOMMU_GET_INFO, room.data(), "VFIO_IOMMU_GET_INFO");
  std::memcpy(&info, room.data(), sizeof(info));
  std::vector<Range> found;
  for (std::size_t at = (info.flags & VFIO_IOMMU_INFO_CAPS) != 0 ? info.cap_offset : 0; at != 0;) {
    vfio_info_cap_header header{};
    std::memcpy(&header, &room.at(at), sizeof(header));
    if (header.id == VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE) {
      vfio_iommu_type1_info_cap_iova_range list{};
      std::memcpy(&list, &room.at(at), sizeof(list));
      for (std::size_t n = 0; n < list.nr_iovas; ++n) {
        vfio_iova_range range{};
        std::memcpy(&range, &room.at(at + sizeof(list) + n * sizeof(range)), sizeof(range));
        found.push_back({.first = range.start, .last = range.end});
      }
    }
    at = header.next;
  }
  return found;
}

std::vector<Range> ranges_of_space(int iommu, std::uint32_t space) {
  constexpr std::size_t kMost = 64;
  std::vector<iommu_iova_range> list(kMost);
  iommu_ioas_iova_ranges info{};
  info.size = sizeof(info);
  info.ioas_id = space;
  info.num_iovas = kMost;
  info.allowed_iovas = reinterpret_cast<std::uintptr_t>(list.data());
  ask(iommu, IOMMU_IOAS_IOVA_RANGES, &info, "IOMMU_IOAS_IOVA_RANGES");
  std::vector<Range> found;
  for (std::size_t n = 0; n < info.num_iovas; ++n) found.push_back({.first = list[n].start, .last = list[n].last});
  return found;
}

}  // namespace

Mapping::Mapping(std::size_t size, int flags, int file, std::uint64_t offset)
    : memory_(::mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, file, static_cast<off_t>(offset))), size_(size) {
  if (memory_ == MAP_FAILED) fail("mmap");
}

VfioFunction::VfioFunction(const std::string& pci, Iommu iommu) {
  if (iommu == Iommu::kType1)
    open_type1(pci);
  else
    open_iommufd(pci);
}

void VfioFunction::open_type1(const std::string& pci) {
  iommu_ = open_file("/dev/vfio/vfio", O_RDWR);
  const std::filesystem::path group = std::filesystem::read_symlink("/sys/bus/pci/devices/" + pci + "/iommu_group");
  group_ = open_file("/dev/vfio/" + group.filename().string(), O_RDWR);
  vfio_group_status status{};
  status.argsz = sizeof(status);
  ask(group_.get(), VFIO_GROUP_GET_STATUS, &status, "VFIO_GROUP_GET_STATUS");
  if ((status.flags & VFIO_GROUP_FLAGS_VIABLE) == 0) throw std::runtime_error("the group is not viable");
  const int container = iommu_.get();
  ask(group_.get(), VFIO_GROUP_SET_CONTAINER, &container, "VFIO_GROUP_SET_CONTAINER");
  ask(container, VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU, "VFIO_SET_IOMMU");
  device_ = UniqueFd(ask(group_.get(), VFIO_GROUP_GET_DEVICE_FD, pci.c_str(), "VFIO_GROUP_GET_DEVICE_FD"));
}

void VfioFunction::open_iommufd(const std::string& pci) {
  const std::filesystem::directory_iterator names("/sys/bus/pci/devices/" + pci + "/vfio-dev");
  if (names == std::filesystem::directory_iterator()) throw std::runtime_error("vfio has no device for " + pci);
  iommu_ = open_file("/dev/iommu", O_RDWR);
  device_ = open_file("/dev/vfio/devices/" + names->path().filename().string(), O_RDWR);
  vfio_device_bind_iommufd bind{};
  bind.argsz = sizeof(bind);
  bind.iommufd = iommu_.get();
  ask(device_.get(), VFIO_DEVICE_BIND_IOMMUFD, &bind, "VFIO_DEVICE_BIND_IOMMUFD");
  iommu_ioas_alloc space{};
  space.size = sizeof(space);
  ask(iommu_.get(), IOMMU_IOAS_ALLOC, &space, "IOMMU_IOAS_ALLOC");
  vfio_device_attach_iommufd_pt attach{};
  attach.argsz = sizeof(attach);
  attach.pt_id = space.out_ioas_id;
  ask(device_.get(), VFIO_DEVICE_ATTACH_IOMMUFD_PT, &attach, "VFIO_DEVICE_ATTACH_IOMMUFD_PT");
  space_ = space.out_ioas_id;
  id_ = bind.out_devid;
}

void VfioFunction::keep_addresses() const {
  if (!space_) throw std::logic_error("addresses are kept by iommufd only");
  vfio_device_detach_iommufd_pt detach{};
  detach.argsz = sizeof(detach);
  ask(device_.get(), VFIO_DEVICE_DETACH_IOMMUFD_PT, &detach, "VFIO_DEVICE_DETACH_IOMMUFD_PT");
  iommu_hwpt_alloc table{};
  table.size = sizeof(table);
  table.dev_id = id_;
  table.pt_id = *space_;
  ask(iommu_.get(), IOMMU_HWPT_ALLOC, &table, "IOMMU_HWPT_ALLOC");
  vfio_device_attach_iommufd_pt attach{};
  attach.argsz = sizeof(attach);
  attach.pt_id = table.out_hwpt_id;
  ask(device_.get(), VFIO_DEVICE_ATTACH_IOMMUFD_PT, &attach, "VFIO_DEVICE_ATTACH_IOMMUFD_PT");
}

std::uint64_t VfioFunction::first_address() const {
  const std::vector<Range> ranges = space_ ? ranges_of_space(iommu_.get(), *space_) : ranges_of_container(iommu_.get());
  if (ranges.empty()) throw std::runtime_error("the IOMMU names no range of addresses");
  for (const Range& range : ranges) fmt::print("range {:#x}-{:#x}\n", range.first, range.last);
  return ranges.front().first;
}

void VfioFunction::map(const void* memory, std::uint64_t address, std::size_t size) const {
  if (space_) {
    iommu_ioas_map map{};
    map.size = sizeof(map);
    map.flags = IOMMU_IOAS_MAP_FIXED_IOVA | IOMMU_IOAS_MAP_READABLE | IOMMU_IOAS_MAP_WRITEABLE;
    map.ioas_id = *space_;
    map.user_va = reinterpret_cast<std::uintptr_t>(memory);
    map.length = size;
    map.iova = address;
    ask(iommu_.get(), IOMMU_IOAS_MAP, &map, "IOMMU_IOAS_MAP");
    return;
  }
  vfio_iommu_type1_dma_map map{};
  map.argsz = sizeof(map);
  map.flags = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE;
  map.vaddr = reinterpret_cast<std::uintptr_t>(memory);
  map.iova = address;
  map.size = size;
  ask(iommu_.get(), VFIO_IOMMU_MAP_DMA, &map, "VFIO_IOMMU_MAP_DMA");
}

std::uint64_t VfioFunction::unmap(std::uint64_t address, std::size_t size) const {
  if (space_) {
    iommu_ioas_unmap unmap{};
    unmap.size = sizeof(unmap);
    unmap.ioas_id = *space_;
    unmap.iova = address;
    unmap.length = size;
    ask(iommu_.get(), IOMMU_IOAS_UNMAP, &unmap, "IOMMU_IOAS_UNMAP");
    return unmap.length;
  }
  vfio_iommu_type1_dma_unmap unmap{};
  unmap.argsz = sizeof(unmap);
  unmap.iova = address;
  unmap.size = size;
  ask(iommu_.get(), VFIO_IOMMU_UNMAP_DMA, &unmap, "VFIO_IOMMU_UNMAP_DMA");
  return unmap.size;
}

vfio_region_info VfioFunction::region(std::uint32_t index) const {
  vfio_region_info info{};
  info.argsz = sizeof(info);
  info.index = index;
  ask(device_.get(), VFIO_DEVICE_GET_REGION_INFO, &info, "VFIO_DEVICE_GET_REGION_INFO");
  return info;
}

std::uint16_t VfioFunction::config(std::uint64_t at) const {
  std::uint16_t value = 0;
  const std::uint64_t offset = region(VFIO_PCI_CONFIG_REGION_INDEX).offset + at;
  if (::pread(device_.get(), &value, sizeof(value), static_cast<off_t>(offset)) != sizeof(value)) fail("pread");
  return value;
}

void VfioFunction::set_config(std::uint64_t at, std::uint16_t value) const {
  const std::uint64_t offset = region(VFIO_PCI_CONFIG_REGION_INDEX).offset + at;
  if (::pwrite(device_.get(), &value, sizeof(value), static_cast<off_t>(offset)) != sizeof(value)) fail("pwrite");
}

std::uint32_t VfioFunction::interrupts(std::uint32_t kind) const {
  vfio_irq_info info{};
  info.argsz = sizeof(info);
  info.index = kind;
  ask(device_.get(), VFIO_DEVICE_GET_IRQ_INFO, &info, "VFIO_DEVICE_GET_IRQ_INFO");
  return info.count;
}

void VfioFunction::enable_msi(int event) const {
  constexpr std::size_t kSize = sizeof(vfio_irq_set) + sizeof(event);
  alignas(vfio_irq_set) std::array<std::uint8_t, kSize> room{};
  vfio_irq_set set{};
  set.argsz = kSize;
  set.flags = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER;
  set.index = VFIO_PCI_MSI_IRQ_INDEX;
  set.count = 1;
  std::memcpy(room.data(), &set, sizeof(set));
  std::memcpy(std::next(room.data(), sizeof(set)), &event, sizeof(event));
  ask(device_.get(), VFIO_DEVICE_SET_IRQS, room.data(), "VFIO_DEVICE_SET_IRQS");
}

}  // namespace smartio
