// SPDX-License-Identifier: GPL-2.0
// fs_worker: the work of applications on a file system that several hosts have mounted, all at once. Every host that
// can see a result checks it. Each host runs `fs_worker work FOLDER HOST HOSTS ROUNDS`. When all have ended, each runs
// `fs_worker check FOLDER HOSTS ROUNDS`. Ends with 1 and prints the expected and the seen value if they differ.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "base/unique_fd.h"
#include "tests/guest/file.h"
#include "tests/guest/programs.h"

namespace {

using smartio::open_file;
using smartio::UniqueFd;

constexpr std::size_t kFileBytes = 3 * 4096 + 100;  // of a file that is written again in each round
constexpr std::size_t kRecordBytes = 32;            // of a line in the common log
constexpr std::size_t kDirectBytes = 64 * 1024;     // of a direct write
constexpr off_t kDirectStride = 1024 * 1024;        // between the parts of two hosts
constexpr off_t kAllocatedBytes = 1024 * 1024;      // of the file that fallocate makes
constexpr off_t kHoleAt = 256 * 1024;               // and the hole in it
constexpr off_t kHoleBytes = 128 * 1024;

struct Work {
  std::filesystem::path folder;
  unsigned host = 0;
  unsigned hosts = 1;
  unsigned rounds = 1;
  bool local_posix = false;  // POSIX locks hold on one host only: OCFS2 on O2CB has none between hosts
};

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what); }

template <typename T>
T checked(T result, const std::string& what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return result;
}

/// The bytes of host's round: no two have the same in one place.
std::vector<std::uint8_t> pattern(unsigned host, unsigned round, std::size_t size) {
  std::vector<std::uint8_t> bytes(size);
  std::uint32_t x = host * 2654435761U ^ round * 40503U ^ 1U;
  for (auto& byte : bytes) {
    x ^= x << 13U;
    x ^= x >> 17U;
    x ^= x << 5U;
    byte = static_cast<std::uint8_t>(x);
  }
  return bytes;
}

void write_at(const UniqueFd& file, std::span<const std::uint8_t> bytes, off_t at, const std::string& what) {
  const auto done = checked(::pwrite(file.get(), bytes.data(), bytes.size(), at), what);
  if (static_cast<std::size_t>(done) != bytes.size())
    fail(fmt::format("{}: wrote {} of {} bytes", what, done, bytes.size()));
}

std::vector<std::uint8_t> read_at(const UniqueFd& file, std::size_t size, off_t at, const std::string& what) {
  std::vector<std::uint8_t> bytes(size);
  std::size_t done = 0;
  while (done < size) {
    const auto n = checked(::pread(file.get(), bytes.data() + done, size - done, at + static_cast<off_t>(done)), what);
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  bytes.resize(done);
  return bytes;
}

void compare(const std::vector<std::uint8_t>& seen, const std::vector<std::uint8_t>& expected,
             const std::string& what) {
  if (seen == expected) return;
  const auto [a, b] = std::ranges::mismatch(seen, expected);
  fail(fmt::format("{}: expected {} bytes, saw {}, the first difference at {}", what, expected.size(), seen.size(),
                   a - seen.begin()));
}

std::filesystem::path name(const Work& work, unsigned host, unsigned round) {
  return work.folder / fmt::format("h{}.r{}", host, round);
}

/// Made under another name and then renamed: a host that sees the name sees all of the file.
void make_file(const Work& work, unsigned round) {
  const std::filesystem::path temporary = work.folder / fmt::format("h{}.tmp", work.host);
  {
    const UniqueFd file = open_file(temporary, O_WRONLY | O_CREAT | O_TRUNC);
    write_at(file, pattern(work.host, round, kFileBytes), 0, temporary.string());
    if (round % 8 == 0) checked(::fsync(file.get()), "fsync");
  }
  std::filesystem::rename(temporary, name(work, work.host, round));
  if (round >= 4) std::filesystem::remove(name(work, work.host, round - 4));
}

/// The files that other hosts have made lately; they may be removed by now.
void look_at_others(const Work& work, unsigned round) {
  for (unsigned host = 0; host < work.hosts; ++host) {
    if (host == work.host) continue;
    for (unsigned r = round < 6 ? 0 : round - 6; r < round + 6; ++r) {
      const UniqueFd file(::open(name(work, host, r).c_str(), O_RDONLY | O_CLOEXEC));
      if (file.get() < 0) continue;
      compare(read_at(file, kFileBytes + 1, 0, "read"), pattern(host, r, kFileBytes), name(work, host, r).string());
    }
  }
}

/// A file of all hosts, made by the first one. On OCFS2, open() with O_CREAT alone can fail with EEXIST. It does if
/// another host makes the file between this host's lookup and its own attempt (its create() knows nothing of O_EXCL).
UniqueFd open_common(const Work& work, const std::string& file, int flags) {
  const std::filesystem::path path = work.folder / file;
  try {
    return open_file(path, flags | O_CREAT);
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::file_exists) throw;
    return open_file(path, flags);
  }
}

