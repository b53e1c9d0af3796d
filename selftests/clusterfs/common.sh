# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2016
# For tests of a cluster file system on the shared drive; the test's name begins with which: gfs2-… or ocfs2-….
source "$(dirname "${BASH_SOURCE[0]}")/../share/common.sh"
source "$(dirname "${BASH_SOURCE[0]}")/dlm.sh"

fs=${test_name#*/} fs=${fs%%-*}
mounted_at=/mnt/$fs
case $fs in gfs2) fsck=(fsck.gfs2 -n) ;; ocfs2) fsck=(fsck.ocfs2 -fn) ;; *) fail "which file system is $test_name of?" ;; esac

configure_options=()	# a test's own
configure_one() { on "$1" "smartio-$fs" configure -c test ${configure_options[@]+"${configure_options[@]}"} "${all[@]}"; }
start_one() { on "$1" "smartio-$fs" start; }
# These hosts have no udev, whose rule makes such names.
named=/dev/smartio/by-serial/shared-ns1
name_disk='mkdir -p "$(dirname "$1")" && ln -sfn "$(readlink -f /run/shared)" "$1"'
mount_one() { sh_on "$1" "$name_disk"'; smartio-$2 mount "$1" "$3"' "$named" "$fs" "$mounted_at"; }
umount_one() { sh_on "$1" '! mountpoint -q "$2" || smartio-$1 umount "$2"' "$fs" "$mounted_at"; }
stop_one() { sh_on "$1" '! [ -e /etc/corosync/corosync.conf ] || smartio-$1 stop; rm -f /etc/corosync/corosync.conf' "$fs"; }

