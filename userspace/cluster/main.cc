// SPDX-License-Identifier: GPL-2.0
// smartio-cluster, the program behind scripts/cluster: the command line and the output. The work is in Cluster.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <span>

#include "cluster/cluster.h"
#include "cluster/console.h"
#include "cluster/execute.h"
#include "cluster/interrupt.h"
#include "cluster/log_tail.h"
#include "cluster/stream.h"
#include "cluster/transfer.h"

namespace {

using namespace smartio;
using namespace smartio::cluster;
using namespace std::chrono_literals;

/// For `exec`, so that it differs from the commands' own statuses: as docker and podman have it.
constexpr int kExecFailed = 125;
/// How many times as long a host with a debug kernel may take.
constexpr int kSlower = 5;

void complain(std::string_view text) { fmt::print(stderr, "cluster: {}\n", text); }

int report(const Result<void>& result) {
  if (result) return 0;
  complain(result.error().message);
  return interrupted() != 0 || result.error().message == "interrupted" ? 130 : 1;
}

/// Up to `size` bytes; fewer only at the end of the file. Says so if nothing comes for a while.
Result<std::string> read_some(int fd, std::size_t size, std::string_view what) {
  std::string bytes(size, '\0');
  std::size_t have = 0;
  bool announced = false;
  while (have < size) {
    pollfd ready{.fd = fd, .events = POLLIN, .revents = 0};
    const int count = ::poll(&ready, 1, 2000);
    if (interrupted() != 0) return fail("interrupted");
    if (count == 0 && have == 0 && !announced) {
      complain(fmt::format("still reading {}", what));
      announced = true;
    }
    if (count <= 0) continue;
    const ssize_t got = ::read(fd, bytes.data() + have, size - have);
    if (got == 0) break;
    if (got > 0) have += static_cast<std::size_t>(got);
    if (got < 0 && errno != EINTR && errno != EAGAIN) {
      return fail(fmt::format("{} can't be read: {}", what, std::strerror(errno)));
    }
  }
  bytes.resize(have);
  return bytes;
}

/// Standard input as a whole, if it is a file or a pipe: a terminal or a harness's socket may never end.
Result<std::string> standard_input() {
  struct stat status{};
  if (::fstat(STDIN_FILENO, &status) != 0 || !(S_ISREG(status.st_mode) || S_ISFIFO(status.st_mode))) return "";
  auto input = read_some(STDIN_FILENO, kLargestInput + 1, "standard input (use -n or </dev/null if there is none)");
  if (input && input->size() > kLargestInput) {
    return fail(fmt::format("standard input is larger than {} MiB: push a file", kLargestInput >> 20));
  }
  return input;
}

/// `slow`: its kernel makes the agent wait longer for memory and CPU.
int run_exec(const Cluster& cluster, const std::string& host, std::vector<std::string> command, double timeout,
             bool no_input, bool slow) {
  if (command.empty()) {
    complain("exec HOST [--timeout SECONDS] [-n] -- COMMAND...: there is no command");
    return kExecFailed;
  }
  auto agent = cluster.agent(host);
  if (!agent) {
    complain(agent.error().message);
    return kExecFailed;
  }
  Request request{.command = std::move(command), .input = {}, .timeout = std::nullopt};
  if (timeout > 0) request.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(timeout * 1000));
  if (slow) request.agent_patience *= kSlower;
  if (!no_input) {
    auto input = standard_input();
    if (!input) {
      complain(input.error().message);
      return kExecFailed;
    }
    request.input = std::move(*input);
  }
  const auto outcome = execute(*agent, request);
  if (!outcome) {
    complain(outcome.error().message);
    return kExecFailed;
  }
  const auto printed = write_all(STDOUT_FILENO, outcome->output);
  const auto printed_errors = write_all(STDERR_FILENO, outcome->errors);
  if (outcome->timed_out)
    complain(fmt::format("{}: {} did not end in {} s: killed", host, request.command[0], timeout));
  if (outcome->signal && !outcome->timed_out && !outcome->interrupted) {
    complain(fmt::format("{}: {} was ended by signal {} ({})", host, request.command[0], *outcome->signal,
                         ::strsignal(*outcome->signal)));
  }
  if (outcome->output_cut) {
    complain(fmt::format("{}: {}: there was more output than 16 MiB; the rest is lost", host, request.command[0]));
    return kExecFailed;
  }
  return printed && printed_errors ? outcome->exit_status() : kExecFailed;
}

