// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <string>
#include <vector>

#include "bench/compare/model.h"

namespace smartio::bench_compare {

/// A published figure, and the model's value for it. None of these chose a parameter of the model.
struct Check {
  std::string what;
  std::string unit;
  Range computed;
  double published;
  std::string source;

  /// Of the middle of the computed range, as a part of the published figure.
  [[nodiscard]] double error() const { return ((computed.low + computed.high) / 2 - published) / published; }
};
std::vector<Check> checks(const Assumptions& assumptions);

/// A published figure that the model starts from, or is set to.
struct Source {
  std::string figure;
  std::string use;
  std::string source;
};
std::vector<Source> sources();

/// The time in microseconds in which a CPU's store reaches the other host's memory and is noticed there. `chips`:
/// switch chips between the hosts.
Range message_latency(unsigned chips, const Assumptions& assumptions);

/// The time in which a part of a drive's reads ended: `nines` is -log10 of the rest, 2 for 99 of 100.
struct Quantile {
  double nines;
  double us;
};
/// A local Intel Optane SSD DC P4800X: 4 KiB random reads at depth 1, as published.
const std::vector<Quantile>& published_drive();
/// Straight lines between the published points; the last one beyond them.
double drive_latency(double nines);

}  // namespace smartio::bench_compare
