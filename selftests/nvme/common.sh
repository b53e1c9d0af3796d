# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# For tests of the stock nvme driver on the lender's emulated drive.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

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
# The driver loaded anew (with parameters NAME=VALUE), and its disk there.
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

# counter NAME: one of the drive's, 0 while it has not been counted.
counter() { fabric drive "$drive" counters | jq -r --arg name "$1" '.[$name] // .commands[$name] // .admin_commands[$name] // 0'; }
# above NAME NUMBER: has that counter passed it?
above() { [ "$(counter "$1")" -gt "$2" ]; }
live() { [ "$(on lender cat /sys/class/nvme/nvme0/state)" = live ]; }

# Verified load in the background: fio runs of a few seconds, each with another seed, until stop_load lets the present
# one end and be verified. A block that a run wrote and that is not as written ends it, and so does any I/O error.
start_load() {
	sh_on lender 'rm -f /run/load.*
		cat > /run/load
		setsid bash /run/load $1 > /dev/null 2>&1 &' $dev << 'EOF'
echo $$ > /run/load.pid
n=0 engines=(libaio io_uring)
until [ -e /run/load.stop ]; do
	fio --name=load --filename=$1 --allow_file_create=0 --direct=1 --ioengine=${engines[n % 2]} --rw=randrw --rwmixwrite=60 --bs=4k \
		--iodepth=32 --size=8m --offset=64m --randseed=$((n + 1)) --verify=crc32c --verify_fatal=1 > /run/load.out 2>&1 ||
		{ touch /run/load.failed; break; }
	n=$((n + 1))
	echo $n > /run/load.rounds
done
touch /run/load.done
EOF
	load_goes_on
}
# Waits until the load has done some more writes.
load_goes_on() {
	local written
	written=$(counter write)
	until_true 60 "the load's writes to go on" above write $((written + 50))
}
stop_load() {
	on lender touch /run/load.stop
	until_true 120 "the load to end" on lender test -e /run/load.done
	! on lender test -e /run/load.failed || fail "the load under faults: expected no I/O error and every block as written, saw: $(on lender cat /run/load.out)"
	say "verified runs of fio: $(on lender cat /run/load.rounds)"
}

# What the driver says of a reset by nvme-cli, and of one that it decides on because of CSTS.
log_may_reset() {
	log_may lender 'nvme nvme0: resetting controller$'
}
log_may_notice_fatal() {
	log_may lender 'nvme nvme0: controller is down; will reset: CSTS=0x[0-9a-f]+, PCI_STATUS=0x[0-9a-f]+$'
	log_may lender 'nvme nvme0: (Does your device have a faulty power saving mode enabled\?|Try "nvme_core\.default_ps_max_latency_us=0 )'
}
# …and of commands that it waited for in vain.
log_may_time_out() {
	log_may lender 'nvme nvme0: I/O tag [0-9]+ .*QID [0-9]+ timeout, (aborting|reset controller|completion polled)'
	log_may lender 'nvme nvme0: Abort status: 0x'
}
