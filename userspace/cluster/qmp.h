// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/deadline.h"
#include "base/result.h"
#include "cluster/file_lock.h"
#include "cluster/state.h"
#include "cluster/stream.h"

namespace smartio::cluster {

/// QEMU's monitor of one host (QMP). Its socket serves one client at a time, hence the lock. Not for several threads.
class Qmp {
 public:
  static Result<Qmp> open(const StateFolder& folder, std::string_view host, Deadline deadline);

  /// The "return" value of a command; events that come before it are dropped.
  Result<nlohmann::json> call(std::string_view command, Deadline deadline,
                              const nlohmann::json& arguments = nlohmann::json::object());
  /// Waits for an event that comes after the last call.
  Result<void> wait_event(std::string_view event, Deadline deadline);

 private:
  Qmp(FileLock lock, Stream stream) : lock_(std::move(lock)), stream_(std::move(stream)) {}
  Result<nlohmann::json> message(Deadline deadline);

  FileLock lock_;
  Stream stream_;
};

}  // namespace smartio::cluster
