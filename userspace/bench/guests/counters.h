// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "bench/guests/guests.h"
#include "bench/guests/sample.h"
#include "bench/guests/symbols.h"
#include "cluster/cluster.h"

namespace smartio::bench {

/// Reads counters of a cluster that is up with count_instructions, without its guests noticing.
class Counters {
 public:
  explicit Counters(cluster::Cluster& cluster) : cluster_(cluster) {}

  DriveWork drive(const std::string& drive);
  Ledger ledger() { return ledger_from(checked(cluster_.fabric("ledger"))); }
  nlohmann::json blocks(const std::string& host) { return checked(cluster_.instructions(host, "blocks")); }

 private:
  cluster::Cluster& cluster_;
};

/// Seconds since any fixed moment.
double now_seconds();
/// The functions of a host as of now: modules that are loaded later are not among them. (This the guest notices.)
Symbols symbols_of(Guests& guests, const std::string& host);

}  // namespace smartio::bench
