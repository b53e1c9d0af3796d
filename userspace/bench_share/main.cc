// SPDX-License-Identifier: GPL-2.0
// smartio-bench-share: what make bench-share runs. Brings a cluster up, measures the stock driver and this one on it,
// setup by setup, and prints tables; docs/performance.md says what they mean.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/session.h"
#include "bench_share/meter.h"
#include "bench_share/report.h"
#include "bench_share/rig.h"
#include "bench_share/setups.h"
#include "cluster/cluster.h"
#include "cluster/interrupt.h"

namespace {

using namespace smartio;
using namespace smartio::bench_share;

struct Options {
  unsigned seconds = 30;
  std::vector<std::string> setups;  ///< empty: all
  std::vector<std::string> cases;   ///< empty: all
  std::size_t functions = 25;
  bool use_running = false;
  std::string output;
};

bool chosen(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || std::ranges::find(names, name) != names.end();
}

Result<void> measure_setup(Rig& rig, const Setup& setup, const Options& options, std::vector<Measured>& all) {
  const auto disk = rig.enter(setup);
  if (!disk) return std::unexpected(disk.error());
  const auto symbols = bench::symbols_of(rig.guests(), setup.host);
  if (!symbols) return std::unexpected(symbols.error());
  const auto idle = measure_idle(rig, setup.drive, std::max(2.0, options.seconds / 3.0));
  if (!idle) return std::unexpected(idle.error());
  for (const Case& what : all_cases()) {
    if (!chosen(options.cases, name_of(what))) continue;
    auto measured = measure(rig, setup, what, *disk, options.seconds, *idle, *symbols);
    if (!measured) return std::unexpected(measured.error());
    all.push_back(std::move(*measured));
    fmt::print(stderr, "{} {}: {:.0f} IOPS\n", setup.name, name_of(what), all.back().fio.iops);
  }
  return {};
}

void print(const std::vector<Measured>& all, std::size_t functions) {
  fmt::print("\n{}\n", table(all));
  fmt::print("transactions on the link for each I/O\n{}\n", ledger_table(all));
  if (functions > 0) {
    for (const Measured& one : all) {
      if (one.setup.name == "smartio-borrower" && !one.what.poll && !one.what.write) {
        fmt::print("{}\n", functions_table(one, all, functions));
      }
    }
  }
  fmt::print("{}", aims_table(all));
}

Result<void> measure_all(cluster::Cluster& cluster, const Options& options) {
  std::vector<Measured> all;
  Result<void> done;
  Rig rig(cluster);
  for (const Setup& setup : all_setups()) {
    if (chosen(options.setups, setup.name)) done = measure_setup(rig, setup, options, all);
    if (!done) break;
  }
  if (!all.empty()) {
    print(all, options.functions);
    if (auto written = bench::write_figures(options.output, to_json(all)); !written) done = written;
  }
  return done;
}

int run(const Options& options) {
  bench::Session session{.name = "bench-share", .up = {}, .use_running = options.use_running};
  session.up.topology = "pair-bench";
  session.up.count_instructions = true;
  return bench::on_cluster(session, [&](cluster::Cluster& cluster) { return measure_all(cluster, options); });
}

}  // namespace

int main(int argc, char** argv) {
  cluster::catch_interrupts();
  Options options;
  CLI::App app("A borrowed drive beside a drive of one's own: latency, instructions and transactions for each I/O.",
               "scripts/bench-share");
  app.add_option("--seconds", options.seconds, "of each measurement")
      ->envname("BENCH_S")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  app.add_option("--setup", options.setups, "only these")->delimiter(',');
  app.add_option("--case", options.cases, "only these, such as irq-read-qd1")->delimiter(',');
  app.add_option("--functions", options.functions, "rows of the tables by function")->capture_default_str();
  app.add_flag("--use-running", options.use_running,
               "the cluster $CLUSTER, which is up by: scripts/cluster up --count-instructions pair-bench");
  app.add_option("--output", options.output, "JSON")->required();
  CLI11_PARSE(app, argc, argv);
  try {
    return run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench-share: {}\n", error.what());
    return 1;
  }
}
