# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2016
# For tests of virtual machines that hosts run (guest.sh).
source "$(dirname "${BASH_SOURCE[0]}")/../lending/common.sh"
source "$(dirname "${BASH_SOURCE[0]}")/guest.sh"

# Which of the borrowers has the guest, or the first.
borrower=$(hosts | grep -vx lender | head -n 1)

# for_vm HOST PCI: HOST borrows the lender's function PCI for a virtual machine; prints smartioctl's JSON.
for_vm() { on "$1" smartioctl borrow --for-vm -o json "lender:$2"; }

# to_vfio HOST PCI, from_vfio HOST PCI: its driver is vfio-pci; none.
to_vfio() {
	sh_on "$1" 'p=/sys/bus/pci/devices/$1
		echo vfio-pci > $p/driver_override
		[ ! -e $p/driver ] || echo $1 > $p/driver/unbind
		echo $1 > /sys/bus/pci/drivers_probe' "$2"
	expect "the driver of $2 in $1" vfio-pci "$(driver_of "$1" "$2")"
}
from_vfio() {
	sh_on "$1" 'p=/sys/bus/pci/devices/$1
		echo > $p/driver_override
		[ ! -e $p/driver ] || echo $1 > $p/driver/unbind' "$2"
}

# no_bus_mastering HOST PCI: the function's own configuration space says so in the host that has the device.
no_bus_mastering() { expect "bus mastering of $2 in $1" 0 "$(sh_on "$1" 'echo $(($(od -An -tu2 -j4 -N2 /sys/bus/pci/devices/$1/config) >> 2 & 1))' "$2")"; }
# controller_is off|on HOST PCI: checks the enable bit in register CC of QEMU's nvme, as QEMU reads it. Off, it has no queues.
controller_is() {
	local base cc words=(off on)
	base=$(sh_on "$2" 'cut -d " " -f 1 /sys/bus/pci/devices/$1/resource | head -n 1' "$3")
	cc=$(cluster monitor "$2" -- xp /1wx "$(printf '0x%x' $((base + 0x14)))")
	expect_match "CC of $3 in $2" '^[0-9a-f]+: 0x[0-9a-f]{8}' "$cc"
	cc=${cc#*: }
	cc=$((${cc%%[!0-9a-fx]*} & 1))
	expect "the controller $3 in $2" "$1" "${words[cc]}"
}

# guest_fio HOST NAME DISK SIZE: verified.
guest_fio() {
	local out
	out=$(in_guest "$1" "$2" "fio --output-format=json --name=v --filename=/dev/$3 --direct=1 --ioengine=io_uring --rw=randrw --bs=4k \
		--iodepth=4 --size=$4 --verify=crc32c --verify_fatal=1") || fail "fio in guest $2 ended with $?: $out"
	expect "fio in guest $2: jobs that wrote and verified" 1 \
		"$(jq '[.jobs[] | select(.error == 0 and .read.io_bytes > 0 and .write.io_bytes > 0)] | length' <<< "$out")"
	jq -r '.jobs[] | "# in the guest: read \(.read.iops | floor) IOPS, write \(.write.iops | floor) IOPS"' <<< "$out"
}
# guest_load HOST NAME DISK: reads and writes the first 128 MiB until it is ended.
# guest_did HOST NAME DISK: the number of finished I/Os.
guest_load() {
	local before
	before=$(guest_did "$1" "$2" "$3")
	in_guest "$1" "$2" "fio --name=load --filename=/dev/$3 --direct=1 --ioengine=io_uring --rw=randrw --bs=4k --iodepth=8 --size=128m --time_based --runtime=600 > /run/load.log 2>&1 &"
	until_true 60 "I/O of guest $2" guest_busy "$1" "$2" "$3" "$before"
}
guest_did() { in_guest "$1" "$2" "awk '\$3 == \"$3\" { print \$4 + \$8 }' /proc/diskstats"; }
guest_busy() { [ "$(guest_did "$1" "$2" "$3")" -gt $(($4 + 50)) ]; }
