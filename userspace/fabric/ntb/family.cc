// SPDX-License-Identifier: GPL-2.0
#include "fabric/ntb/family.h"

#include <fmt/format.h>

#include <bit>
#include <stdexcept>
#include <utility>

#include "fabric/ntb/amd_registers.h"
#include "fabric/ntb/intel_registers.h"

namespace smartio::ntb {

namespace {

/// The differences between families that need no register.
struct Traits {
  unsigned least_vectors;  ///< also the default
  unsigned most_vectors;
  std::uint8_t link_speed;
  std::uint8_t link_width;
};

constexpr Traits traits(Family family) {
  switch (family) {
    case Family::amd:
      return {amd::kVectors, amd::kMaxVectors, 3, 4};
    case Family::intel_icx:
      return {intel::kVectors, intel::kVectors, 4, 16};
    case Family::intel_spr:
      return {intel::kVectors, intel::kVectors, 5, 16};
  }
  std::unreachable();
}

void describe_amd(pci::FunctionDescription& description) {
  description.vendor = amd::kVendor;
  description.device = amd::kDevice;
  description.bars[0] = {.size = amd::kBar0Size};
  description.msix_table_offset = amd::kMsixTable;
  description.msix_pba_offset = amd::kMsixPba;
}

void describe_intel(pci::FunctionDescription& description, const Adapter& adapter) {
  description.vendor = intel::kVendor;
  description.device = intel::kDevice;
  description.revision = adapter.family == Family::intel_icx ? intel::kRevisionIcx : intel::kRevisionSpr;
  description.bars[0] = {.size = intel::kBar0Size, .is64 = true, .prefetchable = true};
  description.msix_table_offset = intel::kMsixTable;
  description.msix_pba_offset = intel::kMsixPba;
  description.capabilities = {.power = 0x80, .msix = 0x90, .express = intel::config::EXPRESS};
  const auto log2_of = [](std::uint64_t size) { return static_cast<std::uint8_t>(std::countr_zero(size)); };
  description.config_bytes = {{intel::config::IMBAR23SZ, log2_of(adapter.windows[0])},
                              {intel::config::IMBAR45SZ, log2_of(adapter.windows[1])},
                              {intel::config::EMBAR23SZ, log2_of(adapter.peer_windows[0])},
                              {intel::config::EMBAR45SZ, log2_of(adapter.peer_windows[1])}};
}

}  // namespace

std::string_view name_of(Family family) {
  switch (family) {
    case Family::amd:
      return "amd";
    case Family::intel_icx:
      return "intel-icx";
    case Family::intel_spr:
      return "intel-spr";
  }
  std::unreachable();
}

Adapter completed(Adapter adapter) {
  for (const auto& sizes : {adapter.windows, adapter.peer_windows})
    for (const auto size : sizes)
      if (!std::has_single_bit(size) || size < 4096)
        throw std::invalid_argument(fmt::format("a window of {} bytes; it must be a power of two, 4096 or more", size));
  const auto of_family = traits(adapter.family);
  if (adapter.vectors == 0) adapter.vectors = of_family.least_vectors;
  if (adapter.vectors < of_family.least_vectors || adapter.vectors > of_family.most_vectors)
    throw std::invalid_argument(fmt::format("{} MSI-X vectors; such an NTB has {} to {}", adapter.vectors,
                                            of_family.least_vectors, of_family.most_vectors));
  if (adapter.link_speed == 0) adapter.link_speed = of_family.link_speed;
  if (adapter.link_width == 0) adapter.link_width = of_family.link_width;
  return adapter;
}

pci::FunctionDescription describe(const Adapter& adapter) {
  pci::FunctionDescription description{
      .class_code = 0x068000,  // bridge, other
      .msix_vectors = static_cast<std::uint16_t>(adapter.vectors),
      .msix_bar = 0,
      .link_speed = adapter.link_speed,
      .link_width = adapter.link_width,
  };
  if (adapter.family == Family::amd)
    describe_amd(description);
  else
    describe_intel(description, adapter);
  description.subsystem_vendor = description.vendor;
  description.subsystem = description.device;
  for (unsigned window = 0; window < kWindows; window++)
    description.bars[2 + 2 * window] = {.size = adapter.windows[window], .is64 = true, .prefetchable = true};
  return description;
}

std::unique_ptr<RegisterFile> make_registers(const Adapter& adapter, bool secondary) {
  if (adapter.family == Family::amd) return std::make_unique<AmdRegisters>(secondary);
  using Model = IntelRegisters::Model;
  return std::make_unique<IntelRegisters>(
      IntelRegisters::Config{.model = adapter.family == Family::intel_icx ? Model::icx : Model::spr,
                             .downstream = secondary,
                             .windows = adapter.windows,
                             .peer_windows = adapter.peer_windows,
                             .link_speed = adapter.link_speed,
                             .link_width = adapter.link_width});
}

}  // namespace smartio::ntb
