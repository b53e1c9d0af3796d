// SPDX-License-Identifier: GPL-2.0
// fs_log: a writer whose acknowledged lines are known, so that a test can check them after a crash.
//
// fs_log write FILE STATE
//    Appends numbered lines to FILE, each followed by fsync, until STATE/stop exists or one fails.
//    STATE/done has the number of acknowledged lines, STATE/pause the longest time between two of them in ms.
//    STATE/end appears at the end, with the error.
// fs_log check FILE LINES
//    Ends with 0 if FILE begins with those lines.
// fs_log overwrite DISK BLOCK STATE
//    Writes that block of 4 KiB directly, with a growing number in it, until STATE/stop exists. Continues after errors.
//    STATE/done has the last acknowledged number, STATE/failed the last one that was not acknowledged.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "base/unique_fd.h"
#include "tests/guest/file.h"
#include "tests/guest/programs.h"

namespace {

using smartio::open_file;
using smartio::UniqueFd;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kNumberBytes = 12;  // of a number in STATE: in place, so that a reader sees the old or the new

std::string line_of(unsigned number) { return fmt::format("line {:07}\n", number); }

void put_number(const UniqueFd& file, long long number) {
  const std::string text = fmt::format("{:>{}}\n", number, kNumberBytes - 1);
  if (::pwrite(file.get(), text.data(), text.size(), 0) < 0)
    throw std::system_error(errno, std::generic_category(), "state");
}

/// 0, or the error of the line that failed.
int append(const UniqueFd& file, const std::string& line) {
  const auto done = ::write(file.get(), line.data(), line.size());
  if (done != static_cast<ssize_t>(line.size())) return done < 0 ? errno : EIO;
  return ::fsync(file.get()) == 0 ? 0 : errno;
}

int write_lines(const std::filesystem::path& path, const std::filesystem::path& state) {
  std::filesystem::create_directories(state);
  const UniqueFd count = open_file(state / "done", O_WRONLY | O_CREAT | O_TRUNC);
  const UniqueFd pause = open_file(state / "pause", O_WRONLY | O_CREAT | O_TRUNC);
  const UniqueFd file = open_file(path, O_WRONLY | O_APPEND | O_CREAT);
  auto longest = Clock::duration::zero();
  auto last = Clock::now();
  int error = 0;
  for (unsigned number = 1; error == 0 && !std::filesystem::exists(state / "stop"); ++number) {
    error = append(file, line_of(number));
    if (error != 0) break;
    const auto now = Clock::now();
    if (number > 1) longest = std::max(longest, now - last);
    last = now;
    put_number(count, number);
    put_number(pause, std::chrono::duration_cast<std::chrono::milliseconds>(longest).count());
  }
  const UniqueFd end = open_file(state / "end", O_WRONLY | O_CREAT | O_TRUNC);
  const std::string text = error == 0 ? "stopped\n" : fmt::format("{}\n", std::strerror(error));
  if (::write(end.get(), text.data(), text.size()) < 0) return 1;
  return error == 0 ? 0 : 1;
}

/// The disk may go, and come back under the same name: then that is used.
int overwrite(const std::filesystem::path& disk, off_t block, const std::filesystem::path& state) {
  constexpr std::size_t kBlockBytes = 4096;
  constexpr long long kTriesOfOne = 100;  // to open a name without a disk behind it takes long
  alignas(kBlockBytes) static std::array<char, kBlockBytes> bytes;
  std::filesystem::create_directories(state);
  const UniqueFd done = open_file(state / "done", O_WRONLY | O_CREAT | O_TRUNC);
  const UniqueFd failed = open_file(state / "failed", O_WRONLY | O_CREAT | O_TRUNC);
  UniqueFd file = open_file(disk, O_WRONLY | O_DIRECT);
  for (long long number = 1; !std::filesystem::exists(state / "stop"); ++number) {
    bytes.fill(' ');
    fmt::format_to_n(bytes.data(), kBlockBytes, "{}", number);
    if (::pwrite(file.get(), bytes.data(), kBlockBytes, block * static_cast<off_t>(kBlockBytes)) ==
        static_cast<ssize_t>(kBlockBytes)) {
      put_number(done, number);
      continue;
    }
    put_number(failed, number);
    ::usleep(1000);
    if (number % kTriesOfOne != 0) continue;
    UniqueFd again(::open(disk.c_str(), O_WRONLY | O_DIRECT | O_CLOEXEC));
    if (again.get() >= 0) file = std::move(again);
  }
  return 0;
}

int check_lines(const std::filesystem::path& path, unsigned lines) {
  const UniqueFd file = open_file(path, O_RDONLY);
  for (unsigned number = 1; number <= lines; ++number) {
    const std::string expected = line_of(number);
    std::string seen(expected.size(), '\0');
    const auto got = ::read(file.get(), seen.data(), seen.size());
    if (got < 0) throw std::system_error(errno, std::generic_category(), "read " + path.string());
    seen.resize(static_cast<std::size_t>(got));
    if (seen != expected) {
      fmt::print(stderr, "fs_log: {}, line {} of {}: saw {} in a file of {} bytes\n", path.string(), number, lines,
                 seen.empty() ? "nothing" : fmt::format("{:02x}", fmt::join(seen, " ")),
                 std::filesystem::file_size(path));
      return 1;
    }
  }
  return 0;
}

}  // namespace

int fs_log_main(int argc, char** argv) {
  CLI::App app("A writer whose acknowledged lines are known.", "fs_log");
  app.require_subcommand(1);
  std::filesystem::path file;
  std::filesystem::path state;
  unsigned lines = 0;
  auto* write = app.add_subcommand("write", "until STATE/stop exists");
  write->add_option("file", file)->required();
  write->add_option("state", state, "a folder")->required();
  auto* check = app.add_subcommand("check", "that the file begins with so many lines");
  check->add_option("file", file)->required();
  check->add_option("lines", lines)->required();
  off_t block = 0;
  auto* over = app.add_subcommand("overwrite", "a block of a disk, until STATE/stop exists");
  over->add_option("disk", file)->required();
  over->add_option("block", block)->required();
  over->add_option("state", state, "a folder")->required();
  CLI11_PARSE(app, argc, argv);
  try {
    if (over->parsed()) return overwrite(file, block, state);
    return write->parsed() ? write_lines(file, state) : check_lines(file, lines);
  } catch (const std::exception& error) {
    fmt::print(stderr, "fs_log: {}\n", error.what());
    return 1;
  }
}
