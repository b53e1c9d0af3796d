// SPDX-License-Identifier: GPL-2.0
// smartio-bench-failover: what make bench-failover runs. Brings a cluster with two cables up, pulls them under I/O, and
// prints how long that stood still, beside NVMe-oF over TCP on two networks; docs/failover.md says what was seen.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/failover/meter.h"
#include "bench/failover/report.h"
#include "bench/failover/rig.h"
#include "bench/guests/session.h"
#include "cluster/cluster.h"
#include "cluster/interrupt.h"

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

Result<void> measure(Rig& rig, const Options& options, Figures& figures) {
  auto chosen = [&](const char* part) { return std::ranges::find(options.parts, part) != options.parts.end(); };
  auto blackout = [&](Transport transport, const std::string& disk, Loss how) -> Result<void> {
    auto progress = [&](unsigned done) {
      if (done % 10 == 0 || done == options.samples)
        fmt::print(stderr, "{}, {}: {} of {}\n", name_of(transport), name_of(how), done, options.samples);
    };
    auto measured = measure_blackouts(rig, transport, disk, how, options.samples, progress);
    if (!measured) return fail(fmt::format("{}, {}: {}", name_of(transport), name_of(how), measured.error().message));
    figures.blackouts.push_back(std::move(*measured));
    const std::string& stopped = figures.blackouts.back().stopped;
    if (!stopped.empty()) return fail(fmt::format("{}, {}: {}", name_of(transport), name_of(how), stopped));
    return {};
  };
  if (chosen("down") || chosen("silent") || chosen("throughput")) {
    const auto disk = rig.enter(Transport::smartio);
    if (!disk) return std::unexpected(disk.error());
    for (const Loss how : {Loss::none, Loss::down, Loss::silent}) {
      if (how != Loss::none && !chosen(how == Loss::down ? "down" : "silent")) continue;
      if (auto done = blackout(Transport::smartio, *disk, how); !done) return done;
    }
    if (chosen("throughput")) {
      auto measured = measure_throughput(rig, *disk, options.seconds);
      if (!measured) return std::unexpected(measured.error());
      figures.throughput = std::move(*measured);
    }
  }
  if (chosen("tcp")) {
    const auto disk = rig.enter(Transport::nvmeof_tcp);
    if (!disk) return std::unexpected(disk.error());
    if (auto done = blackout(Transport::nvmeof_tcp, *disk, Loss::silent); !done) return done;
  }
  return {};
}

int run(const Options& options) {
  bench::Session session{.name = "bench-failover", .up = {}, .use_running = options.use_running};
  session.up.topology = "pair-dual";
  return bench::on_cluster(session, [&](cluster::Cluster& cluster) {
    Rig rig(cluster);
    Figures figures;
    Result<void> done = measure(rig, options, figures);
    if (!figures.blackouts.empty() || !figures.throughput.empty()) {
      fmt::print("\n{}", report(figures));
      if (auto written = bench::write_figures(options.output, to_json(figures)); !written) done = written;
    }
    return done;
  });
}

}  // namespace

int main(int argc, char** argv) {
  cluster::catch_interrupts();
  Options options;
  CLI::App app("What a pulled cable costs with two of them, beside NVMe-oF over TCP.", "scripts/bench-failover");
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
  CLI11_PARSE(app, argc, argv);
  try {
    return run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench-failover: {}\n", error.what());
    return 1;
  }
}
