// SPDX-License-Identifier: GPL-2.0
// smartio-bench-compare, the program behind make bench and make bench-quick. It measures this driver, the stock driver,
// NVMe-oF over TCP and RDMA, scenario by scenario on one cluster, in rounds. Then it measures hosts that share a drive
// on another cluster. Writes a report.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/files.h"
#include "bench/compare/figures.h"
#include "bench/compare/gate.h"
#include "bench/compare/machine.h"
#include "bench/compare/meter.h"
#include "bench/compare/packet_meter.h"
#include "bench/compare/page.h"
#include "bench/compare/rig.h"
#include "bench/compare/scenario.h"
#include "bench/compare/tables.h"
#include "bench/guests/guests.h"
#include "bench/guests/session.h"
#include "bench/guests/spread.h"
#include "cluster/cluster.h"

namespace {

using namespace smartio;
using namespace smartio::bench_compare;

struct Options {
  unsigned seconds = 30;
  unsigned rounds = 3;
  unsigned mtu = 65000;
  std::vector<std::string> scenarios;
  std::vector<std::string> jobs;
  bool quick = false;
  bool lending = false;
  std::string gate;        ///< limits to hold the run to
  std::string renew_gate;  ///< a file for this run's figures as limits
  bool sharing = true;
  bool drives = true;
  bool cards = false;
  bool use_running = false;
  std::string output;
  std::string page;
  std::string plots;
  std::string tree;
  std::string commit = "?";

