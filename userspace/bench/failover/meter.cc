// SPDX-License-Identifier: GPL-2.0
#include "bench/failover/meter.h"

#include <fmt/format.h>

#include <chrono>
#include <random>
#include <stdexcept>

#include "bench/failover/blackout.h"
#include "cluster/interrupt.h"

namespace smartio::bench_failover {

using namespace std::chrono_literals;

namespace {

// NVMe-oF/TCP notices by its keep-alives (5 s), and tries to connect again every 10 s.
constexpr auto kPatience = 120s;
constexpr double kGoesOn = 20;  // further I/Os that show the recovery
constexpr double kLogMs = 10;   // fio's log: the longest latency of each such time

constexpr std::string_view kLatencies = "/run/blackout_lat.1.log";

std::vector<std::string> latency_job(const std::string& disk) {
  return {"bash",
          "-c",
          "cd /run; rm -f blackout_*; s=0; fio \"$@\" || s=$?; [ $s = 0 ] || [ $s = 128 ]",  // 128: SIGINT
          "fio",
          "--name=blackout",
          "--filename=" + disk,
          "--allow_file_create=0",
          "--direct=1",
          "--ioengine=io_uring",
          "--rw=randrw",
          "--bs=4k",
          "--iodepth=1",
          "--size=256m",
          "--norandommap",
          "--time_based",
          "--runtime=86400",
          "--write_lat_log=blackout",
          fmt::format("--log_avg_msec={:.0f}", kLogMs),
          "--log_max_value=1",
          "--log_unix_epoch=1"};
}

void wait_goes_on(Rig& rig, const std::string& disk) {
  auto completed = [&] { return rig.guests().completed(kBorrower, disk); };
  const double enough = completed() + kGoesOn;
  bench::wait_for(
      50ms, kPatience, [&] { return completed() >= enough; },
      [&] { return fmt::format("I/O does not go on: {}", rig.guests().output(kBorrower)); });
}

/// How often one side asks whether the other is there: a loss comes at any moment of that.
std::chrono::milliseconds period(Transport transport) {
  return transport == Transport::smartio ? 1000ms : 5000ms;  // the heartbeat's; nvme-core's keep-alive
}

Interval sample(Rig& rig, const std::string& disk, Loss how) {
  const unsigned cable = rig.active_cable();
  const double from = rig.now_ms();
  if (how != Loss::none) rig.set_cable(cable, name_of(how));
  try {
    wait_goes_on(rig, disk);
  } catch (const std::runtime_error&) {
    rig.set_cable(cable, "up");  // or fio could not be ended
    throw;
  }
  const double to = rig.now_ms();
  if (how != Loss::none) rig.set_cable(cable, "up");
  rig.wait_all_live(kPatience);
  return {.from_ms = from, .to_ms = to + kLogMs};
}

bench::FioResult fio(Rig& rig, const std::string& disk, std::string_view size, unsigned depth, unsigned seconds) {
  const bench::FioJob job{.rw = "randread", .block = std::string(size), .depth = depth};
  rig.guests().start(kBorrower, bench::fio_command(job, disk, seconds));
  const std::string output = rig.guests().finish(kBorrower, std::chrono::seconds(seconds) + kPatience);
  return checked(bench::parse_fio(output, false));
}

}  // namespace

Blackout measure_blackouts(Rig& rig, Transport transport, const std::string& disk, Loss how, unsigned samples,
                           const Progress& progress) {
  rig.set_policy("numa");  // the kernel's default
  rig.guests().start(kBorrower, latency_job(disk));
  Blackout result{.transport = transport, .how = how, .ms = {}, .stopped = {}};
  std::vector<Interval> intervals;
  std::mt19937 random(1);
  std::uniform_int_distribution<std::chrono::milliseconds::rep> moment(0, period(transport).count());
  try {
    wait_goes_on(rig, disk);
    while (intervals.size() < samples) {
      if (how != Loss::none) bench::sleep_for(std::chrono::milliseconds(moment(random)));
      intervals.push_back(sample(rig, disk, how));
      progress(static_cast<unsigned>(intervals.size()));
    }
  } catch (const std::runtime_error& error) {
    result.stopped = error.what();
  }
  cluster::clear_interrupt();
  rig.guests().shell(kBorrower, "pkill -INT -x fio");
  rig.guests().finish(kBorrower, kPatience);
  const auto entries = checked(parse_latencies(rig.guests().file(kBorrower, kLatencies)));
  result.ms = checked(blackouts(entries, intervals));
  return result;
}

std::vector<Throughput> measure_throughput(Rig& rig, const std::string& disk, unsigned seconds) {
  struct Arrangement {
    const char* paths;
    const char* policy;
    bool pulled;
  };
  std::vector<Throughput> all;
  for (const auto& [paths, policy, pulled] :
       {Arrangement{"both (queue-depth)", "queue-depth", false}, Arrangement{"one of two (numa)", "numa", false},
        Arrangement{"one, the other cable is out", "queue-depth", true},
        Arrangement{"both, when it is back", "queue-depth", false}}) {
    rig.set_policy(policy);
    rig.set_cable(0, pulled ? "down" : "up");
    if (!pulled) rig.wait_all_live(kPatience);
    for (const auto& [size, depth] : {std::pair("4k", 32U), std::pair("128k", 8U)}) {
      all.push_back({.paths = paths,
                     .job = fmt::format("read {} QD {}", size, depth),
                     .fio = fio(rig, disk, size, depth, seconds)});
    }
  }
  return all;
}

}  // namespace smartio::bench_failover
