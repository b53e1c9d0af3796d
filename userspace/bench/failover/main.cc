// SPDX-License-Identifier: GPL-2.0
// smartio-bench-failover, the program behind make bench-failover. Brings a cluster with two cables up, pulls them under
// I/O, and prints how long the I/O stood still. NVMe-oF over TCP on two networks stands beside it. docs/failover.md has
// the results.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/failover/meter.h"
#include "bench/failover/report.h"
#include "bench/failover/rig.h"
#include "bench/guests/session.h"
#include "cluster/cluster.h"

namespace {

using namespace smartio;
using namespace smartio::bench_failover;

struct Options {
  unsigned samples = 200;
  unsigned seconds = 10;
  std::vector<std::string> parts{"down", "silent", "throughput", "tcp"};
  bool use_running = false;
  std::string output;
};

void measure(Rig& rig, const Options& options, Figures& figures) {
  auto chosen = [&](const char* part) { return std::ranges::find(options.parts, part) != options.parts.end(); };
  auto blackout = [&](Transport transport, const std::string& disk, Loss how) {
    auto progress = [&](unsigned done) {
      if (done % 10 == 0 || done == options.samples)
        fmt::print(stderr, "{}, {}: {} of {}\n", name_of(transport), name_of(how), done, options.samples);
    };
    figures.blackouts.push_back(measure_blackouts(rig, transport, disk, how, options.samples, progress));
    const std::string& stopped = figures.blackouts.back().stopped;
    if (!stopped.empty())
      throw std::runtime_error(fmt::format("{}, {}: {}", name_of(transport), name_of(how), stopped));
  };
  if (chosen("down") || chosen("silent") || chosen("throughput")) {
    const std::string disk = rig.enter(Transport::smartio);
    for (const Loss how : {Loss::none, Loss::down, Loss::silent}) {
      if (how == Loss::none || chosen(how == Loss::down ? "down" : "silent")) blackout(Transport::smartio, disk, how);
    }
    if (chosen("throughput")) figures.throughput = measure_throughput(rig, disk, options.seconds);
  }
  if (chosen("tcp")) blackout(Transport::nvmeof_tcp, rig.enter(Transport::nvmeof_tcp), Loss::silent);
}

int run(const Options& options) {
  bench::Session session{.name = "bench-failover", .up = {}, .use_running = options.use_running};
  session.up.topology = "pair-dual";
  Figures figures;
  const int status = bench::on_cluster(session, [&](cluster::Cluster& cluster) {
    Rig rig(cluster);
    measure(rig, options, figures);
  });
  // The figures measured before an error are worth seeing, too.
  if (!figures.blackouts.empty() || !figures.throughput.empty()) {
    fmt::print("\n{}", report(figures));
    bench::write_figures(options.output, to_json(figures));
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("What a pulled cable costs with two of them, beside NVMe-oF over TCP.", "bench-failover");
  app.add_option("--samples", options.samples, "lost cables of each kind")
      ->envname("BENCH_SAMPLES")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "of each measurement of throughput")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  app.add_option("--part", options.parts, "only these")
      ->delimiter(',')
      ->check(CLI::IsMember({"down", "silent", "throughput", "tcp"}));
  app.add_flag("--use-running", options.use_running,
               "the cluster $CLUSTER, which is up by: scripts/cluster up pair-dual");
  app.add_option("--output", options.output, "JSON")->required();
  return bench::run_program(app, argc, argv, [&] { return run(options); });
}
