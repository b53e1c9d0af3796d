// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "topology/topology.h"

namespace smartio::nvme {

/// Outstanding Abort and Asynchronous Event Request commands, which the queue engine limits and Identify reports.
inline constexpr unsigned kAbortLimit = 4;
inline constexpr unsigned kAsyncEventLimit = 4;

/// A namespace as it is when the drive is made.
struct NamespaceConfig {
  std::uint64_t size = 64ULL << 20;  ///< bytes, a multiple of block_size
  std::uint32_t block_size = 512;    ///< 512 or 4096
};

/// A drive's parameters: the queue engine takes queue_pairs, cmb and sgl from it, the command set the rest.
struct DriveConfig {
  std::string name = "nvme0";  ///< serial number, NQN and namespace identifiers derive from name and host
  std::string host;
  std::filesystem::path backing;      ///< empty: RAM. Else the file of namespace 1; namespace N has backing + ".nsN"
  unsigned queue_pairs = 32;          ///< I/O queue pairs
  std::uint64_t cmb = 0;              ///< bytes of controller memory buffer, 0: none
  std::uint64_t cache = 64ULL << 20;  ///< bytes of volatile write cache, 0: none (VWC is reported as absent)
  bool sgl = true;
  bool shared = false;                      ///< CMIC and NMIC say that there may be several controllers; there is one
  unsigned mdts = 0;                        ///< Maximum Data Transfer Size, power of two of 4 KiB; 0: kDefaultMdts
  std::vector<NamespaceConfig> namespaces;  ///< NSID 1, 2, …
  std::uint16_t pci_vendor = 0x1AF4;        ///< Identify Controller VID: keep equal to configuration space
  std::uint16_t pci_subsystem_vendor = 0x1AF4;  ///< Identify Controller SSVID

  static constexpr unsigned kDefaultMdts = 8;  ///< 1 MiB
  static constexpr unsigned kMaxMdts = 10;     ///< 4 MiB: a command's data is buffered whole

  [[nodiscard]] unsigned effective_mdts() const { return mdts == 0 ? kDefaultMdts : mdts < kMaxMdts ? mdts : kMaxMdts; }
  /// Most bytes that one command may transfer.
  [[nodiscard]] std::uint64_t max_transfer() const { return std::uint64_t{4096} << effective_mdts(); }

  /// The same from a topology file; a relative backing path is taken from `state_folder`.
  [[nodiscard]] static DriveConfig from(const topology::Drive& drive, const std::filesystem::path& state_folder);
};

}  // namespace smartio::nvme
