// SPDX-License-Identifier: GPL-2.0
#include "cluster/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <mutex>
#include <thread>

#include "base/deadline.h"
#include "base/files.h"
#include "base/numbers.h"
#include "cluster/interrupt.h"
#include "cluster/log_tail.h"
#include "cluster/qmp.h"
#include "cluster/tsc.h"

namespace smartio::cluster {

namespace {

using nlohmann::json;
using topology::Endpoint;
using topology::Host;
using topology::Topology;
using namespace std::chrono_literals;

constexpr auto kFabricPatience = 30s;
constexpr auto kEndPatience = 5s;
constexpr auto kDiskPatience = 60s;
constexpr std::size_t kLinesShown = 20;
constexpr std::size_t kLinesOfOops = 100;

double seconds_since(Deadline::Clock::time_point begin) {
  return std::chrono::duration<double>(Deadline::Clock::now() - begin).count();
}

std::string host_names(const Topology& topology) {
  std::string names;
  for (const Host& host : topology.hosts) names += (names.empty() ? "" : ", ") + host.name;
  return names;
}

std::string_view kind_name(Endpoint::Kind kind) {
  switch (kind) {
    case Endpoint::Kind::ntb_primary:
      return "ntb-primary";
    case Endpoint::Kind::ntb_secondary:
      return "ntb-secondary";
    case Endpoint::Kind::drive:
      return "drive";
  }
  return "unknown";
}

}  // namespace

Result<Cluster::Loaded> Cluster::loaded() const {
  auto state = folder_.load();
  if (!state) return std::unexpected(state.error());
  if (!*state)
    return fail(fmt::format("cluster {} is not up: scripts/cluster up TOPOLOGY", folder_.path().filename().string()));
  auto topology = topology::load(folder_.topology());
  if (!topology) return std::unexpected(topology.error());
  return Loaded{.state = std::move(**state), .topology = std::move(*topology)};
}

Result<Cluster::Loaded> Cluster::loaded(const std::string& host) const {
  auto all = loaded();
  if (all && find_host(all->topology, host) == nullptr) {
    return fail(fmt::format("there is no host {:?}; the hosts are {}", host, host_names(all->topology)));
  }
  return all;
}

Result<std::filesystem::path> Cluster::find_topology(const std::string& name) const {
  if (name.ends_with(".toml") || name.find('/') != std::string::npos) return name;
  auto ours = installation_.topologies() / (name + ".toml");
  if (std::filesystem::exists(ours)) return ours;
  std::vector<std::string> known;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(installation_.topologies(), ignored)) {
    if (entry.path().extension() == ".toml") known.push_back(entry.path().stem());
  }
  std::ranges::sort(known);
  std::string list;
  for (const std::string& one : known) list += (list.empty() ? "" : ", ") + one;
  return fail(fmt::format("there is no topology {:?}; there are {}, or name a .toml file", name, list));
}

Result<HostOptions> Cluster::host_options(const State& state) const {
  auto common = read_file(installation_.kernel_arguments());
  if (!common) return std::unexpected(common.error());
  while (!common->empty() && (common->back() == '\n' || common->back() == ' ')) common->pop_back();
  if (const auto khz = measure_tsc_khz(); khz != 0) *common += fmt::format(" tsc_early_khz={}", khz);
  if (!state.append.empty()) *common += " " + state.append;
  const bool overlaid = std::filesystem::exists(folder_.file("initrd"));
  return HostOptions{.accel = state.accel,
                     .kernel_arguments = std::move(*common),
                     .initrd = overlaid ? "initrd" : installation_.initrd().string(),
                     // The checkers keep notes of all memory.
                     .memory_factor = installation_.kernel_flavour.empty() ? 1U : 3U,
                     .counter = state.count_instructions ? installation_.counter().string() : "",
                     .with_fabric = state.with_fabric};
}

