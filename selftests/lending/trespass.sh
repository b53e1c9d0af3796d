# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2016
# For tests of a borrower's hostile kernel: its CPUs store to any address, and it sends requests in sessions of others (smartio_trespass).
# They source common.sh first.

# ntb_of HOST LINK: its NTB. link_to HOST: the lender's link to it.
ntb_of() { sh_on "$1" 'basename "$(readlink /sys/class/smartio_link/$1/device)"' "$2"; }
link_to() { sh_on lender 'cd /sys/class/smartio_link; for l in *; do ! grep -qx "$1" $l/peer_name || echo $l; done' "$1"; }

trespass=/sys/kernel/debug/smartio_trespass
load_trespass() { sh_on "$1" 'mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug; modprobe smartio_trespass'; }
# store HOST ADDRESS VALUE, load HOST ADDRESS: by its CPU. Earlier stores have arrived when a load returns.
store() { sh_on "$1" "echo \"\$1 \$2\" > $trespass/store" "$(printf '%#x' "$2")" "$3"; }
load() { sh_on "$1" "echo \$1 > $trespass/load; cat $trespass/load" "$(printf '%#x' "$2")"; }
# session_of HOST PCI: of the lender's function. claim HOST SESSION: sends all requests in that session; prints the answers, "REQUEST ANSWER" a line.
session_of() { on "$1" smartioctl status -o json | jq -er --arg p "$2" '.paths[] | select(.pci == $p and .session != null and .session != "").session'; }
claim() { sh_on "$1" "c=\$(echo $trespass/*/claim); echo \$1 > \$c; cat \$c" "$2"; }
# registers_of HOST FUNCTION: where its CPUs find them. beyond HOST ADDRESS: "BAR OFFSET" of its NTB's that it lies in.
registers_of() { sh_on "$1" 'echo $(($(head -1 /sys/bus/pci/devices/$1/resource | cut -d" " -f1)))' "$2"; }
beyond() {
	sh_on "$1" 'bar=0; while read -r start end _; do
		! [ $(($1)) -ge $((start)) ] || ! [ $(($1)) -le $((end)) ] || { echo $bar $(($1 - start)); exit; }
		bar=$((bar + 1))
	done < /sys/bus/pci/devices/$2/resource; exit 1' "$2" "$(ntb_of "$1" ntb0)"
}
# window HOST NTB BAR: where it begins.
window() { sh_on "$1" 'echo $(($(sed -n "$(($2 + 1))p" /sys/bus/pci/devices/$1/resource | cut -d" " -f1)))' "$2" "$3"; }

# The kernel reports only ten refusals of the IOMMU in five seconds: so the command runs again, if need be.
tried() { local device=$1 kind=$2 count=$3; shift 3; "$@" > /dev/null && [ "$(iommu_faults lender "$device" "$kind")" -gt "$count" ]; }
# refused WHAT DEVICE Read|Write COMMAND…
refused() {
	local what=$1 device=${2#*:} kind=$3; shift 3
	until_true 30 "a fault of $device on the lender, by $what" tried "$device" "$kind" "$(iommu_faults lender "$device" "$kind")" "$@"
	say "$what: refused"
}
strays() { store "$1" "$2" "$3" && load "$1" "$2"; }
# all_refused WHAT COUNT ANSWERS
all_refused() {
	sed 's/^/# /' <<< "$3"
	expect "requests $1" "$2" "$(wc -l <<< "$3")"
	expect "those that were granted" "" "$(grep -v ' -[0-9]*$' <<< "$3" || true)"
}
