// SPDX-License-Identifier: GPL-2.0
// register_stores RESOURCE OFFSET TURNS: maps a device's registers (a resource file of sysfs) and stores zero to the 32
// bits at OFFSET, eight times in each of TURNS turns of a loop of 250 instructions. Any other file that can be mapped
// will do.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <cstdint>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>

#include "tests/guest/file.h"
#include "tests/guest/programs.h"

namespace {

constexpr std::size_t kPage = 4096;

void store(const std::string& resource, std::size_t offset, std::uint64_t turns) {
  const smartio::UniqueFd file = smartio::open_file(resource, O_RDWR | O_SYNC);
  void* const mapped = ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) throw std::runtime_error(resource + ": cannot be mapped");
  const std::span registers(static_cast<std::uint32_t*>(mapped), kPage / sizeof(std::uint32_t));
  if (turns == 0) return;
  // Assembler, for the compiler does not say how many instructions a turn has. The stores come first: the other
  // instructions of QEMU's block are behind them.
  asm volatile(
      "1:\n\t"
      ".rept 8\n\tmovl $0, (%[at])\n\t.endr\n\t"
      ".rept 240\n\tnop\n\t.endr\n\t"
      "dec %[turns]\n\t"
      "jnz 1b"
      : [turns] "+r"(turns)
      : [at] "r"(&registers[offset / sizeof(std::uint32_t)])
      : "memory", "cc");
}

}  // namespace

int register_stores_main(int argc, char** argv) {
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
