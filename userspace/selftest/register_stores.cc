// SPDX-License-Identifier: GPL-2.0
// register_stores RESOURCE OFFSET TURNS: maps a device's registers (a resource file of sysfs) and stores zero to the 32
// bits at OFFSET, eight times in each of TURNS turns of a loop: some ten instructions a turn.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <cstdint>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>

#include "selftest/file.h"

namespace {

constexpr std::size_t kPage = 4096;

void store(const std::string& resource, std::size_t offset, std::uint64_t turns) {
  const smartio::UniqueFd file = smartio::open_file(resource, O_RDWR | O_SYNC);
  void* const mapped = ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) throw std::runtime_error(resource + ": cannot be mapped");
  const std::span registers(static_cast<volatile std::uint32_t*>(mapped), kPage / sizeof(std::uint32_t));
  volatile std::uint32_t& at = registers[offset / sizeof(std::uint32_t)];
  for (std::uint64_t turn = 0; turn < turns; ++turn) {
    at = 0;
    at = 0;
    at = 0;
    at = 0;
    at = 0;
    at = 0;
    at = 0;
    at = 0;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<char*> words(argv, static_cast<std::size_t>(argc));
  try {
    if (words.size() != 4) throw std::runtime_error("register_stores RESOURCE OFFSET TURNS");
    store(words[1], std::stoul(words[2], nullptr, 0), std::stoull(words[3]));
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
