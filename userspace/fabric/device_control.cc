// SPDX-License-Identifier: GPL-2.0
#include "fabric/device_control.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <ranges>
#include <utility>

namespace smartio::fabric {

namespace {

using control::Words;
using nlohmann::json;
using Hosts = std::vector<pci::Host*>;

Result<pci::Endpoint*> find(const Hosts& hosts, std::string_view host_name, std::string_view name) {
  for (auto* host : hosts) {
    if (host->name() != host_name) continue;
    if (auto* endpoint = host->find(name)) return endpoint;
    return fail(fmt::format(
        "no device '{}' in {}; there are: {}", name, host_name,
        fmt::join(host->endpoints() | std::views::transform([](const auto& one) { return one->name(); }), ", ")));
  }
  return fail(
      fmt::format("no host '{}'; there are: {}", host_name,
                  fmt::join(hosts | std::views::transform([](const auto* host) { return host->name(); }), ", ")));
}

}  // namespace

void add_commands(control::Commands& commands, std::vector<pci::Host*> all_hosts) {
  const auto hosts = std::make_shared<const Hosts>(std::move(all_hosts));
  commands.add(
      "device list", "every PCIe device of every host, and whether its guest is there", [hosts](Words) -> Result<json> {
        auto all = json::array();
        for (auto* host : *hosts)
          for (const auto& endpoint : host->endpoints())
            all.push_back(
                {{"host", host->name()},
                 {"name", endpoint->name()},
                 {"id", fmt::format("{:04x}:{:04x}", endpoint->description().vendor, endpoint->description().device)},
                 {"present", endpoint->present()},
                 {"attached", endpoint->attached()},
                 {"bus_master", endpoint->bus_master()}});
        return json{{"devices", all}};
      });
  commands.add("device HOST NAME counters", "a device's accesses by where they ended, interrupts, messages",
               [hosts](Words words) -> Result<json> {
                 return find(*hosts, words[1], words[2]).transform([](pci::Endpoint* endpoint) {
                   auto all = json::object();
                   for (const auto& [name, value] : endpoint->counters().all()) all[std::string(name)] = value;
                   return all;
                 });
               });
  commands.add("device HOST NAME remove|insert", "surprise removal: the slot reads as all ones; or puts it back",
               [hosts](Words words) -> Result<json> {
                 return find(*hosts, words[1], words[2]).transform([&](pci::Endpoint* endpoint) {
                   endpoint->set_present(words[3] == "insert");
                   return json();
                 });
               });
}

}  // namespace smartio::fabric