Result<void> Cluster::prepare(State& state, const Topology& topology, const std::filesystem::path& file) {
  folder_.clean();
  const auto text = read_file(file);
  if (!text) return std::unexpected(text.error());
  if (auto copied = write_file(folder_.topology(), *text); !copied) return copied;
  if (!state.with_fabric && !(topology.links.empty() && topology.drives.empty() && topology.devices.empty())) {
    report_("without the fabric: the hosts get no cables, no drives, no devices and no network");
  }
  if (auto made = make_disks(topology); !made) return made;
  for (const Host& host : topology.hosts) {
    if (host.image != topology::Image::server) continue;
    if (auto made = make_disk(host); !made) return made;
  }
  // A second archive behind the first adds this checkout's modules and test programs. It is 4-byte aligned, as the
  // kernel's initramfs format (Documentation/driver-api/early-userspace/buffer-format.rst) demands.
  std::error_code ignored;
  std::filesystem::remove(folder_.file("initrd"), ignored);
  if (!std::filesystem::exists(installation_.overlay())) return {};
  auto initrd = read_file(installation_.initrd());
  const auto overlay = read_file(installation_.overlay());
  if (!initrd) return std::unexpected(initrd.error());
  if (!overlay) return std::unexpected(overlay.error());
  initrd->resize((initrd->size() + 511) / 512 * 512, '\0');
  return write_file(folder_.file("initrd"), *initrd + *overlay);
}

Result<void> Cluster::make_disks(const Topology& topology) const {
  for (const topology::Device& device : topology.devices) {
    if (!topology::has_disk(device.type)) continue;
    const auto file = folder_.file(topology::disk_file(device));
    std::error_code error;
    if (!std::filesystem::exists(file, error)) {
      if (auto made = write_file(file, ""); !made) return made;
      std::filesystem::resize_file(file, device.size, error);
    }
    if (error) return fail(fmt::format("{}: {}", file.string(), error.message()));
    if (const auto size = std::filesystem::file_size(file, error); size != device.size) {
      return fail(fmt::format("{} has {}, the topology says {}: remove it, or fix the topology", file.string(),
                              format_size(size), format_size(device.size)));
    }
  }
  return {};
}

Result<void> Cluster::make_disk(const Host& host) {
  const std::string name = fmt::format("{}.{}", host.name, kServerDisk);
  std::error_code ignored;
  std::filesystem::remove(folder_.file(name), ignored);
  std::vector<std::string> words = installation_.tree_prefix();
  words.insert(words.end(), {"qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b",
                             installation_.server_root().string(), name});
  const std::string log = host.name + ".disk.log";
  auto process = GatedProcess::fork({.argv = std::move(words), .folder = folder_.path(), .output = log});
  if (!process) return std::unexpected(process.error());
  if (auto released = process->release(); !released) return released;
  if (!wait_gone(process->id(), Deadline::in(kDiskPatience)) || !std::filesystem::exists(folder_.file(name))) {
    return fail(
        fmt::format("{}: its disk could not be made: {}", host.name, last_lines(folder_.file(log), kLinesShown)));
  }
  return {};
}

Result<void> Cluster::start_fabric(State& state) {
  const auto begin = Deadline::Clock::now();
  std::vector<std::string> words = installation_.tree_prefix();
  words.insert(words.end(), {installation_.fabric.string(), "--state", folder_.path().string(), "topology.toml"});
  auto process = GatedProcess::fork({.argv = std::move(words), .folder = folder_.path(), .output = "fabric.log"});
  if (!process) return std::unexpected(process.error());
  state.fabric = process->id();
  if (auto saved = folder_.save(state); !saved) return saved;
  if (auto released = process->release(); !released) return released;

  const auto deadline = Deadline::in(kFabricPatience);
  while (!std::filesystem::exists(folder_.file("fabric.ready"))) {
    if (interrupted() != 0) return fail("interrupted");
    const bool ended = !alive(*state.fabric);
    if (ended || deadline.passed()) {
      return fail(
          fmt::format("the fabric {}; the end of {}:\n{}", ended ? "ended while it started" : "is not ready in time",
                      folder_.file("fabric.log").string(), last_lines(folder_.file("fabric.log"), kLinesShown)));
    }
    std::this_thread::sleep_for(2ms);
  }
  report_(fmt::format("{:<12} ready {:5.1f} s", "fabric", seconds_since(begin)));
  return {};
}

