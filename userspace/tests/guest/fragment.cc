// SPDX-License-Identifier: GPL-2.0
// fragment LEFT_MIB FLAGS
//    Takes the host's free memory but for LEFT_MIB MiB, and returns every second page of it: single pages are free
//    then. FLAGS.ready exists from then on. The program ends once there is a file FLAGS.stop. Its pages are locked:
//    with vm.compact_unevictable_allowed=0 the kernel does not move them together.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "tests/guest/file.h"
#include "tests/guest/programs.h"

namespace {

constexpr std::size_t kPage = 4096;

/// MemFree of /proc/meminfo, in MiB.
std::size_t free_mib() {
  std::ifstream info("/proc/meminfo");
  for (std::string word; info >> word;) {
    std::size_t kib = 0;
    if (word == "MemFree:" && info >> kib) return kib >> 10U;
  }
  throw std::runtime_error("no MemFree in /proc/meminfo");
}

void check(int status, const char* what) {
  if (status != 0) throw std::system_error(errno, std::generic_category(), what);
}

/// One MiB, locked; null if there is none.
std::byte* take() {
  constexpr std::size_t kBytes = std::size_t{1} << 20U;
  void* memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  check(::madvise(memory, kBytes, MADV_NOHUGEPAGE), "madvise");
  check(::mlock(memory, kBytes), "mlock");
  return static_cast<std::byte*>(memory);
}

void fragment(std::size_t left_mib, const std::string& flags) {
  std::vector<std::byte*> pieces;
  while (free_mib() > left_mib) {
    std::byte* piece = take();
    if (piece == nullptr) break;
    pieces.push_back(piece);
  }
  for (std::byte* piece : pieces) {
    for (std::size_t at = 0; at < (std::size_t{1} << 20U); at += 2 * kPage) {
      check(::madvise(piece + at, kPage, MADV_DONTNEED_LOCKED), "madvise");
    }
  }
  fmt::print("{} MiB taken, half of it given back\n", pieces.size());
  smartio::open_file(flags + ".ready", O_WRONLY | O_CREAT);
  while (!std::filesystem::exists(flags + ".stop")) ::usleep(100'000);
}

}  // namespace

int fragment_main(int argc, char** argv) {
  const std::span<char*> words(argv, static_cast<std::size_t>(argc));
  try {
    if (words.size() != 3) throw std::runtime_error("fragment LEFT_MIB FLAGS");
    fragment(std::stoul(words[1]), words[2]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "fragment: {}\n", error.what());
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
