// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/pci/config_space.h"
#include "fabric/pci/endpoint.h"
#include "fabric/pci/memory_file.h"
#include "fabric/pci/memory_tags.h"
#include "fabric/pci/types.h"
#include "fabric/pci/waits.h"
#include "fabric/pci/writer_first_lock.h"

namespace smartio::pci {

/// One emulated machine, as its devices see it: the endpoints on its bus and the addresses to which they answer,
/// whether an IOMMU stands between them, and the kinds of data in its memory. Endpoints are added before the first
/// guest attaches; all else is thread-safe.
class Host {
 public:
  /// `files` is the process's one registry of mapped guest memory, `waits` that of waiting hosts; both outlive the
  /// host.
  Host(std::string name, bool iommu, MemoryFiles& files, Waits& waits)
      : name_(std::move(name)), iommu_(iommu), files_(files), waits_(waits) {}
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  /// Puts `function` on this host's bus: binds it to its port and resets it (power_on). The order of destruction: first
  /// the servers stop, then functions with threads of their own are destroyed, then the others, and last the host.
  Endpoint& add(std::string name, Function& function);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] bool iommu() const { return iommu_; }
  [[nodiscard]] MemoryFiles& files() { return files_; }
  [[nodiscard]] Waits& waits() { return waits_; }
  [[nodiscard]] MemoryTags& tags() { return tags_; }
  [[nodiscard]] std::span<const std::unique_ptr<Endpoint>> endpoints() const { return endpoints_; }
  /// Null if there is none of that name.
  [[nodiscard]] Endpoint* find(std::string_view name) const;

  /// The BAR that answers to an address.
  struct BarHit {
    Endpoint* endpoint = nullptr;  ///< null: no BAR here
    unsigned bar = 0;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;  ///< bytes for which that holds, at most as many as asked for
  };
  [[nodiscard]] BarHit find_bar(BusAddress address, std::uint64_t length) const;

  /// How many loads of this host's QEMU from BARs of it were unclaimed: QEMU can't pass that on (Endpoint::read).
  [[nodiscard]] std::uint64_t loads_unclaimed() const { return loads_unclaimed_.load(std::memory_order_acquire); }
  void load_unclaimed() { loads_unclaimed_.fetch_add(1, std::memory_order_acq_rel); }

  /// Sets the BARs of `endpoint` that answer now, in place of those set before.
  void decode(Endpoint& endpoint, std::span<const ConfigSpace::DecodedBar> bars);

 private:
  struct Window {
    std::uint64_t begin;
    std::uint64_t size;
    Endpoint* endpoint;
    unsigned bar;
  };

  std::string name_;
  bool iommu_;
  MemoryFiles& files_;
  Waits& waits_;
  MemoryTags tags_;
  std::atomic<std::uint64_t> loads_unclaimed_{0};
  mutable WriterFirstLock lock_;                      // protects windows_
  std::vector<Window> windows_;                       // by first address
  std::vector<std::unique_ptr<Endpoint>> endpoints_;  // last: an endpoint that goes takes its windows out
};

}  // namespace smartio::pci
