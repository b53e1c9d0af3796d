// SPDX-License-Identifier: GPL-2.0
#include "bench/failover/meter.h"

#include <fmt/format.h>

#include <chrono>
#include <random>
#include <thread>

#include "base/deadline.h"
#include "bench/failover/blackout.h"
#include "cluster/interrupt.h"

namespace smartio::bench_failover {

using namespace std::chrono_literals;

namespace {

// NVMe-oF/TCP notices by its keep-alives (5 s), and tries to connect again every 10 s.
constexpr auto kPatience = 120s;
constexpr double kGoesOn = 20;  // so many more I/Os: it goes on
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

Result<void> wait_goes_on(Rig& rig, const std::string& disk) {
  const auto before = rig.completed(disk);
  if (!before) return std::unexpected(before.error());
  const auto deadline = Deadline::in(kPatience);
  while (cluster::interrupted() == 0) {
    const auto now = rig.completed(disk);
    if (!now) return std::unexpected(now.error());
    if (*now >= *before + kGoesOn) return {};
    if (deadline.passed()) {
      const auto said = rig.guests().finish(kBorrower, 0s);
      return fail(fmt::format("waited in vain for I/O to go on: {}", said ? *said : said.error().message));
    }
    std::this_thread::sleep_for(50ms);
  }
  return fail("interrupted");
}

/// How often one side asks whether the other is there: a loss comes at any moment of that.
std::chrono::milliseconds period(Transport transport) {
  return transport == Transport::smartio ? 1000ms : 5000ms;  // the heartbeat's; nvme-core's keep-alive
}

Result<Interval> sample(Rig& rig, const std::string& disk, Loss how) {
  const auto cable = rig.active_cable();
  if (!cable) return std::unexpected(cable.error());
  const auto from = rig.now_ms();
  if (!from) return std::unexpected(from.error());
  if (how != Loss::none) {
    if (auto lost = rig.set_cable(*cable, name_of(how)); !lost) return std::unexpected(lost.error());
  }
  const auto goes_on = wait_goes_on(rig, disk);
  const auto to = rig.now_ms();
  if (how != Loss::none) {
    if (auto back = rig.set_cable(*cable, "up"); !back) return std::unexpected(back.error());
  }
  if (!goes_on) return std::unexpected(goes_on.error());
  if (!to) return std::unexpected(to.error());
  if (auto live = rig.wait_all_live(kPatience); !live) return std::unexpected(live.error());
  return Interval{.from_ms = *from, .to_ms = *to + kLogMs};
}

Result<bench::FioResult> fio(Rig& rig, const std::string& disk, std::string_view size, unsigned depth,
                             unsigned seconds) {
  const bench::FioJob job{.rw = "randread", .block = std::string(size), .depth = depth};
  if (auto started = rig.guests().start(kBorrower, bench::fio_command(job, disk, seconds)); !started)
    return std::unexpected(started.error());
  const auto output = rig.guests().finish(kBorrower, std::chrono::seconds(seconds) + kPatience);
  if (!output) return std::unexpected(output.error());
  return bench::parse_fio(*output, false);
}

}  // namespace

Result<Blackout> measure_blackouts(Rig& rig, Transport transport, const std::string& disk, Loss how, unsigned samples,
                                   const Progress& progress) {
  if (auto set = rig.set_policy("numa"); !set) return std::unexpected(set.error());  // the kernel's default
  if (auto started = rig.guests().start(kBorrower, latency_job(disk)); !started)
    return std::unexpected(started.error());
  Blackout result{.transport = transport, .how = how, .ms = {}, .stopped = {}};
  std::vector<Interval> intervals;
  std::mt19937 random(1);
  std::uniform_int_distribution<std::chrono::milliseconds::rep> moment(0, period(transport).count());
  auto running = wait_goes_on(rig, disk);
  while (running && intervals.size() < samples) {
    if (how != Loss::none) std::this_thread::sleep_for(std::chrono::milliseconds(moment(random)));
    if (auto one = sample(rig, disk, how)) {
      intervals.push_back(*one);
      progress(static_cast<unsigned>(intervals.size()));
    } else {
      running = std::unexpected(one.error());
    }
  }
  cluster::clear_interrupt();
  if (!running) result.stopped = running.error().message;
  if (auto ended = rig.guests().shell(kBorrower, "pkill -INT -x fio"); !ended) return std::unexpected(ended.error());
  if (auto output = rig.guests().finish(kBorrower, kPatience); !output) return std::unexpected(output.error());
  const auto log = rig.guests().file(kBorrower, kLatencies);
  if (!log) return std::unexpected(log.error());
  const auto entries = parse_latencies(*log);
  if (!entries) return std::unexpected(entries.error());
  auto ms = blackouts(*entries, intervals);
  if (!ms) return std::unexpected(ms.error());
  result.ms = std::move(*ms);
  return result;
}

Result<std::vector<Throughput>> measure_throughput(Rig& rig, const std::string& disk, unsigned seconds) {
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
    if (auto set = rig.set_policy(policy); !set) return std::unexpected(set.error());
    if (auto cable = rig.set_cable(0, pulled ? "down" : "up"); !cable) return std::unexpected(cable.error());
    if (!pulled) {
      if (auto live = rig.wait_all_live(kPatience); !live) return std::unexpected(live.error());
    }
    for (const auto& [size, depth] : {std::pair("4k", 32U), std::pair("128k", 8U)}) {
      const auto result = fio(rig, disk, size, depth, seconds);
      if (!result) return fail(fmt::format("{}: {}", paths, result.error().message));
      all.push_back({.paths = paths, .job = fmt::format("read {} QD {}", size, depth), .fio = *result});
    }
  }
  return all;
}

}  // namespace smartio::bench_failover