# stop_writers HOST: restores its network, and ends the writers that a failed test may have left.
stop_writers() {
	fabric lan "$1" up > /dev/null
	sh_on "$1" 'pkill -KILL "fs_log|fs_worker|fio" || true'
}
# The membership that a test left running, for the next one: its settings, and which run of fs_up it is of. A host that booted has none.
membership=/run/fs.membership
running() { sh_on "$1" '! [ -e "$1" ] || cat "$1"' $membership; }
# keep_running HOST, forget_running HOST
keep_running() { sh_on "$1" 'echo "$2" > "$1"' $membership "$fs ${configure_options[*]-} $set_up"; }
forget_running() { on "$1" rm -f $membership; }
all_run() {
	local host first
	first=$(running "${all[0]}")
	[[ $first = "$fs ${configure_options[*]-} "* ]] || return 1
	for host in "${all[@]}"; do [ "$(running "$host")" = "$first" ] || return 1; done
	set_up=${first##* }
}
# Makes a new file system and mounts it on all hosts. Unless all are members with these settings, it sets up the cluster first.
fs_up() {
	if all_run; then
		share_up
	else
		set_up=$$.$RANDOM
		share_up
		at_once stop_writers "${all[@]}"
		at_once umount_one "${all[@]}"
		at_once stop_one "${all[@]}"
		at_once configure_one "${all[@]}"
		# the options that configure sets for the client apply when the client is loaded again
		at_once detach "${all[@]}"
		at_once attach "${all[@]}"
		at_once start_one "${all[@]}"
	fi
	at_once forget_running "${all[@]}"	# if this test fails, the next sets all up again
	sh_on lender "$name_disk"'; smartio-$2 mkfs -f -c test "$1"' "$named" "$fs"
	at_once mount_one "${all[@]}"
}
fs_unmount() { at_once umount_one "${all[@]}"; }
# join_again HOST: its links are up; it enters the cluster (its dlm_controld asks the lender to admit it), attaches and mounts.
join_again() {
	configure_one "$1"
	start_one "$1"
	attach "$1"
	mount_one "$1"
}
boot_again() {
	cluster boot "$1" > /dev/null
	load_links "$1"
	join_again "$1"
}
# Allows, on all hosts, the messages of the file systems and their locks about hosts that join, leave or fail.
fs_log() {
	local host
	for host in "${all[@]}"; do
		log_may "$host" 'OCFS2 User DLM kernel interface loaded|workqueue: name exceeds WQ_NAME_LEN'
		dlm_log "$host"
		# OCFS2: its list of hosts, a word a line; its errors when hosts unmount at the same moment, or one is lost
		log_may "$host" '\] (\( |[0-9]+ |\) [0-9]+ nodes)'
		log_may "$host" '\([^)]*\):(dlm|o2net)_[a-z_]+:[0-9]+ ERROR'
		log_may "$host" '\] (lockres: | +last used: | +on dirty list: | +inflight locks: | +refmap nodes: |\], inflight=| +(granted|converting|blocked) queue:| +type=-?[0-9]+, conv=-?[0-9]+, node=)'
		log_may "$host" 'JBD2: Ignoring recovery information on journal'
		# OCFS2: a file that several hosts make at once (fs_worker.cc)
		log_may "$host" 'ocfs2_(check_dir_for_entry|mknod|create):[0-9]+ ERROR: status = -17'
		# io_uring asks not to wait, and tries again (docs/cluster-filesystems.md)
		log_may "$host" 'ocfs2_dio_end_io:[0-9]+ ERROR: Direct IO failed, bytes = -11'
		# its heartbeat waits for the drive, and the others are asked
		log_may "$host" 'o2hb_nego_timeout:[0-9]+ ERROR: send NEGO_TIMEOUT msg to node [0-9]+ fail'
		log_may "$host" 'ntb[0-9]+: refused( by or refusing [a-z0-9]+)?: (this host is )?fenced'
	done
}
# recovered VICTIM LINES HOST…: on each of these hosts, what VICTIM had locked is free again, its journal is replayed and
# its acknowledged lines are there; says after how long.
recovered() {
	local victim=$1 lines=$2 begin; shift 2
	begin=$(date +%s%N)
	recovered_one() {
		check_log "$1" "$victim" "$lines"
		say "$1 reads what $victim wrote $((($(date +%s%N) - begin) / 1000000)) ms after that"
	}
	at_once recovered_one "$@"
}
fenced() { sh_on lender 'fence_smartio -o status -n "$1" || [ $? = 2 ]' "$1" | grep -qx 'Status: OFF'; }
# Nothing to repair. The file system is mounted nowhere. `fs_check crashed`, on GFS2: but for the sums of statfs, which its
# recovery of a journal adds up without having the lock of their inode (docs/cluster-filesystems.md); they are repaired then.
fs_check() {
	local rest
	if ! run_fsck; then
		[ "$fs,${1:-}" = gfs2,crashed ] || fail "${fsck[*]}: expected nothing to be found, saw: $(on lender cat /run/fsck.out)"
		rest=$(on lender cat /run/fsck.out | grep -vEf "$top/selftests/clusterfs/fsck.gfs2.statfs" || true)
		[ -z "$rest" ] || fail "${fsck[*]}: expected nothing but statfs to be wrong, saw: $(on lender cat /run/fsck.out)"
		sh_on lender 's=0; fsck.gfs2 -y "$(readlink -f /run/shared)" > /run/fsck.repair || s=$?; [ $s = 1 ]' ||
			fail "fsck.gfs2 -y: expected it to repair the sums, saw: $(on lender cat /run/fsck.repair)"
		run_fsck || fail "${fsck[*]}, after the repair of statfs: expected nothing to be found, saw: $(on lender cat /run/fsck.out)"
		say "fsck.gfs2: clean but for the sums of statfs"
		return
	fi
	say "${fsck[*]}: clean"
}
run_fsck() { sh_on lender '"${@:2}" "$(readlink -f "$1")" > /run/fsck.out 2>&1' /run/shared "${fsck[@]}"; }
# fs_down [crashed]: the membership stays for the next test.
fs_down() {
	fs_unmount
	fs_check "$@"
	at_once keep_running "${all[@]}"
}
host_number() { local n; for n in "${!all[@]}"; do [ "${all[n]}" != "$1" ] || echo "$n"; done; }

# ---- a writer without end, whose acknowledged lines are known (userspace/tests/guest/fs_log.cc) ----

# start_log HOST: in a new file of its own.
declare -A log_number=()
log_of() { printf '%s/log.%s.%s' "$mounted_at" "$1" "${log_number[$1]}"; }
start_log() {
	log_number[$1]=$((${log_number[$1]:-0} + 1))
	sh_on "$1" 'rm -rf /run/log; setsid fs_log write "$1" /run/log > /run/log.out 2>&1 &' "$(log_of "$1")"
	until_true 60 "$1 to write to its log" on "$1" test -s /run/log/done
}
log_count() { sh_on "$1" 'echo $(($(cat /run/log/done)))'; }
log_above() { [ "$(log_count "$1")" -gt "$2" ]; }
log_goes_on() { local n; n=$(log_count "$1"); until_true "${2:-60}" "the log of $1 to go on" log_above "$1" $((n + 5)); }
# The longest time between two lines, in ms.
log_pause() { sh_on "$1" 'echo $(($(cat /run/log/pause)))'; }
stop_log() {
	on "$1" touch /run/log/stop
	until_true 120 "the log of $1 to end" on "$1" test -s /run/log/end
	expect "the end of the log of $1" stopped "$(on "$1" cat /run/log/end)"
}
# check_log READER WRITER LINES: that many lines are there, each as written, in order; more may follow.
check_log() {
	on "$1" fs_log check "$(log_of "$2")" "$3" || fail "on $1, the log of $2: expected the $3 lines that were acknowledged"
}
