// SPDX-License-Identifier: GPL-2.0
// Blocks of 4 KiB that have their writer, their order and their time in them, to distinguish a late write from a good
// one.
//
// stamps write DISK FIRST COUNT HOST FLAGS
//    Writes the COUNT blocks from FIRST on, each again and again, all at once, until there is a file FLAGS.stop or its
//    write fails. Makes FLAGS.going once each block was written. Prints a line a block: BLOCK, SEQUENCE of the last
//    acknowledged write, SEQUENCE of the last one that was sent, "failed" or "stopped".
// stamps once DISK FIRST COUNT HOST
//    Writes each of them one time.
// stamps read DISK FIRST COUNT
//    Prints a line a block: BLOCK HOST SEQUENCE TIME, in ns of HOST's monotonic clock. Fails at a block of two writes.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/guest/file.h"
#include "tests/guest/programs.h"

namespace {

using smartio::open_file;

constexpr std::size_t kBytes = 4096;
constexpr std::size_t kStamp = 512;  // a stamp in each sector: a block of two writes shows

struct Free {
  void operator()(char* memory) const { std::free(memory); }
};
using Buffer = std::unique_ptr<char, Free>;

Buffer make_buffer() {
  Buffer buffer(static_cast<char*>(std::aligned_alloc(kBytes, kBytes)));
  if (!buffer) throw std::bad_alloc();
  return buffer;
}

struct Range {
  std::string disk;
  std::uint64_t first;
  std::uint64_t count;
};

/// One block's write. False if it failed.
bool write_stamp(int disk, char* buffer, std::uint64_t block, std::string_view host, std::uint64_t sequence) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const std::string stamp = fmt::format("{} {} {} {}\n", block, host, sequence, std::chrono::nanoseconds(now).count());
  std::memset(buffer, 0, kBytes);
  for (std::size_t at = 0; at < kBytes; at += kStamp) std::memcpy(buffer + at, stamp.data(), stamp.size());
  return ::pwrite(disk, buffer, kBytes, static_cast<off_t>(block * kBytes)) == static_cast<ssize_t>(kBytes);
}

struct Progress {
  std::uint64_t sent = 0;
  std::uint64_t acknowledged = 0;
  bool failed = false;
};

void write_until_stopped(const Range& range, const std::string& host, const std::string& flags) {
  const auto disk = open_file(range.disk, O_WRONLY | O_DIRECT);
  std::vector<Progress> all(range.count);
  {
    std::atomic<std::uint64_t> begun = 0;
    std::vector<std::jthread> writers;
    for (std::uint64_t n = 0; n < range.count; ++n) {
      writers.emplace_back([&, n] {
        const Buffer buffer = make_buffer();
        Progress& mine = all[n];
        while (!mine.failed && !std::filesystem::exists(flags + ".stop")) {
          mine.failed = !write_stamp(disk.get(), buffer.get(), range.first + n, host, ++mine.sent);
          if (mine.failed) return;
          mine.acknowledged = mine.sent;
          if (mine.sent == 1 && ++begun == range.count) open_file(flags + ".going", O_WRONLY | O_CREAT);
        }
      });
    }
  }
  for (std::uint64_t n = 0; n < range.count; ++n)
    fmt::print("{} {} {} {}\n", range.first + n, all[n].acknowledged, all[n].sent,
               all[n].failed ? "failed" : "stopped");
}

void write_once(const Range& range, const std::string& host) {
  const auto disk = open_file(range.disk, O_WRONLY | O_DIRECT);
  const Buffer buffer = make_buffer();
  for (std::uint64_t n = 0; n < range.count; ++n)
    if (!write_stamp(disk.get(), buffer.get(), range.first + n, host, 1))
      throw std::runtime_error(fmt::format("block {}: the write failed", range.first + n));
}

void read_stamps(const Range& range) {
  const auto disk = open_file(range.disk, O_RDONLY | O_DIRECT);
  const Buffer buffer = make_buffer();
  for (std::uint64_t block = range.first; block < range.first + range.count; ++block) {
    if (::pread(disk.get(), buffer.get(), kBytes, static_cast<off_t>(block * kBytes)) != static_cast<ssize_t>(kBytes))
      throw std::runtime_error(fmt::format("block {}: the read failed", block));
    const std::string_view stamp(buffer.get(), ::strnlen(buffer.get(), kStamp));
    for (std::size_t at = 0; at < kBytes; at += kStamp)
      if (std::memcmp(buffer.get() + at, buffer.get(), kStamp) != 0)
        throw std::runtime_error(fmt::format("block {}: of more than one write; it begins with {}", block, stamp));
    if (!stamp.starts_with(fmt::format("{} ", block)) || !stamp.ends_with('\n'))
      throw std::runtime_error(fmt::format("block {}: no stamp of it: {}", block, stamp));
    fmt::print("{}", stamp);
  }
}

void run(std::span<char*> words) {
  if (words.size() < 5) throw std::runtime_error("stamps write|once|read DISK FIRST COUNT …");
  const std::string_view verb = words[1];
  const Range range{.disk = words[2], .first = std::stoull(words[3]), .count = std::stoull(words[4])};
  if (verb == "write" && words.size() == 7) return write_until_stopped(range, words[5], words[6]);
  if (verb == "once" && words.size() == 6) return write_once(range, words[5]);
  if (verb == "read" && words.size() == 5) return read_stamps(range);
  throw std::runtime_error("stamps write|once|read DISK FIRST COUNT …");
}

}  // namespace

int stamps_main(int argc, char** argv) {
  try {
    run(std::span(argv, static_cast<std::size_t>(argc)));
  } catch (const std::exception& error) {
    fmt::print(stderr, "stamps: {}\n", error.what());
    return 1;
  }
  return 0;
}
