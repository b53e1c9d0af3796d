// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>

namespace smartio::vfio_user {

/// One sendmsg on an AF_UNIX stream, without waiting, with `fds` at its first byte (SCM_RIGHTS). Returns the number of
/// bytes that the socket took, or -1 with errno: EAGAIN if it takes none now. Repeats a call that a signal interrupted.
ssize_t send_with_fds(int socket, std::span<const std::byte> bytes, std::span<const int> fds);

}  // namespace smartio::vfio_user
