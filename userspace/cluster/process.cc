// SPDX-License-Identifier: GPL-2.0
#include "cluster/process.h"

extern "C" {  // glibc 2.41 forgot this in the header
#include <sys/pidfd.h>
}

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/files.h"

namespace smartio::cluster {

namespace {

struct Stat {
  char state;
  unsigned threads;
  std::uint64_t start;
};

/// Fields 3, 20 and 22 of /proc/PID/stat. The name in field 2 may hold spaces and brackets, so the later fields count
/// from its last bracket.
std::optional<Stat> read_stat(pid_t pid) {
  const std::string text = read_file(fmt::format("/proc/{}/stat", pid)).value_or("");
  const std::size_t bracket = text.rfind(')');
  if (bracket == std::string::npos) return std::nullopt;
  std::istringstream rest(text.substr(bracket + 1));
  Stat stat{};
  rest >> stat.state;
  std::string skipped;
  for (int field = 4; field < 20; ++field) rest >> skipped;
  rest >> stat.threads >> skipped >> stat.start;
  return rest ? std::optional(stat) : std::nullopt;
}

/// A zombie with other threads has its sockets and files yet: only its first thread has ended.
bool is_dead(const Stat& stat) { return stat.state == 'X' || (stat.state == 'Z' && stat.threads <= 1); }

/// A descriptor of exactly this process: the number is checked after it is held.
UniqueFd open_process(const ProcessId& process) {
  if (process.pid <= 0) return {};
  UniqueFd fd(::pidfd_open(process.pid, 0));
  if (!fd || !alive(process)) return {};
  return fd;
}

std::array<UniqueFd, 2> make_pipe() {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

/// The child's side: nothing here but system calls. Never returns.
[[noreturn]] void run_child(char* const* argv, const char* folder, const char* output, int gate, int failure) {
  auto give_up = [failure] {
    const int error = errno;
    (void)!::write(failure, &error, sizeof error);
    ::_exit(127);
  };
  ::setsid();
  char byte = 0;
  ssize_t got = 0;
  do {
    got = ::read(gate, &byte, 1);
  } while (got < 0 && errno == EINTR);
  if (got != 1) ::_exit(127);
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(signal, SIG_DFL);
  if (::chdir(folder) != 0) give_up();
  const int null = ::open("/dev/null", O_RDONLY);
  const int log = ::open(output, O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (null < 0 || log < 0 || ::dup2(null, 0) < 0 || ::dup2(log, 1) < 0 || ::dup2(log, 2) < 0) give_up();
  if (null > 2) ::close(null);
  if (log > 2) ::close(log);
  ::execvp(argv[0], argv);
  give_up();
  ::_exit(127);
}

}  // namespace

std::optional<ProcessId> identify(pid_t pid) {
  const auto stat = read_stat(pid);
  if (!stat || is_dead(*stat)) return std::nullopt;
  return ProcessId{.pid = pid, .start = stat->start};
}

bool alive(const ProcessId& process) {
  if (process.pid <= 0) return false;
  const auto stat = read_stat(process.pid);
  if (!stat || stat->start != process.start) return false;
  if (!is_dead(*stat)) return true;
  ::waitpid(process.pid, nullptr, WNOHANG);  // succeeds only for a child of this very run
  return false;
}

double running_seconds(const ProcessId& process) {
  double uptime = 0;
  std::ifstream("/proc/uptime") >> uptime;
  return uptime - static_cast<double>(process.start) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::optional<std::uint64_t> memory_used(const ProcessId& process) {
  std::ifstream file(fmt::format("/proc/{}/smaps_rollup", process.pid));
  std::string word;
  while (file >> word) {
    std::uint64_t kib = 0;
    if (word == "Pss:" && file >> kib) return kib << 10;
  }
  return std::nullopt;
}

bool send_signal(const ProcessId& process, int signal) {
  const UniqueFd fd = open_process(process);
  return fd && ::pidfd_send_signal(fd.get(), signal, nullptr, 0) == 0;
}

bool wait_gone(const ProcessId& process, Deadline deadline) {
  const UniqueFd fd = open_process(process);
  while (alive(process)) {
    pollfd ready{.fd = fd.get(), .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, deadline.poll_ms()) <= 0 && deadline.passed()) return !alive(process);
  }
  return true;
}

bool end_process(const ProcessId& process, std::chrono::milliseconds patience) {
  if (!send_signal(process, SIGTERM)) return !alive(process);
  if (wait_gone(process, Deadline::in(patience))) return true;
  send_signal(process, SIGKILL);
  return wait_gone(process, Deadline::in(std::chrono::seconds(10)));
}

Result<GatedProcess> GatedProcess::fork(const Command& command) {
  auto [gate_read, gate_write] = make_pipe();
  auto [failure_read, failure_write] = make_pipe();
  if (!gate_read || !failure_read) return fail(fmt::format("no pipe: {}", std::strerror(errno)));
  std::vector<char*> argv;
  for (const std::string& word : command.argv) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid < 0) return fail(fmt::format("no process for {}: {}", command.argv[0], std::strerror(errno)));
  if (pid == 0) {
    ::close(gate_write.get());  // or the child itself would keep its gate open
    run_child(argv.data(), command.folder.c_str(), command.output.c_str(), gate_read.get(), failure_write.get());
  }
  const auto id = identify(pid);
  if (!id) return fail(fmt::format("{} ended before it began", command.argv[0]));
  return GatedProcess(*id, command.argv[0], std::move(gate_write), std::move(failure_read));
}

GatedProcess::~GatedProcess() {
  if (!gate_) return;
  gate_.reset();
  ::waitpid(id_.pid, nullptr, 0);
}

Result<void> GatedProcess::release() {
  const char byte = 1;
  const bool opened = ::write(gate_.get(), &byte, 1) == 1;
  int error = 0;
  ssize_t got = 0;
  do {
    got = ::read(failure_.get(), &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  if (opened && got == 0) {
    gate_.reset();
    return {};
  }
  return fail(fmt::format("{} can't be run: {}", program_, got == sizeof error ? std::strerror(error) : "it ended"));
}

}  // namespace smartio::cluster
