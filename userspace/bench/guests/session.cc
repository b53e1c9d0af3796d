// SPDX-License-Identifier: GPL-2.0
#include "bench/guests/session.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/files.h"
#include "bench/guests/guests.h"
#include "cluster/interrupt.h"

namespace smartio::bench {

namespace {

/// Runs it. An error is printed, and gives 1.
int status_of(const std::string& name, const std::function<int()>& work) {
  try {
    return work();
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", name, error.what());
    return 1;
  }
}

}  // namespace

int on_cluster(const Session& session, const std::function<void(cluster::Cluster&)>& work) {
  return status_of(session.name, [&] {
    const auto installation = checked(cluster::Installation::from_environment());
    const char* name = std::getenv("CLUSTER");
    cluster::Cluster cluster(
        installation,
        cluster::StateFolder(installation.run_folder() / (name != nullptr && *name != '\0' ? name : session.name)),
        [](std::string_view line) { fmt::print(stderr, "{}\n", line); });
    if (!session.use_running) checked(cluster.up(session.up));
    const int status = status_of(session.name, [&] { return work(cluster), 0; });
    if (!session.use_running) {
      cluster::clear_interrupt();
      checked(cluster.down());
    }
    return status;
  });
}

int run_program(CLI::App& app, int argc, char** argv, const std::function<int()>& work) {
  cluster::catch_interrupts();
  CLI11_PARSE(app, argc, argv);
  return status_of(app.get_name(), work);
}

void write_figures(const std::string& path, const nlohmann::ordered_json& figures) {
  std::filesystem::create_directories(std::filesystem::absolute(path).parent_path());
  checked(write_file(path, figures.dump(1) + "\n"));
}

}  // namespace smartio::bench
