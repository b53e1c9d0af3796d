# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2016,SC2034
# For tests of functions that reach each other: QEMU's edu, $toy, fetches from memory on another function (CMB) and stores
# there, driven on the borrower by a driver or by a program.

rounds=8 size=4096    # of vfio_edu and peer_edu
moved=$((rounds * size))

to_vfio() { sh_on borrower 'd=/sys/bus/pci/devices/$1; [ ! -e $d/driver ] || echo $1 > $d/driver/unbind; echo vfio-pci > $d/driver_override; echo $1 > /sys/bus/pci/drivers_probe' "$1"; }
from_vfio() { sh_on borrower 'd=/sys/bus/pci/devices/$1; echo $1 > $d/driver/unbind; echo > $d/driver_override' "$1"; }
said_of() { sh_on borrower 'sed -n "s/^$1 //p" /run/peer' "$1"; }
let_go() { sh_on borrower 'grep -q ^let-go /run/peer || { kill -0 "$(cat /run/peer.pid)" || { cat /run/peer*; exit 126; }; false; }'; }
ended() { sh_on borrower '! kill -0 "$(cat /run/peer.pid)" 2> /dev/null'; }

# What crossed: of $ledgers, which has all links, the ledger of one.
ledger_of() { ledger=$(jq --arg l "$1" '{links: {($l): .links[$l]}}' <<< "$ledgers"); }
# crossed DIRECTION posted|non_posted: bytes of $ledger, of all kinds.
crossed() { jq -r --arg d "$1" --arg w "$2" '[.links[][$d][$w][].bytes] | add' <<< "$ledger"; }

# by_driver TARGET [BAR]: peer_edu, by the DMA API. Memory of the borrower has the target's address afterwards.
by_driver() {
	local result
	fabric ledger reset > /dev/null
	on borrower modprobe peer_edu "target=$1" bar="${2:-2}" in_one_piece=1
	ledgers=$(fabric ledger)
	ledger_of "$link"
	result() { on borrower cat "/sys/module/peer_edu/parameters/$1"; }
	expect "dma_map_resource() with interrupts off" -5 "$(result mapped_atomic)"
	expect "dma_map_resource()" 1 "$(result mapped)"
	expect "words that edu fetched" $((size / 4)) "$(result fetched)"
	expect "words that edu stored" $((size / 4)) "$(result stored)"
	expect "whether memory had the same address afterwards" Y "$(result same_address)"
	expect "words that edu stored in that memory" $((size / 4)) "$(result afterwards)"
	expect "words of the target after that, as they were" $((size / 4)) "$(result untouched)"
	expect "pages of memory and registers that were unmapped in one piece" 2 "$(result across)"
	expect "whether the target's own memory was mapped after that" Y "$(result beside)"
}

# late_answer map|unmap TARGET [BAR]: the same, but the borrower does not wait for the lender's answer to such a request.
late_answer() {
	local result type attempts mapped=1
	type=$(awk -v t="WIRE_PEER_${1^^}" '$2 == t { print $3 }' "$top/include/linux/smartio_message.h")
	result() { on borrower cat "/sys/module/peer_edu/parameters/$1"; }
	asked_late() {
		sh_on borrower 'modprobe smartio_impatient type=$1 && taskset -c 0 modprobe peer_edu target=$2 bar=$3 || exit 126
			cd /sys/module/smartio_impatient/parameters
			[ "$(cat left)" = 0 ] || exit 126
			early=$(cat early) && cd / && modprobe -r smartio_impatient || exit 126
			[ "$early" = 0 ] || { modprobe -r peer_edu; false; }' "$type" "$2" "${3:-2}"
	}
	# On a busy machine an answer may be there before the wait for it.
	until_true 60 "a request whose answer is late" asked_late "$@"
	[ "$1" = unmap ] || mapped=-12
	expect "dma_map_resource(), when $1 times out" "$mapped" "$(result mapped)"
	attempts=$(result occupied)
	[ "$attempts" -gt 0 ] || fail "attempts to map memory at that address: expected one or more to fail, saw none"
	say "attempts to map memory at that address that failed: $attempts"
	expect "whether memory had that address then" Y "$(result same_address)"
	expect "words that edu stored in that memory" $((size / 4)) "$(result afterwards)"
	expect "words of the target after that, as they were" $((size / 4)) "$(result untouched)"
	on borrower modprobe -r peer_edu
}

program_begins() { sh_on borrower 'rm -f /run/peer*; mkfifo /run/peer.go; vfio_edu $1 peer $2 2 $3 <> /run/peer.go > /run/peer 2> /run/peer.errors & echo $! > /run/peer.pid' "$toy" "$1" "$2"; }
# reaches TARGET ADDRESS: vfio_edu, by vfio. Edu fetches from the target and stores there; then TARGET has no user, and the
# program waits.
reaches() {
	fabric ledger reset > /dev/null
	program_begins "$1" "$2"
	until_true 60 "the program to let go of its target" let_go
	ledgers=$(fabric ledger)
	ledger_of "$link"
	expect "words that the target has kept" $((size / 4)) "$(said_of target)"
	expect "words that the device fetched from it" $((size / 4)) "$(said_of fetched-words)"
	expect "words that it stored there" $((size / 4)) "$(said_of stored-words)"
	expect "fetches that ended with one interrupt, and its reason" $rounds "$(said_of fetched | grep -cx '1 its-reason')"
	expect "stores that ended with one interrupt, and its reason" $rounds "$(said_of stored | grep -cx '1 its-reason')"
}
# leave: it ends.
leave() {
	sh_on borrower 'echo end > /run/peer.go'
	until_true 60 "the program to end" ended
	expect "what it complains of" "" "$(on borrower cat /run/peer.errors)"
	expect "bytes that were unmapped" $size "$(said_of unmapped)"
}

# faults_of PCI: a pattern for the reports of the lender's IOMMU about that function's faults. refusals PCI: the number of them.
faults_of() { iommu_messages "${1#*:}"; }
refusals() { iommu_faults lender "$1"; }
# late_is_refused PCI BEFORE: edu fetches and stores again where the target was. BEFORE is the number of refusals so far.
late_is_refused() {
	local lates
	lates=$(said_of late-store | wc -l)
	sh_on borrower 'echo late > /run/peer.go'
	until_true 20 "a late store" sh_on borrower '[ "$(grep -c ^late-store /run/peer)" -gt $1 ]' "$lates"
	until_true 10 "two refusals of the lender's IOMMU" logged_more lender "$(iommu_faults_of "${1#*:}")" $(($2 + 1))
}
