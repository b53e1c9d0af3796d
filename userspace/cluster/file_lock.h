// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <filesystem>

#include "base/deadline.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace smartio::cluster {

/// An exclusive flock(2) on a file of the state folder, made if missing. It ends with the object, or with the process
/// however that ends; programs started meanwhile don't inherit it.
class FileLock {
 public:
  /// Waits its turn; an error at the deadline ("busy") or when interrupted.
  static Result<FileLock> take(const std::filesystem::path& file, Deadline deadline);

 private:
  explicit FileLock(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace smartio::cluster
