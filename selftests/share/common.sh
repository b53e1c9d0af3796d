# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2016
# For tests of one drive shared by all hosts of a cluster. On every host /run/shared is the disk (a link to /dev/nvmeXnY)
# and /run/shared.ctrl names its controller (nvmeN), once share_up returned.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
# shellcheck source=selftests/ntb_family.sh
source "$(dirname "${BASH_SOURCE[0]}")/../ntb_family.sh"
source "$(dirname "${BASH_SOURCE[0]}")/../load.sh"

mapfile -t all < <(hosts)
mapfile -t borrowers < <(printf '%s\n' "${all[@]}" | grep -vx lender)
drive=$(fabric drive list | jq -r '.drives[0].name')
drive_pci=$(pci_of lender "$drive")
# without their domain
ntbs_of_lender=$(jq -r '[.hosts[] | select(.name == "lender").devices[] | select(.link).pci | sub("^[0-9a-f]+:"; "")] | join("|")' < "$notes/status")

# losses_on HOST: allows its messages about a lost path: those of the link, of the client and of nvme-core, no others.
losses_on() {
	local link
	# accesses of the host, or of the drive, that were in flight when the windows were shut
	for link in $(links_of "$1"); do link_drops "$link"; done
	log_may "$1" 'ntb[0-9]+: link to [a-z0-9]+ is down: '
	log_may "$1" 'nvme nvme[0-9]+: path lost \('
	log_may "$1" 'block nvme[0-9]+n[0-9]+: no usable path - requeuing I/O'
	log_may "$1" '(nvme_ns_head_submit_bio|link_(down|up)): [0-9]+ callbacks suppressed'
	# of a scan or an attach that a loss cut short
	log_may "$1" 'nvme nvme[0-9]+: (Identify|Could not set|reading) [A-Za-z ]+(failed|count):? \(?(nsid=[0-9]+, )?(status=0x370|880)'
	log_may "$1" 'nvme nvme[0-9]+: Failed to read smart log \(error 880\)'
	log_may "$1" 'nvme nvme[0-9]+: Failed to configure AEN \(cfg [0-9a-f]+\)'
	# A drive behind an IOMMU reads a window through QEMU, and so learns that its read had no answer.
	[ "$1" != lender ] || [ -z "$(iommu_of lender)" ] || fabric_may "^lender\\.$drive dma_reads_unclaimed$"
	# A borrower's store that comes after the session's end: the lender's IOMMU refuses the NTB, never the drive (docs/ntb-smartio.md).
	[ "$1" != lender ] || log_may lender "$(iommu_messages "$ntbs_of_lender" Write)"
}
# Besides, if its disk goes with I/O in flight.
failures_on() {
	losses_on "$1"
	log_may "$1" 'block nvme[0-9]+n[0-9]+: no available path - failing I/O'
	log_may "$1" 'Buffer I/O error on dev nvme[0-9]+n[0-9]+,|I/O error, dev nvme[0-9]+(c[0-9]+)?n[0-9]+, sector'
	log_may "$1" '(nvme_log_error|blk_print_req_error): [0-9]+ callbacks suppressed'
}

# others_than HOST: sets others to all hosts but this one.
others_than() { mapfile -t others < <(printf '%s\n' "${all[@]}" | grep -vx "$1"); }

# ---- coming and going ----

