# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# For tests of the manager on the lender, with snvme_probe, or the client, on the local path.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

pci=$(sh_on lender 'basename "$(dirname "$(grep -l 0x010802 /sys/bus/pci/devices/*/class)")"' || true)
[ -n "$pci" ] || fail "the lender has no drive"

# A client that ends says that its path is lost.
log_may lender 'nvme nvme[0-9]+: path lost \('

# The manager has the drive, also if the stock driver had it before, and no fault is set on the drive.
manage_drive() {
	fabric drive drive0 unfault all > /dev/null
	fabric drive drive0 release all > /dev/null
	sh_on lender '
		for m in snvme_probe smartio_nvme; do [ ! -d /sys/module/$m ] || modprobe -r $m; done
		modprobe smartio_nvme_mgr
		d=/sys/bus/pci/devices/$1
		[ "$(basename "$(readlink $d/driver)")" != nvme ] || echo $1 > $d/driver/unbind
		echo smartio_nvme_mgr > $d/driver_override
		[ -e $d/driver ] || echo $1 > /sys/bus/pci/drivers/smartio_nvme_mgr/bind
		[ -d /sys/kernel/debug/tracing ] || mount -t debugfs debugfs /sys/kernel/debug' "$pci"
	until_true 60 "the manager's controller to be live" manager_live
}
manager_live() { sh_on lender '[ "$(cat /sys/bus/pci/devices/$1/nvme/nvme*/state)" = live ]' "$pci"; }
manager() { sh_on lender 'cat /sys/bus/pci/devices/$1/$2' "$pci" "$1"; }
manager_dev() { sh_on lender 'basename /sys/bus/pci/devices/$1/nvme/nvme*' "$pci"; }

# probe WORD…: snvme_probe runs that command on the local path; fails if it fails. probe_result: its result.
probe() { sh_on lender 'echo "$1" > /sys/kernel/debug/snvme_probe/*-local/run' "$*"; }
probe_result() { sh_on lender 'cat /sys/kernel/debug/snvme_probe/*-local/result'; }
all_free() { [ "$(manager queue_pairs_free)" = "$(manager queue_pairs_total)" ]; }
