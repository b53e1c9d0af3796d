// SPDX-License-Identifier: GPL-2.0
// Memory that the host has to swap out and in. Each page holds its host, its number and the count of its writes
// (page.h).
//
// swapped MIB HOST FLAGS
//    Fills MIB MiB. Then picks random pages, again and again, checks each and writes it again. Ends at a page that
//    is not as it was written. Ends also after a last check of all pages, once there is a file FLAGS.stop.
//    FLAGS.pages has the number of pages that were right so far.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <exception>
#include <filesystem>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "tests/guest/file.h"
#include "tests/guest/page.h"
#include "tests/guest/programs.h"

namespace {

using smartio::open_file;
using smartio::Page;
using smartio::page_of;

/// Anonymous memory; never given back: the program ends then.
std::span<Page> make_pages(std::size_t mib) {
  const std::size_t bytes = mib << 20U;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
  ::madvise(memory, bytes, MADV_NOHUGEPAGE);
  return {static_cast<Page*>(memory), bytes / sizeof(Page)};
}

class Memory {
 public:
  Memory(std::size_t mib, const std::string& host, std::string flags)
      : host_(smartio::host_word(host)),
        flags_(std::move(flags)),
        pages_(make_pages(mib)),
        sequences_(pages_.size()),
        progress_(open_file(flags_ + ".pages", O_WRONLY | O_CREAT | O_TRUNC)) {}

  void run() {
    for (std::size_t n = 0; n < pages_.size(); ++n) write(n);
    while (!std::filesystem::exists(flags_ + ".stop"))
      for (int n = 0; n < 256; ++n) {
        const std::size_t page = chance_() % pages_.size();
        look(page);
        write(page);
      }
    for (std::size_t n = 0; n < pages_.size(); ++n) look(n);
  }

 private:
  void write(std::size_t n) { pages_[n] = page_of(host_, n, ++sequences_[n]); }

  void look(std::size_t n) {
    if (pages_[n] != page_of(host_, n, sequences_[n]))
      throw std::runtime_error(fmt::format("page {}, written {} times: it begins with {:#x} {} {}", n, sequences_[n],
                                           pages_[n][0], pages_[n][1], pages_[n][2]));
    if (++right_ % 64 != 0) return;
    const std::string text = fmt::format("{}\n", right_);
    if (::pwrite(progress_.get(), text.data(), text.size(), 0) < 0)
      throw std::system_error(errno, std::generic_category(), "write " + flags_ + ".pages");
  }

  std::uint64_t host_;
  std::string flags_;
  std::span<Page> pages_;
  std::vector<std::uint32_t> sequences_;
  smartio::UniqueFd progress_;
  std::mt19937_64 chance_{1};
  std::uint64_t right_ = 0;
};

}  // namespace

int swapped_main(int argc, char** argv) {
  const std::span words(argv, static_cast<std::size_t>(argc));
  try {
    if (words.size() != 4) throw std::runtime_error("swapped MIB HOST FLAGS");
    Memory(std::stoul(words[1]), words[2], words[3]).run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "swapped: {}\n", error.what());
    return 1;
  }
  return 0;
}
