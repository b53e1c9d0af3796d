// SPDX-License-Identifier: GPL-2.0
// late_read DISK BLOCK FILE FLAGS: reads 4 KiB at BLOCK (in 4 KiB). The read must give the content of FILE, or fail.
// Then the program fills the memory with other bytes, and looks at them until there is a file FLAGS.stop. No device may
// have written there. Makes FLAGS.read or FLAGS.failed when the read has ended. Ends with 1 and describes the fault if
// there is one.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/guest/file.h"
#include "tests/guest/programs.h"

namespace {

using smartio::open_file;
using smartio::UniqueFd;

constexpr std::size_t kBytes = 4096;
constexpr unsigned char kPoison = 0xA5;

struct Free {
  void operator()(unsigned char* memory) const { std::free(memory); }
};

int run(const std::string& disk, off_t block, const std::string& expected, const std::string& flags) {
  const std::unique_ptr<unsigned char, Free> memory(static_cast<unsigned char*>(std::aligned_alloc(kBytes, kBytes)));
  const std::span buffer(memory.get(), kBytes);
  std::vector<unsigned char> reference(kBytes);
  if (::read(open_file(expected, O_RDONLY).get(), reference.data(), kBytes) != static_cast<ssize_t>(kBytes))
    throw std::runtime_error(expected + ": expected 4096 bytes");
  const UniqueFd file = open_file(disk, O_RDONLY | O_DIRECT);
  const bool read =
      ::pread(file.get(), buffer.data(), kBytes, block * static_cast<off_t>(kBytes)) == static_cast<ssize_t>(kBytes);
  if (read && !std::ranges::equal(buffer, reference))
    throw std::runtime_error("the read gave other data than expected");
  // From here on only this process may write to this memory. The compiler doesn't know of devices that write to memory.
  const std::span<volatile unsigned char> watched(memory.get(), kBytes);
  for (auto& byte : watched) byte = kPoison;
  open_file(flags + (read ? ".read" : ".failed"), O_WRONLY | O_CREAT);
  while (!std::filesystem::exists(flags + ".stop")) {
    for (std::size_t at = 0; at < kBytes; ++at) {
      if (watched[at] != kPoison)
        throw std::runtime_error(fmt::format("memory of a request that has ended was written to, at byte {}", at));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return 0;
}

}  // namespace

int late_read_main(int argc, char** argv) {
  try {
    if (argc != 5) throw std::runtime_error("late_read DISK BLOCK FILE FLAGS");
    return run(argv[1], std::stol(argv[2]), argv[3], argv[4]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "late_read: {}\n", error.what());
    return 1;
  }
}