Result<void> Cluster::start_host(State& state, const Topology& topology, const Host& host) {
  const auto options = host_options(state);
  if (!options) return std::unexpected(options.error());
  std::vector<std::string> words = installation_.tree_prefix();
  std::ranges::copy(qemu_arguments(topology, host, installation_, *options), std::back_inserter(words));
  if (auto made = make_pipes(folder_.host_file(host.name, GuestAgent::kAgentPipes)); !made) return made;
  console_begins_[host.name] = console_size(host.name);
  auto process =
      GatedProcess::fork({.argv = std::move(words), .folder = folder_.path(), .output = host.name + ".qemu.log"});
  if (!process) return std::unexpected(process.error());
  state.hosts[host.name] = process->id();
  if (auto saved = folder_.save(state); !saved) return saved;
  return process->release();
}

std::size_t Cluster::console_size(const std::string& host) const {
  return read_file(folder_.host_file(host, "console.log")).value_or("").size();
}

std::string Cluster::where_it_stopped(const std::string& host, const ProcessId& process, std::size_t log_begin) const {
  const auto console = folder_.host_file(host, "console.log");
  std::string said = read_file(console).value_or("");
  said.erase(0, log_begin);
  const std::string console_end = last_lines_of(said, kLinesShown);
  const std::string qemu_end = last_lines(folder_.host_file(host, "qemu.log"), kLinesShown);
  std::string text = fmt::format("{} {}", host, alive(process) ? "stopped " : "ended ");
  text += boot_stage(said);
  if (!qemu_end.empty()) text += fmt::format("\nQEMU said:\n{}", qemu_end);
  if (console_end.empty()) return text + "\nits console is empty";
  return text + fmt::format("\nthe end of its console ({}):\n{}", console.string(), console_end);
}

std::string Cluster::how_it_ended(const std::string& host) const {
  const std::string end = last_lines(folder_.host_file(host, "console.log"), kLinesShown);
  const auto panic = end.find("Kernel panic");
  if (panic == std::string::npos) return "";
  return fmt::format(", it ended with \"{}\"", end.substr(panic, end.find('\n', panic) - panic));
}

Result<void> Cluster::wait_agent(const std::string& host, const ProcessId& process,
                                 std::chrono::seconds patience) const {
  // A kernel that panicked won't come back in time: look at the console too, as far as this boot wrote it.
  const auto console = folder_.host_file(host, "console.log");
  const auto noted = console_begins_.find(host);
  const std::size_t begin = noted == console_begins_.end() ? console_size(host) : noted->second;
  auto hopeful = [&] {
    if (!alive(process)) return false;
    const auto text = read_file(console);
    return !text || text->find("Kernel panic", std::min(begin, text->size())) == std::string::npos;
  };
  GuestAgent agent(folder_, host, hopeful);
  if (auto session = agent.open(Deadline::in(patience)); !session) {
    if (interrupted() != 0) return fail("interrupted");
    return fail(fmt::format("{}\n({})", where_it_stopped(host, process, begin), session.error().message));
  }
  return {};
}

bool Cluster::ended_by_translator(const std::string& host) const {
  return last_lines(folder_.host_file(host, "console.log"), kLinesOfOops).find("Oops: int3") != std::string::npos;
}

void Cluster::report_translator(const std::string& host) const {
  report_(fmt::format("{:<12} ended while it booted: Oops: int3, of QEMU's translator (docs/decisions.md); once more",
                      host));
}

Result<void> Cluster::wait_booted(State& state, const Topology& topology, const Host& host,
                                  std::chrono::seconds patience, std::mutex& mutex) {
  auto process_of = [&] {
    const std::scoped_lock lock(mutex);
    return state.hosts.at(host.name);
  };
  const ProcessId first = process_of();
  if (auto ready = wait_agent(host.name, first, patience);
      ready || interrupted() != 0 || !ended_by_translator(host.name)) {
    return ready;
  }
  if (!end_process(first, kEndPatience)) return fail(fmt::format("{} does not end", host.name));
  {
    const std::scoped_lock lock(mutex);
    report_translator(host.name);
    if (auto started = start_host(state, topology, host); !started) return started;
  }
  return wait_agent(host.name, process_of(), patience);
}

