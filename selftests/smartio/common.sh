# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Common to the tests of smartio and ntb_smartio: smartio_echo on the lender's drive, and the borrower's path to it.
# shellcheck source=selftests/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
# shellcheck source=selftests/ntb_family.sh
. "$(dirname "${BASH_SOURCE[0]}")/../ntb_family.sh"

# the host that is cleaned up first leaves the other alone
log_may borrower 'link to lender is down: (the other side left|no cable)'
log_may lender 'link to borrower is down: (the other side left|no cable)'

debug=/sys/kernel/debug/smartio_echo

# the modules on one host
load() {
	sh_on "$1" 'mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug
		modprobe "$1"
		modprobe smartio_echo' "$ntb_driver"
}

# lend HOST: its drive becomes an echo
lend() {
	sh_on "$1" 'd=$(grep -l 0x010802 /sys/bus/pci/devices/*/class | cut -d/ -f6)
		if [ -e "/sys/bus/pci/devices/$d/driver" ]; then
			[ "$(basename "$(readlink "/sys/bus/pci/devices/$d/driver")")" = smartio_echo ] && exit 0
			echo "$d" > "/sys/bus/pci/devices/$d/driver/unbind"
		fi
		echo smartio_echo > "/sys/bus/pci/devices/$d/driver_override"
		echo "$d" > /sys/bus/pci/drivers_probe'
}

# everything unloaded again, the drive without a driver
cleanup_smartio() {
	local host
	clients_leave
	for host in $(hosts); do
		sh_on "$host" 'rmmod smartio_echo ntb_smartio smartio "$1" ntb 2>/dev/null || true
			for d in $(grep -l 0x010802 /sys/bus/pci/devices/*/class | cut -d/ -f6); do
				echo > "/sys/bus/pci/devices/$d/driver_override"
			done' "$ntb_driver" || true
	done
}

start_echo() {
	load lender
	lend lender
	load borrower
	up lender
	up borrower
	until_true 10 "the borrower sees the device" path_is ready
}

# up HOST: waits until its link is up
up() { until_true 15 "link of $1 up" sh_on "$1" 'grep -qx up /sys/class/smartio_link/ntb0/state'; }
not_up() { until_true 5 "link of $1 down" sh_on "$1" '! grep -qx up /sys/class/smartio_link/ntb0/state'; }
link() { on "$1" cat "/sys/class/smartio_link/ntb0/$2"; }

# path_is STATE: of the borrower's path over the link
path_is() { sh_on borrower 'grep -qx "$1" /sys/bus/smartio/devices/*-ntb0/state' "$1"; }

# echo_run HOST LINK WORDS…: one command of smartio_echo
echo_run() {
	local host=$1 path=$2
	shift 2
	sh_on "$host" 'path=$1; shift; echo "$*" > "$(echo /sys/kernel/debug/smartio_echo/*-"$path")"/run' "$path" "$@"
}
run() { echo_run borrower ntb0 "$@"; }
# the counters of the lender's half: field NAME
sessions() { on lender cat $debug/lender | tr ' ' '\n' | sed -n "s/^$1=//p"; }
