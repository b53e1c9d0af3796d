// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include "fabric/ntb/register_file.h"
#include "fabric/pci/function.h"

namespace smartio::ntb {

/// Whose bridge it is.
enum class Family : std::uint8_t {
  amd,        ///< 1022:148b, as ntb_hw_amd drives it
  intel_icx,  ///< 8086:347e of Ice Lake, as ntb_hw_intel drives it
  intel_spr,  ///< the same of Sapphire Rapids and later
};

/// One side of a link.
struct Adapter {
  Family family = Family::amd;
  std::array<std::uint64_t, kWindows> windows{};       ///< bytes of BAR2 and BAR4, powers of two
  std::array<std::uint64_t, kWindows> peer_windows{};  ///< of the other side
  unsigned vectors = 0;                                ///< MSI-X entries; 0: the family's default
  std::uint8_t link_speed = 0;                         ///< Current Link Speed encoding; 0: the family's
  std::uint8_t link_width = 0;
};

/// `adapter` with the family's own value in each field that is 0. Throws std::invalid_argument, with a sentence, if the
/// family has no such adapter.
Adapter completed(Adapter adapter);

/// "amd", "intel-icx" or "intel-spr", as in a topology file.
std::string_view name_of(Family family);

/// Of a completed adapter: the function as the guest finds it, and the registers of one side.
pci::FunctionDescription describe(const Adapter& adapter);
std::unique_ptr<RegisterFile> make_registers(const Adapter& adapter, bool secondary);

}  // namespace smartio::ntb