Result<void> Cluster::wait_hosts(State& state, const Topology& topology, std::chrono::seconds patience) {
  std::mutex mutex;  // protects `failures`, the report, and `state`
  std::vector<std::string> failures;
  {
    std::vector<std::jthread> waiting;
    for (const Host& host : topology.hosts) {
      waiting.emplace_back([&] {
        const auto ready = wait_booted(state, topology, host, patience, mutex);
        const std::scoped_lock lock(mutex);
        if (ready) {
          report_(fmt::format("{:<12} up    {:5.1f} s", host.name, running_seconds(state.hosts.at(host.name))));
        } else {
          failures.push_back(ready.error().message);
        }
      });
    }
  }
  if (failures.empty()) return {};
  std::string text;
  for (const std::string& one : failures) text += (text.empty() ? "" : "\n") + one;
  return fail(interrupted() != 0 ? "interrupted" : text);
}

Result<void> Cluster::start_all(State& state, const Topology& topology, const std::filesystem::path& file,
                                const UpOptions& options) {
  if (auto prepared = prepare(state, topology, file); !prepared) return prepared;
  if (auto saved = folder_.save(state); !saved) return saved;
  if (state.with_fabric) {
    if (auto started = start_fabric(state); !started) return started;
  }
  for (const Host& host : topology.hosts) {
    if (auto started = start_host(state, topology, host); !started) {
      return fail(fmt::format("{}: {}", host.name, started.error().message));
    }
  }
  return wait_hosts(state, topology, options.patience);
}

Result<void> Cluster::up(const UpOptions& options) {
  const auto begin = Deadline::Clock::now();
  const auto file = find_topology(options.topology);
  if (!file) return std::unexpected(file.error());
  const auto topology = topology::load(*file);
  if (!topology) return std::unexpected(topology.error());
  if (auto there = installation_.check(options.with_fabric); !there) return there;
  if (std::ranges::find(topology->hosts, topology::Image::server, &Host::image) != topology->hosts.end()) {
    if (auto there = installation_.check_server(); !there) return there;
  }
  if (std::ranges::find(topology->hosts, true, &Host::vms) != topology->hosts.end()) {
    if (auto there = installation_.check_vms(); !there) return there;
  }
  if (options.count_instructions && !std::filesystem::exists(installation_.counter())) {
    return fail(fmt::format("{} is missing: run 'make build'", installation_.counter().string()));
  }
  if (std::ranges::any_of(topology->hosts, [](const Host& host) { return host.write_combining != 0; }) &&
      !std::filesystem::exists(installation_.fencer())) {
    return fail(fmt::format("{} is missing: run 'make build'", installation_.fencer().string()));
  }
  const auto lock = folder_.lock(Deadline::in(0s));
  if (!lock)
    return fail(fmt::format("another command is at work on {}: {}", folder_.path().string(), lock.error().message));
  const auto before = folder_.load();
  if (!before) return std::unexpected(before.error());
  if (*before && (*before)->anything_alive()) {
    return fail(
        fmt::format("cluster {} is up already, with {}: take it down first (scripts/cluster down), or use "
                    "another name (CLUSTER=NAME)",
                    folder_.path().filename().string(), (*before)->topology_file));
  }
  std::error_code ignored;
  State state{.topology_file = std::filesystem::absolute(*file, ignored).string(),
              .accel = options.accel,
              .append = options.append,
              .with_fabric = options.with_fabric,
              .count_instructions = options.count_instructions,
              .fabric = std::nullopt,
              .hosts = {}};
  auto started = start_all(state, *topology, *file, options);
  if (started) {
    report_(fmt::format("{:<12} up    {:5.1f} s, {} hosts, in {}", topology->name, seconds_since(begin),
                        topology->hosts.size(), folder_.path().string()));
    return {};
  }
  if (options.keep && interrupted() == 0) return started;
  clear_interrupt();
  if (auto ended = end_all(state); !ended) {
    return fail(fmt::format("{}\nand then: {}", started.error().message, ended.error().message));
  }
  return started;
}

Result<void> Cluster::end_all(const State& state) const {
  std::vector<std::string> left;
  {
    std::mutex mutex;  // protects `left`
    std::vector<std::jthread> ending;
    for (const auto& [name, process] : state.hosts) {
      ending.emplace_back([&, name = name, process = process] {
        if (end_process(process, kEndPatience)) return;
        const std::scoped_lock lock(mutex);
        left.push_back(fmt::format("{} ({})", name, process.pid));
      });
    }
  }
  // The fabric last: a QEMU whose devices vanish says so at length.
  if (state.fabric && !end_process(*state.fabric, kEndPatience)) {
    left.push_back(fmt::format("the fabric ({})", state.fabric->pid));
  }
  if (left.empty()) {
    folder_.forget();
    return {};
  }
  std::string names;
  for (const std::string& one : left) names += (names.empty() ? "" : ", ") + one;
  return fail(fmt::format("these processes can't be ended: {}", names));
}

