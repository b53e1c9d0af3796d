# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2016
# For tests of two cables between the lender and a borrower ("dual adapters"): two paths of one disk.
source "$(dirname "${BASH_SOURCE[0]}")/../share/common.sh"

link_options=()	# the heartbeat's time as it is by default: a path that is lost by mistake costs nothing here
dual=${borrowers[0]}
mapfile -t cables < <(fabric link list | jq -r --arg h "$dual" '.links[] | select(.primary.host == $h or .secondary.host == $h) | .name')
[ "${#cables[@]}" = 2 ] || fail "cables between the lender and $dual: expected 2, saw ${#cables[*]}"
# The links in the order of their cables: that of the NTBs' addresses.
mapfile -t links < <(sh_on "$dual" 'modprobe "$1"; modprobe ntb_smartio; for l in $(ls /sys/class/smartio_link); do echo "$(basename "$(readlink -f /sys/class/smartio_link/$l/device)") $l"; done | sort | cut -d" " -f2' "$ntb_driver")
[ "${#links[@]}" = 2 ] || fail "links of $dual: expected 2, saw ${links[*]}"
transport=smartio
other() { echo $((1 - $1)); }      # of path 0 or 1

# path N WORD: WORD of the N-th path's counters; empty if there is no such path now.
path() { sh_on "$dual" 'cat /sys/bus/smartio/devices/*-"$1"/nvme/nvme*/smartio/"$2" 2> /dev/null || true' "${links[$1]}" "$2"; }
path_above() { in_time "$dual" 'read -r v < $(echo /sys/bus/smartio/devices/*-"$1"/nvme/nvme*/smartio/"$2"); [ $v -gt $3 ]' "${links[$1]}" "$2" "$3"; }
path_is() { in_time "$dual" 'read -r v < $(echo /sys/bus/smartio/devices/*-"$1"/nvme/nvme*/smartio/path_state); [ "$v" = "$2" ]' "${links[$1]}" "$2"; }
live() { sh_on "$dual" 'grep -qx live /sys/bus/smartio/devices/*-"$1"/nvme/nvme*/state' "${links[$1]}"; }
both_live() { in_time "$dual" 'for l in "$@"; do grep -qsx live /sys/bus/smartio/devices/*-"$l"/nvme/nvme*/state || exit 1; done' "${links[@]}"; }
smartio_both_live() { both_live; }
# both_paths [WHEN]: there are both, and the links that they use.
both_paths() { until_true 60 "both paths${1:+ ($1)}" "${transport}_both_live"; [ "$transport" = tcp ] || link_back "${cables[@]}"; }
# The disk has path N, which may be up or not.
in_use() { sh_on "$dual" 'ls -d /sys/bus/smartio/devices/*-"$1"/nvme/nvme*/nvme*c*n* > /dev/null' "${links[$1]}"; }
# pull N [down|silent]
pull() {
	if [ "$transport" = tcp ]; then on lender nvmeof_tcp cut "$1" 2; on "$dual" nvmeof_tcp cut "$1" 1; return; fi
	fabric link "${cables[$1]}" "${2:-down}" > /dev/null
}
put_back() {
	if [ "$transport" = tcp ]; then on lender nvmeof_tcp mend "$1" 2; on "$dual" nvmeof_tcp mend "$1" 1; return; fi
	fabric link "${cables[$1]}" up > /dev/null
}
# The commands that path N has sent, and those that are in flight there.
submitted() { path "$1" queues | awk -F '[ =]' '{ for (i = 1; i < NF; i += 2) v[$i] = $(i + 1); n += v["submitted"] } END { print n + 0 }'; }
flying() { path "$1" queues | awk -F '[ =]' '{ for (i = 1; i < NF; i += 2) v[$i] = $(i + 1); n += v["submitted"] - v["completed"] } END { print n + 0 }'; }
qids() { path "$1" queues | sed -n 's/.*qid=\([0-9]*\).*/\1/p'; }
# fault_on N WORDS…: on all queues of path N.
fault_on() {
	local qid n=$1; shift
	for qid in $(qids "$n"); do fabric drive "$drive" fault "$@" queue="$qid" > /dev/null; done
}
# held CONDITION: the ids of the commands that the drive keeps back and for which CONDITION (of jq) is true.
held() { fabric drive "$drive" faults | jq -r ".held[] | select($1) | select(.released | not) | .id"; }
some_held() { [ -n "$(held "$1")" ]; }
# none_held CONDITION: there is no such command, nor a released one that the drive has not yet continued.
none_held() { fabric drive "$drive" faults | jq -e "[.held[] | select($1)] | length == 0" > /dev/null; }
# The lender's Delete I/O SQ, with `fault hold any queue=0`.
deletion='.queue == 0 and .opcode == 0'
# The path whose queue has the one command that a jq condition is true for.
path_of() {
	local n queue
	queue=$(fabric drive "$drive" faults | jq -r ".held[] | select($1) | .queue")
	for n in 0 1; do ! qids $n | grep -qx "$queue" || echo $n; done
}
resets() { fabric drive "$drive" counters | jq .resets; }
# fail_after SECONDS: I/O of a lost path fails then; -1: never.
fail_after() { sh_on "$dual" 'for f in /sys/class/nvme/nvme*/fast_io_fail_tmo; do echo "$1" > "$f"; done' "$1"; }
# iopolicy NAME: how nvme-core spreads I/O over the paths.
iopolicy() { sh_on "$dual" 'for s in /sys/class/nvme-subsystem/*; do ls $s | grep -q "^nvme[0-9]*n[0-9]*$" && echo "$1" > $s/iopolicy; done' "$1"; }