  [[nodiscard]] unsigned seconds_a_round() const { return std::max(2U, (seconds + rounds - 1) / rounds); }
};

bool chosen(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || std::ranges::find(names, name) != names.end();
}

void measure_scenario(Rig& rig, const Scenario& scenario, unsigned round, const Options& options, Figures& figures) {
  std::string what = scenario.name;
  try {
    Meter meter(rig, scenario, rig.enter(scenario), std::max(2.0, options.seconds_a_round() / 2.0));
    for (const Job& job : all_jobs()) {
      if (!chosen(options.jobs, job.name)) continue;
      what = fmt::format("{} {}", scenario.name, job.name);
      Measured measured = meter.measure(job, round, options.seconds_a_round());
      fmt::print(stderr, "round {} of {}, {}: {:.0f} IOPS, {:.0f} instructions\n", round + 1, options.rounds, what,
                 measured.fio.iops, own_instructions(measured));
      figures.measured.push_back(std::move(measured));
    }
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(fmt::format("{}: {}", what, error.what()));
  }
}

std::string in_ms(const std::vector<double>& seconds) {
  const bench::Spread spread = bench::spread_of(seconds);
  return fmt::format("{:.0f} ms ({:.0f}-{:.0f})", spread.median * 1e3, spread.min * 1e3, spread.max * 1e3);
}

void compare(cluster::Cluster& cluster, const Options& options, Figures& figures) {
  Rig rig(cluster, options.mtu);
  figures.facts = machine_facts(rig, options.tree, options.commit);
  figures.facts.push_back(network_fact(options.mtu));
  for (unsigned round = 0; round < options.rounds; ++round) {
    for (const Scenario& scenario : all_scenarios()) {
      if (chosen(options.scenarios, scenario.name)) measure_scenario(rig, scenario, round, options, figures);
    }
  }
  rig.leave();
  if (rig.borrow_seconds().empty()) return;
  figures.facts.push_back(
      {"a function lent whole",
       fmt::format("borrowed until its disk could be read: {}; returned until the lender's driver had it: {}",
                   in_ms(rig.borrow_seconds()), in_ms(rig.return_seconds()))});
}

void share(cluster::Cluster& cluster, const Options& options, Figures& figures) {
  Rig rig(cluster, options.mtu);
  figures.shared = measure_sharing(rig, options.rounds, options.seconds_a_round(), [](const Shared& one) {
    fmt::print(stderr, "{} hosts: {:.0f} IOPS\n", one.iops.size(), one.total());
  });
}

void measure_cards(cluster::Cluster& cluster, const Options& options, Figures& figures) {
  constexpr unsigned kPacketsASecond = 200;
  for (unsigned round = 0; round < options.rounds; ++round) {
    for (const Card& card : all_cards()) {
      PacketMeter meter(cluster, card, std::max(2.0, options.seconds_a_round() / 2.0));
      for (const PacketLoad& load : all_packet_loads()) {
        figures.packets.push_back(meter.measure(load, round, kPacketsASecond * options.seconds_a_round()));
        const PacketCost& cost = figures.packets.back();
        fmt::print(stderr, "round {} of {}, {} {}: {:.0f} packets, {:.0f} instructions\n", round + 1, options.rounds,
                   card.name, load.name, cost.packets, cost.hosts.at(card.host)[Count::instructions]);
      }
    }
  }
  PacketMeter::leave(cluster);
}

void report(const Figures& figures, const Options& options) {
  const Assumptions assumptions;
  for (const Table& table : all_tables(figures, assumptions)) fmt::print("\n{}", to_text(table));
  fmt::print("\n");
  for (const Fact& fact : figures.facts) fmt::print("{}: {}\n", fact.what, fact.value);
  bench::write_figures(options.output, to_json(figures, assumptions));
  if (options.page.empty()) return;
  checked(write_file(options.page, checked(page_of(figures, assumptions, options.plots))));
  fmt::print("\nthe report: {}\n", options.page);
}

/// The exit status: 1 if an I/O costs more than it did.
/// Prints a line for each; 1 if one is not reached, else 0.
int told(const std::vector<Aim>& aims) {
  int status = 0;
  for (const Aim& aim : aims) {
    fmt::print("{} {}: {}\n", aim.reached ? "ok   " : "WORSE", aim.what, aim.seen);
    if (!aim.reached) status = 1;
  }
  return status;
}

int judge_run(const Figures& figures, const Options& options) {
  const Seen seen = checked(seen_costs(figures));
  if (!options.renew_gate.empty()) {
    if (noisy(seen)) throw std::runtime_error("too much else runs on the machine: the limits stay as they are");
    bench::write_figures(options.renew_gate, to_json(limits_of(seen)));
    return 0;
  }
  return told(judge(seen, checked(limits_from(checked(read_file(options.gate))))));
}

int run(Options options) {
  const bool gate = !options.gate.empty() || !options.renew_gate.empty();
  if (gate) {
    options.scenarios = gate_scenarios();
    options.jobs = gate_jobs();
  } else if (options.lending) {
    if (options.scenarios.empty()) options.scenarios = lending_scenarios();
    if (options.jobs.empty()) options.jobs = gate_jobs();
    options.cards = true;
  } else if (options.quick) {
    if (options.scenarios.empty()) options.scenarios = quick_scenarios();
    if (options.jobs.empty()) options.jobs = quick_jobs();
  }
  if (gate || options.quick || options.lending) {
    options.sharing = false;
    options.page.clear();
  }
  // Before half an hour is spent.
  if (!options.page.empty() && !std::filesystem::exists(options.plots)) {
    throw std::runtime_error(
        fmt::format("there is no plotting library at '{}': scripts/setup --plots fetches it", options.plots));
  }
  Figures figures;
  figures.rounds = options.rounds;
  figures.seconds = options.seconds;
  bench::Session session{.name = "bench-compare", .up = {}, .use_running = options.use_running};
  session.up.topology = "pair-bench";
  session.up.count_instructions = true;
  int status = 0;
  if (options.drives)
    status = bench::on_cluster(session, [&](cluster::Cluster& cluster) { compare(cluster, options, figures); });
  if (status == 0 && options.cards) {
    bench::Session cards{.name = "bench-compare", .up = {}, .use_running = options.use_running && !options.drives};
    cards.up.topology = "pair-cards";
    cards.up.count_instructions = true;
    status = bench::on_cluster(cards, [&](cluster::Cluster& cluster) { measure_cards(cluster, options, figures); });
  }
  if (status == 0 && options.sharing) {
    bench::Session star{.name = "bench-compare", .up = {}, .use_running = false};
    star.up.topology = "star";
    status = bench::on_cluster(star, [&](cluster::Cluster& cluster) { share(cluster, options, figures); });
  }
  // The figures measured before an error are worth seeing, too.
  if (!figures.measured.empty() || !figures.shared.empty() || !figures.packets.empty()) report(figures, options);
  if (status == 0 && gate) return judge_run(figures, options);
  if (status == 0 && options.lending) return told(judge_lent(figures));
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("This driver, the stock driver, NVMe-oF over TCP and RDMA: what an I/O costs.", "bench-compare");
  app.add_option("--seconds", options.seconds, "of each measurement, all rounds together")
      ->envname("BENCH_S")
      ->check(CLI::Range(1, 36000))
      ->capture_default_str();
  app.add_option("--rounds", options.rounds, "all scenarios one after the other, so often")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  std::vector<std::string> scenarios;
  for (const Scenario& scenario : all_scenarios()) scenarios.push_back(scenario.name);
  std::vector<std::string> jobs;
  for (const Job& job : all_jobs()) jobs.push_back(job.name);
  app.add_option("--scenario", options.scenarios, "only these")->delimiter(',')->check(CLI::IsMember(scenarios));
  app.add_option("--job", options.jobs, "only these")->delimiter(',')->check(CLI::IsMember(jobs));
  app.add_option("--mtu", options.mtu, "bytes, of the hosts' network under NVMe-oF")
      ->check(CLI::Range(1280, 65000))
      ->capture_default_str();
  app.add_flag("--quick", options.quick, "five scenarios, two jobs, no sharing, no page");
  app.add_flag("--lending", options.lending,
               "a drive and a network card that are lent whole against the host's own; no sharing, no page");
  app.add_flag("!--no-drives", options.drives, "with --lending: the network card alone");
  auto* renew =
      app.add_option("--renew-gate", options.renew_gate, "what the gate needs, and writes its figures there as limits");
  app.add_option("--gate", options.gate, "what the gate needs, and fails if an I/O costs 1 % more than these limits")
      ->check(CLI::ExistingFile)
      ->excludes(renew);
  app.add_flag("--sharing,!--no-sharing", options.sharing, "1, 2, 3 hosts at once");
  app.add_flag("--use-running", options.use_running,
               "the cluster $CLUSTER, which is up by: scripts/cluster up --count-instructions pair-bench");
  app.add_option("--output", options.output, "JSON")->required()->take_last();
  app.add_option("--page", options.page, "HTML");
  app.add_option("--plots", options.plots, "the plotting library, vega.min.js");
  app.add_option("--tree", options.tree, "that scripts/setup made");
  app.add_option("--commit", options.commit, "what is measured");
  return bench::run_program(app, argc, argv, [&] { return run(options); });
}
