// SPDX-License-Identifier: GPL-2.0
#include "fabric/evidence.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

namespace smartio::fabric {

namespace {

using nlohmann::json;
using pci::Count;

/// A device's accesses that reached nothing. Interrupts that were dropped are none: an NTB has some for a side without
/// a driver.
constexpr auto kWrong = {Count::dma_writes_unclaimed, Count::dma_reads_unclaimed, Count::dma_refused_by_qemu};

}  // namespace

void add_evidence(control::Commands& commands, std::vector<const pci::Host*> all_hosts,
                  std::vector<const ntb::Cable*> all_cables) {
  const auto hosts = std::make_shared<const std::vector<const pci::Host*>>(std::move(all_hosts));
  const auto cables = std::make_shared<const std::vector<const ntb::Cable*>>(std::move(all_cables));
  commands.add("evidence", "accesses that reached nothing, by device and by link, since the fabric started",
               [hosts, cables](control::Words) -> Result<json> {
                 auto all = json::object();
                 auto add = [&all](std::string name, std::uint64_t count) {
                   if (count != 0) all[std::move(name)] = count;
                 };
                 for (const auto* host : *hosts)
                   for (const auto& endpoint : host->endpoints())
                     for (const Count count : kWrong)
                       add(fmt::format("{} {}", endpoint->full_name(), pci::counter_name(count)),
                           endpoint->counters().get(count));
                 for (const auto* cable : *cables) {
                   const auto [primary, secondary] = cable->ledger().dropped_ever();
                   add(fmt::format("{} dropped from_primary", cable->name()), primary);
                   add(fmt::format("{} dropped from_secondary", cable->name()), secondary);
                 }
                 return json{{"evidence", all}};
               });
}

}  // namespace smartio::fabric
