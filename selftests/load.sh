# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The drive's counters and faults, and verified load in the background: the common part of the tests of nvme/,
# smartio_nvme/ and share/ (and of those that source share/common.sh). For lib.sh's tests; $drive is the fabric's name of
# the drive.

# counter NAME: one of the drive's, 0 while it has not been counted.
counter() { fabric drive "$drive" counters | jq -r --arg name "$1" '.[$name] // .commands[$name] // .admin_commands[$name] // 0'; }
io_commands() { fabric drive "$drive" counters | jq '[.commands[]?] | add // 0'; }
# No command is delayed or held any more.
fast() { fabric drive "$drive" unfault all > /dev/null; fabric drive "$drive" release all > /dev/null; }

# load_begin HOST FILE MIB ENGINES WORD…: runs of fio with WORD… on FILE, from MIB on, until load_finish. A run takes
# seconds, and each has another seed and the next of the ENGINES. load_finish lets the present run end and be verified. A
# block that a run wrote and that is not as written ends the load, and so does any I/O error.
load_begin() {
	sh_on "$1" 'rm -f /run/load.*
		cat > /run/load
		setsid bash /run/load "$@" > /dev/null 2>&1 &' "${@:2}" << 'LOAD'
echo $$ > /run/load.pid
file=$1 at=$2 n=0
read -ra engines <<< "$3"
shift 3
until [ -e /run/load.stop ]; do
	fio --name=load --filename=$file --allow_file_create=0 --direct=1 --ioengine=${engines[n % ${#engines[@]}]} --rw=randrw --rwmixwrite=60 \
		"$@" --offset=${at}m --randseed=$((n + 1)) --verify=crc32c --verify_fatal=1 > /run/load.out 2>&1 ||
		{ touch /run/load.failed; break; }
	n=$((n + 1))
	echo $n > /run/load.rounds
done
touch /run/load.done
LOAD
}
load_finished() { in_time "$1" '[ -e /run/load.done ]'; }
# A load is asked for by one command, which looks for its end in the host: with loads on all hosts each command counts.
load_finish() {
	local said
	said=$(sh_on "$1" 'touch /run/load.stop
		exec 3<> <(:)
		for ((end = SECONDS + $1; SECONDS < end; )); do [ ! -e /run/load.done ] || break; read -rt 0.2 -u 3 || true; done
		[ -e /run/load.done ] || { echo "timed out waiting for its end"; exit 1; }
		[ ! -e /run/load.failed ] || { cat /run/load.out; exit 1; }
		cat /run/load.rounds' $((180 * slower))) ||
		fail "the load on $1: expected it to end with no I/O error and every block as written, saw: $said"
	say "verified runs of fio on $1: $said"
}
# disk_goes_on HOST FILE N SECONDS: until the host's disk has completed N more writes.
disk_goes_on() {
	local said
	said=$(sh_on "$1" 'd=$(readlink -f "$1")
		writes() { read -r _ _ _ _ w _ < /sys/block/${d##*/}/stat; }
		writes; first=$w
		exec 3<> <(:)
		for ((end = SECONDS + $3; SECONDS < end; )); do writes; [ $w -le $((first + $2)) ] || exit 0; read -rt 0.1 -u 3 || true; done
		echo "$((w - first)) writes"
		exit 1' "${@:2:2}" $(($4 * slower))) ||
		fail "timed out waiting for: writes on $1 to go on (expected $3 more in $4 s, saw ${said:-nothing})"
}
