# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2016
# For tests of the client, smartio_nvme, on the lender's own path to its drive: no link is needed. client_up sets ctrl
# (nvmeN) and dev (/dev/nvmeNn1).
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
source "$(dirname "${BASH_SOURCE[0]}")/../load.sh"

drive=$(fabric drive list | jq -r '.drives[0].name')
drive_pci=$(pci_of lender "$drive")

# The drive as the topology has it, and no load of a test that failed.
client_settle() {
	sh_on lender 'if [ -e /run/load.pid ] && [ ! -e /run/load.done ]; then kill -KILL -- -$(cat /run/load.pid) 2> /dev/null || true; fi'
	[ "$(fabric drive "$drive" status | jq .present)" = true ] || { fabric drive "$drive" insert > /dev/null; sh_on lender 'echo 1 > /sys/bus/pci/rescan'; }
	fabric drive "$drive" resume > /dev/null
	fabric drive "$drive" unfault all > /dev/null
	fabric drive "$drive" release all > /dev/null
}
# The manager has the drive.
client_lend() {
	sh_on lender '[ -e /sys/class/smartio_export/$1 ] && exit
		! [ -d /sys/module/nvme ] || modprobe -r nvme
		modprobe ntb_smartio; modprobe smartio_nvme_mgr
		echo smartio_nvme_mgr > /sys/bus/pci/devices/$1/driver_override
		echo $1 > /sys/bus/pci/drivers_probe' "$drive_pci"
	until_true 30 "the drive to be lent" on lender test -e "/sys/class/smartio_export/$drive_pci"
	manager=$(sh_on lender 'cd /sys/bus/pci/devices/$1/nvme; echo nvme*' "$drive_pci")
}
# client_up [NAME=VALUE…]: loads the client again with these parameters; waits for its disk.
client_up() {
	client_settle
	client_down
	client_lend
	sh_on lender 'modprobe smartio_nvme "$@"' "$@"
	client_ready
}
client_down() { sh_on lender '! [ -d /sys/module/smartio_nvme ] || modprobe -r smartio_nvme'; }
client_ready() {
	until_true 60 "the client's disk on the lender" client_find
	ctrl=$(client_find)
	dev=/dev/$(sh_on lender 'cd /sys/class/nvme/$1; for p in nvme*c*n*; do basename $p | sed "s/c[0-9]*n/n/"; done | head -1' "$ctrl")
	until_true 30 "$dev on the lender" on lender test -b "$dev"
}
client_find() {
	sh_on lender 'cd /sys/class/nvme; for c in nvme*; do
		[ "$(cat $c/transport)" = smartio ] && [ "$(cat $c/state)" = live ] && ls -d $c/nvme*c*n* > /dev/null 2>&1 && echo $c && exit
	done; exit 1'
}
client_gone() { sh_on lender '! grep -qsx smartio /sys/class/nvme/*/transport'; }
stat() { on lender cat "/sys/class/nvme/$ctrl/smartio/$1"; }
stat_above() { [ "$(stat "$1")" -gt "$2" ]; }
state_is() { [ "$(on lender cat "/sys/class/nvme/$ctrl/smartio/path_state")" = "$1" ]; }
live() { [ "$(on lender cat "/sys/class/nvme/$ctrl/state")" = live ] && state_is up; }
slow() { fabric drive "$drive" fault delay any "${1:-200}ms" > /dev/null; }

# What losses that a test asks for make kernels say.
log_may_lose() {
	log_may lender 'nvme_ns_head_submit_bio: [0-9]+ callbacks suppressed'
	log_may lender 'nvme nvme[0-9]+: path lost \(.*\), [0-9]+ requests held$'
	log_may lender 'block nvme[0-9]+n[0-9]+: no usable path - requeuing I/O$'
	log_may lender 'nvme nvme[0-9]+: resetting controller$'
}

fio_run() {
	local out
	out=$(on lender fio --name=job --filename="$dev" --allow_file_create=0 --direct=1 --output-format=normal "$@" 2>&1) ||
		fail "fio $* ended with $?: $out"
	grep -E '^ *(read|write|trim):' <<< "$out" | sed 's/^ */# /' || true
}

# Verified load in the background, until stop_load.
start_load() {
	load_begin lender "$dev" 64 "libaio io_uring" --bssplit=4k/70:64k/20:256k/10 --iodepth=32 --size=8m
	load_goes_on
}
load_goes_on() { disk_goes_on lender "$dev" 30 "${1:-90}"; }
load_ended() { load_finished lender; }
stop_load() { load_finish lender; }
# when_busy COMMAND…: runs it on the lender as soon as requests of the load are in flight: something to hold at a loss.
when_busy() {
	sh_on lender 'd=$(basename $1); shift
		for ((i = 0; i < 3000; i++)); do read -r r w < /sys/block/$d/inflight; [ $((r + w)) -lt 8 ] || exec "$@"; sleep 0.02; done
		exit 1' "$dev" "$@" || fail "when busy: $*"
}

# late FUNCTION: snvme_late is there for it. late_hold N: so many of its calls are held; 0: all go on. late_is NAME N: a count of it.
late() { sh_on lender '! [ -d /sys/module/snvme_late ] || modprobe -r snvme_late; modprobe snvme_late symbol="$1"' "$1"; }
late_hold() { sh_on lender 'echo "$1" > /sys/module/snvme_late/parameters/hold' "$1"; }
late_count() { on lender cat "/sys/module/snvme_late/parameters/$1"; }
late_is() { in_time lender 'read -r n < /sys/module/snvme_late/parameters/$1; [ "$n" = "$2" ]' "$1" "$2"; }
late_end() { sh_on lender '! [ -d /sys/module/snvme_late ] || modprobe -r snvme_late'; }
