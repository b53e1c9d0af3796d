// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace smartio {

/// A listening, non-blocking unix stream socket at `path`, in place of what may have been left there before. Only
/// the owner may connect. The path stays when the descriptor is closed; whoever made it removes it.
inline Result<UniqueFd> listen_unix(const std::filesystem::path& path, int backlog = 16) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string& text = path.native();
  if (text.size() >= sizeof(address.sun_path))
    return fail("socket " + text + ": the path is longer than " + std::to_string(sizeof(address.sun_path) - 1) +
                " bytes; use a shorter state folder");
  std::memcpy(address.sun_path, text.c_str(), text.size() + 1);
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return fail("socket " + text + ": " + std::strerror(errno));
  ::unlink(text.c_str());
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return fail("bind to " + text + ": " + std::strerror(errno));
  if (::chmod(text.c_str(), 0600) != 0) return fail("chmod of " + text + ": " + std::strerror(errno));
  if (::listen(fd.get(), backlog) != 0) return fail("listen on " + text + ": " + std::strerror(errno));
  return fd;
}

}  // namespace smartio
