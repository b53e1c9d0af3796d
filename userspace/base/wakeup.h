// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

#include "base/unique_fd.h"

namespace smartio {

/// An eventfd by which any thread ends the poll(2) or epoll_wait(2) of another. The constructor throws
/// std::system_error.
class Wakeup {
 public:
  Wakeup() : fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (!fd_) throw std::system_error(errno, std::generic_category(), "eventfd");
  }
  /// Readable from signal() to clear().
  [[nodiscard]] int fd() const { return fd_.get(); }
  void signal() const { ::eventfd_write(fd_.get(), 1); }
  void clear() const {
    eventfd_t count = 0;
    ::eventfd_read(fd_.get(), &count);
  }

 private:
  UniqueFd fd_;
};

}  // namespace smartio
