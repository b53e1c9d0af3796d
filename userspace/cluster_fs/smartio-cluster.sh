# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What smartio-gfs2 and smartio-ocfs2 have in common: a corosync membership, and dlm_controld, which fences with
# fence_smartio. On machines with systemd smartio-fs@.service has the daemons started; elsewhere they are started here.

die() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }
wait_for() { # SECONDS WHAT COMMAND…
	local end=$((SECONDS + $1)) what=$2; shift 2
	until "$@" > /dev/null 2>&1; do
		[ $SECONDS -lt $end ] || die "timed out waiting for $what"
		sleep 0.1
	done
}
with_systemd() { [ -d /run/systemd/system ]; }

# read_hosts NAME[=ADDRESS]…: names and addresses, in the order of their node ids.
read_hosts() {
	local word
	names=() addresses=()
	for word in "$@"; do
		names+=("${word%%=*}")
		case $word in
		*=*) addresses+=("${word#*=}") ;;
		*) addresses+=("$(getent ahostsv4 "$word" | awk 'NR == 1 { print $1 }')") ;;
		esac
		[ -n "${addresses[-1]}" ] || die "$word has no address: use $word=ADDRESS"
	done
	[ ${#names[@]} -ge 2 ] || die "name two or more hosts, identically on each host"
}
own_id() {
	local n
	for n in "${!names[@]}"; do [ "${names[n]}" != "$(uname -n)" ] || { echo $((n + 1)); return; }; done
	die "this host, $(uname -n), is not among: ${names[*]}"
}

# write_membership CLUSTER TOKEN_MS: /etc/corosync/corosync.conf and /etc/dlm/dlm.conf, the same on all hosts.
write_membership() {
	local n agent
	agent=$(command -v fence_smartio) || die "fence_smartio is not installed"
	own_id > /dev/null
	mkdir -p /etc/corosync /etc/dlm /var/log/corosync /var/lib/corosync /var/log/dlm_controld
	{
		printf 'totem {\n\tversion: 2\n\tcluster_name: %s\n\ttransport: udpu\n\ttoken: %d\n\ttoken_coefficient: 0\n' "$1" "$2"
		printf '\tconsensus: %d\n\tjoin: 50\n\tinterface {\n\t\tlinknumber: 0\n\t}\n}\n' $(($2 * 6 / 5))
		printf 'quorum {\n\tprovider: corosync_votequorum\n\texpected_votes: %d\n' ${#names[@]}
		# two_node has wait_for_all with it: a host that boots alone must not mount a file system that the other may have mounted.
		[ ${#names[@]} != 2 ] || printf '\ttwo_node: 1\n'
		printf '}\nnodelist {\n'
		for n in "${!names[@]}"; do
			printf '\tnode {\n\t\tring0_addr: %s\n\t\tname: %s\n\t\tnodeid: %d\n\t}\n' "${addresses[n]}" "${names[n]}" $((n + 1))
		done
		printf '}\nlogging {\n\tto_syslog: yes\n\tto_stderr: no\n\tto_logfile: yes\n\tlogfile: /var/log/corosync/corosync.log\n\ttimestamp: hires\n}\n'
	} > /etc/corosync/corosync.conf
	{
		printf 'enable_fencing=1\nenable_startup_fencing=0\nenable_quorum_fencing=1\nenable_quorum_lockspace=1\npost_join_delay=1\n'
		printf 'device smartio %s\n' "$agent"
		for n in "${!names[@]}"; do printf 'connect smartio node=%d port=%s\n' $((n + 1)) "${names[n]}"; done
		printf 'unfence smartio\n'
	} > /etc/dlm/dlm.conf
	# udev would load it when the drive appears, before this host is a member.
	mkdir -p /etc/modprobe.d
	echo 'blacklist smartio_nvme' > /etc/modprobe.d/smartio-cluster.conf
}

# stable DEVICE: accepts names that are made of the disk's own identity, and LVM's. /dev/nvme0n1 of one host is another namespace on
# another, and mkfs or a mount there destroys data. The same goes for names by number, place or label. Links outside /dev are
# followed until one leads to a name there.
stable() {
	local folder name=$1 disk mapped='' uuid='' volume links=0
	[ -d "$(dirname "$1")" ] || die "there is no $1"
	disk=$(readlink -f "$1")
	[ -b "$disk" ] || die "$1 is no block device"
	while :; do
		folder=$(cd "$(dirname "$name")" && pwd -P)
		name=$folder/$(basename "$name")
		case $name in
		/dev/* | /proc/* | /sys/*) break ;;
		esac
		[ -L "$name" ] && ((links++ < 40)) || break
		name=$(readlink "$name")
		[[ $name = /* ]] || name=$folder/$name
	done
	if [ -e "/sys/class/block/${disk##*/}/dm/uuid" ]; then
		read -r uuid < "/sys/class/block/${disk##*/}/dm/uuid" || true
		read -r mapped < "/sys/class/block/${disk##*/}/dm/name"
	fi
	# as the device mapper has GROUP/VOLUME
	volume=${folder#/dev/} volume=${volume//-/--}-$(basename "$name" | sed 's/-/--/g')
	case $name in
	/dev/smartio/by-serial/* | /dev/disk/by-id/* | /dev/disk/by-uuid/* | /dev/disk/by-partuuid/*) return ;;
	/dev/*) [[ $uuid != LVM-* || ($name != "/dev/mapper/$mapped" && $volume != "$mapped") ]] || return 0 ;;
	esac
	die "$1 may be another disk on another host, or after the next boot: name it by /dev/smartio/by-serial/SERIAL-nsNSID" \
		"(smartioctl list shows it), by /dev/disk/by-id/…, or by LVM's name"
}

# mkfs must not overwrite data without -f. This host can't know whether another host has the device mounted.
refuse_filled() {
	local type
	type=$(blkid -p -o value -s TYPE -s PTTYPE "$1") || return 0
	[ -n "$force" ] || die "$1 already has $type: mkfs -f overwrites it"
}

quorate() { corosync-quorumtool -s | grep -q '^Quorate: *Yes'; }
# Answering is not enough: a mount before dlm_controld has given the kernel this host's own address gets ENOTCONN.
dlm_ready() { dlm_tool status | grep -q 'quorate 1' && [ -n "$(ls /sys/kernel/config/dlm/cluster/comms 2> /dev/null)" ] && dlm_own_address; }
dlm_own_address() { [ -d "/sys/kernel/config/dlm/cluster/comms/$(corosync-quorumtool -s | awk '/^Node ID:/ { print $3 }')" ]; }

# A lender answers, or it refuses this host, which is fenced: dlm_controld then has this host admitted. A host with no link yet
# knows no lender.
lender_answers() {
	grep -qsx 'this host is fenced' /sys/class/smartio_link/*/reason || fence_smartio -o monitor
}

await_lender() {
	[ -e /etc/dlm/dlm.conf ] || die "run $(basename "$0") configure first"
	[ -d /sys/class/smartio_host ] || modprobe ntb_smartio
	wait_for 300 "a lender to answer (fence_smartio -o monitor)" lender_answers
}
start_daemons() {
	local device
	modprobe dlm
	mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config
	mkdir -p /run/dlm_controld /dev/misc
	for device in dlm-control dlm-monitor dlm_plock; do	# udev's job
		[ -e /dev/misc/$device ] || ln -s ../$device /dev/misc/$device
	done
	pidof corosync > /dev/null || corosync
	wait_for 60 "a quorum of the cluster" quorate
	pidof dlm_controld > /dev/null || dlm_controld
}
# When the daemons run. At boot the others may boot, too.
join_membership() {
	local patience=60
	! with_systemd || patience=600
	wait_for $patience "a quorum of the cluster" quorate
	wait_for 60 "dlm_controld" dlm_ready
	# Not before: a host that has used the drive since it was booted, and is fenced only then, for it died while its lender
	# was away, can't let itself in.
	modprobe smartio_nvme
}
# A daemon's own process is the oldest of its name; dlm_controld has a helper.
stop_one() {
	local pids
	pids=$(pidof "$1") || return 0
	"${@:2}" "${pids##* }"
	wait_for 30 "$1 to end" not_running "$1"
}
not_running() { ! pidof "$1"; }
# In this order: a host whose dlm_controld ends after corosync is fenced.
stop_daemons() {
	stop_one dlm_controld kill
	! pidof corosync > /dev/null || corosync-cfgtool -H > /dev/null
	wait_for 30 "corosync to end" not_running corosync
}

# membership start|stop|join|leave|wait FILE_SYSTEM: start and stop are for people. smartio-fs@.service calls join and leave,
# when systemd has started the daemons and before it stops them, and smartio-lender.service calls wait. The script defines
# join_fs, leave_fs and refuse_mounted.
membership() {
	case $1 in
	wait) await_lender ;;
	join)
		join_membership
		join_fs
		;;
	leave)
		refuse_mounted
		leave_fs
		;;
	start)
		[ -e /etc/dlm/dlm.conf ] || die "run $(basename "$0") configure first"
		if with_systemd; then
			systemctl start "smartio-fs@$2.service"
		else
			await_lender
			start_daemons
			membership join "$2"
		fi
		;;
	stop)
		refuse_mounted
		if with_systemd; then
			systemctl stop "smartio-fs@$2.service" dlm.service corosync.service smartio-lender.service
		else
			membership leave "$2"
			stop_daemons
		fi
		;;
	esac
}