Result<void> Cluster::down() {
  if (!std::filesystem::exists(folder_.path())) return {};
  auto lock = folder_.lock(Deadline::in(0s));
  if (!lock) {
    // An `up` that is interrupted ends the processes that it started.
    if (const auto owner = folder_.lock_owner()) send_signal(*owner, SIGTERM);
    lock = folder_.lock(Deadline::in(60s));
    if (!lock) return std::unexpected(lock.error());
  }
  const auto state = folder_.load();
  if (!state) return std::unexpected(state.error());
  if (!*state) return {};
  return end_all(**state);
}

Result<void> Cluster::boot(const std::string& host, std::chrono::seconds patience) {
  const auto begin = Deadline::Clock::now();
  auto booted = boot_once(host, patience);
  if (!booted && interrupted() == 0 && ended_by_translator(host)) {
    report_translator(host);
    booted = boot_once(host, patience);
  }
  if (booted) report_(fmt::format("{:<12} up    {:5.1f} s", host, seconds_since(begin)));
  return booted;
}

Result<void> Cluster::boot_once(const std::string& host, std::chrono::seconds patience) {
  ProcessId process;
  {
    const auto lock = folder_.lock(Deadline::in(10s));
    if (!lock) return std::unexpected(lock.error());
    auto all = loaded(host);
    if (!all) return std::unexpected(all.error());
    if (const auto found = all->state.hosts.find(host); found != all->state.hosts.end() && alive(found->second)) {
      return fail(fmt::format("{} is running already: reset it, or kill it first", host));
    }
    if (auto started = start_host(all->state, all->topology, *find_host(all->topology, host)); !started) return started;
    process = all->state.hosts.at(host);
  }
  auto ready = wait_agent(host, process, patience);
  // A kernel that panicked takes a second to end QEMU.
  if (!ready && ended_by_translator(host)) end_process(process, kEndPatience);
  return ready;
}

Result<void> Cluster::kill(const std::string& host) {
  const auto lock = folder_.lock(Deadline::in(10s));
  if (!lock) return std::unexpected(lock.error());
  const auto all = loaded(host);
  if (!all) return std::unexpected(all.error());
  const auto found = all->state.hosts.find(host);
  if (found == all->state.hosts.end() || !send_signal(found->second, SIGKILL)) {
    return fail(fmt::format("{} is not running", host));
  }
  if (!wait_gone(found->second, Deadline::in(10s))) return fail(fmt::format("{} does not end", host));
  return {};
}

Result<std::string> Cluster::monitor(const std::string& host, std::string_view line) const {
  const auto all = loaded(host);
  if (!all) return std::unexpected(all.error());
  const auto deadline = Deadline::in(10s);
  auto qmp = Qmp::open(folder_, host, deadline);
  if (!qmp) return std::unexpected(qmp.error());
  const auto answer = qmp->call("human-monitor-command", deadline, {{"command-line", line}});
  if (!answer) return std::unexpected(answer.error());
  return answer->get<std::string>();
}

Result<void> Cluster::reset(const std::string& host, std::chrono::seconds patience) {
  const auto begin = Deadline::Clock::now();
  const auto all = loaded(host);
  if (!all) return std::unexpected(all.error());
  const auto found = all->state.hosts.find(host);
  if (found == all->state.hosts.end() || !alive(found->second)) {
    return fail(fmt::format("{} is not running: boot it", host));
  }
  console_begins_[host] = console_size(host);
  auto pressed = [&]() -> Result<void> {
    const auto deadline = Deadline::in(10s);
    auto qmp = Qmp::open(folder_, host, deadline);
    if (!qmp) return std::unexpected(qmp.error());
    // This reset starts the host again; one that its kernel asks for ends it (-no-reboot).
    auto on_reset = [&](const char* action) { return qmp->call("set-action", deadline, {{"reboot", action}}); };
    if (auto answer = on_reset("reset"); !answer) return std::unexpected(answer.error());
    if (auto answer = qmp->call("system_reset", deadline); !answer) return std::unexpected(answer.error());
    // Until then the agent of before may still answer.
    if (auto seen = qmp->wait_event("RESET", deadline); !seen) return seen;
    if (auto answer = on_reset("shutdown"); !answer) return std::unexpected(answer.error());
    return {};
  }();
  if (!pressed) {
    if (interrupted() != 0) return pressed;
    report_(fmt::format("{}: {}; it is killed and booted instead", host, pressed.error().message));
    if (auto killed = kill(host); !killed) return killed;
    return boot(host, patience);
  }
  if (auto ready = wait_agent(host, found->second, patience); !ready) return ready;
  report_(fmt::format("{:<12} up    {:5.1f} s", host, seconds_since(begin)));
  return {};
}

