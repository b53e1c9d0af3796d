// SPDX-License-Identifier: GPL-2.0
#include "fabric/vfio_user/descriptors.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace smartio::vfio_user {

ssize_t send_with_fds(int socket, std::span<const std::byte> bytes, std::span<const int> fds) {
  iovec chunk{const_cast<std::byte*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &chunk;
  message.msg_iovlen = 1;
  std::vector<std::byte> control(fds.empty() ? 0 : CMSG_SPACE(fds.size_bytes()));
  if (!fds.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(part), fds.data(), fds.size_bytes());
  }
  ssize_t written;
  do {
    written = ::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (written < 0 && errno == EINTR);
  return written;
}

}  // namespace smartio::vfio_user
