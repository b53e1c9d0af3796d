# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# For tests of the stock nvme driver on the lender's emulated drive.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
source "$(dirname "${BASH_SOURCE[0]}")/../load.sh"

drive=$(fabric drive list | jq -r '.drives[0].name')
dev=/dev/nvme0n1

# The drive as the topology has it: in its slot, nothing going wrong, one namespace. A test that failed may leave more.
settle_drive() {
	local state nsid
	sh_on lender 'if [ -e /run/load.pid ] && [ ! -e /run/load.done ]; then kill -KILL -- -$(cat /run/load.pid) 2> /dev/null || true; fi'
	state=$(fabric drive "$drive" status)
	if [ "$(jq .present <<< "$state")" != true ]; then
		fabric drive "$drive" insert > /dev/null
		sh_on lender 'echo 1 > /sys/bus/pci/rescan'
	fi
	fabric drive "$drive" resume > /dev/null
	fabric drive "$drive" unfault all > /dev/null
	fabric drive "$drive" release all > /dev/null
	fabric drive "$drive" media-error clear > /dev/null
	for nsid in $(jq '.namespaces[1:][].nsid' <<< "$state"); do fabric drive "$drive" namespace remove "$nsid" > /dev/null; done
}
# Loads the driver again (with parameters NAME=VALUE), and its disk there.
load_nvme() {
	settle_drive
	sh_on lender 'if [ -d /sys/module/nvme ]; then modprobe -r nvme; fi; modprobe nvme "$@"' "$@"
	until_true 30 "$dev on the lender" on lender test -b $dev
}
need_nvme() {
	on lender test -b $dev || load_nvme
	expect "controller state" live "$(on lender cat /sys/class/nvme/nvme0/state)"
}

# fio on the lender: job parameters as arguments; fails with its output.
fio_on_lender() {
	local out
	out=$(on lender fio --name=job --filename=$dev --direct=1 --output-format=normal "$@" 2>&1) ||
		fail "fio $* ended with $?: $out"
	grep -E '^ *(read|write|trim):' <<< "$out" | sed "s/^ */# /" || true
}

# above NAME NUMBER: has that counter passed it?
above() { [ "$(counter "$1")" -gt "$2" ]; }
live() { [ "$(on lender cat /sys/class/nvme/nvme0/state)" = live ]; }

# Verified load in the background, until stop_load.
start_load() {
	load_begin lender "$dev" 64 "libaio io_uring" --bs=4k --iodepth=32 --size=8m
	load_goes_on
}
# Waits until the load has done some more writes.
load_goes_on() {
	local written
	written=$(counter write)
	until_true 60 "the load's writes to go on" above write $((written + 50))
}
stop_load() { load_finish lender; }

# Allows the driver's messages about a reset by nvme-cli, and about one that it decides on because of CSTS.
log_may_reset() {
	log_may lender 'nvme nvme0: resetting controller$'
}
log_may_notice_fatal() {
	log_may lender 'nvme nvme0: controller is down; will reset: CSTS=0x[0-9a-f]+, PCI_STATUS=0x[0-9a-f]+$'
	log_may lender 'nvme nvme0: (Does your device have a faulty power saving mode enabled\?|Try "nvme_core\.default_ps_max_latency_us=0 )'
}
# …and about commands that timed out.
log_may_time_out() {
	log_may lender 'nvme nvme0: I/O tag [0-9]+ .*QID [0-9]+ timeout, (aborting|reset controller|completion polled)'
	log_may lender 'nvme nvme0: Abort status: 0x'
}
