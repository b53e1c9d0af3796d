// SPDX-License-Identifier: GPL-2.0
#include "bench/guests/counters.h"

#include <fmt/format.h>

#include <chrono>

namespace smartio::bench {

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

DriveWork Counters::drive(const std::string& drive) {
  return drive_work_from(checked(cluster_.fabric(fmt::format("drive {} counters", drive))));
}

Symbols symbols_of(Guests& guests, const std::string& host) {
  // Code only: a third of the lines.
  guests.shell(host, "grep -E '^[0-9a-f]+ [TtWw] ' /proc/kallsyms > /run/kallsyms");
  return Symbols(guests.file(host, "/run/kallsyms"));
}

}  // namespace smartio::bench