# Of ntb_smartio, a test's own. Emulated hosts that are busy, on a machine that is, stand still for a second now and then.
link_options=(heartbeat_timeout_ms=3000)
# load_links HOST: loads the modules that it needs before it can lend or borrow: the NTBs' driver and ntb_smartio. Unloads all
# others that use the NTBs or the drive.
load_links() {
	sh_on "$1" "$kill_load"'
		! { [ -d /sys/module/nvmet_tcp ] || [ -d /sys/module/nvme_tcp ]; } || nvmeof_tcp leave	# of a test that failed
		[ ! -d /sys/module/snvme_probe ] || modprobe -r smartio_nvme snvme_probe	# it may have the path
		for m in p2p_drive p2p_memory smartio_echo smartio_hostile ntb_netdev ntb_transport ntb_pingpong ntb_perf nvme; do
			! [ -d /sys/module/$m ] || modprobe -r $m
		done
		# modprobe succeeds if a probe failed: then the NTB has no driver.
		[ -d /sys/module/$1 ] || modprobe "$1"
		bad=0
		for d in /sys/bus/pci/devices/*; do
			read -r id < $d/device
			[ $id != "$2" ] || [ -e $d/driver ] || { echo "NTB ${d##*/} of $(hostname) has no driver: $(dmesg | grep -F "$1 ${d##*/}" | tail -1)" >&2; bad=1; }
		done
		shift 2
		[ -d /sys/module/ntb_smartio ] || modprobe ntb_smartio "$@"
		exit $bad' "$ntb_driver" "$ntb_device_id" ${link_options[@]+"${link_options[@]}"}
}
links_only() {
	at_once load_links "${all[@]}"
	at_once wait_for_links "${all[@]}"
	link_back
}
wait_for_links() { until_true 30 "all links of $1" links_up "$1"; }
links_up() { in_time "$1" 'for l in /sys/class/smartio_link/*; do [ ! -e $l ] || { read -r s < $l/state; [ $s = up ]; }; done'; }

# new_links: no host has a link any more, so that the next share_up makes them with link_options.
new_links() { share_down; clients_leave; at_once unload_links "${all[@]}"; }
unload_links() { sh_on "$1" '! [ -d /sys/module/ntb_smartio ] || modprobe -r ntb_smartio'; }
# without_heartbeats: share_up, and no link has a heartbeat after that: all accesses across it belong to I/O. At the end:
# new_links.
without_heartbeats() {
	link_options=(heartbeat_ms=600000 heartbeat_timeout_ms=2000000)
	new_links
	share_up
}

# lend [NAME=VALUE…]: with these parameters of the manager.
lend() {
	sh_on lender '[ $# = 0 ] || [ -d /sys/module/smartio_nvme_mgr ] || modprobe smartio_nvme_mgr "$@"' "$@"
	on lender smartioctl lend "$drive_pci" > /dev/null || fail "smartioctl lend $drive_pci failed"
}
unlend() {
	sh_on lender '! [ -d /sys/module/smartio_nvme_mgr ] || { ! [ -e /sys/class/smartio_export/$1 ] || smartioctl unlend $1 $2 > /dev/null
		! [ -d /sys/module/nvme ] || rmmod nvme; rmmod smartio_nvme_mgr; }' "$drive_pci" "${1:-}"
}