Result<void> Cluster::wait(const std::string& host, std::chrono::seconds patience) {
  const auto all = loaded(host);
  if (!all) return std::unexpected(all.error());
  const auto found = all->state.hosts.find(host);
  if (found == all->state.hosts.end()) return fail(fmt::format("{} was not started: boot it", host));
  return wait_agent(host, found->second, patience);
}

Result<json> Cluster::status() const {
  const json name = folder_.path().filename().string();
  const auto state = folder_.load();
  if (!state) return std::unexpected(state.error());
  if (!*state)
    return json{{"cluster", name}, {"up", false}, {"folder", folder_.path().string()}, {"hosts", json::array()}};
  const auto all = loaded();
  if (!all) return std::unexpected(all.error());

  auto process = [](const std::optional<ProcessId>& id) {
    json value = {{"state", "stopped"}};
    if (!id || !alive(*id)) return value;
    value = {{"state", "running"}, {"pid", id->pid}, {"seconds", running_seconds(*id)}};
    const auto used = memory_used(*id);
    value["memory_used"] = used ? json(*used) : json();
    return value;
  };
  json hosts = json::array();
  const auto endpoints = topology::endpoints(all->topology);
  for (const Host& host : all->topology.hosts) {
    const auto found = all->state.hosts.find(host.name);
    json value = process(found == all->state.hosts.end() ? std::nullopt : std::optional(found->second));
    value["name"] = host.name;
    value["memory"] = host.memory;
    value["cpus"] = host.cpus;
    value["iommu"] = topology::word_of(host.iommu);
    value["lazy"] = host.lazy;
    value["remapping"] = host.iommu != topology::Iommu::none && host.remapping;
    value["one_switch"] = host.one_switch;
    value["address"] = address_of(all->topology, host.name);
    value["devices"] = json::array();
    for (const Endpoint& endpoint : endpoints) {
      if (endpoint.host != host.name) continue;
      const bool drive = endpoint.kind == Endpoint::Kind::drive;
      json device = {{"name", endpoint.name},
                     {"kind", kind_name(endpoint.kind)},
                     {"pci", pci_address_of(all->topology, host.name, endpoint.name)}};
      if (!drive) device["link"] = all->topology.links[endpoint.index].name;
      if (drive) {
        const topology::Drive& that = all->topology.drives[endpoint.index];
        device.update({{"queue_pairs", that.queue_pairs}, {"cmb", that.cmb}, {"sgl", that.sgl}});
      }
      value["devices"].push_back(device);
    }
    for (const topology::Device& device : all->topology.devices) {
      if (device.host != host.name) continue;
      value["devices"].push_back({{"name", device.name},
                                  {"kind", topology::type_name(device.type)},
                                  {"cmb", device.cmb},
                                  {"pci", pci_address_of(all->topology, host.name, device.name)}});
    }
    hosts.push_back(value);
  }
  return json{{"cluster", name},
              {"up", all->state.anything_alive()},
              {"folder", folder_.path().string()},
              {"topology", all->state.topology_file},
              {"fabric", all->state.with_fabric ? process(all->state.fabric) : json()},
              {"hosts", hosts}};
}

Result<GuestAgent> Cluster::agent(const std::string& host) const {
  const auto all = loaded(host);
  if (!all) return std::unexpected(all.error());
  const auto found = all->state.hosts.find(host);
  if (found == all->state.hosts.end() || !alive(found->second)) {
    return fail(fmt::format("{} is not running{}: boot it", host, how_it_ended(host)));
  }
  return GuestAgent(folder_, host, [process = found->second] { return alive(process); });
}

