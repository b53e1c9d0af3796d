// SPDX-License-Identifier: GPL-2.0
#include "smartioctl/nvme_admin.h"

#include <fcntl.h>
#include <sys/ioctl.h>

#include <cerrno>

#include "base/unique_fd.h"

namespace smartio::ctl {

namespace {

constexpr std::uint32_t kPatienceMs = 5000;
constexpr std::uint8_t kIdentify = 0x06;

}  // namespace

int NvmeAdmin::send(const std::string& controller, nvme_admin_cmd& command) const {
  const UniqueFd fd(::open((dev_ / controller).c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return -errno;
  command.timeout_ms = kPatienceMs;
  const int status = ::ioctl(fd.get(), NVME_IOCTL_ADMIN_CMD, &command);
  return status < 0 ? -errno : status;
}

std::expected<NvmeAdmin::Page, int> NvmeAdmin::identify(const std::string& controller, std::uint8_t cns) const {
  Page page{};
  nvme_admin_cmd command{};
  command.opcode = kIdentify;
  command.addr = reinterpret_cast<std::uintptr_t>(page.data());
  command.data_len = page.size();
  command.cdw10 = cns;
  if (const int status = send(controller, command); status != 0) return std::unexpected(status);
  return page;
}

}  // namespace smartio::ctl
