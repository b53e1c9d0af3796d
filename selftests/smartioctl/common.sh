# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2016
# For tests of smartioctl on a lender with a drive.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

drive_pci=$(sh_on lender 'grep -l 0x010802 /sys/bus/pci/devices/*/class | head -1 | cut -d/ -f6')
[ -n "$drive_pci" ] || fail "no NVMe drive in the lender"
serial=$(fabric drive list | jq -r '.drives[0].serial // empty')

# The stock driver gets the drive, and nothing is lent or chosen any more.
begin_stock() {
	sh_on lender 'rm -rf /etc/smartio
		! [ -d /sys/module/smartio_nvme ] || modprobe -r smartio_nvme
		! [ -e /sys/class/smartio_export/$1 ] || smartioctl unlend --force $1 > /dev/null
		echo > /sys/bus/pci/devices/$1/driver_override
		! [ -d /sys/module/smartio_nvme_mgr ] || modprobe -r smartio_nvme_mgr
		modprobe -a ntb_hw_amd ntb_smartio nvme
		[ -e /sys/bus/pci/devices/$1/driver ] || echo $1 > /sys/bus/pci/drivers_probe' "$drive_pci"
	until_true 30 "the stock driver's disk on the lender" on lender test -b /dev/nvme0n1
}

driver() { driver_of lender "$drive_pci"; }
override() { on lender cat "/sys/bus/pci/devices/$drive_pci/driver_override"; }

# expect_status WHAT STATUS REGEX ARGUMENTS…: smartioctl on the lender ends so, and says that.
expect_status() {
	local what=$1 expected=$2 regex=$3 said status=0; shift 3
	said=$(on lender smartioctl "$@" 2>&1) || status=$?
	[ "$status" = "$expected" ] || fail "$what: expected status $expected, saw $status: $said"
	expect_match "$what: message" "$regex" "$said"
	say "$what: $said"
}
