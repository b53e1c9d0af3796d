// SPDX-License-Identifier: GPL-2.0
#include "fabric/ntb/ntb_control.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <optional>
#include <ranges>

#include "fabric/control/values.h"
#include "fabric/ledger/ledger_json.h"

namespace smartio::ntb {

namespace {

using control::Words;
using nlohmann::json;
using Links = std::vector<ControlledLink>;

Result<const ControlledLink*> find(const Links& links, std::string_view name) {
  for (const auto& link : links)
    if (link.cable->name() == name) return &link;
  return fail(
      fmt::format("no such link; there are: {}",
                  fmt::join(links | std::views::transform([](const auto& l) { return l.cable->name(); }), ", ")));
}

json combined_json(const WriteCombining::Counts& counts) {
  return {{"stores", counts.stores},
          {"fences", counts.fences},
          {"evicted", counts.evicted},
          {"torn", counts.torn},
          {"late", counts.late}};
}

json side_json(const ControlledLink& link, Side side) {
  const auto& function = link.cable->function(side);
  const auto status = function.status();
  auto windows = json::array();
  for (unsigned window = 0; window < kWindows; window++)
    windows.push_back({{"size", function.description().bars[2 + 2 * window].size},
                       {"translation", fmt::format("{:#x}", status.translation[window])},
                       {"limit", status.limit[window]}});
  const auto combined = function.combined();
  return {{"host", side == Side::primary ? link.primary : link.secondary},
          {"connected", status.connected},
          {"ready", status.ready},
          {"event", fmt::format("{:#x}", status.event)},
          {"event_mask", fmt::format("{:#x}", status.event_mask)},
          {"waiting_events", status.waiting_events},
          {"doorbells", fmt::format("{:#x}", status.doorbells)},
          {"doorbell_mask", fmt::format("{:#x}", status.doorbell_mask)},
          {"inbound_windows", windows},
          {"write_combining", combined ? combined_json(*combined) : json()}};
}

json link_json(const ControlledLink& link) {
  return {{"name", link.cable->name()},
          {"family", name_of(link.cable->family())},
          {"state", name_of(link.cable->state())},
          {"surprise_removal", link.surprise_removal},
          {"primary", side_json(link, Side::primary)},
          {"secondary", side_json(link, Side::secondary)}};
}

/// "5" is milliseconds, as in `flap MS`; "5ms" and "2s" have their units.
Result<std::chrono::nanoseconds> parse_pause(std::string_view word) {
  constexpr std::uint64_t kDayInMs = 86'400'000;
  if (const auto number = control::number_of(word, kDayInMs)) return std::chrono::milliseconds(*number);
  return control::duration_of(word);
}

}  // namespace

void add_commands(control::Commands& commands, std::vector<ControlledLink> controlled) {
  // Shared by the handlers, which live in `commands`.
  const auto links = std::make_shared<const Links>(std::move(controlled));

  commands.add("link list", "every link with its state and both sides", [links](Words) -> Result<json> {
    auto all = json::array();
    for (const auto& link : *links) all.push_back(link_json(link));
    return json{{"links", all}};
  });
  commands.add("link NAME status", "one link: state, guests, drivers, inbound windows",
               [links](Words words) -> Result<json> {
                 return find(*links, words[1]).transform([](const auto* link) { return link_json(*link); });
               });
  commands.add("link NAME up|down|silent",
               "puts the cable in, pulls it (both drivers are notified), or loses all data silently",
               [links](Words words) -> Result<json> {
                 return find(*links, words[1]).transform([&](const auto* link) {
                   auto& cable = *link->cable;
                   if (words[2] == "up")
                     cable.up();
                   else if (words[2] == "down")
                     cable.down();
                   else
                     cable.silent();
                   return json{{"state", name_of(cable.state())}};
                 });
               });
  commands.add("link NAME flap MS", "pulls the cable now and puts it back after that many ms (or 5s, 200us)",
               [links](Words words) -> Result<json> {
                 const auto pause = parse_pause(words[3]);
                 if (!pause) return std::unexpected(pause.error());
                 return find(*links, words[1]).transform([&](const auto* link) {
                   link->cable->flap(*pause);
                   return json{{"up_in_ns", pause->count()}};
                 });
               });
  commands.add("link NAME slow MS", "each load of a window's registers takes this time (or 5s, 200us); 0: no delay",
               [links](Words words) -> Result<json> {
                 const auto pause = parse_pause(words[3]);
                 if (!pause) return std::unexpected(pause.error());
                 return find(*links, words[1]).transform([&](const auto* link) {
                   link->cable->slow_windows(*pause);
                   return json{{"pause_ns", pause->count()}};
                 });
               });
  commands.add("link NAME stuck 0|1|none", "stores to the registers of this window are lost, on both sides",
               [links](Words words) -> Result<json> {
                 return find(*links, words[1]).transform([&](const auto* link) {
                   std::optional<unsigned> window;
                   if (words[3] != "none") window = words[3] == "1" ? 1 : 0;
                   link->cable->stick_window(window);
                   return json{{"stuck", words[3]}};
                 });
               });
  commands.add("ledger [LINK]", "transactions over the links: by direction, posted or not, and kind",
               [links](Words words) -> Result<json> {
                 if (words.size() == 2)
                   return find(*links, words[1]).transform([](const auto* link) {
                     return json{{"links", {{link->cable->name(), json(link->cable->ledger().snapshot())}}}};
                   });
                 auto all = json::object();
                 for (const auto& link : *links) all[link.cable->name()] = link.cable->ledger().snapshot();
                 return json{{"links", all}};
               });
  commands.add("ledger reset [LINK]", "zeroes the ledgers, or one link's", [links](Words words) -> Result<json> {
    if (words.size() == 3)
      return find(*links, words[2]).transform([](const auto* link) {
        link->cable->ledger().reset();
        return json();
      });
    for (const auto& link : *links) link.cable->ledger().reset();
    return json();
  });
}

}  // namespace smartio::ntb