int run_push(const Cluster& cluster, const std::string& host, const std::string& file, const std::string& path) {
  auto agent = cluster.agent(host);
  if (!agent) return report(std::unexpected(agent.error()));
  const bool standard = file == "-";
  const UniqueFd fd(standard ? ::dup(STDIN_FILENO) : ::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status{};
  if (!fd || ::fstat(fd.get(), &status) != 0) return report(fail(fmt::format("{}: {}", file, std::strerror(errno))));
  if (S_ISDIR(status.st_mode)) return report(fail(fmt::format("{} is a folder: push a file, or a tar of it", file)));
  const std::string name = standard ? "stdin" : std::filesystem::path(file).filename().string();
  const unsigned mode = standard || !S_ISREG(status.st_mode) ? 0644 : status.st_mode & 0777;
  return report(Transfer(cluster.folder(), *agent)
                    .push([&](std::size_t size) { return read_some(fd.get(), size, file); }, name, path, mode));
}

int run_pull(const Cluster& cluster, const std::string& host, const std::string& path, std::string file) {
  auto agent = cluster.agent(host);
  if (!agent) return report(std::unexpected(agent.error()));
  if (file == "-") {
    return report(Transfer(cluster.folder(), *agent).pull(path, [](std::string_view bytes) {
      return write_all(STDOUT_FILENO, bytes);
    }));
  }
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) {
    file = (std::filesystem::path(file) / std::filesystem::path(path).filename()).string();
  }
  // The file appears only when it is complete.
  const std::string part = fmt::format("{}.{}.part", file, ::getpid());
  const UniqueFd fd(::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!fd) return report(fail(fmt::format("{}: {}", part, std::strerror(errno))));
  auto done =
      Transfer(cluster.folder(), *agent).pull(path, [&](std::string_view bytes) { return write_all(fd.get(), bytes); });
  if (done && ::rename(part.c_str(), file.c_str()) != 0) {
    done = fail(fmt::format("{}: {}", file, std::strerror(errno)));
  }
  if (!done) ::unlink(part.c_str());
  return report(done);
}

