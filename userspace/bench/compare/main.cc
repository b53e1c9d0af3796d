// SPDX-License-Identifier: GPL-2.0
// smartio-bench-compare: what make bench and make bench-quick run. This driver, the stock driver, NVMe-oF over TCP and
// RDMA, scenario by scenario on one cluster, in rounds; then hosts that share a drive on another one. Writes a report.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/files.h"
#include "bench/compare/figures.h"
#include "bench/compare/gate.h"
#include "bench/compare/machine.h"
#include "bench/compare/meter.h"
#include "bench/compare/page.h"
#include "bench/compare/rig.h"
#include "bench/compare/scenario.h"
#include "bench/compare/tables.h"
#include "bench/guests/session.h"
#include "cluster/cluster.h"
#include "cluster/interrupt.h"
#include "cluster/state.h"

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
  std::string gate;        ///< limits to hold the run to
  std::string renew_gate;  ///< a file for this run's figures as limits
  bool sharing = true;
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

Result<void> measure_scenario(Rig& rig, const Scenario& scenario, unsigned round, const Options& options,
                              Figures& figures) {
  auto disk = rig.enter(scenario);
  if (!disk) return std::unexpected(disk.error());
  auto meter = Meter::make(rig, scenario, std::move(*disk), std::max(2.0, options.seconds_a_round() / 2.0));
  if (!meter) return std::unexpected(meter.error());
  for (const Job& job : all_jobs()) {
    if (!chosen(options.jobs, job.name)) continue;
    auto measured = meter->measure(job, round, options.seconds_a_round());
    if (!measured) return std::unexpected(measured.error());
    fmt::print(stderr, "round {} of {}, {} {}: {:.0f} IOPS, {:.0f} instructions\n", round + 1, options.rounds,
               scenario.name, job.name, measured->fio.iops, own_instructions(*measured));
    figures.measured.push_back(std::move(*measured));
  }
  return {};
}

Result<void> compare(cluster::Cluster& cluster, const Options& options, Figures& figures) {
  Rig rig(cluster, options.mtu);
  figures.facts = machine_facts(rig, options.tree, options.commit);
  figures.facts.push_back(network_fact(options.mtu));
  for (unsigned round = 0; round < options.rounds; ++round) {
    for (const Scenario& scenario : all_scenarios()) {
      if (!chosen(options.scenarios, scenario.name)) continue;
      if (auto done = measure_scenario(rig, scenario, round, options, figures); !done) return done;
    }
  }
  return rig.leave();
}

Result<void> share(cluster::Cluster& cluster, const Options& options, Figures& figures) {
  Rig rig(cluster, options.mtu);
  auto shared = measure_sharing(rig, options.rounds, options.seconds_a_round(), [](const Shared& one) {
    fmt::print(stderr, "{} hosts: {:.0f} IOPS\n", one.iops.size(), one.total());
  });
  if (!shared) return std::unexpected(shared.error());
  figures.shared = std::move(*shared);
  return {};
}

int report(const Figures& figures, const Options& options) {
  const Assumptions assumptions;
  for (const Table& table : all_tables(figures, assumptions)) fmt::print("\n{}", to_text(table));
  auto complain = [](const Error& error) {
    fmt::print(stderr, "bench-compare: {}\n", error.message);
    return 1;
  };
  if (auto written = bench::write_figures(options.output, to_json(figures, assumptions)); !written)
    return complain(written.error());
  if (options.page.empty()) return 0;
  const auto page = page_of(figures, assumptions, options.plots);
  if (!page) return complain(page.error());
  if (auto written = write_file(options.page, *page); !written) return complain(written.error());
  fmt::print("\nthe report: {}\n", options.page);
  return 0;
}

/// Fails if an I/O costs more than it did.
int judge_run(const Figures& figures, const Options& options) {
  auto complain = [](const Error& error) {
    fmt::print(stderr, "bench-compare: {}\n", error.message);
    return 1;
  };
  const auto seen = seen_costs(figures);
  if (!seen) return complain(seen.error());
  if (!options.renew_gate.empty()) {
    const auto written = bench::write_figures(options.renew_gate, to_json(limits_of(*seen)));
    return written ? 0 : complain(written.error());
  }
  const auto limits = limits_from(read_file(options.gate).value_or(""));
  if (!limits) return complain({.message = fmt::format("{}: {}", options.gate, limits.error().message)});
  int worse = 0;
  for (const Aim& aim : judge(*seen, *limits)) {
    fmt::print("{} {}: {}\n", aim.reached ? "ok   " : "WORSE", aim.what, aim.seen);
    if (!aim.reached) ++worse;
  }
  return worse == 0 ? 0 : 1;
}

int run(Options options) {
  const bool gate = !options.gate.empty() || !options.renew_gate.empty();
  if (gate) {
    options.scenarios = gate_scenarios();
    options.jobs = gate_jobs();
    options.sharing = false;
    options.page.clear();
  }
  if (options.quick) {
    if (options.scenarios.empty()) options.scenarios = quick_scenarios();
    if (options.jobs.empty()) options.jobs = quick_jobs();
    options.sharing = false;
    options.page.clear();
  }
  // Before half an hour is spent.
  if (!options.page.empty() && !std::filesystem::exists(options.plots)) {
    fmt::print(stderr, "bench-compare: there is no plotting library at '{}': scripts/setup --plots fetches it\n",
               options.plots);
    return 1;
  }
  Figures figures;
  figures.rounds = options.rounds;
  figures.seconds = options.seconds;
  bench::Session session{.name = "bench-compare", .up = {}, .use_running = options.use_running};
  session.up.topology = "pair-bench";
  session.up.count_instructions = true;
  int status =
      bench::on_cluster(session, [&](cluster::Cluster& cluster) { return compare(cluster, options, figures); });
  if (status == 0 && options.sharing) {
    bench::Session star{.name = "bench-compare", .up = {}, .use_running = false};
    star.up.topology = "star";
    status = bench::on_cluster(star, [&](cluster::Cluster& cluster) { return share(cluster, options, figures); });
  }
  // What was measured before something failed is worth seeing, too.
  const int reported = figures.measured.empty() && figures.shared.empty() ? 0 : report(figures, options);
  if (status != 0 || reported != 0) return status != 0 ? status : reported;
  return gate ? judge_run(figures, options) : 0;
}

}  // namespace

int main(int argc, char** argv) {
  cluster::catch_interrupts();
  Options options;
  CLI::App app("This driver, the stock driver, NVMe-oF over TCP and RDMA: what an I/O costs.", "scripts/bench-compare");
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
  CLI11_PARSE(app, argc, argv);
  try {
    return run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench-compare: {}\n", error.what());
    return 1;
  }
}
