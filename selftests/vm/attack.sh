# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2016,SC2154
# A hostile guest: it has QEMU's edu of the lender, whose DMA it orders to any address, by its registers. Whether that reached
# something is read from outside, by the monitors of the hosts' QEMUs.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# function_for HOST PCI: its address on HOST, where vfio-pci has it.
function_for() {
	until_true 20 "$2 to be offered to $1" offered "$1" "$2"
	for_vm "$1" "$2" | jq -er .address
}

# A page of the guest below 1 MiB, which is memory of a PC and which Linux leaves alone. The next page is for fetched data.
own_page=0x20000 own_next=0x21000

# What functions below use in the guest: base is where edu's registers are (docs/specs/edu.rst of QEMU). A word of DMA is 64 bits.
edu_words='
edu=$(dirname "$(grep -lx 0x11e8 /sys/bus/pci/devices/*/device)")
base=$(head -n 1 $edu/resource | cut -d " " -f 1)
buffer=0x40000
word() { busybox devmem "$@"; }
copy() {
	local n
	word $((base + 0x80)) 64 $1
	word $((base + 0x88)) 64 $2
	word $((base + 0x90)) 64 $3
	word $((base + 0x98)) 64 $((1 | $4))
	for ((n = 0; n < 100; n++)); do [ $(($(word $((base + 0x98)) 64) & 1)) = 1 ] || return 0; done
	echo "the DMA of edu has not ended"
	return 1
}
fetch() { copy $1 $buffer $2 0; }
store() { copy $buffer $1 $2 2; }
'
in_edu() { in_guest "$1" "$2" "$edu_words $3"; }

# edu_begins HOST NAME: it answers, may master the bus, and copies as ordered within the guest's memory. So an access that fails
# later was refused.
edu_begins() {
	in_edu "$1" "$2" 'echo 1 > $edu/enable; printf "\006\000" | dd of=$edu/config bs=2 seek=2 conv=notrunc status=none'
	edu_works "$1" "$2"
}
edu_works() {
	local pattern
	pattern=$(printf '0xA5A5%08X%04X' $RANDOM $RANDOM)
	expect "what the function of guest $2 copies in its memory" "$pattern" \
		"$(in_edu "$1" "$2" "word $own_page 64 $pattern; word $own_next 64 0; fetch $own_page 8; store $own_next 8; word $own_next 64")"
}

# memory_of HOST ADDRESS: the 8 bytes at that physical address, of memory or a device, as its QEMU reads them.
memory_of() {
	local line
	line=$(cluster monitor "$1" -- xp /2wx "$2")
	[[ $line =~ :\ 0x([0-9a-f]{8})\ 0x([0-9a-f]{8}) ]] || fail "memory of $1 at $2: expected 8 bytes, saw '$line'"
	printf '0x%s%s\n' "${BASH_REMATCH[2]^^}" "${BASH_REMATCH[1]^^}"
}
# firmware_of HOST: an address of its memory whose data do not change: a table of its firmware's (FACS), near the end.
firmware_of() {
	local end
	end=$(sh_on "$1" 'awk "/Reserved/ && length(\$1) == 17 && \$1 > \"001\" { sub(/.*-/, \"\", \$1); print \"0x\" \$1; exit }" /proc/iomem')
	printf '0x%x\n' $((end + 1 - 0x20000))
}
# registers_of HOST PCI BAR OFFSET: their address there.
registers_of() { printf '0x%x\n' $(($(sh_on "$1" 'sed -n "$(($2 + 1))s/ .*//p" /sys/bus/pci/devices/$1/resource' "$2" "$3") + $4)); }
# page_of_guest WINDOW SLOT [PAGE]: where the lender has own_page of a guest, or PAGE, over a window of 64 GiB that begins at WINDOW: the
# function of the guest is the borrower's SLOTth, from 0 on, whose range is a sixteenth (drivers/ntb_smartio/space.c).
range_size=$((4 << 30))
page_of_guest() { printf '0x%x\n' $(($1 + (8 + $2) * range_size + ${3:-own_page})); }

# attacks_begin HOST…: allows the faults that the IOMMUs of these hosts and of the lender report. $edu_pci is edu in the lender.
attacks_begin() {
	local host
	edu_pci=$(pci_of lender toy0)
	for host in lender "$@"; do
		# Of the lender's own, and of all that comes over a borrower's NTB.
		refuser[$host]=$edu_pci
		[ "$host" = lender ] || refuser[$host]=$(sh_on "$host" 'basename "$(readlink /sys/class/smartio_link/ntb0/device)"')
		log_may "$host" "$(iommu_messages "${refuser[$host]#*:}")"
		log_may "$host" 'dmar_fault: [0-9]+ callbacks suppressed'
		[ "$host" = lender ] && continue
		fabric_may "^$host\.ntb0 (dma_refused_by_qemu|dma_reads_unclaimed)"
		fabric_may " warning $host\.ntb0: DMA read at 0x[0-9a-f]+ \+0x[0-9a-f]+ is unclaimed"
		link_drops "$(link_of "$host")"
	done
}
declare -A refuser=()
# faults HOST Read|Write: how many refused accesses its IOMMU has reported.
faults() { iommu_faults "$1" "${refuser[$1]}" "$2"; }

# remapping_faults: how many interrupts the lender's IOMMU has refused.
remapping_faults() { logged lender 'DMAR: \[INTR-REMAP\] .*\[fault reason 0x22\]'; }

# attacked HOST WRITES READS ADDRESS: the guest has its function store to ADDRESS and fetch from there. HOST then has reported both
# faults: more than WRITES, and more than READS. $attack_said has the fetched data. Again if need be: a kernel reports ten in five
# seconds, of all that its IOMMU says.
attacked() {
	attack_said=$(in_edu "$attacker" "$guest" "fetch $own_page 8; store $4 8; fetch $4 8; store $own_next 8; word $own_next 64") &&
		[ "$(faults "$1" Write)" -gt "$2" ] && [ "$(faults "$1" Read)" -gt "$3" ]
}
# refused WHAT BY ADDRESS HOST [WITNESS]: the guest $guest of $attacker tries that. The IOMMU of BY reports it. The data of HOST at
# WITNESS, or ADDRESS, stays, and the guest does not get it.
refused() {
	local what=$1 by=$2 address=$3 host=$4 witness=${5:-$3} before
	before=$(memory_of "$host" "$witness")
	case $before in 0x0000000000000000 | 0xFFFFFFFFFFFFFFFF) fail "$what: expected something to be there, saw $before" ;; esac
	until_true 30 "faults on $by of a store to $what, and of a fetch" attacked "$by" "$(faults "$by" Write)" "$(faults "$by" Read)" "$address"
	[ "$attack_said" != "$before" ] || fail "a fetch from $what: expected not to see what is there, saw $attack_said"
	expect "$what, after a store that $by refused" "$before" "$(memory_of "$host" "$witness")"
}

# refused_message WHAT COUNT ADDRESS COMMAND…: the guest has its function store a message of an interrupt to ADDRESS. COMMAND counts the
# lender's refusals.
message_sent() { in_edu "$attacker" "$guest" "fetch $own_page 4; store $2 4" && [ "$("${@:3}")" -gt "$1" ]; }
refused_message() {
	local what=$1 address=$2; shift 2
	until_true 30 "a fault on the lender of $what" message_sent "$("$@")" "$address" "$@"
	say "$what: refused by the lender"
}
