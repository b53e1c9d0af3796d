// SPDX-License-Identifier: GPL-2.0
#include "guest_agent/guest_agent.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <functional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/base64.h"
#include "base/result.h"

namespace smartio::guest_agent {

namespace {

using nlohmann::json;

/// Begins a request, and its answer, that must not be taken for the rest of an earlier one.
constexpr char kSentinel = '\xff';

// Exit statuses of a shell for a missing program, and for one that it can not run.
constexpr int kNotFound = 127;
constexpr int kNotRunnable = 126;
constexpr std::string_view kNoSuchProcess = "PID does not exist";
constexpr std::size_t kPiece = 64ULL << 10;

[[noreturn]] void throw_errno(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

json error(std::string_view reason) { return {{"error", {{"class", "GenericError"}, {"desc", reason}}}}; }

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail(std::string("pipe2: ") + std::strerror(errno));
  return Pipe{.read = UniqueFd(ends[0]), .write = UniqueFd(ends[1])};
}

void make_nonblocking(const UniqueFd& fd) { ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK); }

/// The steps of a child of posix_spawn(3) before its program.
class Preparation {
 public:
  Preparation(int in, int out, int err, bool leads_session) {
    ::posix_spawn_file_actions_init(&actions_);
    for (const auto& [from, to] : {std::pair{in, STDIN_FILENO}, {out, STDOUT_FILENO}, {err, STDERR_FILENO}}) {
      if (from >= 0) {
        ::posix_spawn_file_actions_adddup2(&actions_, from, to);
      } else {
        ::posix_spawn_file_actions_addopen(&actions_, to, "/dev/null", O_RDWR, 0);
      }
    }
    ::posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigemptyset(&none);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    // The shell that starts the agent in the background lets it ignore some.
    sigset_t all;
    sigfillset(&all);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    const int session = leads_session ? POSIX_SPAWN_SETSID : 0;
    ::posix_spawnattr_setflags(&attributes_,
                               static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | session));
  }
  Preparation(const Preparation&) = delete;
  Preparation& operator=(const Preparation&) = delete;
  ~Preparation() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }

  /// Gives an errno. The program is looked up in PATH.
  int spawn(std::vector<std::string>& words, pid_t& pid) const {
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    return ::posix_spawnp(&pid, arguments[0], &actions_, &attributes_, arguments.data(), environ);
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

}  // namespace

GuestAgent::GuestAgent(int port, std::size_t most_output) : port_(port), most_output_(most_output) {
  // A command that does not read its input.
  if (std::signal(SIGPIPE, SIG_IGN) == SIG_ERR) throw_errno("signal");
  // Where it is ignored a child has no status.
  if (std::signal(SIGCHLD, SIG_DFL) == SIG_ERR) throw_errno("signal");
}

void GuestAgent::serve() {
  has_client_ = true;
  held_.reset();
  while (has_client_) {
    wait_for_events();
    answer_held();
    answer_lines();
    forget_commands();
  }
}

/// The results of clients that have gone.
void GuestAgent::forget_commands() {
  std::erase_if(commands_, [](const Command& each) { return each.ended() && !each.kept; });
  auto ended = static_cast<std::size_t>(std::ranges::count_if(commands_, &Command::ended));
  std::erase_if(commands_, [&](const Command& each) {
    if (!each.ended() || ended <= kMostEnded || (held_ && held_->id == each.id)) return false;
    --ended;
    return true;
  });
}

/// Waits for the port, for the end of commands, and for their pipes; moves what these have and take.
void GuestAgent::wait_for_events() {
  std::vector<pollfd> ready;
  std::vector<std::function<void()>> actions;
  const auto watch = [&](int fd, short events, std::function<void()> action) {
    if (fd < 0) return;
    ready.push_back({.fd = fd, .events = events, .revents = 0});
    actions.push_back(std::move(action));
  };
  for (Command& each : commands_) {
    watch(each.input_pipe.get(), POLLOUT, [&] { write_input(each); });
    watch(each.output.pipe.get(), POLLIN, [&] { read_output(each.output); });
    watch(each.errors.pipe.get(), POLLIN, [&] { read_output(each.errors); });
    watch(each.process.get(), POLLIN, [&] {
      ::waitpid(static_cast<pid_t>(each.id), &each.status, 0);
      each.process.reset();
    });
  }
  // One question at a time: what comes behind one that is held waits.
  if (!held_) watch(port_, POLLIN, [this] { receive(); });
  if (::poll(ready.data(), ready.size(), held_ ? held_->until.poll_ms() : -1) < 0) {
    if (errno == EINTR) return;
    throw_errno("poll");
  }
  for (std::size_t i = 0; i < ready.size(); ++i) {
    if (ready[i].revents != 0) actions[i]();
  }
}

