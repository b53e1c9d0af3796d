// SPDX-License-Identifier: GPL-2.0
#include "fabric/pci/memory_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

namespace smartio::pci {

MemoryFile::~MemoryFile() { ::munmap(base_, size_); }

Result<std::shared_ptr<MemoryFile>> MemoryFiles::open(int fd) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return fail(fmt::format("fstat: {}", std::strerror(errno)));
  const auto size = static_cast<std::uint64_t>(status.st_size);

  const std::scoped_lock lock(mutex_);
  // A file may have grown since; ranges into the old mapping keep that one. A seal stays.
  if (const auto known = files_.find({status.st_dev, status.st_ino}); known != files_.end()) {
    if (auto file = known->second.lock(); file && file->size() >= size) return file;
  }
  std::erase_if(files_, [](const auto& entry) { return entry.second.expired(); });
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    return fail("the memory file can shrink; give the guest memory-backend-memfd with seal=on");
  }
  if (size == 0 || size > kMaxFileSize) return fail(fmt::format("a memory file of {} bytes is not mapped", size));
  std::weak_ptr<MemoryFile>& known = files_[{status.st_dev, status.st_ino}];

  bool writable = true;
  void* base = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (base == MAP_FAILED && (errno == EACCES || errno == EPERM)) {
    writable = false;
    base = ::mmap(nullptr, size, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
  }
  if (base == MAP_FAILED) {
    const int error = errno;
    files_.erase({status.st_dev, status.st_ino});
    return fail(fmt::format("mmap of {} bytes: {}", size, std::strerror(error)));
  }
  auto file = std::make_shared<MemoryFile>(static_cast<std::byte*>(base), size, writable);
  known = file;
  return file;
}

std::size_t MemoryFiles::count() const {
  const std::scoped_lock lock(mutex_);
  std::size_t alive = 0;
  for (const auto& [key, file] : files_) alive += file.expired() ? 0 : 1;
  return alive;
}

}  // namespace smartio::pci
