// SPDX-License-Identifier: GPL-2.0
#include "fabric/ledger/ledger_json.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace smartio::ledger {

namespace {

nlohmann::json row(const std::array<Cell, pci::kAccessKinds>& cells) {
  auto json = nlohmann::json::object();
  for (std::size_t kind = 0; kind < cells.size(); kind++)
    json[std::string(kind_name(static_cast<pci::AccessKind>(kind)))] = {{"transactions", cells[kind].transactions},
                                                                        {"bytes", cells[kind].bytes}};
  return json;
}

}  // namespace

std::string_view kind_name(pci::AccessKind kind) {
  switch (kind) {
    case pci::AccessKind::command:
      return "command";
    case pci::AccessKind::doorbell:
      return "doorbell";
    case pci::AccessKind::data:
      return "data";
    case pci::AccessKind::list:
      return "list";
    case pci::AccessKind::completion:
      return "completion";
    case pci::AccessKind::interrupt:
      return "interrupt";
    case pci::AccessKind::message:
      return "message";
    case pci::AccessKind::control:
      return "control";
  }
  std::unreachable();
}

void to_json(nlohmann::json& json, const Snapshot& snapshot) {
  json = nlohmann::json::object();
  for (const auto direction : {Direction::from_primary, Direction::from_secondary}) {
    const auto at = std::to_underlying(direction);
    json[direction == Direction::from_primary ? "from_primary" : "from_secondary"] = {
        {"posted", row(snapshot.posted[at])},
        {"non_posted", row(snapshot.non_posted[at])},
        {"dropped", snapshot.dropped[at]}};
  }
}

}  // namespace smartio::ledger