enum class Lock { kPosix, kFlock };

void lock(const UniqueFd& file, Lock kind, bool on) {
  if (kind == Lock::kFlock) {
    checked(::flock(file.get(), on ? LOCK_EX : LOCK_UN), "flock");
    return;
  }
  struct flock range{};
  range.l_type = static_cast<short>(on ? F_WRLCK : F_UNLCK);
  range.l_whence = SEEK_SET;
  checked(::fcntl(file.get(), F_SETLKW, &range), "fcntl lock");
}

/// Lines of all hosts in one file, under a lock. GFS2 releases the inode's lock between looking up the end of the file
/// and writing there. 5 of 120 lines were lost without our lock. OCFS2 takes the end that it knows, which fstat() asks
/// for.
void append(const Work& work, unsigned round) {
  const UniqueFd file = open_common(work, "log", O_WRONLY | O_APPEND);
  lock(file, Lock::kFlock, true);
  struct stat known{};
  checked(::fstat(file.get(), &known), "fstat");
  const std::string line = fmt::format("{:<15}{:<16}\n", work.host, round);
  const auto done = checked(::write(file.get(), line.data(), line.size()), "append");
  if (static_cast<std::size_t>(done) != line.size()) fail("append: a part only");
  lock(file, Lock::kFlock, false);
}

/// The name of the number that a host adds to.
std::string counter_of(const Work& work, unsigned host, Lock kind) {
  if (kind == Lock::kFlock) return "count.flock";
  return work.local_posix ? fmt::format("count.posix.h{}", host) : "count.posix";
}

/// A number that every host adds to: no addition may be lost.
void count(const Work& work, Lock kind) {
  const UniqueFd file = open_common(work, counter_of(work, work.host, kind), O_RDWR);
  lock(file, kind, true);
  std::uint64_t number = 0;
  const auto bytes = read_at(file, sizeof(number), 0, "read the counter");
  if (!bytes.empty()) std::memcpy(&number, bytes.data(), bytes.size());
  ++number;
  write_at(file, {reinterpret_cast<const std::uint8_t*>(&number), sizeof(number)}, 0, "write the counter");
  lock(file, kind, false);
}

/// One page that all hosts have mapped; each writes its own word, and sees the others' grow.
class Page {
 public:
  explicit Page(const Work& work) : work_(work), file_(open_common(work, "page", O_RDWR)), seen_(work.hosts) {
    checked(::ftruncate(file_.get(), 4096), "ftruncate");
    void* at = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
    if (at == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
    words_ = static_cast<volatile std::uint32_t*>(at);
  }
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;
  ~Page() { ::munmap(const_cast<std::uint32_t*>(words_), 4096); }
  void step(unsigned round) {
    words_[work_.host] = round + 1;
    for (unsigned host = 0; host < work_.hosts; ++host) {
      const std::uint32_t now = words_[host];
      if (now < seen_[host])
        fail(fmt::format("mapped word of host {}: expected {} or more, saw {}", host, seen_[host], now));
      seen_[host] = now;
    }
    if (words_[work_.host] != round + 1) fail("this host's mapped word was changed by another");
  }

 private:
  const Work& work_;
  UniqueFd file_;
  volatile std::uint32_t* words_ = nullptr;
  std::vector<std::uint32_t> seen_;
};

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

void direct(const Work& work, unsigned round) {
  const UniqueFd file = open_common(work, "direct", O_WRONLY | O_DIRECT);
  const std::unique_ptr<std::uint8_t, Free> buffer(static_cast<std::uint8_t*>(std::aligned_alloc(4096, kDirectBytes)));
  const auto bytes = pattern(work.host, round, kDirectBytes);
  std::memcpy(buffer.get(), bytes.data(), bytes.size());
  write_at(file, {buffer.get(), kDirectBytes}, work.host * kDirectStride, "direct write");
}

void allocate(const Work& work, unsigned round) {
  const std::filesystem::path path = work.folder / fmt::format("h{}.allocated", work.host);
  const UniqueFd file = open_file(path, O_RDWR | O_CREAT | O_TRUNC);
  checked(::fallocate(file.get(), 0, 0, kAllocatedBytes), "fallocate");
  const auto bytes = pattern(work.host, round, static_cast<std::size_t>(kHoleBytes));
  write_at(file, bytes, kHoleAt, "write into what was allocated");
  compare(read_at(file, 4096, kHoleAt - 4096, "read"), std::vector<std::uint8_t>(4096), "allocated and not written");
  if (::fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, kHoleAt, kHoleBytes) == 0) {
    compare(read_at(file, 4096, kHoleAt, "read"), std::vector<std::uint8_t>(4096), "a hole");
  } else if (errno != EOPNOTSUPP) {
    throw std::system_error(errno, std::generic_category(), "punch a hole");
  }
}

