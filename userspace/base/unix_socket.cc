// SPDX-License-Identifier: GPL-2.0
#include "base/unix_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <format>

namespace smartio {

namespace {

constexpr int kBacklog = 16;

Result<sockaddr_un> address_of(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.native().size() >= sizeof address.sun_path)
    return fail(std::format("socket {}: the path is longer than {} bytes; use a shorter state folder", path.native(),
                            sizeof address.sun_path - 1));
  std::ranges::copy(path.native(), address.sun_path);
  return address;
}

}  // namespace

Result<UniqueFd> listen_unix(const std::filesystem::path& path) {
  const auto address = address_of(path);
  if (!address) return std::unexpected(address.error());
  const char* const name = path.c_str();
  struct stat status{};
  if (::lstat(name, &status) == 0 && (S_ISSOCK(status.st_mode) || S_ISLNK(status.st_mode))) ::unlink(name);
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd || ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0 ||
      ::chmod(name, 0600) != 0 || ::listen(fd.get(), kBacklog) != 0)
    return fail(std::format("socket {}: can't listen: {}", path.native(), std::strerror(errno)));
  return fd;
}

Result<UniqueFd> connect_unix(const std::filesystem::path& path) {
  const auto address = address_of(path);
  if (!address) return std::unexpected(address.error());
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd || ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0)
    return fail(std::format("{}: {}", path.filename().native(), std::strerror(errno)));
  return fd;
}

}  // namespace smartio
