// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/guest_agent.h"
#include "cluster/installation.h"
#include "cluster/qemu_args.h"
#include "cluster/state.h"
#include "topology/topology.h"

namespace smartio::cluster {

/// How `up` starts a cluster.
struct UpOptions {
  std::string topology;  ///< a file, or the name of one of selftests/topologies
  std::string accel = HostOptions{}.accel;
  std::string append;                  ///< further kernel arguments for all hosts
  bool with_fabric = true;             ///< false: plain hosts, for trying the hosts alone
  bool count_instructions = false;     ///< by a plugin of QEMU; see instructions()
  bool keep = false;                   ///< leave what runs when `up` fails, to look at it
  std::chrono::seconds patience{120};  ///< for each host to boot
};

/// One line for a person about the progress; several threads may call it, one at a time.
using Report = std::function<void(std::string_view line)>;

/// A cluster: the fabric's process and a QEMU for each host, with their state folder. Each method is one command of
/// scripts/cluster. Methods that change the cluster hold its lock; those that only look need none.
class Cluster {
 public:
  Cluster(Installation installation, StateFolder folder, Report report)
      : installation_(std::move(installation)), folder_(std::move(folder)), report_(std::move(report)) {}

  [[nodiscard]] const StateFolder& folder() const { return folder_; }
  /// Starts everything and waits for every host's agent. If that fails, or is interrupted, takes all down again.
  Result<void> up(const UpOptions& options);
  /// Ends every process of the cluster, and an `up` that is still at it. Nothing to do is fine.
  Result<void> down();
  /// Starts a host that is not running, and waits for its agent.
  Result<void> boot(const std::string& host, std::chrono::seconds patience);
  /// Ends a host's QEMU with SIGKILL, as a power failure would.
  Result<void> kill(const std::string& host);
  /// Presses the host's reset button and waits for its agent, or kills and boots it where QEMU doesn't answer.
  Result<void> reset(const std::string& host, std::chrono::seconds patience);
  /// Waits for a host's agent.
  Result<void> wait(const std::string& host, std::chrono::seconds patience);
  Result<nlohmann::json> status() const;
  /// The agent of a host that is part of a cluster that is up.
  Result<GuestAgent> agent(const std::string& host) const;
  /// A connection to the host's serial console.
  Result<Stream> console(const std::string& host) const;
  /// QEMU's words for a host of the cluster that is up, or of `topology` if that is not empty.
  Result<std::vector<std::string>> qemu_words(const std::string& host, const std::string& topology) const;
  /// The fabric's answer to one line.
  Result<nlohmann::json> fabric(std::string_view line) const;
  /// The answer of the host's QEMU monitor to a line, as a person would type it (HMP).
  Result<std::string> monitor(const std::string& host, std::string_view line) const;
  /// The answer of the plugin of the host's QEMU to a line of tcg_count/plugin.cc: "mode" or "blocks".
  Result<nlohmann::json> instructions(const std::string& host, std::string_view line) const;
  /// The hosts whose QEMU runs.
  Result<std::vector<std::string>> running_hosts() const;
  /// The console's log.
  Result<std::string> log(const std::string& host) const;

 private:
  struct Loaded {
    State state;
    topology::Topology topology;
  };
  Result<Loaded> loaded() const;
  Result<Loaded> loaded(const std::string& host) const;
  Result<std::filesystem::path> find_topology(const std::string& name) const;
  Result<HostOptions> host_options(const State& state) const;
  Result<void> prepare(State& state, const topology::Topology& topology, const std::filesystem::path& file);
  /// The files of disks of QEMU's own devices, sparse; they survive `down` as those of drives do.
  Result<void> make_disks(const topology::Topology& topology) const;
  /// The disk of a server host, as it was installed.
  Result<void> make_disk(const topology::Host& host);
  Result<void> start_fabric(State& state);
  Result<void> start_host(State& state, const topology::Topology& topology, const topology::Host& host);
  Result<void> wait_hosts(State& state, const topology::Topology& topology, std::chrono::seconds patience);
  Result<void> wait_agent(const std::string& host, const ProcessId& process, std::chrono::seconds patience) const;
  Result<void> start_all(State& state, const topology::Topology& topology, const std::filesystem::path& file,
                         const UpOptions& options);
  Result<void> end_all(const State& state) const;
  /// Of a host whose process has ended: ", it ended with …" if its console says that its kernel panicked, else "".
  std::string how_it_ended(const std::string& host) const;
  /// QEMU's translator sometimes breaks patched code (docs/decisions.md): whether its kernel died of that.
  bool ended_by_translator(const std::string& host) const;
  void report_translator(const std::string& host) const;
  Result<void> boot_once(const std::string& host, std::chrono::seconds patience);
  /// Waits until a host that was started answers; starts it again if the translator ended it. `mutex` protects
  /// `state` and the report.
  Result<void> wait_booted(State& state, const topology::Topology& topology, const topology::Host& host,
                           std::chrono::seconds patience, std::mutex& mutex);
  /// Bytes that a host's console has written so far.
  std::size_t console_size(const std::string& host) const;
  std::string where_it_stopped(const std::string& host, const ProcessId& process, std::size_t log_begin) const;

  Installation installation_;
  StateFolder folder_;
  Report report_;
  /// By host: the size of its console when this program started or reset it. What comes after is of this boot.
  std::map<std::string, std::size_t> console_begins_;
};

}  // namespace smartio::cluster
