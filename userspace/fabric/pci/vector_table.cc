// SPDX-License-Identifier: GPL-2.0
#include "fabric/pci/vector_table.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace smartio::pci {

void VectorTable::send(const UniqueFd& fd) {
  const std::uint64_t one = 1;
  // EAGAIN: the counter is full, so the guest has an interrupt coming anyway.
  [[maybe_unused]] const ssize_t written = ::write(fd.get(), &one, sizeof(one));
}

VectorTable::Signalled VectorTable::signal(unsigned vector) {
  const std::scoped_lock lock(mutex_);
  if (vector >= vectors_.size()) return Signalled::ignored;
  Vector& v = vectors_[vector];
  if (!v.fd) {
    v.pending = true;
    return Signalled::kept;
  }
  send(v.fd);
  return Signalled::sent;
}

unsigned VectorTable::assign(unsigned first, std::span<UniqueFd> fds) {
  unsigned sent = 0;
  const std::scoped_lock lock(mutex_);
  for (UniqueFd& fd : fds) {
    if (first >= vectors_.size()) break;
    Vector& v = vectors_[first++];
    v.fd = std::move(fd);
    if (v.pending) {
      v.pending = false;
      send(v.fd);
      ++sent;
    }
  }
  return sent;
}

void VectorTable::remove(unsigned first, unsigned count) {
  const std::scoped_lock lock(mutex_);
  for (std::size_t v = first; v < vectors_.size() && v - first < count; ++v) vectors_[v].fd.reset();
}

void VectorTable::remove_all() {
  const std::scoped_lock lock(mutex_);
  for (Vector& v : vectors_) v.fd.reset();
}

void VectorTable::forget_pending() {
  const std::scoped_lock lock(mutex_);
  for (Vector& v : vectors_) v.pending = false;
}

unsigned VectorTable::assigned() const {
  const std::scoped_lock lock(mutex_);
  return static_cast<unsigned>(
      std::ranges::count_if(vectors_, [](const Vector& v) { return static_cast<bool>(v.fd); }));
}

void VectorTable::read_pending(std::uint64_t offset, std::span<std::byte> data) const {
  std::ranges::fill(data, std::byte{0});
  const std::scoped_lock lock(mutex_);
  for (std::size_t i = 0; i < data.size() && offset + i < pending_bytes(); ++i) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      const std::size_t vector = (offset + i) * 8 + bit;
      if (vector < vectors_.size() && vectors_[vector].pending) data[i] |= std::byte{1} << bit;
    }
  }
}

bool prepare_eventfd(int fd) {
  std::array<char, 64> target{};
  const ssize_t length = ::readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), target.data(), target.size());
  if (length < 0 || std::string_view(target.data(), static_cast<std::size_t>(length)) != "anon_inode:[eventfd]") {
    return false;
  }
  const int flags = ::fcntl(fd, F_GETFL);
  return flags >= 0 && ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

}  // namespace smartio::pci
