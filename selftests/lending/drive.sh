# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2016
# For tests of a function that is lent as a whole: the fabric's drive, which the stock nvme driver takes on the borrower.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

drive=$(fabric drive list | jq -r '.drives[0].name')
drive_pci=$(pci_of lender "$drive")

# Who borrows it. Tests with several borrowers change that.
mapfile -t borrowers < <(hosts | grep -vx lender)
borrower=${borrowers[0]}
# A borrower without an IOMMU opens all of its memory: drivers map anything.
declare -A open=()
for host in "${borrowers[@]}"; do [ -n "$(iommu_of "$host")" ] || open[$host]=flat_window=1; done
load_links() { sh_on "$1" 'for m in smartio_canary smartio_echo smartio_nvme smartio_nvme_mgr smartio_pci smartio_pci_stub nvme; do ! [ -d /sys/module/$m ] || modprobe -r $m; done
	[ -z "$1" ] || ! [ -d /sys/module/ntb_smartio ] || modprobe -r ntb_smartio
	modprobe ntb_hw_amd; modprobe ntb_smartio heartbeat_timeout_ms=3000 $1' "${open[$1]:-}"; }
link_up() { sh_on "$1" 'grep -qx up /sys/class/smartio_link/ntb0/state'; }

# lend: the drive, as it is, by a lender that trusts all borrowers if it has no IOMMU
lend() {
	sh_on lender 'modprobe smartio_pci_stub; d=/sys/bus/pci/devices/$1
		[ -z "$2" ] || echo $1 > /sys/module/smartio/parameters/trust_borrowers
		[ ! -e $d/driver ] || echo $1 > $d/driver/unbind
		echo smartio_pci_stub > $d/driver_override; echo $1 > /sys/bus/pci/drivers_probe; [ -e $d/smartio_export/$1 ]' "$drive_pci" "$trusted"
}
take_back() { sh_on lender 'echo $1 > /sys/bus/pci/drivers/smartio_pci_stub/unbind; echo > /sys/bus/pci/devices/$1/driver_override' "$drive_pci"; }
# The lender's own stock driver reads and writes it.
lender_uses_it() {
	sh_on lender 'modprobe nvme; echo $1 > /sys/bus/pci/drivers_probe' "$drive_pci"
	until_true 20 "the lender's disk" on lender test -b /dev/nvme0n1
	verified lender 4k:8:1m
	on lender modprobe -r nvme
}

offer_ready() { sh_on "$borrower" 'grep -qx ready /sys/bus/smartio/devices/*-ntb0/state'; }
borrow() { sh_on "$borrower" 'echo 1 > "$(echo /sys/bus/smartio/devices/*-ntb0)/borrowed"'; }
give_back() { sh_on "$borrower" 'echo 0 > "$(echo /sys/bus/smartio/devices/*-ntb0)/borrowed"'; }
function_here() { on "$borrower" test -b /dev/nvme0n1; }
function_gone() { sh_on "$borrower" '! ls /sys/bus/pci/devices | grep -q ^1000: && [ ! -e /dev/nvme0n1 ]'; }
borrowed_by() { sh_on lender 'cat /sys/class/smartio_export/$1/borrowers' "$drive_pci"; }
nobody_has_it() { [ -z "$(borrowed_by)" ]; }
# The bit of the command register.
bus_master() { sh_on lender 'echo $(($(od -An -tu2 -j4 -N2 /sys/bus/pci/devices/$1/config) >> 2 & 1))' "$drive_pci"; }
# at_rest WHEN: it was reset, and reaches no memory. Before the reset its controller was enabled, unless a driver shut it down.
at_rest() {
	expect "bus mastering $1" 0 "$(bus_master)"
	expect "whether its controller is enabled $1" false "$(fabric drive "$drive" status | jq .ready)"
}

start_lending() {
	load_links lender
	load_links "$borrower"
	until_true 20 "the lender's link" link_up lender
	until_true 20 "the borrower's link" link_up "$borrower"
	lend
	sh_on "$borrower" 'modprobe smartio_pci; modprobe nvme'
	until_true 20 "the drive to be offered" offer_ready
	borrow
	until_true 20 "the borrower's disk" function_here
}
stop_lending() {
	sh_on "$borrower" 'modprobe -r nvme; modprobe -r smartio_pci'
	sh_on lender 'modprobe -r smartio_pci_stub'
}

# verified HOST BLOCKSIZE:DEPTH:SIZE
verified() {
	local bs qd size
	IFS=: read -r bs qd size <<< "$2"
	on "$1" fio --name=v --filename=/dev/nvme0n1 --direct=1 --ioengine=io_uring --rw=randwrite --bs="$bs" --iodepth="$qd" \
		--size="$size" --verify=crc32c --verify_fatal=1 --verify_state_save=0 > "$notes/fio" || fail "fio on $1: $(tail -5 "$notes/fio")"
	grep -q 'err= 0' "$notes/fio" || fail "fio on $1: $(cat "$notes/fio")"
	say "$1 wrote and verified $size in pieces of $bs, $qd at a time"
}
# Reads until it ends with an error.
start_load() {
	sh_on "$borrower" 'nohup dd if=/dev/nvme0n1 of=/dev/null bs=4k iflag=direct > /run/load 2>&1 & echo $! > /run/load.pid'
	until_true 20 "reads" sh_on "$borrower" '[ "$(awk "\$3 == \"nvme0n1\" { print \$4 }" /proc/diskstats)" -gt "$1" ]' \
		"$(($(sh_on "$borrower" 'awk "\$3 == \"nvme0n1\" { print \$4 }" /proc/diskstats') + 20))"
}
load_ended() { sh_on "$borrower" '! kill -0 $(cat /run/load.pid) 2> /dev/null'; }
# The drive fetches a command when it is no bus master any more: it stands still until it is reset.
cut_off() {
	fabric_may " warning drive $drive: controller fatal status: the bus refused the fetch of a submission queue entry\$"
	fabric_may "^lender\.$drive dma_reads_unclaimed"
	stores_refused
}
# Allows the stock driver's messages about a drive that was pulled out.
pulled_out() {
	log_may "$borrower" 'nvme nvme[0-9]+: failure state error detected, request disconnect$'
	log_may "$borrower" 'I/O error, dev nvme[0-9]+n[0-9]+, sector|Buffer I/O error on dev nvme[0-9]+n[0-9]+,'
	log_may "$borrower" '(blk_print_req_error|buffer_io_error): [0-9]+ callbacks suppressed'
}
