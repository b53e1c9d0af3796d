# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2016,SC2034
# The lender's igb, whose virtual functions go to hosts and guests. The lender has 10.78.0.1 on the physical one, which stays with its
# own igb, and 10.78.0.2 on the hosts' LAN.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# card_begin N: sets physical, its address, and vfs, those of its N functions, which are lent.
card_begin() {
	physical=$(pci_of lender nic1)
	log_may lender "igb $physical: (All device reset methods disabled by user|VF [0-9]+ attempted to set invalid MAC filter)"
	on lender modprobe igb
	until_true 10 "the physical function's interface" interface_of lender "$physical"
	sh_on lender 'ip addr replace 10.78.0.1/24 dev $1; ip link set $1 up; ip addr replace 10.78.0.2/24 dev eth0' "$(interface_of lender "$physical")"
	on lender smartioctl lend --vfs "$1" "$physical" | sed 's/^/# /'
	mapfile -t vfs < <(sh_on lender 'for ((n = 0; n < $2; n++)); do basename "$(readlink /sys/bus/pci/devices/$1/virtfn$n)"; done' "$physical" "$1")
}
# Once all that was lent is free.
card_end() {
	on lender smartioctl unlend "$physical" | sed 's/^/# /'
	sh_on lender 'ip addr del 10.78.0.2/24 dev eth0'
	on lender modprobe -r igb
}

# guest_interface HOST NAME ADDRESS: of a virtual function that the guest has.
guest_has_interface() { in_guest "$1" "$2" 'ls /sys/bus/pci/drivers/igbvf/0000:*/net'; }
guest_interface() {
	local interface
	in_guest "$1" "$2" 'modprobe igbvf'
	until_true 30 "the interface of guest $2" guest_has_interface "$1" "$2"
	interface=$(guest_has_interface "$1" "$2")
	in_guest "$1" "$2" "ip addr add $3/24 dev $interface; ip link set $interface up"
}
# guest_pings HOST NAME ADDRESS…
guest_pings() {
	local to
	for to in "${@:3}"; do until_true 60 "a ping of $to from guest $2" in_guest "$1" "$2" "ping -c 1 -W 1 $to"; done
}
# guest_streams HOST NAME ADDRESS…: 256 KiB to each, where iperf3 is a server.
guest_streams() {
	local to got
	for to in "${@:3}"; do
		got=$(in_guest "$1" "$2" "iperf3 -c $to -n 256K -w 32K -l 16K -J" | jq .end.sum_received.bytes)
		# iperf3 does not count the bytes that are in flight at its end.
		[ "$got" -ge 131072 ] || fail "iperf3 to $to: expected 128K or more of 256K received, saw $got bytes"
		say "iperf3 to $to: $got bytes"
	done
}
# vf_interrupts HOST NAME: of the virtual function, where they arrive.
vf_interrupts() {
	local arrived
	arrived=$(in_guest "$1" "$2" 'awk "/eth.*-rx/ { n += \$2 } END { print n + 0 }" /proc/interrupts')
	[ "$arrived" -gt 0 ] || fail "interrupts of the virtual function in the guest of $1: expected more than 0, saw $arrived"
	say "interrupts in the guest of $1: $arrived"
}
# lender_has_none PCI…: no interrupt of these functions is the lender's.
lender_has_none() {
	expect "interrupts of $* that the lender has" "" \
		"$(sh_on lender 'for f; do [ -d /sys/bus/pci/devices/$f/msi_irqs ] && echo $f; done; true' "$@")"
}