# attach HOST [NAME=VALUE…]: the client with these parameters, until its disk can be read.
attach() {
	local host=$1 found; shift
	# the same command looks for the disk for a second
	found=$(sh_on "$host" 'modprobe smartio_nvme "$@"
		exec 9<> <(:)
		for ((n = 0; n < 8; n++)); do
			! ( '"$find_disk"' ) 2> /dev/null || { echo found; break; }
			read -rt 0.1 -u 9 || true
		done' "$@")
	[ -n "$found" ] || attached "$host"
}
# Finds the disk: that of the controller whose transport is smartio, by its hidden path device nvmeScCnN. nvme-core adds
# the disk's character device ngXnY after the disk. The block device's node is there before it can be opened.
find_disk='! [ -L /run/shared ] || rm -f /run/shared /run/shared.ctrl
	for c in /sys/class/nvme/nvme*; do
		read -r transport < $c/transport && read -r state < $c/state && [ $transport = smartio ] && [ $state = live ] || continue
		for p in $c/nvme*c*n*; do
			p=${p##*/} n=${p%%c*}n${p##*n}
			[ -c /dev/ng${n#nvme} ] && dd if=/dev/$n of=/dev/null bs=4096 count=1 iflag=direct status=none || continue
			ln -s /dev/$n /run/shared; echo ${c##*/} > /run/shared.ctrl; exit 0
		done
	done
	exit 1'
attached() { until_true 60 "the shared disk on $1" in_time "$1" "$find_disk"; }
detach() {
	sh_on "$1" "${2:-}"'
		! [ -d /sys/module/smartio_nvme ] || rmmod smartio_nvme
		! [ -L /run/shared ] || rm -f /run/shared /run/shared.ctrl'
}
gone() { sh_on "$1" '! grep -qsx smartio /sys/class/nvme/*/transport'; }

# The drive and the links as the topology has them: nothing goes wrong. A test that failed may leave more.
settle() {
	at_once kill_load "${all[@]}"
	settle_drive
}
settle_drive() {
	local link
	for link in $(fabric link list | jq -r '.links[].name'); do
		fabric link "$link" up > /dev/null
		fabric link "$link" slow 0 > /dev/null
	done
	[ "$(fabric drive "$drive" status | jq .present)" = true ] || { fabric drive "$drive" insert > /dev/null; sh_on lender 'echo 1 > /sys/bus/pci/rescan'; }
	fabric drive "$drive" resume > /dev/null
	fast
	is_lent=$(sh_on lender 'for h in /sys/class/smartio_host/*/fenced; do
			[ -e $h ] && read -r fenced < $h && [ $fenced != 0 ] || continue
			basename "$(dirname $h)" > /sys/class/smartio_host/unfence
		done
		[ ! -e /sys/class/smartio_export/$1 ] || echo yes' "$drive_pci")
}

kill_load=': > /run/fence.stop
	if [ -e /run/load.pid ] && [ ! -e /run/load.done ]; then kill -KILL -- -$(cat /run/load.pid) 2> /dev/null || true; : > /run/load.done; fi'
kill_load() { sh_on "$1" "$kill_load"; }

# share_up: the drive is lent and attached everywhere, from any state. share_up NAME=VALUE… (of the client): loads them again.
share_up() {
	settle_drive
	if [ $# -gt 0 ] || [ -z "$is_lent" ]; then share_down; is_lent=; fi
	links_only
	[ -n "$is_lent" ] || lend
	client_parameters=("$@")
	attach_one() { attach "$1" "${client_parameters[@]}"; }
	at_once attach_one "${all[@]}"
}
share_down() {
	kill_and_detach() { detach "$1" "$kill_load"; }
	at_once kill_and_detach "${all[@]}"
	unlend
}

# stat HOST NAME: a counter of its client, from the sysfs folder of its controller.
stat() { sh_on "$1" 'read -r c < /run/shared.ctrl; read -r v < /sys/class/nvme/$c/smartio/$1; echo $v' "$2"; }
stat_above() { in_time "$1" 'read -r c < /run/shared.ctrl; read -r v < /sys/class/nvme/$c/smartio/$1; [ $v -gt $2 ]' "$2" "$3"; }
path_up() { in_time "$1" 'read -r c < /run/shared.ctrl; read -r s < /sys/class/nvme/$c/state; [ $s = live ]'; }
# holdings: the lender's list of queue pairs that hosts hold, a line each.
holdings() { on lender cat "/sys/class/smartio_export/$drive_pci/holdings"; }
holds() { holdings | grep -c "host=$1 " || true; }
holds_none() { in_time lender '[ -r $2 ] && ! grep -q "host=$1 " $2' "$1" "/sys/class/smartio_export/$drive_pci/holdings"; }
drive_interrupts() { interrupts_of "$drive_pci"; }

# ---- verified load ----

# With the lender's IOMMU on, the data of a borrower's command goes through the lender's QEMU, eight bytes at a time
# (docs/fabric.md). Then the load is smaller.
slow_lender=$(iommu_of lender)
load_shape=(--bssplit=4k/70:64k/20:256k/10 --iodepth=32)
[ -z "$slow_lender" ] || load_shape=(--bs=4k --iodepth=8)
# Bursts as deep as the queue are enough to lose a path in, and leave the CPUs to the clusters beside. With them a run of fio is
# shorter, since a load that is stopped ends with one. make check-long has no pauses.
if [ -n "${SMARTIO_LONG:-}" ]; then
	load_shape+=("--size=$([ -z "$slow_lender" ] && echo 16m || echo 2m)")
else
	load_shape+=("--size=$([ -z "$slow_lender" ] && echo 5m || echo 768k)" --thinktime=400ms --thinktime_blocks=32)
fi

load_engines=(libaio io_uring)	# of fio, in turn
# Each host has a part of the disk to itself, this many MiB; region HOST: where it begins.
region_mib=128
region() { local n=0 host; for host in "${all[@]}"; do [ "$host" != "$1" ] || { echo $((n * region_mib)); return; }; n=$((n + 1)); done; fail "no host $1"; }

# start_load HOST: verified load in its region, until stop_load.
start_load() {
	load_begin "$1" /run/shared $(($(region "$1") + 64)) "${load_engines[*]}" "${load_shape[@]}"
	load_goes_on "$1"
}
# short_check HOST: 1 MiB of its region written and verified.
short_check() {
	sh_on "$1" 'fio --name=check --filename=/run/shared --allow_file_create=0 --direct=1 --ioengine=libaio --rw=randwrite --bs=4k --iodepth=16 \
		--size=1m --offset=$1m --verify=crc32c --verify_fatal=1 > /run/check.out 2>&1' "$(region "$1")" ||
		fail "writing and verifying on $1: expected no error, saw: $(on "$1" cat /run/check.out)"
}
# Writes that HOST's disk has completed.
writes_done() { sh_on "$1" 'd=$(readlink /run/shared); read -r _ _ _ _ w _ < /sys/block/${d##*/}/stat; echo $w'; }
writes_above() { in_time "$1" 'd=$(readlink /run/shared); read -r _ _ _ _ w _ < /sys/block/${d##*/}/stat; [ $w -gt $1 ]' "$2"; }
load_goes_on() { disk_goes_on "$1" /run/shared 30 "${2:-60}"; }
# slow HOST [MS [N]]: the drive delays each command of HOST's queues (the load's, if it runs) by MS (5000). Returns when N (4) of
# them are in flight there. The default is so long that they are still in flight at the test's next step, even on a busy machine.
slow() {
	local qid qids
	mapfile -t qids < <(sh_on "$1" 'sed -n "s/.*qid=\([0-9]*\).*/\1/p" /sys/class/nvme/$(cat /run/shared.ctrl)/smartio/queues')
	for qid in "${qids[@]}"; do fabric drive "$drive" fault delay any "${2:-5000}ms" queue="$qid" > /dev/null; done
	until_true 60 "the drive to have requests of $1" delayed "${3:-4}" "${qids[@]}"
}
delayed() {
	local n=$1; shift
	fabric drive "$drive" faults | jq -e --argjson n "$n" '[.held[] | select((.released | not) and (.queue | tostring | IN($ARGS.positional[])))] | length >= $n' --args "$@"
}
in_flight() {
	sh_on "$1" 'awk -v n="$1" -F "[ =]" "{ for (i = 1; i < NF; i += 2) v[\$i] = \$(i + 1); sum += v[\"submitted\"] - v[\"completed\"] } END { exit sum < n }" \
		/sys/class/nvme/$(cat /run/shared.ctrl)/smartio/queues' "$2"
}
load_ended() { load_finished "$1"; }
stop_load() { load_finish "$1"; }
last_of_load() { load_goes_on "$1"; stop_load "$1"; }

# ---- blocks that say which host wrote them, in which order and when (userspace/tests/guest/stamps.cc) ----

stamped() { echo $(($(region "$1") * 256)); }	# the first of HOST's eight
stamps=8
# start_stamps HOST: it writes its blocks again and again, until stop_stamps, or until they fail.
start_stamps() {
	# A write is one block, though mq-deadline would merge two that wait. A path with one queue has it, and with Linux 7 they often meet.
	sh_on "$1" 'rm -f /run/stamps.*
		for f in /sys/block/nvme*c*n*/queue/nomerges; do echo 2 > $f; done
		setsid sh -c "stamps write /run/shared $1 $2 $3 /run/stamps > /run/stamps.out 2> /run/stamps.err; echo \$? > /run/stamps.end" > /dev/null 2>&1 &' "$(stamped "$1")" $stamps "$1"
	until_true 30 "$1 to write its blocks" on "$1" test -e /run/stamps.going
}
stamps_ended() { on "$1" test -s /run/stamps.end; }
# stamps_failed HOST WHAT: the writes of all its blocks fail.
stamps_failed() {
	until_true 40 "all writes of $1 to fail ($2)" stamps_ended "$1"
	expect "how the writer on $1 ended ($2)" 0 "$(on "$1" cat /run/stamps.end)"
	expect "blocks of $1 whose last write failed ($2)" $stamps "$(sh_on "$1" 'grep -c " failed$" /run/stamps.out')"
}
# The blocks of HOST as the lender reads them: a line each.
stamps_of() { on lender stamps read /run/shared "$(stamped "$1")" $stamps; }
# took_over HOST WHAT: HOST was fenced. None of its blocks was sent after that, by HOST's clock. The lender writes the blocks, as
# a host does that continues without HOST. Then prints the blocks.
took_over() {
	local now before
	now=$(sh_on "$1" 'awk "{ printf \"%.0f\", \$1 * 1e9 }" /proc/uptime')
	before=$(stamps_of "$1")
	awk -v h="$1" -v now="$now" '$2 != h || $4 > now { bad = 1 } END { exit bad || NR == 0 }' <<< "$before" ||
		fail "the blocks of $1 ($2): expected writes of $1 that began before $now ns, saw: $before"
	on lender stamps once /run/shared "$(stamped "$1")" $stamps lender
	stamps_of "$1"
}
# not_late HOST WHAT STAMPS: its blocks are as took_over left them.
not_late() {
	local seen
	seen=$(stamps_of "$1")
	[ "$seen" = "$3" ] || fail "the blocks of $1 ($2): expected those of the lender, which wrote them after the fence, saw: $seen"
	say "the blocks of $1 ($2): those that the lender wrote after the fence"
}
# windows_to HOST: how much of the lender's memory and registers is open to HOST: a number for each window of each link.
windows_to() {
	fabric link list | jq -r --arg h "$1" '[.links[] | select(.primary.host == $h or .secondary.host == $h) | (.primary, .secondary | select(.host == "lender")).inbound_windows[].limit] | join(" ")'
}
shut_out() {
	[[ $(windows_to "$1") =~ ^$ntb_shut( $ntb_shut)*$ ]] || fail "windows of the lender that are open to $1 ($2): expected none, saw limits of $(windows_to "$1")"
	expect "queue pairs of $1 ($2)" 0 "$(holds "$1")"
}
# hold_writes HOST QID…: the drive keeps back a write of each of its blocks, with the data of it.
writes_held() { fabric drive "$drive" faults | jq -e --argjson at "$(($(stamped "$1") * 8))" --argjson n $stamps '[.held[] | select(.opcode == 1 and .lba >= $at and .lba < $at + 8 * $n and (.released | not))] | length == $n' > /dev/null; }
hold_writes() {
	local host=$1 qid; shift
	for qid in "$@"; do fabric drive "$drive" fault hold-commit write queue="$qid" > /dev/null; done
	until_true 20 "the drive to keep back a write of each block of $host" writes_held "$host"
	fabric drive "$drive" unfault all > /dev/null
}
release_writes() {
	local id ids
	mapfile -t ids < <(fabric drive "$drive" faults | jq -r '.held[] | select(.opcode == 1 and .queue != 0) | .id')
	for id in "${ids[@]}"; do fabric drive "$drive" release "$id" > /dev/null 2>&1 || true; done	# those of a queue that is deleted are gone
	until_true 20 "the drive to go on with what it kept back" no_writes_held
}
no_writes_held() { fabric drive "$drive" faults | jq -e '[.held[] | select(.queue != 0)] | length == 0' > /dev/null; }
deletion_held() { fabric drive "$drive" faults | jq -e '[.held[] | select(.queue == 0 and .opcode == 0)] | length > 0' > /dev/null; }
drive_resets() { fabric drive "$drive" counters | jq .resets; }
# start_fence HOST, fence_returned: the lender's fence of it, in the background.
start_fence() { sh_on lender 'rm -f /run/fencing.*; setsid sh -c "smartioctl fence $1 > /run/fencing.out 2>&1; echo \$? > /run/fencing.end" > /dev/null 2>&1 &' "$1"; }
fence_returned() { on lender test -s /run/fencing.end; }
links_to() { fabric link list | jq -r --arg h "$1" '.links[] | select(.primary.host == $h or .secondary.host == $h) | .name'; }
# fence_with_writes HOST free|held WHAT QID…: HOST is cut off and fenced while the drive keeps back a write of each of its blocks. With
# "held" it keeps back the lender's deletion of the queues as well: the writes may reach the media until then, and the fence may not return
# before. Sets $after, the blocks as took_over left them. Fails, without a word, if the manager lost patience and reset the controller
# first: that has shown nothing.
fence_with_writes() {
	local host=$1 deletion=$2 what=$3 resets before link; shift 3
	hold_writes "$host" "$@"
	before=$(drive_resets)
	[ "$deletion" = free ] || fabric drive "$drive" fault hold any queue=0 > /dev/null
	for link in $(links_to "$host"); do fabric link "$link" silent > /dev/null; done
	start_fence "$host"
	if [ "$deletion" = held ]; then
		until_true 20 "the lender to delete the queues of $host ($what)" deletion_held
		release_writes
		! fence_returned || fail "the fence of $host ($what): expected it to wait until its queues are deleted, it returned before"
		resets=$(drive_resets)
		fast
	fi
	until_true 60 "the fence of $host to return ($what)" fence_returned
	expect "how the fence of $host ended ($what)" 0 "$(on lender cat /run/fencing.end)"
	shut_out "$host" "$what"
	after=$(took_over "$host" "$what")
	[ "$deletion" = held ] || release_writes
	not_late "$host" "$what, all is released" "$after"
	[ "$deletion" = free ] || [ "$resets" = "$before" ]
}

# ---- a block that is written and flushed ----

# start_fsync HOST [CPU]: it writes the first block of its region, with new data, and calls fsync.
start_fsync() {
	sh_on "$1" 'rm -f /run/flush.*
		head -c 4096 /dev/urandom > /run/flush.block
		setsid sh -c "$2 dd if=/run/flush.block of=/run/shared bs=4096 seek=$1 oflag=direct conv=notrunc,nocreat,fsync 2> /run/flush.err; echo \$? > /run/flush.end" > /dev/null 2>&1 &' \
		"$(stamped "$1")" "${2:+taskset -c $2}"
}
fsync_ended() { on "$1" test -s /run/flush.end; }
fsync_end() { sh_on "$1" '! [ -e /run/flush.end ] || cat /run/flush.end'; }	# its status; nothing before it has one
# block_is_there HOST WHEN: as the lender reads it.
block_is_there() {
	local wrote seen
	wrote=$(on "$1" sha256sum /run/flush.block)
	seen=$(sh_on lender 'dd if=/run/shared bs=4096 skip=$1 count=1 iflag=direct status=none | sha256sum' "$(stamped "$1")")
	expect "the block that $1 wrote ($2)" "${wrote%% *}" "${seen%% *}"
}
