# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2016
# A host loses the network and keeps its PCIe link. It continues to write to a file, and directly to the disk, to the block of
# another of its files. The others fence it, and after that none of its writes reaches the drive. The others continue, with all
# data that it had written and synced (fsync). PARTITION_ROUNDS times (1), another borrower each time.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
rounds=${PARTITION_ROUNDS:-1}

media() { sh_on lender 'dd if=/run/shared bs=4096 skip="$1" count=1 iflag=direct status=none | tr -d " "' "$block"; }
# start_intruder HOST: numbers written to its own file's place on the disk, directly.
start_intruder() {
	block=$(sh_on "$1" 'rm -rf /run/intruder
		dd if=/dev/zero of="$1" bs=4096 count=1 conv=fsync status=none
		block=$(filefrag -v "$1" | awk -F "[. :]+" "\$2 == 0 { print \$5 }")
		setsid fs_log overwrite "$(readlink -f /run/shared)" $block /run/intruder > /run/intruder.out 2>&1 &
		echo $block' "$mounted_at/own.$1.$round")
	until_true 60 "$1 to write to the disk" on "$1" test -s /run/intruder/done
}
# intruder_tries HOST: when it has failed often, how many writes and how many lines of its log were acknowledged. In one go:
# O2CB resets a host whose heartbeat can't be written for some seconds.
intruder_tries() {
	sh_on "$1" 'for ((i = 0; i < 600; i++)); do
			if [ -s /run/intruder/failed ] && [ $(($(cat /run/intruder/failed) - $(cat /run/intruder/done))) -ge 50 ]; then
				echo $(cat /run/intruder/done) $(cat /run/log/done)
				exit 0
			fi
			sleep 0.05
		done
		exit 1'
}

# A host that resets itself ends (docs/cluster.md).
ended() { cluster status -o json | jq -e --arg h "$1" '.hosts[] | select(.name == $h) | .state == "stopped"' > /dev/null; }

# cut_off HOST: allows the messages of a host whose disk is taken away while it writes, until it is ended. They come from the
# client, the block layer and the file system, which gives up with a stack dump.
cut_off() {
	failures_on "$1"
	log_may "$1" 'cannot use drive .*: this host is fenced'
	log_may "$1" 'nvme nvme[0-9]+: [0-9]+ held requests failed|nvme[0-9]+c[0-9]+n[0-9]+: I/O Cmd.* I/O Error '
	log_may "$1" 'nvme[0-9]+n[0-9]+: writeback error on inode '
	log_may "$1" 'gfs2: fsid=test:gfs2|Aborting journal on device nvme|JBD2: |ocfs2 is very sorry to be fencing this system|\] (OCFS2|ocfs2|o2hb|o2cb|o2net|o2quo|o2dlm): '
	log_may "$1" '\([^)]*\):(ocfs2|o2hb|o2cb|o2quo|o2net|dlm|__ocfs2)_[a-z0-9_]+:[0-9]+ '
	log_may "$1" '\] (CPU: [0-9]+ UID: |Tainted: \[O\]=OOT_MODULE|Hardware name: QEMU |Workqueue: |Call Trace:| </?TASK>| (\? )?[a-z0-9_.]+\+0x|(RIP|RSP|RAX|RDX|RBP|R10|R13): )'
}
for host in "${borrowers[@]}"; do cut_off "$host"; done
losses_on lender
fs_log
fs_up
for ((round = 1; round <= rounds; round++)); do
	victim=${borrowers[round % ${#borrowers[@]}]}
	others=(); for host in "${all[@]}"; do [ "$host" = "$victim" ] || others+=("$host"); done
	for host in "${all[@]}"; do start_log "$host"; done
	start_intruder "$victim"
	before=$(log_count "$victim")
	fabric lan "$victim" down > /dev/null
	begin=$(date +%s%N)
	until_true 60 "$victim to be fenced" fenced "$victim"
	say "round $round: $victim fenced $((($(date +%s%N) - begin) / 1000000)) ms after it lost the network"
	seen=$(media)
	if tried=$(unjudged=1 intruder_tries "$victim"); then
		read -r acknowledged lines <<< "$tried"
	elif [ "$fs" = ocfs2 ]; then
		until_true 60 "$victim, which did not try to write fifty times more, to have reset itself" ended "$victim"
		say "$victim reset itself before it was asked what was acknowledged: what was so before counts"
		acknowledged=0 lines=$before
	else
		fail "$victim did not try to write fifty times more"
	fi
	[ "$seen" -ge "$acknowledged" ] || fail "the block on the drive: expected $acknowledged, which was acknowledged, or more, saw $seen"
	# GFS2's fsync does not say that its log could not be written (docs/cluster-filesystems.md): the host believes in one
	# line more than left it.
	[ "$fs" != gfs2 ] || lines=$((lines - 1))
	recovered "$victim" "$lines" "${others[@]}"
	expect "the block on the drive, when $victim had tried to write more" "$seen" "$(media)"
	for host in "${others[@]}"; do
		log_goes_on "$host"
		stop_log "$host"
		say "the longest pause on $host: $(log_pause "$host") ms"
	done
	expect "the block on the drive, at the end" "$seen" "$(media)"
	cluster kill "$victim" > /dev/null || ended "$victim"
	fabric lan "$victim" up > /dev/null
	boot_again "$victim"
	check_log "$victim" "$victim" "$lines"
done
fs_down crashed