/// Moves the bytes that a pipe has; closes it at its end.
void GuestAgent::read_output(Output& output) const {
  std::array<char, kPiece> piece;  // NOLINT(cppcoreguidelines-pro-type-member-init): read() fills it
  const ssize_t got = ::read(output.pipe.get(), piece.data(), piece.size());
  if (got < 0 && errno == EINTR) return;
  if (got <= 0) {
    output.pipe.reset();
    return;
  }
  const std::size_t kept = std::min(static_cast<std::size_t>(got), most_output_ - output.bytes.size());
  output.bytes.append(piece.data(), kept);
  if (kept < static_cast<std::size_t>(got)) output.cut = true;
}

void GuestAgent::write_input(Command& command) {
  const ssize_t written =
      ::write(command.input_pipe.get(), command.input.data() + command.written, command.input.size() - command.written);
  if (written < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (written > 0) command.written += static_cast<std::size_t>(written);
  // All is written, or the command has closed its input.
  if (written <= 0 || command.written == command.input.size()) {
    command.input_pipe.reset();
    command.input = {};
  }
}

void GuestAgent::receive() {
  std::array<char, kPiece> piece;  // NOLINT(cppcoreguidelines-pro-type-member-init): read() fills it
  const ssize_t got = ::read(port_, piece.data(), piece.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got < 0) throw_errno("the agent's port");
  has_client_ = got > 0;
  std::string_view bytes(piece.data(), static_cast<std::size_t>(got));
  // A new client: the rest of the former one's requests is dropped.
  if (const std::size_t sentinel = bytes.rfind(kSentinel); sentinel != std::string_view::npos) {
    bytes.remove_prefix(sentinel);
    received_.clear();
    searched_ = 0;
  }
  received_.append(bytes);
  if (received_.size() > kLongestRequest) {
    received_.clear();
    searched_ = 0;
  }
}

void GuestAgent::answer_lines() {
  while (!held_) {
    const std::size_t end = received_.find('\n', searched_);
    if (end == std::string::npos) {
      searched_ = received_.size();
      return;
    }
    std::string line;
    if (end + 1 == received_.size()) {
      line = std::exchange(received_, {});
      line.pop_back();
    } else {
      line = received_.substr(0, end);
      received_.erase(0, end + 1);
    }
    searched_ = 0;
    answer_line(line);
    answer_held();
  }
}

void GuestAgent::answer_line(std::string_view line) {
  if (line.starts_with(kSentinel)) line.remove_prefix(1);
  if (line.empty()) return;
  const json request = json::parse(line, nullptr, false);
  if (const auto answered = answer(request)) {
    const bool delimited = request.is_object() && request.value("execute", json()) == "guest-sync-delimited";
    send((delimited ? std::string(1, kSentinel) : std::string()) + answered->dump() + "\n");
  }
}

/// No answer: it is held.
std::optional<json> GuestAgent::answer(const json& request) {
  if (!request.is_object() || !request.contains("execute")) return error("expected an object with 'execute'");
  const json& name = request["execute"];
  static const json none = json::object();
  const json& arguments = request.contains("arguments") ? request["arguments"] : none;
  try {
    if (name == "guest-sync" || name == "guest-sync-delimited") return json{{"return", arguments.at("id")}};
    if (name == "guest-exec") return start(arguments);
    if (name == "guest-exec-status") {
      const std::int64_t id = arguments.at("pid").get<std::int64_t>();
      if (std::ranges::find(commands_, id, &Command::id) == commands_.end()) return error(kNoSuchProcess);
      held_ = Held{.id = id, .until = Deadline::in(kHold)};
      return std::nullopt;
    }
  } catch (const std::exception& wrong) {
    // A request that is none, or no memory for it now.
    return error(wrong.what());
  }
  return error("the command is not known");
}

json GuestAgent::start(const json& arguments) {
  std::vector<std::string> words{arguments.at("path").get<std::string>()};
  for (const json& word : arguments.value("arg", json::array())) words.push_back(word.get<std::string>());
  const bool leads_session = words[0] == "setsid" && words.size() > 1;
  if (leads_session) words.erase(words.begin());
  std::string input;
  if (arguments.contains("input-data")) {
    auto decoded = base64_decode(arguments["input-data"].get_ref<const std::string&>());
    if (!decoded) return error(decoded.error().message);
    input = std::move(*decoded);
  }

  Command command;
  command.kept = arguments.value("capture-output", false);
  command.input = std::move(input);
  Pipe in;
  Pipe out;
  Pipe err;
  for (const auto& [pipe, wanted] :
       {std::pair{&in, !command.input.empty()}, {&out, command.kept}, {&err, command.kept}}) {
    if (!wanted) continue;
    auto made = make_pipe();
    if (!made) return error(made.error().message);
    *pipe = std::move(*made);
  }
  pid_t pid = 0;
  const int failure = Preparation(in.read.get(), out.write.get(), err.write.get(), leads_session).spawn(words, pid);
  if (failure != 0) {
    const std::string reason = "failed to execute " + words[0] + ": " + std::strerror(failure);
    if (!leads_session) return error(reason);
    // As of setsid(1), which has started by then.
    command.id = --last_failed_;
    command.status = W_EXITCODE(failure == ENOENT ? kNotFound : kNotRunnable, 0);
    command.errors.bytes = "setsid: " + reason + "\n";
  } else {
    command.id = pid;
    // <sys/pidfd.h> of glibc 2.41 declares it as a C++ function.
    command.process.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!command.process) {
      const std::string reason = std::string("pidfd_open: ") + std::strerror(errno);
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
      return error(reason);
    }
    if (in.write) make_nonblocking(in.write);
    command.input_pipe = std::move(in.write);
    command.output.pipe = std::move(out.read);
    command.errors.pipe = std::move(err.read);
  }
  json answer = {{"return", {{"pid", command.id}}}};
  keep(std::move(command));
  return answer;
}

