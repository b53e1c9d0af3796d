// SPDX-License-Identifier: GPL-2.0
#include "bench/compare/meter.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/deadline.h"
#include "bench/guests/lending.h"
#include "bench/guests/load.h"
#include "cluster/interrupt.h"

namespace smartio::bench_compare {

using namespace std::chrono_literals;

namespace {

constexpr unsigned kIdleIntervals = 5;
constexpr double kWindow = 0.8;  // of fio's time: counters are read so long
constexpr unsigned kMargin = 2;  // seconds that fio runs more, so that its end is not among what is counted

Result<void> sleep_for(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
    if (cluster::interrupted() != 0) return fail("interrupted");
    std::this_thread::sleep_for(std::min<std::chrono::duration<double>>(200ms, end - std::chrono::steady_clock::now()));
  }
  return {};
}

/// What the drive has done at a moment between two.
bench::DriveWork between(const bench::DriveWork& before, const bench::DriveWork& after) {
  return {.commands = (before.commands + after.commands) / 2, .bytes = (before.bytes + after.bytes) / 2};
}

Result<double> completed(bench::Guests& guests, const std::string& host, const std::string& disk) {
  const auto text =
      guests.shell(host, R"sh(read -r r _ _ _ w _ < "/sys/block/${1##*/}/stat"; echo $((r + w)))sh", {disk});
  if (!text) return std::unexpected(text.error());
  try {
    return std::stod(*text);
  } catch (const std::exception&) {
    return fail(fmt::format("{}: expected a number of I/Os, saw: {:.80}", host, *text));
  }
}

}  // namespace

Result<Meter> Meter::make(Rig& rig, const Scenario& scenario, std::string disk, double idle_seconds) {
  Meter meter(rig, scenario, std::move(disk));
  if (auto learnt = meter.learn(idle_seconds); !learnt) return std::unexpected(learnt.error());
  return meter;
}

Result<void> Meter::learn(double idle_seconds) {
  const auto names = rig_.hosts();
  if (!names) return std::unexpected(names.error());
  for (const std::string& host : *names) {
    auto symbols = bench::symbols_of(rig_.guests(), host);
    if (!symbols) return std::unexpected(symbols.error());
    Tallier tallier(*symbols);
    hosts_.emplace(host, Host{.symbols = std::move(*symbols), .tallier = std::move(tallier), .idle = {}});
  }
  if (auto quiet = sleep_for(1); !quiet) return quiet;
  std::map<std::string, std::vector<Tally>> rates;
  auto before = moments();
  if (!before) return std::unexpected(before.error());
  for (unsigned i = 0; i < kIdleIntervals; ++i) {
    if (auto slept = sleep_for(idle_seconds / kIdleIntervals); !slept) return slept;
    auto now = moments();
    if (!now) return std::unexpected(now.error());
    for (auto& [host, state] : hosts_) {
      const Moment& from = before->at(host);
      const Moment& to = now->at(host);
      rates[host].push_back((state.tallier(to.blocks) - state.tallier(from.blocks)) *
                            (1 / (to.seconds - from.seconds)));
    }
    before = std::move(now);
  }
  for (auto& [host, state] : hosts_) state.idle = median(rates.at(host));
  return {};
}

Result<Meter::Moment> Meter::moment(const std::string& host) {
  const auto before = rig_.counters().drive(scenario_.drive);
  if (!before) return std::unexpected(before.error());
  const double begin = bench::now_seconds();
  auto blocks = rig_.counters().blocks(host);
  if (!blocks) return std::unexpected(blocks.error());
  const double end = bench::now_seconds();
  const auto after = rig_.counters().drive(scenario_.drive);
  if (!after) return std::unexpected(after.error());
  return Moment{.seconds = (begin + end) / 2, .drive = between(*before, *after), .blocks = std::move(*blocks)};
}

Result<Meter::LedgerMoment> Meter::ledger_moment() {
  const auto before = rig_.counters().drive(scenario_.drive);
  if (!before) return std::unexpected(before.error());
  auto ledger = rig_.counters().ledger();
  if (!ledger) return std::unexpected(ledger.error());
  const auto after = rig_.counters().drive(scenario_.drive);
  if (!after) return std::unexpected(after.error());
  return LedgerMoment{.drive = between(*before, *after), .ledger = std::move(*ledger)};
}

Result<std::map<std::string, Meter::Moment>> Meter::moments() {
  std::map<std::string, Moment> all;
  for (const auto& [host, state] : hosts_) {
    auto now = moment(host);
    if (!now) return std::unexpected(now.error());
    all.emplace(host, std::move(*now));
  }
  return all;
}

Result<Measured> Meter::measure(const Job& job, unsigned round, unsigned seconds) {
  const bench::Load load{.host = scenario_.host,
                         .drive = scenario_.drive,
                         .command = bench::fio_command(fio_job(scenario_, job), disk_, seconds + kMargin),
                         .seconds = seconds};
  auto wrong = [&](const Error& error) {
    return fail(fmt::format("{} {}: {}", scenario_.name, job.name, error.message));
  };
  if (auto begun = begin(rig_.guests(), rig_.counters(), load); !begun) return wrong(begun.error());

  const auto first = moments();
  if (!first) return wrong(first.error());
  const auto first_ledger = ledger_moment();
  if (auto slept = sleep_for(kWindow * seconds); !slept) return wrong(slept.error());
  const auto last_ledger = ledger_moment();
  const auto last = moments();
  if (!last) return wrong(last.error());
  if (!first_ledger) return wrong(first_ledger.error());
  if (!last_ledger) return wrong(last_ledger.error());

  const auto output = rig_.guests().finish(scenario_.host, std::chrono::seconds(seconds + kMargin + 60));
  if (!output) return wrong(output.error());
  const auto fio = bench::parse_fio(*output, job.write());
  if (!fio) return wrong(fio.error());

  const double ios = (last_ledger->drive.bytes - first_ledger->drive.bytes) / job.bytes;
  if (ios <= 0) return fail(fmt::format("{} {}: the drive did nothing", scenario_.name, job.name));
  Measured result{.scenario = scenario_,
                  .job = job,
                  .round = round,
                  .fio = *fio,
                  .hosts = {},
                  .ledger = bench::ledger_per_io(first_ledger->ledger, last_ledger->ledger, ios),
                  .commands = (last_ledger->drive.commands - first_ledger->drive.commands) / ios,
                  .functions = {}};
  for (const auto& [host, state] : hosts_) {
    const Moment& from = first->at(host);
    const Moment& to = last->at(host);
    const double done = (to.drive.bytes - from.drive.bytes) / job.bytes;
    if (done <= 0) return fail(fmt::format("{} {}: the drive did nothing", scenario_.name, job.name));
    const Tally spent = state.tallier(to.blocks) - state.tallier(from.blocks);
    result.hosts[host] = (spent - state.idle * (to.seconds - from.seconds)) * (1 / done);
    result.functions[host] = bench::by_function(from.blocks, to.blocks, state.symbols);
    for (auto& [name, count] : result.functions[host]) count /= done;
  }
  return result;
}

namespace {

/// These hosts at once.
Result<Shared> share_among(Rig& rig, const std::map<std::string, std::string>& disks,
                           const std::vector<std::string>& hosts, unsigned seconds) {
  // All have begun when counting begins, and none has ended when it ends.
  constexpr unsigned kMore = 6;
  std::map<std::string, double> before;
  for (const std::string& host : hosts) {
    const auto done = completed(rig.guests(), host, disks.at(host));
    if (!done) return std::unexpected(done.error());
    before[host] = *done;
    const auto words = bench::fio_command({.depth = 8}, disks.at(host), seconds + kMore);
    if (auto started = rig.guests().start(host, words); !started) return std::unexpected(started.error());
  }
  const auto deadline = Deadline::in(60s);
  for (const std::string& host : hosts) {
    for (double now = 0; now < before[host] + 20;) {
      const auto done = completed(rig.guests(), host, disks.at(host));
      if (!done) return std::unexpected(done.error());
      now = *done;
      if (deadline.passed()) return fail(fmt::format("{}: fio did no I/O in 60 s", host));
      if (cluster::interrupted() != 0) return fail("interrupted");
    }
  }
  auto all_completed = [&]() -> Result<std::map<std::string, std::pair<double, double>>> {
    std::map<std::string, std::pair<double, double>> at;
    for (const std::string& host : hosts) {
      const auto done = completed(rig.guests(), host, disks.at(host));
      if (!done) return std::unexpected(done.error());
      at[host] = {bench::now_seconds(), *done};
    }
    return at;
  };
  const auto from = all_completed();
  if (!from) return std::unexpected(from.error());
  if (auto slept = sleep_for(seconds); !slept) return std::unexpected(slept.error());
  const auto to = all_completed();
  if (!to) return std::unexpected(to.error());
  Shared result;
  for (const std::string& host : hosts) {
    const auto& [began, first] = from->at(host);
    const auto& [ended, last] = to->at(host);
    result.iops[host] = (last - first) / (ended - began);
    const auto output = rig.guests().finish(host, std::chrono::seconds(seconds + kMore + 60));
    if (!output) return std::unexpected(output.error());
    if (const auto fio = bench::parse_fio(*output, false); !fio) return std::unexpected(fio.error());
  }
  return result;
}

}  // namespace

Result<std::vector<Shared>> measure_sharing(Rig& rig, unsigned rounds, unsigned seconds,
                                            const std::function<void(const Shared&)>& progress) {
  const auto disks = rig.enter_sharing();
  if (!disks) return std::unexpected(disks.error());
  std::vector<std::string> hosts;
  for (const auto& [host, disk] : *disks) hosts.push_back(host);
  std::ranges::stable_sort(hosts, {}, [](const std::string& host) { return host == bench::kLender; });
  std::vector<Shared> all;
  for (unsigned round = 0; round < rounds; ++round) {
    for (std::size_t count = 1; count <= hosts.size(); ++count) {
      auto shared =
          share_among(rig, *disks, {hosts.begin(), hosts.begin() + static_cast<std::ptrdiff_t>(count)}, seconds);
      if (!shared) return std::unexpected(shared.error());
      shared->round = round;
      progress(*shared);
      all.push_back(std::move(*shared));
    }
  }
  return all;
}

}  // namespace smartio::bench_compare
