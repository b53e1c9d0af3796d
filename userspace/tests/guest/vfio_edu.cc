// SPDX-License-Identifier: GPL-2.0
// QEMU's "edu" device, driven from user space by vfio-pci: by type 1, or with the word "iommufd" before the function's
// address by that. Memory of another function is mapped by type 1 only.
//
// vfio_edu DOMAIN:BUS:SLOT.FUNCTION
//    A buffer of this process is mapped for the device. The device copies 4 KiB of it into itself and back to another
//    place, and raises its interrupt by MSI each time. Then it computes, and raises the interrupt when it has the
//    result.
//
// vfio_edu DOMAIN:BUS:SLOT.FUNCTION store|fetch ADDRESS BYTES…
//    The device stores BYTES bytes of 0xa5 at an address without a mapping for it, or fetches them from there. The
//    number of those that are 0xff is printed.
//
// vfio_edu DOMAIN:BUS:SLOT.FUNCTION peer TARGET BAR ADDRESS
//    The first 4 KiB of a BAR of another function, which is memory, are mapped for the device at ADDRESS. The device
//    fetches them, and stores others there, several times. Then TARGET is released, and "let-go 1" is printed. After
//    each line "late" the device fetches and stores again at ADDRESS. Any other line ends it.
//
// vfio_edu iommufd DOMAIN:BUS:SLOT.FUNCTION keep
//    A buffer is mapped in a page table that stays when the function is released. Then "kept 1" is printed. The next
//    line of input ends it: the buffer is unmapped.
//
// The results are printed, one "WORD VALUE" a line. Ends with 1 if an operation can't be done. The caller judges
// whether the values are right.
#include <fmt/format.h>
#include <linux/pci_regs.h>
#include <linux/vfio.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "base/unique_fd.h"
#include "tests/guest/programs.h"
#include "tests/guest/vfio.h"

namespace {

using smartio::Iommu;
using smartio::Mapping;
using smartio::UniqueFd;
using smartio::VfioFunction;

// QEMU's docs/specs/edu.rst.
constexpr std::size_t kIdentification = 0x00;
constexpr std::size_t kLiveness = 0x04;
constexpr std::size_t kFactorial = 0x08;
constexpr std::size_t kStatus = 0x20;
constexpr std::size_t kInterruptStatus = 0x24;
constexpr std::size_t kInterruptAcknowledge = 0x64;
constexpr std::size_t kDmaSource = 0x80;
constexpr std::size_t kDmaDestination = 0x88;
constexpr std::size_t kDmaCount = 0x90;
constexpr std::size_t kDmaCommand = 0x98;
constexpr std::uint32_t kStatusInterrupt = 0x80;
constexpr std::uint32_t kInterruptFactorial = 0x01;
constexpr std::uint32_t kInterruptDma = 0x100;
constexpr std::uint64_t kDmaStart = 1;
constexpr std::uint64_t kDmaToMemory = 2;
constexpr std::uint64_t kDmaInterrupt = 4;
constexpr std::uint64_t kDeviceBuffer = 0x40000;
constexpr std::size_t kDeviceBufferSize = 4096;

constexpr std::size_t kMemorySize = std::size_t{64} << 10U;
/// The place in the buffer of the data that the device stores back.
constexpr std::size_t kBack = std::size_t{32} << 10U;
constexpr int kPatienceMs = 30000;

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

class Registers {
 public:
  explicit Registers(const Mapping& mapping) : base_(static_cast<std::uint8_t*>(mapping.get())) {}
  [[nodiscard]] std::uint32_t read(std::size_t at) const {
    return *reinterpret_cast<volatile std::uint32_t*>(base_ + at);
  }
  void write(std::size_t at, std::uint32_t value) const {
    *reinterpret_cast<volatile std::uint32_t*>(base_ + at) = value;
  }
  void write64(std::size_t at, std::uint64_t value) const {
    *reinterpret_cast<volatile std::uint64_t*>(base_ + at) = value;
  }

