// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/compare/metered_host.h"
#include "bench/compare/packets.h"
#include "bench/guests/counters.h"
#include "bench/guests/guests.h"
#include "cluster/cluster.h"

namespace smartio::bench_compare {

/// Measures one network card on the topology pair-cards. The host "peer", whose instructions don't count, has the other
/// end of the packets.
class PacketMeter {
 public:
  /// Gives the card to its host's stock driver, waits until the hosts are quiet, and counts their idle work for
  /// `idle_seconds`.
  PacketMeter(cluster::Cluster& cluster, const Card& card, double idle_seconds);

  /// `packets` packets. Counters are read before the first and after the last, while the programs on the card's host
  /// wait.
  PacketCost measure(const PacketLoad& load, unsigned round, unsigned packets);

  /// No card has a driver, and nothing is lent.
  static void leave(cluster::Cluster& cluster);

 private:
  struct Moment {
    double seconds = 0;
    nlohmann::json blocks;
  };

  void enter();
  std::map<std::string, Moment> moments();
  double counted(const PacketLoad& load);
  void send(const PacketLoad& load, unsigned packets);
  void receive(const PacketLoad& load, unsigned packets);

  cluster::Cluster& cluster_;
  bench::Guests guests_;
  bench::Counters counters_;
  Card card_;
  std::string interface_;
  MeteredHosts hosts_;
  std::map<std::string, Moment> first_;
  std::map<std::string, Moment> last_;
  bench::Ledger first_ledger_;
  bench::Ledger last_ledger_;
};

}  // namespace smartio::bench_compare
