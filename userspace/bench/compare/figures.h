// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/compare/model.h"
#include "bench/compare/packets.h"
#include "bench/compare/scenario.h"
#include "bench/compare/tally.h"
#include "bench/guests/fio.h"
#include "bench/guests/sample.h"
#include "bench/guests/spread.h"

namespace smartio::bench_compare {

inline constexpr const char* kLender = "lender";
inline constexpr const char* kBorrower = "borrower";

/// A job in a scenario, in one round.
struct Measured {
  Scenario scenario;
  Job job;
  unsigned round = 0;
  bench::FioResult fio;
  std::map<std::string, Tally> hosts;  ///< for each I/O, by host, less the counts of the idle host
  bench::Ledger ledger;                ///< for each I/O
  double commands = 0;                 ///< that the drive has seen, for each I/O
  std::map<std::string, std::map<std::string, double>> functions;  ///< by host: instructions an I/O by function
};

/// Several hosts at once on one drive, in one round.
struct Shared {
  unsigned round = 0;
  std::map<std::string, double> iops;  ///< by host

  [[nodiscard]] double total() const;
  /// Of all I/O that was done, the part that a host did.
  [[nodiscard]] std::map<std::string, double> shares() const;
  [[nodiscard]] double fairness() const;
};

/// The circumstances of a run: shown, not judged.
struct Fact {
  std::string what;
  std::string value;
};

/// Everything of a run.
struct Figures {
  std::vector<Fact> facts;
  unsigned rounds = 0;
  unsigned seconds = 0;  ///< of each measurement, all rounds together
  std::vector<Measured> measured;
  std::vector<Shared> shared;
  std::vector<PacketCost> packets;
};

/// The rounds of one job in one scenario.
class Cell {
 public:
  /// Empty if it was not measured.
  Cell(const Figures& figures, const Scenario& scenario, const Job& job);

  [[nodiscard]] bool empty() const { return rounds_.empty(); }
  [[nodiscard]] const Scenario& scenario() const { return scenario_; }
  [[nodiscard]] const Job& job() const { return job_; }
  [[nodiscard]] const std::vector<const Measured*>& rounds() const { return rounds_; }

  /// The same job in another scenario.
  [[nodiscard]] Cell same_job(const Scenario& scenario) const { return {figures_, scenario, job_}; }

  using Value = std::function<double(const Measured&)>;
  [[nodiscard]] bench::Spread spread(const Value& value) const;
  /// Of each round's value to that of the scenario it is compared to in the same round; none if that was not measured.
  [[nodiscard]] std::optional<bench::Spread> ratio(const Value& value) const;
  /// The same, to the scenario of that name.
  [[nodiscard]] std::optional<bench::Spread> ratio(const Value& value, std::string_view scenario) const;
  /// The median over rounds of `count` for each I/O on a host.
  [[nodiscard]] double on(const std::string& host, Count count) const;
  /// The mean over rounds of instructions an I/O takes on a host, by function.
  [[nodiscard]] std::map<std::string, double> functions(const std::string& host) const;
  /// The median over rounds, by kind.
  [[nodiscard]] bench::Ledger ledger() const;

 private:
  const Figures& figures_;
  Scenario scenario_;
  Job job_;
  std::vector<const Measured*> rounds_;
};
/// All that were measured, in order of scenarios, then jobs.
std::vector<Cell> cells(const Figures& figures);
/// Instructions an I/O takes on the host where fio runs.
double own_instructions(const Measured& one);
/// The same, and the instructions that the copies would take without string moves.
double own_with_copies(const Measured& one);

/// The model's answer for one scenario.
struct Predicted {
  Scenario scenario;
  bool write = false;
  CriticalPath path;
  double copied_bytes = 0;             ///< beyond the stock driver's
  std::optional<Range> added_us;       ///< computed, for a drive over PCIe
  std::optional<double> published_us;  ///< the papers' figure for this scenario, if there is one
};
/// For all but the stock driver's scenarios with a read and a write of 4 KiB at depth 1, beside the published figures.
std::vector<Predicted> predict(const Figures& figures, const Assumptions& assumptions);

/// An aim of the project, and whether this run reached it.
struct Aim {
  std::string what;
  std::string seen;
  bool reached = false;
};
std::vector<Aim> aims(const Figures& figures);

}  // namespace smartio::bench_compare
