# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2016
# For tests in which the lender's drive works on a borrower's memory: p2p_memory on the borrowers, p2p_drive on the
# lender in the place of the stock nvme (selftests/modules tells what their debugfs files mean).
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

mapfile -t borrowers < <(hosts | grep -vx lender)
[ ${#borrowers[@]} -gt 0 ] || skip "no borrower in this cluster"
export buffer_size=$((256 << 10))       # of p2p_memory's buffers, and p2p_drive's
tmp=$(mktemp -d)
clean_up() { rm -rf "$tmp"; }
drive_pci=$(sh_on lender 'grep -l 0x010802 /sys/bus/pci/devices/*/class | head -1 | cut -d/ -f6')
[ -n "$drive_pci" ] || fail "no NVMe drive in the lender"
dev=/dev/nvme0n1
# The directions of the borrower's link in the ledger: towards it, and from it.
borrower='' window='' toward='' from=''

has_iommu() { [ -n "$(iommu_of "$1")" ]; }

# ---- the modules ----

# The drive in the hands of DRIVER on the lender (nvme or p2p_drive).
give_drive() {
	sh_on lender 'd=/sys/bus/pci/devices/$1
		modprobe "$2"
		if [ "$(basename "$(readlink $d/driver)")" != "$2" ]; then
			[ ! -e $d/driver ] || echo "$1" > $d/driver/unbind
			echo "$2" > $d/driver_override
			echo "$1" > /sys/bus/pci/drivers_probe
			[ "$(basename "$(readlink $d/driver)")" = "$2" ]
		fi
		[ "$2" != nvme ] || echo > $d/driver_override' "$drive_pci" "$1" ||
		fail "the driver $1 does not take the drive $drive_pci"
	[ "$1" != nvme ] || until_true 20 "$dev on the lender" on lender test -b $dev
}

# All hosts as after boot, the drive with its stock driver.
p2p_clean() {
	local host
	sh_on lender '! [ -d /sys/module/p2p_drive ] || modprobe -r p2p_drive'
	give_drive nvme
	for host in "${borrowers[@]}"; do sh_on "$host" '! [ -d /sys/module/p2p_memory ] || modprobe -r p2p_memory'; done
}

# Both modules loaded where they belong, all links up, the drive with p2p_drive.
p2p_start() {
	local host link only_clients='for m in p2p_drive p2p_memory ntb_netdev ntb_transport ntb_pingpong ntb_perf; do
			! [ -d /sys/module/$m ] || modprobe -r $m
		done
		modprobe ntb_hw_amd'
	for link in $(fabric link list | jq -r '.links[].name'); do fabric link "$link" up > /dev/null; done
	sh_on lender "$only_clients"
	for host in "${borrowers[@]}"; do sh_on "$host" "$only_clients"$'\n''modprobe p2p_memory'; done
	give_drive p2p_drive
	for host in "${borrowers[@]}"; do wait_memory "$host" link 1 20; done
}

# use_borrower HOST: from here on the drive's window is the one that leads to HOST. Which that is, tells a number that
# HOST writes to the scratchpads at the other end of its link.
use_borrower() {
	borrower=$1
	local token=$((RANDOM << 15 | RANDOM | 1)) secondary
	sh_on "$borrower" 'echo $1 > "$(ls /sys/kernel/debug/p2p_memory/*/token)"' $token
	window=$(sh_on lender 'grep -lx "$1" /sys/kernel/debug/p2p_drive/*/token | cut -d/ -f6' $token) ||
		fail "no window of the lender leads to $borrower"
	drive window "$window"
	directions "$borrower"
	export toward from
}

# memory HOST FILE [VALUE]: a file of p2p_memory on HOST, read or written.
memory() {
	if [ $# = 2 ]; then sh_on "$1" 'cat /sys/kernel/debug/p2p_memory/*/$1' "$2"; else
		sh_on "$1" 'echo "$2" > "$(ls /sys/kernel/debug/p2p_memory/*/$1)"' "$2" "$3"; fi
}
# wait_memory HOST FILE VALUE [SECONDS]: until that file says VALUE.
wait_memory() {
	sh_on "$1" 'f=$(ls /sys/kernel/debug/p2p_memory/*/$1); n=0
		until [ "$(cat $f)" = "$2" ]; do [ $((n += 1)) -le $(($3 * 50)) ] || exit 1; sleep 0.02; done' "$2" "$3" "${4:-10}" ||
		fail "$1: waited ${4:-10} s for $2 to be $3, it is $(memory "$1" "$2")"
}
# drive FILE [VALUE]: the same for p2p_drive.
drive() {
	local file=/sys/kernel/debug/p2p_drive/$drive_pci/$1
	if [ $# = 1 ]; then on lender cat "$file"; else sh_on lender 'echo "$2" > "$1"' "$file" "$2"; fi
}

# try read|write LBA BLOCKS ADDRESS|local: prints the NVMe status that the command ended with; 0x0 is success.
try() {
	sh_on lender 'cd /sys/kernel/debug/p2p_drive/$1; shift; echo "$*" > command; cat result' "$drive_pci" "$@"
}
# works …: as try, and it must succeed.
works() {
	local status
	status=$(try "$@")
	[ "$status" = 0x0 ] || fail "$*: expected NVMe status 0x0, saw $status"
}

# ---- data ----

bytes_at_random() { head -c "$1" /dev/urandom; }
# put HOST BUFFER FILE / get HOST BUFFER FILE: a whole buffer of p2p_memory.
put() {
	cluster push "$1" "$3" /run/p2p.data
	sh_on "$1" 'dd if=/run/p2p.data of="$(ls /sys/kernel/debug/p2p_memory/*/$1)" bs=256k conv=notrunc status=none' "$2"
}
get() { sh_on "$1" 'dd if="$(ls /sys/kernel/debug/p2p_memory/*/$1)" bs=256k status=none' "$2" > "$3"; }
# lay FILE OFFSET PIECE: PIECE over FILE at OFFSET.
lay() { dd if="$3" of="$1" bs=4096 seek="$2" oflag=seek_bytes conv=notrunc status=none; }
# cut FILE OFFSET BYTES
cut_out() { dd if="$1" bs=4096 skip="$2" count="$3" iflag=skip_bytes,count_bytes status=none; }
same() { cmp "$2" "$3" || fail "$1: expected equal bytes, saw a difference (offsets count from 1)"; }

# media_write FILE / media_read FILE BYTES: from the start of the drive, through the stock driver.
media_write() {
	cluster push lender "$1" /run/p2p.data
	on lender dd if=/run/p2p.data of=$dev bs=64k oflag=direct conv=fsync,notrunc status=none
}
media_read() { on lender dd if=$dev bs=64k iflag=direct,count_bytes count="$2" status=none > "$1"; }
