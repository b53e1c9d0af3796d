// SPDX-License-Identifier: GPL-2.0
#include "bench_share/meter.h"

#include <fmt/format.h>

#include <thread>

#include "bench/load.h"
#include "cluster/interrupt.h"

namespace smartio::bench_share {

using bench::rates;
using bench::Sample;
using bench::spread_of;

namespace {

constexpr unsigned kIntervals = 5;

/// Samples at equal distances, over so many seconds.
Result<std::vector<Sample>> samples_over(Rig& rig, const std::string& drive, double seconds) {
  std::vector<Sample> samples;
  const auto begin = std::chrono::steady_clock::now();
  for (unsigned i = 0; i <= kIntervals; ++i) {
    std::this_thread::sleep_until(begin + std::chrono::duration<double>(seconds * i / kIntervals));
    if (cluster::interrupted() != 0) return fail("interrupted");
    auto now = rig.counters().sample(drive);
    if (!now) return std::unexpected(now.error());
    samples.push_back(std::move(*now));
  }
  return samples;
}

std::map<std::string, Spread> rates_of(const std::vector<Sample>& samples) {
  std::map<std::string, std::vector<double>> each;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    for (const auto& [host, rate] : rates(samples[i - 1], samples[i])) each[host].push_back(rate.all());
  }
  std::map<std::string, Spread> result;
  for (auto& [host, values] : each) result[host] = spread_of(std::move(values));
  return result;
}

}  // namespace

Result<Idle> measure_idle(Rig& rig, const std::string& drive, double seconds) {
  const auto samples = samples_over(rig, drive, seconds);
  if (!samples) return std::unexpected(samples.error());
  return Idle{.rates = rates(samples->front(), samples->back()), .spread = rates_of(*samples)};
}

Result<Measured> measure(Rig& rig, const Setup& setup, const Case& what, const std::string& disk, unsigned seconds,
                         const Idle& idle, const bench::Symbols& symbols) {
  const bench::Load load{.host = setup.host,
                         .drive = setup.drive,
                         .command = bench::fio_command(job_of(what), disk, seconds),
                         .seconds = seconds};
  if (auto begun = begin(rig.guests(), rig.counters(), load); !begun) {
    return fail(fmt::format("{}: {}", setup.name, begun.error().message));
  }
  auto first = rig.counters().blocks(setup.host);
  if (!first) return std::unexpected(first.error());
  const auto samples = samples_over(rig, setup.drive, 0.8 * seconds);
  if (!samples) return std::unexpected(samples.error());
  auto last = rig.counters().blocks(setup.host);
  if (!last) return std::unexpected(last.error());
  const auto output = rig.guests().finish(setup.host, std::chrono::seconds(seconds + 60));
  if (!output) return std::unexpected(output.error());
  const auto fio = bench::parse_fio(*output, what.write);
  if (!fio) return fail(fmt::format("{} {}: {}", setup.name, name_of(what), fio.error().message));

  Measured result{.setup = setup,
                  .what = what,
                  .fio = *fio,
                  .io = per_io(*samples, idle.rates),
                  .rates = rates_of(*samples),
                  .functions = by_function(*first, *last, symbols),
                  .idle = idle};
  // The blocks' time is a little longer than the samples'.
  const double ios = samples->back().ios - samples->front().ios;
  for (auto& [name, count] : result.functions) count /= ios;
  return result;
}

}  // namespace smartio::bench_share
