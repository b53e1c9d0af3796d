// SPDX-License-Identifier: GPL-2.0
// Blocks of 4 KiB that a host writes through its page cache, and a record on the same disk of how many writes are
// committed. Each block holds its host, its number on the disk and how often it was written (page.h). Another host
// checks them after the writer's death.
//
// The record is block FIRST. The writes go to the COUNT blocks after it, one after another in steps of STRIDE, again
// and again. So the number of writes says how often each block was written.
//
// blocks write DISK FIRST COUNT STRIDE HOST EVERY FLAGS
//    Continues after the record. Reads each block before it writes it again: it is as it was written before. Calls
//    fsync after EVERY writes, and then puts their number into the record by a direct write with FUA. Ends, after an
//    fsync, once there is a file FLAGS.stop. FLAGS.written and FLAGS.committed have the numbers of writes so far.
// blocks check DISK FIRST COUNT STRIDE HOST COMMITTED
//    Reads them from the disk. The record has COMMITTED writes or more. Each block is one that HOST wrote there, and
//    has each write of the record, and at most one more. Prints how many blocks it has read.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "tests/guest/file.h"
#include "tests/guest/page.h"
#include "tests/guest/programs.h"

namespace {

using smartio::open_file;
using smartio::Page;
using smartio::page_of;
using smartio::UniqueFd;

constexpr std::size_t kAtOnce = 256;  // blocks that a check reads at once

/// Aligned, as direct I/O needs it.
struct alignas(sizeof(Page)) Block {
  Page page{};
};

struct Range {
  std::string disk;
  std::uint64_t first;
  std::uint64_t count;
  std::uint64_t stride;
  std::uint64_t host;

  [[nodiscard]] off_t offset(std::uint64_t block) const { return static_cast<off_t>(block * sizeof(Page)); }
  /// The block of that write, the first one being 0.
  [[nodiscard]] std::uint64_t block_of(std::uint64_t write) const { return first + 1 + write * stride % count; }
};

void checked(ssize_t done, std::size_t expected, std::string_view what) {
  if (done < 0) throw std::system_error(errno, std::generic_category(), std::string(what));
  if (static_cast<std::size_t>(done) != expected)
    throw std::runtime_error(fmt::format("{}: {} of {} bytes", what, done, expected));
}

/// How often it was written. Throws unless all of it is of that host and block.
std::uint64_t sequence_of(const Page& page, const Range& range, std::uint64_t block) {
  if (const auto sequence = smartio::sequence_of(page, range.host, block)) return *sequence;
  throw std::runtime_error(fmt::format("block {}: not one that host {:#x} wrote there: it begins with {:#x} {} {}",
                                       block, range.host, page[0], page[1], page[2]));
}

/// Throws unless a block has been written `least` times, or one time above that where it may be.
void in_order(std::uint64_t block, std::uint64_t sequence, std::uint64_t least, bool once_more) {
  if (sequence == least || (once_more && sequence == least + 1)) return;
  throw std::runtime_error(fmt::format("block {}: expected write {}{} of it, saw write {}", block, least,
                                       once_more ? " or the next" : "", sequence));
}

/// The number of committed writes on the disk.
std::uint64_t committed(const UniqueFd& direct, const Range& range) {
  const auto record = std::make_unique<Block>();
  checked(::pread(direct.get(), record.get(), sizeof(Page), range.offset(range.first)), sizeof(Page),
          "read the record");
  return sequence_of(record->page, range, range.first);
}

/// A number in a file, in place.
class Number {
 public:
  explicit Number(const std::string& path) : file_(open_file(path, O_WRONLY | O_CREAT | O_TRUNC)) {}
  void put(std::uint64_t number) const {
    const std::string text = fmt::format("{:<20}\n", number);
    checked(::pwrite(file_.get(), text.data(), text.size(), 0), text.size(), "write a number");
  }

 private:
  UniqueFd file_;
};

class Writer {
 public:
  Writer(Range range, std::uint64_t every, const std::string& flags)
      : range_(std::move(range)),
        every_(every),
        stop_(flags + ".stop"),
        cached_(open_file(range_.disk, O_RDWR)),
        direct_(open_file(range_.disk, O_RDWR | O_DIRECT | O_DSYNC)),
        written_number_(flags + ".written"),
        committed_number_(flags + ".committed"),
        began_at_(committed(direct_, range_)),
        written_(began_at_) {}

  void run() {
    while (!std::filesystem::exists(stop_)) {
      for (int n = 0; n < 64; ++n) {
        write_next();
        if (written_ % every_ == 0) commit();
      }
      written_number_.put(written_);
    }
    commit();
  }

