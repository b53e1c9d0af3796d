// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <cerrno>
#include <filesystem>

#include "base/result.h"
#include "base/unique_fd.h"

namespace smartio {

/// A call on a socket that does not block has failed by `error`, and is only to be repeated later.
inline bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }
/// A listening, non-blocking unix stream socket at `path`, in place of a socket or a link that was left there. Only
/// the owner may connect. The path stays when the descriptor is closed; the caller removes it.
Result<UniqueFd> listen_unix(const std::filesystem::path& path);
/// A blocking stream, connected to the socket at `path`.
Result<UniqueFd> connect_unix(const std::filesystem::path& path);

}  // namespace smartio
