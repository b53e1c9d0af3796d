// SPDX-License-Identifier: GPL-2.0
#include "cluster/file_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "cluster/interrupt.h"

namespace smartio::cluster {

using namespace std::chrono_literals;

Result<FileLock> FileLock::take(const std::filesystem::path& file, Deadline deadline) {
  UniqueFd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!fd) return fail(fmt::format("{}: {}", file.string(), std::strerror(errno)));
  // flock() has no deadline of its own, and a blocking one could not be given up without a signal. Who has waited for
  // long looks less often: where CPUs are short, the holder needs them.
  const auto begin = Deadline::Clock::now();
  while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return fail(fmt::format("{}: {}", file.string(), std::strerror(errno)));
    if (interrupted() != 0) return fail("interrupted");
    if (deadline.passed()) return fail(fmt::format("{} is held by another command", file.filename().string()));
    const auto waited = Deadline::Clock::now() - begin;
    std::this_thread::sleep_for(std::clamp<Deadline::Clock::duration>(waited / 8, 1ms, 20ms));
  }
  return FileLock(std::move(fd));
}

}  // namespace smartio::cluster
