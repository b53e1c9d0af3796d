// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "cluster/cluster.h"

namespace smartio::bench {

/// The cluster that a benchmark runs on: $CLUSTER, or `name`.
struct Session {
  std::string name;          ///< of the program, for its messages too
  cluster::UpOptions up;     ///< its topology and how it starts
  bool use_running = false;  ///< it is up, and stays so
};

/// Brings the cluster up, runs `work` on it, takes it down, also after an error or ^C. An error is printed; gives the
/// program's exit status.
int on_cluster(const Session& session, const std::function<void(cluster::Cluster&)>& work);

/// A benchmark's main(): reads its arguments and runs `work`, which gives the exit status. An error is printed.
int run_program(CLI::App& app, int argc, char** argv, const std::function<int()>& work);

/// Writes a benchmark's figures to a file, whose folder is made.
void write_figures(const std::string& path, const nlohmann::ordered_json& figures);

}  // namespace smartio::bench
