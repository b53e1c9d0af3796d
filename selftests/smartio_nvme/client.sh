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
	manager=$(sh_on lender 'if [ ! -e /sys/class/smartio_export/$1 ]; then
			! [ -d /sys/module/nvme ] || modprobe -r nvme
			modprobe ntb_smartio; modprobe smartio_nvme_mgr
			echo smartio_nvme_mgr > /sys/bus/pci/devices/$1/driver_override
			echo $1 > /sys/bus/pci/drivers_probe
			exec 9<> <(:)
			for ((end = SECONDS + $2; SECONDS < end; )); do [ ! -e /sys/class/smartio_export/$1 ] || break; read -rt 0.1 -u 9 || true; done
			[ -e /sys/class/smartio_export/$1 ]
		fi
		cd /sys/bus/pci/devices/$1/nvme; echo nvme*' "$drive_pci" $((30 * slower))) || fail "the drive to be lent: expected it in 30 s"
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
	read -r ctrl dev < <(tail -1 "$notes/polled")
}
# Prints the controller and the disk, as soon as there are both.
client_find() {
	in_time lender 'for c in /sys/class/nvme/nvme*; do
			read -r transport < $c/transport && read -r state < $c/state && [ $transport = smartio ] && [ $state = live ] || continue
			for p in $c/nvme*c*n*; do
				p=${p##*/} d=/dev/${p%%c*}n${p##*n}
				[ -b $d ] || continue
				echo ${c##*/} $d; exit 0
			done
		done 2> /dev/null
		exit 1'
}
client_gone() { sh_on lender '! grep -qsx smartio /sys/class/nvme/*/transport'; }
stat() { on lender cat "/sys/class/nvme/$ctrl/smartio/$1"; }
stat_above() { in_time lender 'read -r v < /sys/class/nvme/$1/smartio/$2; [ $v -gt $3 ]' "$ctrl" "$1" "$2"; }
state_is() { in_time lender 'read -r s < /sys/class/nvme/$1/smartio/path_state; [ "$s" = "$2" ]' "$ctrl" "$1"; }
live() { in_time lender 'read -r state < /sys/class/nvme/$1/state; read -r path < /sys/class/nvme/$1/smartio/path_state; [ "$state $path" = "live up" ]' "$ctrl"; }
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

# late FUNCTION: snvme_late is there for it. late_hold N: holds N more of its calls; 0 releases all.
# late_is NAME N: a count of it.
late() { sh_on lender '! [ -d /sys/module/snvme_late ] || modprobe -r snvme_late; modprobe snvme_late symbol="$1"' "$1"; }
late_hold() { sh_on lender 'echo "$1" > /sys/module/snvme_late/parameters/hold' "$1"; }
late_count() { on lender cat "/sys/module/snvme_late/parameters/$1"; }
late_is() { in_time lender 'read -r n < /sys/module/snvme_late/parameters/$1; [ "$n" = "$2" ]' "$1" "$2"; }
late_end() { sh_on lender '! [ -d /sys/module/snvme_late ] || modprobe -r snvme_late'; }
