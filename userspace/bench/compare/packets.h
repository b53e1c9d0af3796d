// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/compare/tally.h"
#include "bench/guests/sample.h"

namespace smartio::bench_compare {

/// A network card on the topology pair-cards, and the host whose stock driver has it.
struct Card {
  std::string name;
  std::string title;  ///< for a person
  std::string host;
  bool lent = false;
  std::string compared_to;  ///< another card, whose driver does the same; empty: none
};
const std::vector<Card>& all_cards();

/// UDP packets of one size, which the card's host sends or receives.
struct PacketLoad {
  std::string name;
  bool send = false;
  unsigned bytes = 0;  ///< of payload
};
const std::vector<PacketLoad>& all_packet_loads();

/// The cost of a packet, in one round.
struct PacketCost {
  Card card;
  PacketLoad load;
  unsigned round = 0;
  double packets = 0;                  ///< that the card has sent, or received
  std::map<std::string, Tally> hosts;  ///< for each packet, by host, less the counts of the idle host
  bench::Ledger ledger;                ///< for each packet
  std::map<std::string, std::map<std::string, double>> functions;  ///< by host: instructions a packet by function
};

}  // namespace smartio::bench_compare
