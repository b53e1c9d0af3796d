# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2016
# What a guest of the borrower does with an NVMe function, its own or a lent one.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# guest_rounds PCI
guest_rounds() {
	local pci=$1 disk
	to_vfio borrower "$pci"
	guest_start borrower one 256 -device vfio-pci,id=fn,host="$pci",bus=hp0
	in_guest borrower one 'modprobe nvme'
	disk=$(guest_disk borrower one)
	expect "size of $disk in the guest" $((256 << 20)) "$(in_guest borrower one "blockdev --getsize64 /dev/$disk")"
	guest_fio borrower one "$disk" 1m
	interrupts=$(in_guest borrower one "awk '/nvme[0-9]+q[1-9]/ { sum += \$2 } END { print sum + 0 }' /proc/interrupts")
	[ "$interrupts" -gt 0 ] || fail "interrupts of I/O queues in the guest: expected more than 0, saw $interrupts"

	guest_unplug borrower one fn
	expect "NVMe controllers of the guest" 0 "$(in_guest borrower one 'ls /sys/class/nvme | wc -l')"
	quiet borrower "$pci"
	guest_plug borrower one fn "$pci"
	disk=$(guest_disk borrower one)
	guest_fio borrower one "$disk" 256k

	guest_load borrower one "$disk"
	guest_kill borrower one
	quiet borrower "$pci"
	guest_start borrower two 256 -device vfio-pci,id=fn,host="$pci",bus=hp0
	in_guest borrower two 'modprobe nvme'
	disk=$(guest_disk borrower two)
	guest_fio borrower two "$disk" 256k
	guest_stop borrower two
	quiet borrower "$pci"
	from_vfio borrower "$pci"
}