 private:
  void write_next() {
    const std::uint64_t block = range_.block_of(written_);
    const std::uint64_t before = written_ / range_.count;
    Page page;
    checked(::pread(cached_.get(), &page, sizeof(page), range_.offset(block)), sizeof(page), "read");
    // Some writes after the record were done, too, by this host before its death.
    in_order(block, sequence_of(page, range_, block), before, written_ - began_at_ < range_.count);
    page = page_of(range_.host, block, before + 1);
    checked(::pwrite(cached_.get(), &page, sizeof(page), range_.offset(block)), sizeof(page), "write");
    ++written_;
  }

  void commit() {
    checked(::fsync(cached_.get()), 0, "fsync");
    record_->page = page_of(range_.host, range_.first, written_);
    checked(::pwrite(direct_.get(), record_.get(), sizeof(Page), range_.offset(range_.first)), sizeof(Page),
            "write the record");
    committed_number_.put(written_);
  }

  Range range_;
  std::uint64_t every_;
  std::filesystem::path stop_;
  UniqueFd cached_;
  UniqueFd direct_;
  Number written_number_;
  Number committed_number_;
  std::unique_ptr<Block> record_ = std::make_unique<Block>();
  std::uint64_t began_at_;
  std::uint64_t written_;
};

/// Which writes a block may have at a check.
struct Expected {
  std::uint64_t least = 0;
  bool once_more = false;
  bool looked_at = false;
};

std::vector<Expected> expected_blocks(const Range& range, std::uint64_t every, std::uint64_t writes,
                                      std::uint64_t last) {
  std::vector<Expected> all(range.count);
  const auto of = [&](std::uint64_t write) -> Expected& { return all[range.block_of(write) - range.first - 1]; };
  for (auto& block : all) block.least = writes / range.count;
  for (std::uint64_t write = writes - writes % range.count; write < writes; ++write) ++of(write).least;
  for (std::uint64_t write = writes - std::min(writes, last); write < writes; ++write) of(write).looked_at = true;
  for (std::uint64_t write = writes; write < (writes / every + 1) * every; ++write)
    of(write).once_more = of(write).looked_at = true;
  return all;
}

void check(const Range& range, std::uint64_t every, std::uint64_t least, std::uint64_t last) {
  const UniqueFd direct = open_file(range.disk, O_RDONLY | O_DIRECT);
  const std::uint64_t writes = committed(direct, range);
  if (writes < least)
    throw std::runtime_error(fmt::format("the record: expected {} committed writes or more, saw {}", least, writes));
  const auto expected = expected_blocks(range, every, writes, last);
  const auto blocks = std::make_unique<Block[]>(kAtOnce);
  std::uint64_t looked = 0;
  std::uint64_t newer = 0;
  for (std::uint64_t at = 0; at < range.count; at += kAtOnce) {
    const auto some = std::span(expected).subspan(at, std::min<std::uint64_t>(kAtOnce, range.count - at));
    if (std::ranges::none_of(some, &Expected::looked_at)) continue;
    const std::uint64_t block = range.first + 1 + at;
    checked(::pread(direct.get(), blocks.get(), some.size() * sizeof(Page), range.offset(block)),
            some.size() * sizeof(Page), "read");
    for (std::size_t n = 0; n < some.size(); ++n) {
      const std::uint64_t sequence = sequence_of(blocks[n].page, range, block + n);
      in_order(block + n, sequence, some[n].least, some[n].once_more);
      ++looked;
      if (sequence > some[n].least) ++newer;
    }
  }
  fmt::print("{} committed writes, {} blocks as written, {} of them after that\n", writes, looked, newer);
}

void run(std::span<char*> words) {
  constexpr std::string_view usage = "blocks write|check DISK FIRST COUNT STRIDE HOST …";
  if (words.size() < 9) throw std::runtime_error(std::string(usage));
  const std::string_view verb = words[1];
  Range range{.disk = words[2],
              .first = std::stoull(words[3]),
              .count = std::stoull(words[4]),
              .stride = std::stoull(words[5]),
              .host = smartio::host_word(words[6])};
  if (std::gcd(range.count, range.stride) != 1) throw std::runtime_error("COUNT and STRIDE have a common divisor");
  const std::uint64_t every = std::stoull(words[7]);
  if (every == 0 || every > range.count) throw std::runtime_error("EVERY is 1 to COUNT");
  if (verb == "write" && words.size() == 9) return Writer(std::move(range), every, words[8]).run();
  if (verb == "check" && words.size() == 10) return check(range, every, std::stoull(words[8]), std::stoull(words[9]));
  throw std::runtime_error(std::string(usage));
}

}  // namespace

int blocks_main(int argc, char** argv) {
  try {
    run(std::span(argv, static_cast<std::size_t>(argc)));
  } catch (const std::exception& error) {
    fmt::print(stderr, "blocks: {}\n", error.what());
    return 1;
  }
  return 0;
}
