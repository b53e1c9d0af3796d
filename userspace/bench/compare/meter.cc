// SPDX-License-Identifier: GPL-2.0
#include "bench/compare/meter.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "bench/guests/lending.h"

namespace smartio::bench_compare {

using namespace std::chrono_literals;

namespace {

constexpr double kWindow = 0.8;  // of fio's time: counters are read so long
constexpr unsigned kMargin = 2;  // seconds that fio runs more, so that its end is not counted

/// The drive's work at a moment between two.
bench::DriveWork between(const bench::DriveWork& before, const bench::DriveWork& after) {
  return {.commands = (before.commands + after.commands) / 2, .bytes = (before.bytes + after.bytes) / 2};
}

}  // namespace

Meter::Meter(Rig& rig, const Scenario& scenario, std::string disk, double idle_seconds)
    : rig_(rig), scenario_(scenario), disk_(std::move(disk)) {
  for (const std::string& host : rig_.hosts()) add_host(hosts_, rig_.guests(), host);
  bench::sleep_for(1s);
  count_idle(hosts_, idle_seconds, [this] { return moments(); });
}

Meter::Moment Meter::moment(const std::string& host) {
  const auto before = rig_.counters().drive(scenario_.drive);
  const double begin = bench::now_seconds();
  auto blocks = rig_.counters().blocks(host);
  const double end = bench::now_seconds();
  const auto after = rig_.counters().drive(scenario_.drive);
  return {.seconds = (begin + end) / 2, .drive = between(before, after), .blocks = std::move(blocks)};
}

Meter::LedgerMoment Meter::ledger_moment() {
  const auto before = rig_.counters().drive(scenario_.drive);
  auto ledger = rig_.counters().ledger();
  const auto after = rig_.counters().drive(scenario_.drive);
  return {.drive = between(before, after), .ledger = std::move(ledger)};
}

std::map<std::string, Meter::Moment> Meter::moments() {
  std::map<std::string, Moment> all;
  for (const auto& [host, state] : hosts_) all.emplace(host, moment(host));
  return all;
}

void Meter::start(const Job& job, unsigned seconds) {
  auto commands = [&] { return rig_.counters().drive(scenario_.drive).commands; };
  const double enough = commands() + 20;
  rig_.guests().start(scenario_.host, bench::fio_command(fio_job(scenario_, job), disk_, seconds + kMargin));
  bench::wait_for(
      50ms, 60s, [&] { return commands() >= enough; },
      [&] { return fmt::format("fio did no I/O in 60 s: {}", rig_.guests().output(scenario_.host)); });
  bench::sleep_for(std::chrono::duration<double>(0.05 * seconds));
}

Measured Meter::measure(const Job& job, unsigned round, unsigned seconds) {
  start(job, seconds);
  const auto first = moments();
  const auto first_ledger = ledger_moment();
  bench::sleep_for(std::chrono::duration<double>(kWindow * seconds));
  const auto last_ledger = ledger_moment();
  const auto last = moments();
  const auto output = rig_.guests().finish(scenario_.host, std::chrono::seconds(seconds + kMargin + 60));

  auto ios_between = [&](const bench::DriveWork& from, const bench::DriveWork& to) {
    const double ios = (to.bytes - from.bytes) / job.bytes;
    if (ios <= 0) throw std::runtime_error("the drive did nothing");
    return ios;
  };
  const double ios = ios_between(first_ledger.drive, last_ledger.drive);
  Measured result{.scenario = scenario_,
                  .job = job,
                  .round = round,
                  .fio = checked(bench::parse_fio(output, job.write())),
                  .hosts = {},
                  .ledger = bench::ledger_per_io(first_ledger.ledger, last_ledger.ledger, ios),
                  .commands = (last_ledger.drive.commands - first_ledger.drive.commands) / ios,
                  .functions = {}};
  for (const auto& [host, state] : hosts_) {
    const Moment& from = first.at(host);
    const Moment& to = last.at(host);
    const double done = ios_between(from.drive, to.drive);
    const Tally spent = state.tallier(to.blocks) - state.tallier(from.blocks);
    result.hosts[host] = (spent - state.idle * (to.seconds - from.seconds)) * (1 / done);
    result.functions[host] = bench::by_function(from.blocks, to.blocks, state.symbols);
    for (auto& [name, count] : result.functions[host]) count /= done;
  }
  return result;
}

namespace {

/// These hosts at once.
Shared share_among(Rig& rig, const std::map<std::string, std::string>& disks, const std::vector<std::string>& hosts,
                   unsigned seconds) {
  // All have begun when counting begins, and none has ended when it ends.
  constexpr unsigned kMore = 6;
  std::map<std::string, double> before;
  auto completed = [&](const std::string& host) { return rig.guests().completed(host, disks.at(host)); };
  for (const std::string& host : hosts) {
    before[host] = completed(host);
    rig.guests().start(host, bench::fio_command({.depth = 8}, disks.at(host), seconds + kMore));
  }
  for (const std::string& host : hosts) {
    bench::wait_for(
        50ms, 60s, [&] { return completed(host) >= before[host] + 20; },
        [&] { return fmt::format("{}: fio did no I/O in 60 s", host); });
  }
  auto all_completed = [&] {
    std::map<std::string, std::pair<double, double>> at;
    for (const std::string& host : hosts) {
      const double done = completed(host);
      at[host] = {bench::now_seconds(), done};
    }
    return at;
  };
  const auto from = all_completed();
  bench::sleep_for(std::chrono::seconds(seconds));
  const auto to = all_completed();
  Shared result;
  for (const std::string& host : hosts) {
    const auto& [began, first] = from.at(host);
    const auto& [ended, last] = to.at(host);
    result.iops[host] = (last - first) / (ended - began);
    const auto output = rig.guests().finish(host, std::chrono::seconds(seconds + kMore + 60));
    checked(bench::parse_fio(output, false));
  }
  return result;
}

}  // namespace

std::vector<Shared> measure_sharing(Rig& rig, unsigned rounds, unsigned seconds,
                                    const std::function<void(const Shared&)>& progress) {
  const auto disks = rig.enter_sharing();
  std::vector<std::string> hosts;
  for (const auto& [host, disk] : disks) hosts.push_back(host);
  std::ranges::stable_sort(hosts, {}, [](const std::string& host) { return host == bench::kLender; });
  std::vector<Shared> all;
  for (unsigned round = 0; round < rounds; ++round) {
    for (std::size_t count = 1; count <= hosts.size(); ++count) {
      Shared shared =
          share_among(rig, disks, {hosts.begin(), hosts.begin() + static_cast<std::ptrdiff_t>(count)}, seconds);
      shared.round = round;
      progress(shared);
      all.push_back(std::move(shared));
    }
  }
  return all;
}

}  // namespace smartio::bench_compare
