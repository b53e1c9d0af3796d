// SPDX-License-Identifier: GPL-2.0
#include "bench/guests/lending.h"

#include <fmt/format.h>

#include <string>

#include "base/text.h"
#include "bench/guests/counters.h"

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

// A function of the lender that a host may borrow, in the file /run/offered; its stock driver waits for it.
constexpr std::string_view kOffered = R"sh(modprobe nvme; modprobe smartio_pci
for ((i = 0; i < 300; i++)); do
  for d in /sys/bus/smartio/devices/*; do
    [ -e "$d/borrowed" ] && grep -qx ready "$d/state" && echo "lender:$(cat $d/pci)" > /run/offered && exit 0
  done
  sleep 0.1
done
exit 1)sh";

// Until the namespace of its drive can be read; prints the milliseconds.
constexpr std::string_view kBorrow = R"sh(begin=$(date +%s%3N)
smartioctl borrow "$(cat /run/offered)" > /dev/null
function=$(cat /sys/bus/smartio/devices/*/function | grep .)
for ((i = 0; i < 3000; i++)); do
  disk=$(ls -d /sys/bus/pci/devices/$function/nvme/nvme*/nvme*n* 2> /dev/null | head -1)
  disk=${disk##*/}
  disk=/dev/${disk/c[0-9]n/n}
  [ -b "$disk" ] && dd if=$disk of=/dev/null bs=4096 count=1 iflag=direct status=none && echo $(($(date +%s%3N) - begin)) && exit 0
  sleep 0.01
done
exit 1)sh";

// Returns each device to the lender's own driver once it has no borrower.
constexpr std::string_view kTakeBack = R"sh(for d in /sys/class/smartio_export/*/; do
  until [ -z "$(cat $d/borrowers)" ]; do sleep 0.02; done
  smartioctl unlend "$(basename $d)" > /dev/null
done)sh";

constexpr std::string_view kUnlend = R"sh(! pkill -KILL -x fio || sleep 1
! [ -d /sys/module/smartio_nvme ] || rmmod smartio_nvme
for d in /sys/class/smartio_export/*/; do [ ! -e "$d" ] || smartioctl unlend "$(basename $d)" > /dev/null; done
for m in nvme smartio_pci smartio_pci_stub smartio_nvme_mgr ntb_smartio; do ! [ -d /sys/module/$m ] || modprobe -r $m; done)sh";

}  // namespace

void lend(Guests& guests, const std::vector<std::string>& hosts) {
  for (const std::string& host : hosts) guests.shell(host, "modprobe ntb_hw_amd; modprobe ntb_smartio");
  guests.shell(kLender, fmt::format("{}smartioctl lend \"{}\"", kLend, kDriveAddress));
}

double lend_whole(Guests& guests, const std::string& host) {
  for (const char* each : {kLender, host.c_str()}) guests.shell(each, "modprobe ntb_hw_amd; modprobe ntb_smartio");
  guests.shell(kLender, fmt::format("{}smartioctl lend --as pci --trust-borrowers \"{}\"", kLend, kDriveAddress));
  guests.shell(host, kOffered);
  return std::stod(std::string(trimmed(guests.shell(host, kBorrow)))) / 1000;
}

double take_back_whole(Guests& guests, const std::string& host) {
  guests.shell(kLender, "modprobe nvme");
  const double begin = now_seconds();
  guests.shell(host, "smartioctl return $(cat /run/offered)");
  guests.shell(kLender, kTakeBack);
  one_disk(guests, kLender);
  return now_seconds() - begin;
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