int run_fabric(const Cluster& cluster, std::span<const std::string> words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
  const auto answer = cluster.fabric(line);
  if (!answer) return report(std::unexpected(answer.error()));
  fmt::print("{}\n", answer->dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  return answer->value("ok", false) ? 0 : 1;
}

/// {HOST: [instructions of each vCPU]}, or the counts that `by` asks for instead of the sums.
Result<nlohmann::json> instructions_of(const Cluster& cluster, const std::string& host, const std::string& by) {
  auto counts = cluster.instructions(host, by == "block" ? "blocks" : "mode");
  if (!counts || by != "vcpu") return counts;
  auto sums = counts->at("kernel").get<std::vector<std::uint64_t>>();
  const auto user = counts->at("user").get<std::vector<std::uint64_t>>();
  for (std::size_t cpu = 0; cpu < sums.size(); ++cpu) sums[cpu] += user.at(cpu);
  return sums;
}

int run_instructions(const Cluster& cluster, const std::string& host, const std::string& by) {
  auto hosts = host.empty() ? cluster.running_hosts() : std::vector{host};
  if (!hosts) return report(std::unexpected(hosts.error()));
  auto all = nlohmann::ordered_json::object();
  for (const std::string& name : *hosts) {
    const auto counts = instructions_of(cluster, name, by);
    if (!counts) return report(std::unexpected(counts.error()));
    all[name] = *counts;
  }
  fmt::print("{}\n", all.dump());
  return 0;
}

int run_monitor(const Cluster& cluster, const std::string& host, std::span<const std::string> words) {
  const auto answer = cluster.monitor(host, fmt::format("{}", fmt::join(words, " ")));
  if (!answer) return report(std::unexpected(answer.error()));
  fmt::print("{}", *answer);
  return 0;
}

std::string mib(const nlohmann::json& value) {
  return value.is_number() ? fmt::format("{} MiB", value.get<std::uint64_t>() >> 20) : std::string("-");
}

void print_process(std::string_view name, const nlohmann::json& process, std::string_view more) {
  const bool running = process.value("state", "") == "running";
  fmt::print("{:<12} {:<8} {:>8} {:>9} {:>9}  {}\n", name, process.value("state", "-"),
             running ? fmt::format("{}", process.value("pid", 0)) : "-",
             running ? fmt::format("{:.0f} s", process.value("seconds", 0.0)) : "-",
             mib(process.value("memory_used", nlohmann::json())), more);
}

int run_status(const Cluster& cluster, const std::string& format) {
  const auto status = cluster.status();
  if (!status) return report(std::unexpected(status.error()));
  if (format == "json") {
    fmt::print("{}\n", status->dump(2));
    return 0;
  }
  if (!status->contains("topology")) {
    fmt::print("cluster {} is not up\n", status->value("cluster", ""));
    return 0;
  }
  fmt::print("cluster {}: {}\n", status->value("cluster", ""), status->value("topology", ""));
  fmt::print("{:<12} {:<8} {:>8} {:>9} {:>9}  {}\n", "", "state", "pid", "for", "memory", "");
  if ((*status)["fabric"].is_object()) print_process("fabric", (*status)["fabric"], "");
  for (const auto& host : (*status)["hosts"]) {
    std::string more = fmt::format("{}, {} CPU, iommu {}:", host.value("address", ""), host.value("cpus", 0U),
                                   host.value("iommu", ""));
    for (const auto& device : host["devices"]) {
      more += fmt::format(" {}", device.value("name", ""));
      const std::string kind = device.value("kind", "");
      if (device.contains("link")) {
        more += fmt::format(" ({})", device.value("link", ""));
      } else if (kind != "drive") {
        more += fmt::format(" ({} {})", kind, device.value("pci", ""));
      }
    }
    print_process(host.value("name", ""), host, more);
  }
  return 0;
}

int run_console(const Cluster& cluster, const std::string& host) {
  const auto console = cluster.console(host);
  if (!console) return report(std::unexpected(console.error()));
  if (const auto log = cluster.log(host)) {
    const auto shown = write_all(STDOUT_FILENO, last_lines_of(*log, 20) + "\n");
    if (!shown) return report(shown);
  }
  if (::isatty(STDIN_FILENO) == 1) fmt::print(stderr, "[{}: Enter for a shell, Ctrl-] leaves]\n", host);
  const auto joined = join_console(*console);
  fmt::print(stderr, "\n");
  return joined ? 0 : report(joined);
}

int run(int argc, char** argv) {
  // The words behind "--" in exec, and every word of fabric, are not ours to interpret.
  std::vector<std::string> ours(argv + 1, argv + argc);
  std::vector<std::string> theirs;
  const bool is_fabric =
      !ours.empty() && ours[0] == "fabric" && ours.size() > 1 && ours[1] != "--help" && ours[1] != "-h";
  const auto cut = is_fabric ? ours.begin() + 1 : std::ranges::find(ours, "--");
  if (cut != ours.end()) {
    theirs.assign(is_fabric ? cut : cut + 1, ours.end());
    ours.erase(cut, ours.end());
  }

  CLI::App app(
      "A cluster of emulated Linux hosts joined by PCIe. CLUSTER=NAME in the environment chooses one of "
      "several clusters; see docs/cluster.md.",
      "scripts/cluster");
  app.require_subcommand(1);
  UpOptions up;
  std::string host;
  std::string path;
  std::string file;
  std::string format = "text";
  std::string topology;
  std::string by = "vcpu";
  double timeout = 0;
  bool no_input = false;
  unsigned patience = 0;

  auto* up_command = app.add_subcommand("up", "start a cluster and wait until every host can be used");
  up_command->add_option("TOPOLOGY", up.topology, "a name of selftests/topologies, or a .toml file")->required();
  up_command->add_option("--accel", up.accel, "QEMU's -accel")->capture_default_str();
  up_command->add_option("--append", up.append, "further kernel arguments for all hosts");
  up_command->add_flag("--count-instructions", up.count_instructions,
                       "count instructions of the hosts' CPUs; see instructions");
  up_command->add_flag("--keep", up.keep, "keep the processes running after a failure");
  up_command->add_flag("!--no-fabric", up.with_fabric, "plain hosts")->group("");
  auto* down_command = app.add_subcommand("down", "end every process of the cluster");
  auto* status_command = app.add_subcommand("status", "show the processes of the cluster");
  status_command->add_option("-o,--output", format, "text or json")->check(CLI::IsMember({"text", "json"}));
  auto* exec_command = app.add_subcommand("exec", "run a command in a host: exec HOST -- COMMAND...");
  exec_command->add_option("--timeout", timeout, "kill it after this time in seconds, with status 124")
      ->check(CLI::PositiveNumber);
  exec_command->add_flag("-n,--no-input", no_input, "don't read standard input");
  auto* push_command = app.add_subcommand("push", "copy a file into a host");
  push_command->add_option("HOST", host)->required();
  push_command->add_option("FILE", file, "- is standard input")->required();
  push_command->add_option("PATH", path, "in the host")->required();
  auto* pull_command = app.add_subcommand("pull", "copy a file out of a host");
  pull_command->add_option("HOST", host)->required();
  pull_command->add_option("PATH", path, "in the host")->required();
  pull_command->add_option("FILE", file, "- is standard output")->required();
  auto* console_command = app.add_subcommand("console", "join a host's serial console");
  auto* log_command = app.add_subcommand("log", "print a host's console log");
  auto* reset_command = app.add_subcommand("reset", "press a host's reset button and wait for it");
  auto* kill_command = app.add_subcommand("kill", "end a host as a power failure would");
  auto* boot_command = app.add_subcommand("boot", "start a host that is not running and wait for it");
  auto* wait_command = app.add_subcommand("wait", "wait until a host can be used");
  auto* args_command = app.add_subcommand("qemu-args", "print a host's QEMU command line");
  args_command->add_option("--topology", topology, "of this topology, not of the cluster that is up");
  auto* instructions_command =
      app.add_subcommand("instructions", "print how many instructions each vCPU has run (up --count-instructions)");
  instructions_command->add_option("HOST", host, "default: all running hosts");
  instructions_command->add_option("--by", by, "vcpu; mode: user and kernel apart; block: by address of kernel code")
      ->check(CLI::IsMember({"vcpu", "mode", "block"}))
      ->capture_default_str();
  auto* monitor_command =
      app.add_subcommand("monitor", "send a line to QEMU's monitor of a host: monitor HOST -- WORDS...");
  app.add_subcommand("fabric", "send a line to the fabric's control socket: fabric help");
  for (auto* command : {exec_command, console_command, log_command, reset_command, kill_command, boot_command,
                        wait_command, args_command, monitor_command}) {
    command->add_option("HOST", host)->required();
  }
  for (auto* command : {up_command, reset_command, boot_command, wait_command}) {
    command->add_option("--patience", patience, "seconds that a host may take to boot (120; 600 with a debug kernel)")
        ->check(CLI::PositiveNumber);
  }

  std::ranges::reverse(ours);
  try {
    app.parse(std::move(ours));
  } catch (const CLI::ParseError& error) {
    const int status = app.exit(error);
    return status == 0 ? 0 : 2;
  }

  const auto installation = Installation::from_environment();
  if (!installation) return report(std::unexpected(installation.error()));
  const char* chosen = std::getenv("CLUSTER");
  const std::string name = chosen != nullptr && *chosen != '\0' ? chosen : "default";
  if (name.find('/') != std::string::npos || name.starts_with('.')) {
    return report(fail(fmt::format("CLUSTER={} is no name of a cluster: letters, digits and '-'", name)));
  }
  Cluster cluster(*installation, StateFolder(installation->run_folder() / name),
                  [](std::string_view line) { fmt::print("{}\n", line), std::fflush(stdout); });
  if (patience == 0) patience = installation->debug_kernel() ? 120 * kSlower : 120;
  const auto time = std::chrono::seconds(patience);
  up.patience = time;

  if (up_command->parsed()) return report(cluster.up(up));
  if (down_command->parsed()) return report(cluster.down());
  if (status_command->parsed()) return run_status(cluster, format);
  if (exec_command->parsed())
    return run_exec(cluster, host, std::move(theirs), timeout, no_input, installation->debug_kernel());
  if (push_command->parsed()) return run_push(cluster, host, file, path);
  if (pull_command->parsed()) return run_pull(cluster, host, path, file);
  if (console_command->parsed()) return run_console(cluster, host);
  if (reset_command->parsed()) return report(cluster.reset(host, time));
  if (kill_command->parsed()) return report(cluster.kill(host));
  if (boot_command->parsed()) return report(cluster.boot(host, time));
  if (wait_command->parsed()) return report(cluster.wait(host, time));
  if (monitor_command->parsed()) return run_monitor(cluster, host, theirs);
  if (instructions_command->parsed()) return run_instructions(cluster, host, by);
  if (log_command->parsed()) {
    const auto log = cluster.log(host);
    return report(log ? write_all(STDOUT_FILENO, *log) : std::unexpected(log.error()));
  }
  if (args_command->parsed()) {
    const auto words = cluster.qemu_words(host, topology);
    if (!words) return report(std::unexpected(words.error()));
    fmt::print("{}\n", shell_quoted(*words));
    return 0;
  }
  return run_fabric(cluster, theirs);
}

}  // namespace

int main(int argc, char** argv) {
  catch_interrupts();
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    complain(error.what());
    return 1;
  }
}