 private:
  std::uint8_t* base_;
};

/// Waits for the interrupt: how often it came, with the device's reason for it, which is acknowledged.
void await_interrupt(const Registers& edu, int event, std::uint32_t reason, const std::string& what) {
  pollfd waiting{.fd = event, .events = POLLIN, .revents = 0};
  std::uint64_t count = 0;
  if (::poll(&waiting, 1, kPatienceMs) == 1 && ::read(event, &count, sizeof(count)) != sizeof(count)) fail("eventfd");
  const std::uint32_t said = edu.read(kInterruptStatus);
  edu.write(kInterruptAcknowledge, said);
  fmt::print("{} {} {}\n", what, count, said == reason ? "its-reason" : fmt::format("{:#x}", said));
}

void copy(const Registers& edu, int event, std::uint64_t from, std::uint64_t to, std::uint64_t direction,
          const std::string& what, std::size_t size = kDeviceBufferSize) {
  edu.write64(kDmaSource, from);
  edu.write64(kDmaDestination, to);
  edu.write64(kDmaCount, size);
  edu.write64(kDmaCommand, kDmaStart | kDmaInterrupt | direction);
  await_interrupt(edu, event, kInterruptDma, what);
}

/// An access by the device to an address where it has no mapping.
struct Attack {
  bool store;
  std::uint64_t address;
  std::size_t size;
};

std::vector<Attack> attacks_of(std::span<char*> words) {
  std::vector<Attack> all;
  if (words.size() % 3 != 0) throw std::runtime_error("store|fetch ADDRESS BYTES");
  for (std::size_t i = 0; i < words.size(); i += 3) {
    const std::string kind(words[i]);
    if (kind != "store" && kind != "fetch") throw std::runtime_error("store or fetch, not " + kind);
    all.push_back(
        {.store = kind == "store",
         .address = std::stoull(words[i + 1], nullptr, 0),
         .size = std::min(kDeviceBufferSize, static_cast<std::size_t>(std::stoull(words[i + 2], nullptr, 0)))});
  }
  return all;
}

void attack(const Registers& edu, int event, std::span<std::uint8_t> bytes, std::uint64_t iova, const Attack& one) {
  constexpr std::uint8_t kPoison = 0xa5;
  std::ranges::fill(bytes.first(kDeviceBufferSize), kPoison);
  copy(edu, event, iova, kDeviceBuffer, 0, "poisoned");
  if (one.store) {
    copy(edu, event, kDeviceBuffer, one.address, kDmaToMemory, fmt::format("store-{:#x}", one.address), one.size);
    return;
  }
  copy(edu, event, one.address, kDeviceBuffer, 0, fmt::format("fetch-{:#x}", one.address), one.size);
  copy(edu, event, kDeviceBuffer, iova + kBack, kDmaToMemory, "shown", one.size);
  fmt::print("ones {}\n", std::ranges::count(bytes.subspan(kBack, one.size), std::uint8_t{0xff}));
}

void unmap_for(const VfioFunction& device, std::uint64_t iova, std::size_t size) {
  fmt::print("unmapped {}\n", device.unmap(iova, size));
}

/// The memory of another function, and where the device is to find it.
struct Peer {
  std::string pci;
  std::uint32_t bar;
  std::uint64_t place;
};

/// Words of the target, in order: each load crosses all bridges between.
std::size_t count_words(const Registers& target, std::uint32_t first) {
  std::size_t same = 0;
  for (std::uint32_t i = 0; i < kDeviceBufferSize / sizeof(i); ++i)
    same += target.read(i * sizeof(i)) == first + i ? 1U : 0U;
  return same;
}

void reach(const VfioFunction& device, const Registers& edu, int event, std::span<std::uint8_t> bytes,
           std::uint64_t iova, const Peer& peer) {
  constexpr int kRounds = 8;
  constexpr std::uint32_t kFirst = 0x10000;
  constexpr std::uint32_t kSecond = 0x5a000000;
  const auto store = [&bytes](std::uint32_t first) {
    for (std::uint32_t i = 0; i < kDeviceBufferSize / sizeof(i); ++i) {
      const std::uint32_t word = first + i;
      std::memcpy(&bytes[i * sizeof(i)], &word, sizeof(word));
    }
  };
  {
    const VfioFunction other(peer.pci, Iommu::kType1);
    other.set_config(PCI_COMMAND, other.config(PCI_COMMAND) | PCI_COMMAND_MEMORY);
    const vfio_region_info bar = other.region(VFIO_PCI_BAR0_REGION_INDEX + peer.bar);
    const Mapping window(kDeviceBufferSize, MAP_SHARED, other.file(), bar.offset);
    const Registers target(window);
    for (std::uint32_t i = 0; i < kDeviceBufferSize / sizeof(i); ++i) target.write(i * sizeof(i), kFirst + i);
    fmt::print("target {}\n", count_words(target, kFirst));
    device.map(window.get(), peer.place, kDeviceBufferSize);
    for (int round = 0; round < kRounds; ++round) copy(edu, event, peer.place, kDeviceBuffer, 0, "fetched");
    std::ranges::fill(bytes, std::uint8_t{0});
    copy(edu, event, kDeviceBuffer, iova, kDmaToMemory, "shown");
    std::size_t same = 0;
    for (std::uint32_t i = 0; i < kDeviceBufferSize / sizeof(i); ++i) {
      std::uint32_t word = 0;
      std::memcpy(&word, &bytes[i * sizeof(i)], sizeof(word));
      same += word == kFirst + i ? 1U : 0U;
    }
    fmt::print("fetched-words {}\n", same);
    store(kSecond);
    copy(edu, event, iova, kDeviceBuffer, 0, "taken");
    for (int round = 0; round < kRounds; ++round) copy(edu, event, kDeviceBuffer, peer.place, kDmaToMemory, "stored");
    fmt::print("stored-words {}\n", count_words(target, kSecond));
  }
  fmt::print("let-go 1\n");
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line) && line == "late";) {
    copy(edu, event, peer.place, kDeviceBuffer, 0, "late-fetch", sizeof(std::uint64_t));
    copy(edu, event, kDeviceBuffer, peer.place, kDmaToMemory, "late-store", sizeof(std::uint64_t));
    std::fflush(stdout);
  }
  unmap_for(device, peer.place, kDeviceBufferSize);
}

