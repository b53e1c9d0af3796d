# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2016
# A guest of the borrower with an NVMe function, the borrower's own or a lent one.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# host_interrupts PCI: how many interrupts of the function the borrower's vfio has handed on.
host_interrupts() { sh_on "$borrower" 'awk -v f="($1)" "/vfio-msix/ && index(\$0, f) { for (n = 2; n <= 3; n++) sum += \$n } END { print sum + 0 }" /proc/interrupts' "$1"; }

# locked NAME: KiB of memory that the guest's QEMU has locked.
locked() { sh_on "$borrower" 'awk "/^VmLck/ { print \$2 }" /proc/$(< /run/guest-$1/pid)/status' "$1"; }

none_locked() { [ "$(locked "$1")" = 0 ]; }

# guest_rounds PCI OWNER ADDRESS COMMAND…: PCI is the function on the borrower; OWNER has the device, as ADDRESS. COMMAND tells
# whether the function is quiet when no guest has it.
guest_rounds() {
	local pci=$1 owner=$2 address=$3 disk interrupts handed; shift 3
	to_vfio "$borrower" "$pci"
	guest_start "$borrower" one 256 -device vfio-pci,id=fn,host="$pci",bus=hp0
	in_guest "$borrower" one 'modprobe nvme'
	disk=$(guest_disk "$borrower" one)
	expect "size of $disk in the guest" $((256 << 20)) "$(in_guest "$borrower" one "blockdev --getsize64 /dev/$disk")"
	guest_fio "$borrower" one "$disk" 1m
	interrupts=$(in_guest "$borrower" one "awk '/nvme[0-9]+q[1-9]/ { sum += \$2 } END { print sum + 0 }' /proc/interrupts")
	[ "$interrupts" -gt 0 ] || fail "interrupts of I/O queues in the guest: expected more than 0, saw $interrupts"
	handed=$(host_interrupts "$pci")
	[ "$handed" -ge "$interrupts" ] || fail "interrupts of $pci in the borrower: expected $interrupts or more, saw $handed"
	say "interrupts: $interrupts of I/O queues in the guest, $handed in all in the borrower"
	# vfio pins all memory of the guest, and counts it.
	[ "$(locked one)" -ge $((256 << 10)) ] || fail "KiB that QEMU has locked: expected 256 MiB or more, saw $(locked one)"

	guest_unplug "$borrower" one fn
	until_true 20 "QEMU to unlock the guest's memory" none_locked one
	expect "NVMe controllers of the guest" 0 "$(in_guest "$borrower" one 'ls /sys/class/nvme | wc -l')"
	"$@"
	guest_plug "$borrower" one fn "$pci"
	disk=$(guest_disk "$borrower" one)
	guest_fio "$borrower" one "$disk" 256k

	guest_load "$borrower" one "$disk"
	controller_is on "$owner" "$address"
	guest_kill "$borrower" one
	"$@"
	guest_start "$borrower" two 256 -device vfio-pci,id=fn,host="$pci",bus=hp0
	in_guest "$borrower" two 'modprobe nvme'
	disk=$(guest_disk "$borrower" two)
	guest_fio "$borrower" two "$disk" 256k
	guest_stop "$borrower" two
	"$@"
	from_vfio "$borrower" "$pci"
	no_bus_mastering "$owner" "$address"
}
