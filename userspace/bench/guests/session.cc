// SPDX-License-Identifier: GPL-2.0
#include "bench/guests/session.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/files.h"
#include "cluster/interrupt.h"

namespace smartio::bench {

int on_cluster(const Session& session, const std::function<Result<void>(cluster::Cluster&)>& work) {
  auto complain = [&](const Error& error) {
    fmt::print(stderr, "{}: {}\n", session.name, error.message);
    return 1;
  };
  const auto installation = cluster::Installation::from_environment();
  if (!installation) return complain(installation.error());
  const char* name = std::getenv("CLUSTER");
  cluster::Cluster cluster(
      *installation,
      cluster::StateFolder(installation->run_folder() / (name != nullptr && *name != '\0' ? name : session.name)),
      [](std::string_view line) { fmt::print(stderr, "{}\n", line); });
  if (!session.use_running) {
    if (auto started = cluster.up(session.up); !started) return complain(started.error());
  }
  auto done = work(cluster);
  if (!session.use_running) {
    cluster::clear_interrupt();
    if (auto ended = cluster.down(); !ended && done) done = ended;
  }
  return done ? 0 : complain(done.error());
}

Result<void> write_figures(const std::string& path, const nlohmann::ordered_json& figures) {
  std::filesystem::create_directories(std::filesystem::absolute(path).parent_path());
  return write_file(path, figures.dump(1) + "\n");
}

}  // namespace smartio::bench
