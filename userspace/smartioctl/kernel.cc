// SPDX-License-Identifier: GPL-2.0
#include "smartioctl/kernel.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/klog.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/text.h"
#include "base/unique_fd.h"
#include "smartioctl/text.h"

namespace smartio::ctl {

namespace {

constexpr std::size_t kLargestOutput = 4096;
constexpr std::size_t kLogLines = 6;
constexpr int kReadAll = 3;      // SYSLOG_ACTION_READ_ALL
constexpr int kSizeBuffer = 10;  // SYSLOG_ACTION_SIZE_BUFFER

struct Ended {
  int status = 0;
  std::string output;  ///< both its outputs, the first few KiB
};

constexpr std::array kFolders{"/usr/sbin/", "/usr/bin/", "/sbin/", "/bin/"};

/// Runs a program of the system's own folders, and ignores PATH.
Result<Ended> run_program(std::vector<std::string> words) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(fmt::format("pipe: {}", std::strerror(errno)));
  const UniqueFd from(ends[0]);
  UniqueFd to(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, to.get(), STDERR_FILENO);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
  char language[] = "LC_ALL=C";
  char* environment[] = {path, language, nullptr};
  pid_t child = 0;
  int error = ENOENT;
  for (const char* folder : kFolders) {
    const std::string program = folder + words[0];
    error = ::posix_spawn(&child, program.c_str(), &actions, nullptr, argv.data(), environment);
    if (error != ENOENT) break;
  }
  posix_spawn_file_actions_destroy(&actions);
  to.reset();
  if (error != 0) return fail(fmt::format("{}: {}", words[0], std::strerror(error)));
  Ended ended;
  char buffer[512];
  while (true) {
    const ssize_t got = ::read(from.get(), buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    if (ended.output.size() < kLargestOutput) ended.output.append(buffer, static_cast<std::size_t>(got));
  }
  while (::waitpid(child, &ended.status, 0) < 0 && errno == EINTR) {
  }
  return ended;
}

}  // namespace

Result<void> Kernel::load_module(const std::string& name) {
  const auto ended = run_program({"modprobe", name});
  if (!ended) return std::unexpected(ended.error());
  if (ended->status != 0) return fail(printable(trimmed(ended->output)));
  return {};
}

std::vector<std::string> Kernel::log_lines(std::string_view part) {
  const int size = ::klogctl(kSizeBuffer, nullptr, 0);
  if (size <= 0) return {};
  std::string log(static_cast<std::size_t>(size), '\0');
  const int got = ::klogctl(kReadAll, log.data(), size);
  log.resize(static_cast<std::size_t>(std::max(got, 0)));
  std::vector<std::string> lines;
  for (std::string_view line : lines_of(log)) {
    if (line.find(part) == std::string_view::npos) continue;
    // <6>[   12.345678] text
    if (const std::size_t bracket = line.find("] "); line.starts_with('<') && bracket != std::string_view::npos) {
      line.remove_prefix(bracket + 2);
    }
    lines.push_back(printable(line));
    if (lines.size() > kLogLines) lines.erase(lines.begin());
  }
  return lines;
}

void Kernel::pause(std::chrono::milliseconds time) { std::this_thread::sleep_for(time); }

std::string Kernel::enable_at_boot() {
  std::error_code error;
  if (!std::filesystem::exists("/run/systemd/system", error)) {
    return "systemd does not run here: let the system run `smartioctl lend --all` at boot";
  }
  const auto ended = run_program({"systemctl", "--quiet", "enable", "smartio-lend.service"});
  if (ended && ended->status == 0) return "";
  return fmt::format("systemctl enable smartio-lend.service failed ({}): until that is fixed nothing is lent at boot",
                     ended ? printable(trimmed(ended->output)) : ended.error().message);
}

bool Kernel::has_update_initramfs() {
  return std::ranges::any_of(
      kFolders, [](const std::string& folder) { return ::access((folder + "update-initramfs").c_str(), X_OK) == 0; });
}

Result<void> Kernel::update_initramfs() {
  const auto ended = run_program({"update-initramfs", "-u"});
  if (!ended) return std::unexpected(ended.error());
  if (ended->status == 0) return {};
  const auto lines = lines_of(trimmed(ended->output));
  return fail(lines.empty() ? "no output" : printable(lines.back()));
}

}  // namespace smartio::ctl
