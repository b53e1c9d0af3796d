// SPDX-License-Identifier: GPL-2.0
#include "bench/compare/packets.h"

namespace smartio::bench_compare {

const std::vector<Card>& all_cards() {
  static const std::vector<Card> kCards{
      {.name = "card-lender", .title = "its own host's (lender)", .host = "lender", .lent = false, .compared_to = ""},
      {.name = "card-borrower", .title = "the borrower's own", .host = "borrower", .lent = false, .compared_to = ""},
      {.name = "card-lent",
       .title = "the lender's, lent whole",
       .host = "borrower",
       .lent = true,
       .compared_to = "card-borrower"},
  };
  return kCards;
}

const std::vector<PacketLoad>& all_packet_loads() {
  static const std::vector<PacketLoad> kLoads{
      {.name = "send-64", .send = true, .bytes = 64},
      {.name = "send-1024", .send = true, .bytes = 1024},
      {.name = "receive-64", .send = false, .bytes = 64},
      {.name = "receive-1024", .send = false, .bytes = 1024},
  };
  return kLoads;
}

}  // namespace smartio::bench_compare
