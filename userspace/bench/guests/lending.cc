// SPDX-License-Identifier: GPL-2.0
#include "bench/guests/lending.h"

#include <fmt/format.h>

#include "base/text.h"

namespace smartio::bench {

using namespace std::chrono_literals;

namespace {

// The disks there are, or those whose serial number begins with $1: /dev/nvmeXnY, not the hidden disks of their paths.
constexpr std::string_view kDisk = R"(for d in /sys/block/nvme*; do
  n=${d##*/}
  case $n in nvme*c*) continue ;; esac
  case $(cat $d/device/serial) in "$1"*) ;; *) continue ;; esac
  [ -b /dev/$n ] && dd if=/dev/$n of=/dev/null bs=4096 count=1 iflag=direct status=none 2> /dev/null && echo /dev/$n
done; true)";

// The lender's drive, once a link is up.
constexpr std::string_view kLend = R"sh(for ((i = 0; i < 300; i++)); do
  ! grep -qsx up /sys/class/smartio_link/*/state || break
  sleep 0.1
done
)sh";

constexpr std::string_view kUnlend = R"sh(! pkill -KILL -x fio || sleep 1
! [ -d /sys/module/smartio_nvme ] || rmmod smartio_nvme
for d in /sys/class/smartio_export/*; do [ ! -e "$d" ] || smartioctl unlend "${d##*/}" > /dev/null; done
for m in nvme smartio_nvme_mgr ntb_smartio; do ! [ -d /sys/module/$m ] || modprobe -r $m; done)sh";

}  // namespace

void lend(Guests& guests, const std::vector<std::string>& hosts) {
  for (const std::string& host : hosts) guests.shell(host, "modprobe ntb_hw_amd; modprobe ntb_smartio");
  guests.shell(kLender, fmt::format("{}smartioctl lend \"{}\"", kLend, kDriveAddress));
}

void unlend(Guests& guests, const std::string& host) { guests.shell(host, kUnlend); }

std::string one_disk(Guests& guests, const std::string& host, const std::string& drive) {
  std::string path;
  auto one = [&] {
    path = trimmed(guests.shell(host, kDisk, {drive.empty() ? "" : drive + "-"}));
    return !path.empty() && path.find('\n') == std::string::npos;
  };
  wait_for(200ms, 60s, one, [&] { return fmt::format("{}: not one NVMe disk, but: '{}'", host, path); });
  return path;
}

}  // namespace smartio::bench
