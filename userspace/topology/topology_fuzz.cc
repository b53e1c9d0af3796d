// SPDX-License-Identifier: GPL-2.0
// Any text is either refused with a message that names a line, or a topology whose promises hold.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "topology/topology.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace smartio::topology;
  const auto parsed = parse({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!parsed) {
    if (!parsed.error().message.starts_with("fuzz:")) std::abort();
    return 0;
  }
  for (const Link& link : parsed->links) {
    if (link.primary == link.secondary || link.vectors < 24) std::abort();
    for (const auto& windows : {link.windows, link.secondary_windows}) {
      if (!std::ranges::all_of(windows, [](auto window) { return std::has_single_bit(window); })) std::abort();
    }
  }
  for (const Drive& drive : parsed->drives) {
    std::uint64_t sum = 0;
    for (const Namespace& ns : drive.namespaces) {
      if (ns.size == 0 || ns.size % ns.block_size != 0) std::abort();
      sum += ns.size;
    }
    if (sum > drive.size || drive.namespaces.empty()) std::abort();
  }
  for (const Device& device : parsed->devices) {
    if (has_disk(device.type) != (device.size != 0) || device.dma_bits < 28 || device.dma_bits > 64) std::abort();
    if (device.vfs > 7 || (device.vfs != 0 && (device.type != Device::Type::nvme || device.cmb != 0))) std::abort();
    if (device.cmb != 0 && (device.type != Device::Type::nvme || !std::has_single_bit(device.cmb))) std::abort();
    if (std::ranges::count(parsed->devices, device.host, &Device::host) > kMostDevices) std::abort();
  }
  if (endpoints(*parsed).size() != 2 * parsed->links.size() + parsed->drives.size()) std::abort();
  return 0;
}
