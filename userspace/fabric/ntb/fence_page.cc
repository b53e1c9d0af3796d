// SPDX-License-Identifier: GPL-2.0
#include "fabric/ntb/fence_page.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "base/unique_fd.h"

namespace smartio::ntb {

Result<std::unique_ptr<FencePage>> FencePage::create(const std::filesystem::path& file) {
  static_assert(FencePage::Address::is_always_lock_free);
  const UniqueFd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  void* memory = MAP_FAILED;
  if (fd && ::ftruncate(fd.get(), sizeof(Entries)) == 0)
    memory = ::mmap(nullptr, sizeof(Entries), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) return fail(fmt::format("{}: can't be made: {}", file.string(), std::strerror(errno)));
  return std::unique_ptr<FencePage>(new FencePage(new (memory) Entries{}));
}

FencePage::~FencePage() { ::munmap(entries_, sizeof(Entries)); }

}  // namespace smartio::ntb