void keep(const std::string& pci, Iommu iommu) {
  VfioFunction device(pci, iommu);
  const std::uint64_t iova = device.first_address();
  const Mapping memory(kMemorySize, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  device.map(memory.get(), iova, kMemorySize);
  device.keep_addresses();
  device.release();
  fmt::print("kept 1\n");
  std::fflush(stdout);
  std::string line;
  std::getline(std::cin, line);
  unmap_for(device, iova, kMemorySize);
}

void run(const std::string& pci, Iommu iommu, const std::vector<Attack>& attacks, const std::optional<Peer>& peer) {
  const VfioFunction device(pci, iommu);
  const std::uint64_t iova = device.first_address();
  const Mapping memory(kMemorySize, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  device.map(memory.get(), iova, kMemorySize);

  fmt::print("id {:04x}:{:04x}\n", device.config(PCI_VENDOR_ID), device.config(PCI_DEVICE_ID));
  fmt::print("msi {}\nmsix {}\n", device.interrupts(VFIO_PCI_MSI_IRQ_INDEX),
             device.interrupts(VFIO_PCI_MSIX_IRQ_INDEX));
  device.set_config(PCI_COMMAND, device.config(PCI_COMMAND) | PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
  const UniqueFd event(::eventfd(0, EFD_CLOEXEC));
  if (event.get() < 0) fail("eventfd");
  device.enable_msi(event.get());

  const vfio_region_info bar = device.region(VFIO_PCI_BAR0_REGION_INDEX);
  const Mapping registers(bar.size, MAP_SHARED, device.file(), bar.offset);
  const Registers edu(registers);
  fmt::print("identification {:#010x}\n", edu.read(kIdentification));
  constexpr std::uint32_t kPattern = 0x12345678;
  edu.write(kLiveness, kPattern);
  fmt::print("liveness {:#010x}\n", edu.read(kLiveness));

  if (peer) return reach(device, edu, event.get(), memory.bytes(), iova, *peer);
  for (const Attack& one : attacks) attack(edu, event.get(), memory.bytes(), iova, one);
  if (!attacks.empty()) return;

  // The fetched data differs from place to place, so that no piece can stand for another.
  const std::span<std::uint8_t> bytes = memory.bytes();
  for (std::size_t i = 0; i < kDeviceBufferSize; ++i) bytes[i] = static_cast<std::uint8_t>(i * 7 + i / 251);
  std::ranges::fill(bytes.subspan(kBack), std::uint8_t{0xee});
  copy(edu, event.get(), iova, kDeviceBuffer, 0, "fetched");
  copy(edu, event.get(), kDeviceBuffer, iova + kBack, kDmaToMemory, "stored");
  const std::span<std::uint8_t> sent = bytes.first(kDeviceBufferSize);
  const std::span<std::uint8_t> back = bytes.subspan(kBack, kDeviceBufferSize);
  std::size_t same = 0;
  for (std::size_t i = 0; i < sent.size(); ++i) same += sent[i] == back[i] ? 1U : 0U;
  fmt::print("same-bytes {}\n", same);
  fmt::print("bytes-behind {}\n", std::ranges::count(bytes.subspan(kBack + kDeviceBufferSize), std::uint8_t{0xee}));

  edu.write(kStatus, kStatusInterrupt);
  edu.write(kFactorial, 10);
  await_interrupt(edu, event.get(), kInterruptFactorial, "computed");
  fmt::print("factorial {}\n", edu.read(kFactorial));

  unmap_for(device, iova, kMemorySize);
}

}  // namespace

int vfio_edu_main(int argc, char** argv) {
  std::span<char*> words(argv, static_cast<std::size_t>(argc));
  try {
    Iommu iommu = Iommu::kType1;
    if (words.size() > 1 && std::string(words[1]) == "iommufd") {
      iommu = Iommu::kIommufd;
      words = words.subspan(1);
    }
    if (words.size() < 2)
      throw std::runtime_error("vfio_edu [iommufd] DOMAIN:BUS:SLOT.FUNCTION [store|fetch ADDRESS BYTES]…");
    if (words.size() == 3 && std::string(words[2]) == "keep") {
      keep(words[1], iommu);
    } else if (words.size() == 6 && std::string(words[2]) == "peer") {
      run(words[1], iommu, {},
          Peer{.pci = words[3],
               .bar = static_cast<std::uint32_t>(std::stoul(words[4])),
               .place = std::stoull(words[5], nullptr, 0)});
    } else {
      run(words[1], iommu, attacks_of(words.subspan(2)), {});
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "vfio_edu: {}\n", error.what());
    return 1;
  }
  return 0;
}
