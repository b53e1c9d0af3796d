// SPDX-License-Identifier: GPL-2.0
#include "cluster/state.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/deadline.h"
#include "base/files.h"

namespace smartio::cluster {

namespace {

using nlohmann::json;

json to_json(const ProcessId& process) { return {{"pid", process.pid}, {"start", process.start}}; }

ProcessId process_from(const json& value) {
  return {.pid = value.at("pid").get<pid_t>(), .start = value.at("start").get<std::uint64_t>()};
}

}  // namespace

bool State::anything_alive() const {
  return (fabric && alive(*fabric)) || std::ranges::any_of(hosts, [](const auto& host) { return alive(host.second); });
}

std::filesystem::path StateFolder::host_file(std::string_view host, std::string_view what) const {
  return path_ / fmt::format("{}.{}", host, what);
}

Result<FileLock> StateFolder::lock(Deadline deadline) const {
  std::error_code error;
  std::filesystem::create_directories(path_, error);
  if (error) return fail(fmt::format("{}: {}", path_.string(), error.message()));
  auto lock = FileLock::take(file("lock"), deadline);
  if (!lock) return lock;
  const auto self = identify(::getpid());
  if (self) {
    if (auto written = write_file(file("owner"), fmt::format("{} {}\n", self->pid, self->start)); !written) {
      return std::unexpected(written.error());
    }
  }
  return lock;
}

std::optional<ProcessId> StateFolder::lock_owner() const {
  ProcessId owner;
  std::ifstream stream(file("owner"));
  if (!(stream >> owner.pid >> owner.start) || !alive(owner)) return std::nullopt;
  return owner;
}

Result<std::optional<State>> StateFolder::load() const {
  const auto path = file("cluster.json");
  if (!std::filesystem::exists(path)) return std::nullopt;
  const auto text = read_file(path);
  if (!text) return std::unexpected(text.error());
  try {
    const json value = json::parse(*text);
    State state;
    state.topology_file = value.at("topology");
    state.accel = value.at("accel");
    state.append = value.at("append");
    state.with_fabric = value.at("with_fabric");
    state.count_instructions = value.value("count_instructions", false);
    if (!value.at("fabric").is_null()) state.fabric = process_from(value.at("fabric"));
    for (const auto& [name, process] : value.at("hosts").items()) state.hosts[name] = process_from(process);
    return state;
  } catch (const json::exception& error) {
    return fail(fmt::format("{} was not written by this tool: {}", path.string(), error.what()));
  }
}

Result<void> StateFolder::save(const State& state) const {
  json hosts = json::object();
  for (const auto& [name, process] : state.hosts) hosts[name] = to_json(process);
  const json value = {{"topology", state.topology_file},
                      {"accel", state.accel},
                      {"append", state.append},
                      {"with_fabric", state.with_fabric},
                      {"count_instructions", state.count_instructions},
                      {"fabric", state.fabric ? to_json(*state.fabric) : json()},
                      {"hosts", hosts}};
  return write_file(file("cluster.json"), value.dump(2) + "\n");
}

void StateFolder::forget() const {
  std::error_code ignored;
  std::filesystem::remove(file("cluster.json"), ignored);
  for (const auto& entry : std::filesystem::directory_iterator(path_, ignored)) {
    if (entry.path().extension() == ".sock") std::filesystem::remove(entry.path(), ignored);
  }
}

void StateFolder::clean() const {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(path_, ignored)) {
    const auto extension = entry.path().extension();
    if (extension == ".sock" || extension == ".log" || extension == ".ready" || extension == ".part" ||
        extension == ".fences" || entry.is_fifo(ignored)) {
      std::filesystem::remove(entry.path(), ignored);
    }
  }
}

}  // namespace smartio::cluster
