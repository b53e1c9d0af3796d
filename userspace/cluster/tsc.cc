// SPDX-License-Identifier: GPL-2.0
#include "cluster/tsc.h"

#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace smartio::cluster {

namespace {

#if defined(__x86_64__)
struct Reading {
  std::uint64_t ticks;
  std::uint64_t ns;
};

std::uint64_t raw_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

/// Both clocks at one moment: of several readings the one that was least disturbed.
Reading read_both() {
  Reading best{};
  std::uint64_t least = UINT64_MAX;
  for (int attempt = 0; attempt < 16; ++attempt) {
    const std::uint64_t before = __rdtsc();
    const std::uint64_t ns = raw_ns();
    const std::uint64_t after = __rdtsc();
    if (after - before >= least) continue;
    least = after - before;
    best = {.ticks = before + least / 2, .ns = ns};
  }
  return best;
}
#endif

}  // namespace

std::uint64_t measure_tsc_khz() {
#if defined(__x86_64__)
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 20'000'000};
  const Reading first = read_both();
  ::nanosleep(&kPause, nullptr);
  const Reading last = read_both();
  if (last.ns <= first.ns || last.ticks <= first.ticks) return 0;
  return (last.ticks - first.ticks) * 1'000'000 / (last.ns - first.ns);
#else
  return 0;
#endif
}

}  // namespace smartio::cluster
