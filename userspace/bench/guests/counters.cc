// SPDX-License-Identifier: GPL-2.0
#include "bench/guests/counters.h"

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