# dual_up: both paths are up, on a disk that all hosts have.
dual_up() {
	share_up
	losses_on lender
	losses_on "$dual"
	log_may "$dual" 'subsysnqn .* iopolicy changed from'
	until_true 30 "both paths of $dual" both_live
	# of a test before; new paths count from 0
	if [ "$(sh_on "$dual" 'for l in "$@"; do cat /sys/bus/smartio/devices/*-"$l"/nvme/nvme*/smartio/failed; done | xargs' "${links[@]}")" != "0 0" ]; then
		detach "$dual"
		attach "$dual"
		until_true 30 "new paths of $dual" both_live
	fi
	# a failed test may have left a timeout and a reader
	sh_on "$dual" 'for s in /sys/class/nvme-subsystem/*; do ls $s | grep -q "^nvme[0-9]*n[0-9]*$" && echo round-robin > $s/iopolicy; done
		for f in /sys/class/nvme/nvme*/fast_io_fail_tmo; do echo -1 > "$f"; done
		: > /run/late.stop; pkill -KILL late_read || true'
}
disk=/run/shared lender_disk=/run/shared

# ---- NVMe-oF/TCP with the stock drivers, over two networks (selftests/programs/nvmeof_tcp): for comparison ----

tcp_up() {
	local host n=1
	tcp_says
	settle
	share_down
	for host in "${all[@]}"; do
		sh_on "$host" 'nvmeof_tcp leave; for m in smartio_nvme_mgr ntb_smartio nvme; do ! [ -d /sys/module/$m ] || modprobe -r $m; done; nvmeof_tcp network "$1"' $n
		n=$((n + 1))
	done
	on lender nvmeof_tcp export "$drive_pci"
	on "$dual" nvmeof_tcp connect 1 > /dev/null
	until_true 60 "both paths" tcp_both_live
	disk=$(sh_on "$dual" 'echo /dev/$(basename "$(ls -d /sys/class/nvme/nvme*/nvme*c*n* | head -1)" | sed "s/c[0-9]*n/n/")')
	lender_disk=$(sh_on lender 'ls /dev/nvme*n1 | head -1')
}
# Allows the stock drivers' messages about a path that is cut, and about attempts to connect it again: nvme-tcp's and nvme-core's,
# then nvmet's.
tcp_says() {
	log_may "$dual" 'nvme nvme[0-9]+: I/O tag [0-9]+ \([0-9a-f]{4}\) type [0-9]+ opcode (0x[0-9a-f]+|0) \([A-Za-z ]+\) QID [0-9]+ timeout$'
	log_may "$dual" 'nvme nvme[0-9]+: starting error recovery$'
	log_may "$dual" 'nvme nvme[0-9]+: (failed nvme_keep_alive_end_io error=-?[0-9]+|keep-alive failed: -[0-9]+|long keepalive RTT \([0-9]+ ms\))$'
	log_may "$dual" 'nvme nvme[0-9]+: (failed to connect socket: -[0-9]+|failed to send request -[0-9]+|receive failed: +-[0-9]+|queue [0-9]+: receive failed: -[0-9]+)$'
	log_may "$dual" 'nvme nvme[0-9]+: qid [0-9]+: timeout draining sock wmem allocation expired$'
	log_may "$dual" 'nvme_tcp: queue [0-9]+: failed to (send icreq|receive icresp), error -[0-9]+$'
	log_may "$dual" 'nvme nvme[0-9]+: Connect command failed(: host path error|, errno: -[0-9]+|, error wo/DNR bit: [0-9]+)$'
	log_may "$dual" 'nvme nvme[0-9]+: failed to connect queue: [0-9]+ ret=-?[0-9]+$'
	log_may "$dual" 'nvme nvme[0-9]+: Property [GS]et error: -?[0-9]+, offset (0x[0-9a-f]+|0)$'
	log_may "$dual" 'block nvme[0-9]+n[0-9]+: no usable path - requeuing I/O$'
	log_may "$dual" 'nvme_ns_head_submit_bio: [0-9]+ callbacks suppressed$'
	log_may lender 'nvmet: ctrl [0-9]+ (keep-alive timer \([0-9]+ seconds\) expired|fatal error occurred)!$'
}
tcp_both_live() { [ "$(on "$dual" nvme_paths | grep -c ' live ')" = 2 ]; }
# The path that is used (policy numa): that which takes reads now.
tcp_active() {
	sh_on "$dual" 'before=$(nvme_paths); for ((i = 0; i < 20; i++)); do dd if=$1 of=/dev/null bs=4096 count=1 skip=$i iflag=direct status=none; done
		paste -d" " <(echo "$before") <(nvme_paths) | awk "\$10 - \$5 > most { most = \$10 - \$5; n = \$1 } END { print n }"' "$disk"
}
tcp_down() {
	local host
	for host in "$dual" lender; do on "$host" nvmeof_tcp leave; done
}
