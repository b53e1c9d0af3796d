// SPDX-License-Identifier: GPL-2.0
// smartio-fabric: the PCIe hardware of an emulated cluster, for QEMU guests to plug into. See docs/fabric.md.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>

#include "fabric/fabric.h"
#include "topology/topology.h"

namespace {

constexpr const char* kReadyFile = "fabric.ready";

/// Each interrupt vector in use is a descriptor: 24 an NTB, more than the usual 1024 with 31 cables.
void allow_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) spdlog::warn("descriptors: still limited to the soft limit");
}

int run(const std::filesystem::path& file, const std::filesystem::path& state) {
  using smartio::fabric::Fabric;

  allow_descriptors();
  const auto topology = smartio::topology::load(file);
  if (!topology) {
    fmt::print(stderr, "smartio-fabric: {}\n", topology.error().message);
    return 2;
  }
  std::error_code error;
  std::filesystem::create_directories(state, error);
  // Sockets are named relative to the state folder: their paths may have 107 bytes only.
  if (::chdir(state.c_str()) != 0) {
    fmt::print(stderr, "smartio-fabric: {}: can't be entered: {}\n", state.string(),
               std::generic_category().message(errno));
    return 1;
  }
  // Blocked before the first thread starts, so in all of them: waited for below.
  sigset_t ends;
  sigemptyset(&ends);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, signal);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  ::signal(SIGPIPE, SIG_IGN);

  const auto fabric = Fabric::start(*topology);
  if (!fabric) {
    fmt::print(stderr, "smartio-fabric: {}\n", fabric.error().message);
    return 1;
  }
  const int ready = ::open(kReadyFile, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (ready >= 0) ::close(ready);
  fmt::print("ready\n");
  std::fflush(stdout);

  int signal = 0;
  sigwait(&ends, &signal);
  spdlog::info("ends: {}", sigdescr_np(signal));
  ::unlink(kReadyFile);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("The PCIe devices of every host of an emulated cluster, and the cables between them.");
  std::filesystem::path file;
  std::filesystem::path state = ".";
  app.add_option("TOPOLOGY", file, "topology file (TOML)")->required();
  app.add_option("--state", state, "folder for sockets and backing files, made if missing");
  bool check = false;
  app.add_flag("--check", check, "only check the topology file");
  CLI11_PARSE(app, argc, argv);

  spdlog::set_pattern("%Y-%m-%d %H:%M:%S.%e %^%l%$ %v");
  spdlog::flush_on(spdlog::level::info);
  if (check) {
    const auto topology = smartio::topology::load(file);
    if (!topology) fmt::print(stderr, "smartio-fabric: {}\n", topology.error().message);
    return topology ? 0 : 2;
  }
  return run(file, state);
}
