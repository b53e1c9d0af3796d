// SPDX-License-Identifier: GPL-2.0
#include "cluster/transfer.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <optional>
#include <random>
#include <thread>

#include "base/deadline.h"
#include "cluster/execute.h"
#include "cluster/interrupt.h"

namespace smartio::cluster {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kPieceMiB = 16;
constexpr std::size_t kPiece = kPieceMiB << 20;
constexpr auto kPiecePatience = 300s;
constexpr auto kLastBytesPatience = 10s;

/// Both scripts begin so: they kill the processes of an aborted copy, which may still have the port open.
constexpr std::string_view kTakeThePort =
    "port=/dev/virtio-ports/org.smartio.data owner=/run/smartio-transfer\n"
    "[ ! -e $owner ] || /bin/kill -KILL -- -$(cat $owner) 2>/dev/null\n"
    "echo $$ >$owner\n";

/// A command in the host that runs while this thread moves its bytes.
class Remote {
 public:
  Remote(GuestAgent& agent, std::vector<std::string> command)
      : thread_([this, &agent, command = std::move(command)] {
          result_ = execute(agent, {.command = command, .input = {}, .timeout = kPiecePatience});
          ended_ = true;
        }) {}

  [[nodiscard]] bool ended() const { return ended_; }
  /// Its error output, if it did well.
  Result<std::string> finish(const std::string& host) {
    thread_.join();
    if (!*result_) return std::unexpected(result_->error());
    const Outcome& outcome = **result_;
    if (outcome.interrupted) return fail("interrupted");
    if (outcome.timed_out) return fail(fmt::format("{}: the copy did not end in time", host));
    if (outcome.exit_status() == 0) return outcome.errors;
    std::string why = outcome.errors;
    while (why.ends_with('\n')) why.pop_back();
    return fail(fmt::format("{}: {}", host, why.empty() ? "the copying program failed" : why));
  }

 private:
  std::optional<Result<Outcome>> result_;
  std::atomic<bool> ended_{false};
  std::jthread thread_;  // last: it uses the others
};

/// True when the socket is ready; false after a while, so that the caller checks whether the command still runs.
bool ready(const Stream& stream, short events) {
  pollfd one{.fd = stream.fd(), .events = events, .revents = 0};
  return ::poll(&one, 1, 20) > 0;
}

/// dd's "123 bytes (…) copied, …".
std::optional<std::size_t> bytes_copied(std::string_view said) {
  const std::size_t at = said.find(" byte");
  if (at == std::string_view::npos) return std::nullopt;
  const std::size_t line = said.rfind('\n', at);
  const std::string_view digits = said.substr(line == std::string_view::npos ? 0 : line + 1, at - line - 1);
  std::size_t count = 0;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), count).ec != std::errc{}) return std::nullopt;
  return count;
}

}  // namespace

Result<void> Transfer::push_piece(std::string_view piece, bool first, const std::string& name, const std::string& path,
                                  unsigned mode) {
  const std::string script = fmt::format(
      "{}p=$1; [ ! -d \"$p\" ] || p=${{p%/}}/$2\n"
      "head -c \"$4\" <$port {} \"$p\" || exit\n"
      "rm $owner\n"
      "[ ! -f \"$p\" ] || chmod \"$3\" \"$p\"\n",
      kTakeThePort, first ? ">" : ">>");
  const auto lock = FileLock::take(lock_, Deadline::in(kPiecePatience));
  if (!lock) return std::unexpected(lock.error());
  auto stream = Stream::connect(socket_);
  if (!stream) return std::unexpected(stream.error());
  Remote remote(agent_,
                {"sh", "-c", script, "push", path, name, fmt::format("{:o}", mode), fmt::format("{}", piece.size())});
  while (!piece.empty() && !remote.ended()) {
    if (!ready(*stream, POLLOUT)) continue;
    const ssize_t sent = ::send(stream->fd(), piece.data(), piece.size(), MSG_NOSIGNAL);
    if (sent > 0) piece.remove_prefix(static_cast<std::size_t>(sent));
    if (sent < 0 && errno != EAGAIN && errno != EINTR) break;
  }
  const auto finished = remote.finish(agent_.host());
  if (!finished) return std::unexpected(finished.error());
  return {};
}

Result<void> Transfer::push(const Source& source, const std::string& name, const std::string& path, unsigned mode) {
  for (bool first = true;; first = false) {
    const auto piece = source(kPiece);
    if (!piece) return std::unexpected(piece.error());
    if (first || !piece->empty()) {
      if (auto pushed = push_piece(*piece, first, name, path, mode); !pushed) return pushed;
    }
    if (piece->size() < kPiece) return {};
  }
}

Result<std::string> Transfer::pull_piece(const std::string& path, std::size_t index) {
  // The piece begins behind a word that no other process can have sent.
  const std::string word = fmt::format("{:016x}{:08x}", std::random_device{}(), std::random_device{}());
  const std::string script = fmt::format(
      "{}{{ printf %s {}; LC_ALL=C dd if=\"$1\" bs=1M skip={} count={} iflag=fullblock; }} >$port || exit\n"
      "rm $owner\n",
      kTakeThePort, word, index * kPieceMiB, kPieceMiB);
  const auto lock = FileLock::take(lock_, Deadline::in(kPiecePatience));
  if (!lock) return std::unexpected(lock.error());
  auto stream = Stream::connect(socket_);
  if (!stream) return std::unexpected(stream.error());
  Remote remote(agent_, {"sh", "-c", script, "pull", path});

  std::string received;
  std::array<char, 64 << 10> buffer{};
  auto receive = [&] {
    if (!ready(*stream, POLLIN)) return;
    const ssize_t got = ::recv(stream->fd(), buffer.data(), buffer.size(), 0);
    if (got > 0) received.append(buffer.data(), static_cast<std::size_t>(got));
    if (got == 0) std::this_thread::sleep_for(1ms);  // QEMU ended: the agent's connection tells
  };
  while (!remote.ended()) receive();
  const auto said = remote.finish(agent_.host());
  if (!said) return std::unexpected(said.error());
  const auto count = bytes_copied(*said);
  if (!count) return fail(fmt::format("{}: dd did not report the number of copied bytes: {}", agent_.host(), *said));
  // The command has ended, its last bytes may still be in flight.
  for (auto deadline = Deadline::in(kLastBytesPatience);;) {
    if (const std::size_t at = received.find(word); at != std::string::npos) {
      if (received.size() >= at + word.size() + *count) return received.substr(at + word.size(), *count);
    }
    if (deadline.passed() || interrupted() != 0) return fail(fmt::format("{}: copy is incomplete", agent_.host()));
    receive();
  }
}

Result<void> Transfer::pull(const std::string& path, const Sink& sink) {
  for (std::size_t index = 0;; ++index) {
    const auto piece = pull_piece(path, index);
    if (!piece) return std::unexpected(piece.error());
    if (auto taken = sink(*piece); !taken) return taken;
    if (piece->size() < kPiece) return {};
  }
}

}  // namespace smartio::cluster
