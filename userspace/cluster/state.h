// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "base/deadline.h"
#include "base/result.h"
#include "cluster/file_lock.h"
#include "cluster/process.h"

namespace smartio::cluster {

/// What one run of a cluster consists of, as it is on disk while the cluster is up.
struct State {
  std::string topology_file;  ///< as `up` was given it; the copy in the state folder is what counts
  std::string accel;          ///< QEMU's -accel
  std::string append;         ///< further kernel arguments
  bool with_fabric = true;
  bool count_instructions = false;  ///< QEMU runs with the plugin that counts them
  std::optional<ProcessId> fabric;
  std::map<std::string, ProcessId> hosts;  ///< those started so far; they may be dead

  bool operator==(const State&) const = default;
  [[nodiscard]] bool anything_alive() const;
};

/// The folder of one cluster: its sockets, logs, locks and cluster.json, which is replaced as a whole by each change.
/// QEMU and the fabric run with it as working directory and name sockets relatively, as a socket's address is short.
class StateFolder {
 public:
  explicit StateFolder(std::filesystem::path path) : path_(std::move(path)) {}

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path file(std::string_view name) const { return path_ / name; }
  [[nodiscard]] std::filesystem::path topology() const { return file("topology.toml"); }
  [[nodiscard]] std::filesystem::path host_file(std::string_view host, std::string_view what) const;

  /// Held by the process that changes the cluster. Its owner can be found by lock_owner().
  [[nodiscard]] Result<FileLock> lock(Deadline deadline) const;
  [[nodiscard]] std::optional<ProcessId> lock_owner() const;

  /// None if the cluster was never brought up, or was taken down. An error if the file can't be understood.
  [[nodiscard]] Result<std::optional<State>> load() const;
  [[nodiscard]] Result<void> save(const State& state) const;
  void forget() const;
  /// Removes sockets and logs of an earlier run; drives' backing files stay.
  void clean() const;

 private:
  std::filesystem::path path_;
};

}  // namespace smartio::cluster