void work_all(const Work& work) {
  Page page(work);
  for (unsigned round = 0; round < work.rounds; ++round) {
    make_file(work, round);
    append(work, round);
    count(work, Lock::kPosix);
    count(work, Lock::kFlock);
    page.step(round);
    direct(work, round);
    if (round % 8 == 3) allocate(work, round);
    look_at_others(work, round);
  }
}

// ---- afterwards ----

void check_counter(const Work& work, const std::string& which, unsigned adders) {
  const UniqueFd file = open_file(work.folder / which, O_RDONLY);
  std::uint64_t number = 0;
  const auto bytes = read_at(file, sizeof(number), 0, which);
  if (bytes.size() == sizeof(number)) std::memcpy(&number, bytes.data(), sizeof(number));
  const std::uint64_t expected = std::uint64_t{adders} * work.rounds;
  if (number != expected) fail(fmt::format("{}: expected {}, saw {}", which, expected, number));
}

void check_log(const Work& work) {
  const UniqueFd file = open_file(work.folder / "log", O_RDONLY);
  const std::size_t lines = std::size_t{work.hosts} * work.rounds;
  const auto bytes = read_at(file, lines * kRecordBytes + 1, 0, "log");
  if (bytes.size() != lines * kRecordBytes)
    fail(fmt::format("log: expected {} bytes, saw {}", lines * kRecordBytes, bytes.size()));
  std::vector<unsigned> next(work.hosts);
  for (std::size_t line = 0; line < lines; ++line) {
    unsigned host = 0;
    unsigned round = 0;
    const std::string text(reinterpret_cast<const char*>(bytes.data()) + line * kRecordBytes, kRecordBytes);
    if (std::sscanf(text.c_str(), "%u %u", &host, &round) != 2 || host >= work.hosts || text.back() != '\n' ||
        round != next[host]++) {
      fail(fmt::format("log, line {}: expected the next line of a host, saw '{}'", line, text));
    }
  }
}

void check_all(const Work& work) {
  check_counter(work, counter_of(work, 0, Lock::kFlock), work.hosts);
  for (unsigned host = 0; host < (work.local_posix ? work.hosts : 1); ++host)
    check_counter(work, counter_of(work, host, Lock::kPosix), work.local_posix ? 1 : work.hosts);
  check_log(work);
  const UniqueFd direct_file = open_file(work.folder / "direct", O_RDONLY);
  const UniqueFd page = open_file(work.folder / "page", O_RDONLY);
  const auto words = read_at(page, 4096, 0, "page");
  for (unsigned host = 0; host < work.hosts; ++host) {
    for (unsigned round = work.rounds < 4 ? 0 : work.rounds - 4; round < work.rounds; ++round) {
      const UniqueFd file = open_file(name(work, host, round), O_RDONLY);
      compare(read_at(file, kFileBytes + 1, 0, "read"), pattern(host, round, kFileBytes),
              name(work, host, round).string());
    }
    compare(read_at(direct_file, kDirectBytes, host * kDirectStride, "direct"),
            pattern(host, work.rounds - 1, kDirectBytes), fmt::format("what host {} wrote directly", host));
    std::uint32_t word = 0;
    std::memcpy(&word, words.data() + host * sizeof(word), sizeof(word));
    if (word != work.rounds) fail(fmt::format("mapped word of host {}: expected {}, saw {}", host, work.rounds, word));
  }
}

}  // namespace

int fs_worker_main(int argc, char** argv) {
  Work work;
  CLI::App app("What applications do to a file system that several hosts have mounted.", "fs_worker");
  app.require_subcommand(1);
  auto* run = app.add_subcommand("work", "one host's part");
  auto* check = app.add_subcommand("check", "when all have ended");
  for (auto* command : {run, check}) {
    command->add_option("folder", work.folder)->required();
    if (command == run) command->add_option("host", work.host, "number of this host, from 0")->required();
    command->add_option("hosts", work.hosts, "how many there are")->required();
    command->add_option("rounds", work.rounds)->required();
    command->add_flag("--local-posix", work.local_posix, "POSIX locks hold on one host only");
  }
  CLI11_PARSE(app, argc, argv);
  try {
    if (run->parsed()) {
      work_all(work);
    } else {
      check_all(work);
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "fs_worker: {}\n", error.what());
    return 1;
  }
  return 0;
}