void GuestAgent::keep(Command command) {
  // Of a command whose client has gone, and whose number the kernel has given away again.
  std::erase_if(commands_, [&](const Command& each) { return each.id == command.id; });
  commands_.push_back(std::move(command));
}

void GuestAgent::answer_held() {
  if (!held_) return;
  const auto found = std::ranges::find(commands_, held_->id, &Command::id);
  const bool gone = found == commands_.end();
  if (!gone && !found->ended() && !held_->until.passed()) return;
  const json answer = gone ? error(kNoSuchProcess) : json{{"return", status_of(*found)}};
  if (!gone && found->ended()) commands_.erase(found);
  held_.reset();
  send(answer.dump() + "\n");
}

json GuestAgent::status_of(const Command& command) {
  if (!command.ended()) return {{"exited", false}};
  json status = {{"exited", true}};
  if (WIFSIGNALED(command.status)) {
    status["signal"] = WTERMSIG(command.status);
  } else {
    status["exitcode"] = WEXITSTATUS(command.status);
  }
  for (const auto& [name, output] : {std::pair{"out", &command.output}, {"err", &command.errors}}) {
    if (output->bytes.empty()) continue;
    status[std::string(name) + "-data"] = base64_encode(output->bytes);
    if (output->cut) status[std::string(name) + "-truncated"] = true;
  }
  return status;
}

/// However long the client takes to read.
void GuestAgent::send(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t sent = ::write(port_, bytes.data(), bytes.size());
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (sent == 0 || errno == EAGAIN || errno == ENOMEM) {
      // The kernel has no room for it now (port_fops_write() in drivers/char/virtio_console.c).
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    } else if (errno != EINTR) {
      throw_errno("the agent's port");
    }
  }
}

}  // namespace smartio::guest_agent
