// SPDX-License-Identifier: GPL-2.0
#include "bench/counters.h"

#include <fmt/format.h>

#include <chrono>

namespace smartio::bench {

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Result<DriveWork> Counters::drive(const std::string& drive) {
  const auto counters = cluster_.fabric(fmt::format("drive {} counters", drive));
  if (!counters) return std::unexpected(counters.error());
  return drive_work_from(*counters);
}

Result<Ledger> Counters::ledger() {
  const auto ledger = cluster_.fabric("ledger");
  if (!ledger) return std::unexpected(ledger.error());
  return ledger_from(*ledger);
}

Result<Sample> Counters::sample(const std::string& drive) {
  Sample now;
  // Before and after the rest: the mean is that of the moment between.
  const auto before = this->drive(drive);
  if (!before) return std::unexpected(before.error());
  now.seconds = now_seconds();
  const auto hosts = cluster_.running_hosts();
  if (!hosts) return std::unexpected(hosts.error());
  for (const std::string& host : *hosts) {
    const auto mode = cluster_.instructions(host, "mode");
    if (!mode) return std::unexpected(mode.error());
    now.hosts[host] = instructions_from(*mode);
  }
  const auto after = this->drive(drive);
  if (!after) return std::unexpected(after.error());
  now.ios = (before->commands + after->commands) / 2;
  auto passed = ledger();
  if (!passed) return std::unexpected(passed.error());
  now.ledger = std::move(*passed);
  return now;
}

Result<Symbols> symbols_of(Guests& guests, const std::string& host) {
  // Code only: a third of the lines.
  if (const auto made = guests.shell(host, "grep -E '^[0-9a-f]+ [TtWw] ' /proc/kallsyms > /run/kallsyms"); !made) {
    return std::unexpected(made.error());
  }
  const auto text = guests.file(host, "/run/kallsyms");
  if (!text) return std::unexpected(text.error());
  return Symbols(*text);
}

}  // namespace smartio::bench