Result<Stream> Cluster::console(const std::string& host) const {
  if (const auto all = loaded(host); !all) return std::unexpected(all.error());
  return Stream::connect(folder_.host_file(host, "console.sock"));
}

Result<std::vector<std::string>> Cluster::qemu_words(const std::string& host, const std::string& topology) const {
  auto words = [&](const State& state, const Topology& parsed) -> Result<std::vector<std::string>> {
    const Host* found = find_host(parsed, host);
    if (found == nullptr) return fail(fmt::format("there is no host {:?}; the hosts are {}", host, host_names(parsed)));
    const auto options = host_options(state);
    if (!options) return std::unexpected(options.error());
    return qemu_arguments(parsed, *found, installation_, *options);
  };
  if (topology.empty()) {
    const auto all = loaded(host);
    if (!all) return std::unexpected(all.error());
    return words(all->state, all->topology);
  }
  const auto file = find_topology(topology);
  if (!file) return std::unexpected(file.error());
  const auto parsed = topology::load(*file);
  if (!parsed) return std::unexpected(parsed.error());
  State state;
  state.accel = HostOptions{}.accel;
  return words(state, *parsed);
}

Result<json> Cluster::fabric(std::string_view line) const {
  if (const auto all = loaded(); !all) return std::unexpected(all.error());
  if (line.find('\n') != std::string_view::npos) return fail("a command to the fabric is one line");
  auto stream = Stream::connect(folder_.file("control.sock"));
  if (!stream) return fail(fmt::format("the fabric is not there: {}", stream.error().message));
  const auto deadline = Deadline::in(60s);
  if (auto sent = stream->send(fmt::format("{}\n", line), deadline); !sent) return std::unexpected(sent.error());
  const auto answer = stream->read_to('\n', deadline);
  if (!answer) return fail(fmt::format("the fabric: {}", answer.error().message));
  json value = json::parse(*answer, nullptr, false);
  if (!value.is_object()) return fail(fmt::format("the fabric's answer is no JSON object: {:.200}", *answer));
  return value;
}

Result<json> Cluster::instructions(const std::string& host, std::string_view line) const {
  const auto all = loaded(host);
  if (!all) return std::unexpected(all.error());
  if (!all->state.count_instructions) {
    return fail("the cluster counts no instructions: take it down, and up with --count-instructions");
  }
  const auto found = all->state.hosts.find(host);
  if (found == all->state.hosts.end() || !alive(found->second)) {
    return fail(fmt::format("{} is not running: boot it", host));
  }
  auto stream = Stream::connect(folder_.host_file(host, kCounterSocket));
  if (!stream) return fail(fmt::format("{}'s counter is not there: {}", host, stream.error().message));
  const auto deadline = Deadline::in(10s);
  if (auto sent = stream->send(fmt::format("{}\n", line), deadline); !sent) return std::unexpected(sent.error());
  const auto answer = stream->read_to('\n', deadline);
  if (!answer) return fail(fmt::format("{}'s counter: {}", host, answer.error().message));
  json value = json::parse(*answer, nullptr, false);
  if (!value.is_object()) return fail(fmt::format("{}'s counter gave no JSON object: {:.200}", host, *answer));
  if (value.contains("error")) return fail(fmt::format("{}'s counter: {}", host, value["error"].dump()));
  return value;
}

Result<std::vector<std::string>> Cluster::running_hosts() const {
  const auto all = loaded();
  if (!all) return std::unexpected(all.error());
  std::vector<std::string> names;
  for (const Host& host : all->topology.hosts) {
    const auto found = all->state.hosts.find(host.name);
    if (found != all->state.hosts.end() && alive(found->second)) names.push_back(host.name);
  }
  return names;
}

Result<std::string> Cluster::log(const std::string& host) const {
  // Also after `down` or a failed `up`: the topology may be gone, the log is there.
  const auto file = folder_.host_file(host, "console.log");
  if (host.find('/') != std::string::npos || !std::filesystem::exists(file)) {
    return fail(fmt::format("there is no console log of {:?} in {}", host, folder_.path().string()));
  }
  return read_file(file);
}

}  // namespace smartio::cluster
