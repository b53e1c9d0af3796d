// SPDX-License-Identifier: GPL-2.0
#include "fabric/nvme/media.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <new>

#include "base/unique_fd.h"
#include "fabric/nvme/sparse_memory.h"

namespace smartio::nvme {
namespace {

class RamMedia : public Media {
 public:
  explicit RamMedia(SparseMemory memory) : memory_(std::move(memory)) {}

  [[nodiscard]] std::uint64_t size() const override { return memory_.size(); }

  std::span<const std::byte> view(std::uint64_t offset, std::uint64_t bytes,
                                  std::span<std::byte> /*scratch*/) override {
    return {memory_.data() + offset, bytes};
  }

  bool write(std::uint64_t offset, std::span<const std::byte> data) override {
    std::memcpy(memory_.data() + offset, data.data(), data.size());
    return true;
  }

  bool discard(std::uint64_t offset, std::uint64_t bytes) override {
    memory_.discard(offset, bytes);
    return true;
  }

  bool resize(std::uint64_t bytes) override {
    try {
      memory_.resize(bytes);
    } catch (const std::bad_alloc&) {
      return false;
    }
    return true;
  }

 private:
  SparseMemory memory_;
};

class FileMedia : public Media {
 public:
  FileMedia(UniqueFd fd, std::uint64_t size) : fd_(std::move(fd)), size_(size) {}

  [[nodiscard]] std::uint64_t size() const override { return size_; }

  std::span<const std::byte> view(std::uint64_t offset, std::uint64_t bytes, std::span<std::byte> scratch) override {
    const auto into = scratch.first(bytes);
    std::size_t done = 0;
    while (done < into.size()) {
      const ssize_t n = ::pread(fd_.get(), into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return {};  // an end of file here means that someone cut the file
      done += static_cast<std::size_t>(n);
    }
    return into;
  }

  bool write(std::uint64_t offset, std::span<const std::byte> data) override {
    std::size_t done = 0;
    while (done < data.size()) {
      const ssize_t n = ::pwrite(fd_.get(), data.data() + done, data.size() - done, static_cast<off_t>(offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      done += static_cast<std::size_t>(n);
    }
    return true;
  }

  bool discard(std::uint64_t offset, std::uint64_t bytes) override {
    if (bytes == 0) return true;
    int rc = 0;
    do {
      rc = ::fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                       static_cast<off_t>(bytes));
    } while (rc != 0 && errno == EINTR);
    if (rc == 0) return true;
    if (errno != EOPNOTSUPP) return false;
    static constexpr std::array<std::byte, 64 << 10> kZeroes{};
    while (bytes > 0) {
      const std::uint64_t piece = std::min<std::uint64_t>(bytes, kZeroes.size());
      if (!write(offset, std::span(kZeroes).first(piece))) return false;
      offset += piece;
      bytes -= piece;
    }
    return true;
  }

  bool resize(std::uint64_t bytes) override {
    if (::ftruncate(fd_.get(), static_cast<off_t>(bytes)) != 0) return false;
    size_ = bytes;
    return true;
  }

 private:
  UniqueFd fd_;
  std::uint64_t size_;
};

}  // namespace

Result<std::unique_ptr<Media>> make_ram_media(std::uint64_t bytes) {
  try {
    return std::make_unique<RamMedia>(SparseMemory(bytes));
  } catch (const std::bad_alloc&) {
    return fail(fmt::format("a RAM drive of {} bytes does not fit into the address space", bytes));
  }
}

Result<std::unique_ptr<Media>> open_file_media(const std::filesystem::path& path, std::uint64_t bytes) {
  if (bytes > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max())) {
    return fail(fmt::format("{}: no file can have {} bytes", path.string(), bytes));
  }
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!fd) return fail(fmt::format("cannot open the drive's backing file {}: {}", path.string(), std::strerror(errno)));
  struct stat st{};
  if (::fstat(fd.get(), &st) != 0) return fail(fmt::format("{}: {}", path.string(), std::strerror(errno)));
  if (!S_ISREG(st.st_mode)) {
    return fail(fmt::format("the drive's backing {} is not a regular file; name a file", path.string()));
  }
  const auto now = static_cast<std::uint64_t>(st.st_size);
  if (now > bytes) {
    return fail(
        fmt::format("the backing file {} has {} bytes, its namespace {}: make the namespace at least as large, or "
                    "name another file",
                    path.string(), now, bytes));
  }
  if (now < bytes && ::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
    return fail(fmt::format("cannot make {} as large as {} bytes: {}", path.string(), bytes, std::strerror(errno)));
  }
  return std::make_unique<FileMedia>(std::move(fd), bytes);
}

}  // namespace smartio::nvme
