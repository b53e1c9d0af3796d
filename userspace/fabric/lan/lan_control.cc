// SPDX-License-Identifier: GPL-2.0
#include "fabric/lan/lan_control.h"

#include <vector>

namespace smartio::lan {

namespace {

using control::Words;
using nlohmann::json;

json port_json(const PortStatus& port) {
  const auto& counters = port.counters;
  return {{"host", port.name},
          {"connected", port.connected},
          {"up", port.up},
          {"cut_from", port.cut_from},
          {"frames_in", counters.frames_in},
          {"bytes_in", counters.bytes_in},
          {"frames_out", counters.frames_out},
          {"bytes_out", counters.bytes_out},
          {"dropped_full", counters.dropped_full},
          {"dropped_cut", counters.dropped_cut},
          {"malformed", counters.malformed}};
}

/// "a,b" as {"a", "b"}. Empty names come out as such and are refused as unknown.
std::vector<std::string_view> names(std::string_view word) {
  std::vector<std::string_view> all;
  while (true) {
    const auto comma = word.find(',');
    all.push_back(word.substr(0, comma));
    if (comma == std::string_view::npos) return all;
    word.remove_prefix(comma + 1);
  }
}

Result<json> done(const Result<void>& result) {
  if (!result) return std::unexpected(result.error());
  return json();
}

}  // namespace

void add_commands(control::Commands& commands, Switch& lan) {
  commands.add("lan list", "the hosts on the LAN, the cut pairs, and counters", [&lan](Words) -> Result<json> {
    auto hosts = json::array();
    for (const auto& port : lan.status()) hosts.push_back(port_json(port));
    return json{{"hosts", hosts}};
  });
  commands.add("lan HOST up|down", "puts a host on the LAN, or takes it off",
               [&lan](Words words) { return done(lan.set_port(words[1], words[2] == "up")); });
  commands.add("lan pair HOST HOST up|down", "restores or cuts the connection between two hosts",
               [&lan](Words words) { return done(lan.set_pair(words[2], words[3], words[4] == "up")); });
  commands.add("lan partition GROUPS…", "as in 'lan partition a,b c': only hosts of one group reach each other",
               [&lan](Words words) {
                 std::vector<std::vector<std::string_view>> groups;
                 for (const auto word : words.subspan(2)) groups.push_back(names(word));
                 return done(lan.partition(groups));
               });
  commands.add("lan heal", "ends all partitions and cuts", [&lan](Words) -> Result<json> {
    lan.heal();
    return json();
  });
}

}  // namespace smartio::lan
