# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2016
# For tests of PCI functions that the lender lends as a whole: devices of QEMU's own, and the drivers that the kernel has
# for them.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
# shellcheck source=selftests/ntb_family.sh
source "$(dirname "${BASH_SOURCE[0]}")/../ntb_family.sh"

# A kernel without CONFIG_PCI_P2PDMA, as Debian's, says so of each nvme with a CMB.
! grep -q '^cmb' "$folder/topology.toml" || log_may lender 'nvme nvme[0-9]+: failed to register the CMB$'

# disk_of HOST PCI, interface_of HOST PCI: what its driver makes of it.
disk_of() { sh_on "$1" 'cd /sys/bus/pci/devices/$1/nvme/nvme*/ && ls -d nvme*n* | sed "s/c[0-9]*n/n/"' "$2"; }
interface_of() { sh_on "$1" 'ls /sys/bus/pci/devices/$1/net' "$2"; }

# verified_fio HOST DISK JOB…: fio with checksums, each JOB is BLOCKSIZE:DEPTH:SIZE.
verified_fio() {
	local host=$1 disk=$2 shape bs qd size n=0 jobs result; shift 2
	jobs="[global]
filename=/dev/$disk
direct=1
ioengine=io_uring
rw=randrw
verify=crc32c
verify_fatal=1
"
	for shape; do
		IFS=: read -r bs qd size <<< "$shape"
		jobs+="[$bs-qd$qd]
stonewall
bs=$bs
iodepth=$qd
size=$size
offset=$((n % 4 * 32))m
"
		n=$((n + 1))
	done
	sh_on "$host" 'cat > /run/verify.fio' <<< "$jobs"
	on "$host" fio --output-format=json --output=/run/verify.json /run/verify.fio ||
		fail "fio on $host ended with $?: $(on "$host" tail -20 /run/verify.json)"
	result=$(on "$host" cat /run/verify.json)
	expect "fio on $host: jobs" $n "$(jq '[.jobs[] | select(.error == 0 and .read.io_bytes > 0 and .write.io_bytes > 0)] | length' <<< "$result")"
	jq -r '.jobs[] | "# \(.jobname): read \(.read.iops | floor) IOPS, write \(.write.iops | floor) IOPS"' <<< "$result"
}

# A network of its own, on the hosts' LAN: the device's interface has 10.78.0.1, the peer's eth0 10.78.0.2 besides.
# network_up HOST INTERFACE PEER
network_up() {
	sh_on "$1" 'ip addr replace 10.78.0.1/24 dev $1; ip link set $1 up' "$2"
	sh_on "$3" 'ip addr replace 10.78.0.2/24 dev eth0'
	until_true 30 "a ping of $3 through $2 of $1" on "$1" ping -c 1 -W 1 -I "$2" 10.78.0.2
}
# network_down HOST INTERFACE PEER
network_down() {
	sh_on "$1" 'ip addr flush dev $1; ip link set $1 down' "$2"
	sh_on "$3" 'ip addr del 10.78.0.2/24 dev eth0'
}
# iperf_serve HOST [OPTION]: it has its pid file before it listens on port 5201.
iperf_listens='grep -qsE ":1451 [0-9A-F]+:0000 0A" /proc/net/tcp /proc/net/tcp6'
iperf_serve() {
	sh_on "$1" 'iperf3 -s -D -I /run/iperf3.pid $1' "${2:-}"
	until_true 10 "iperf3's server" sh_on "$1" '[ -s /run/iperf3.pid ] && '"$iperf_listens"
}
# iperf3 does not count the bytes that are in flight at its end: at most two of its blocks of 128 KiB.
iperf_uncounted=$((2 * 128 << 10))
# iperf HOST PEER SIZE: both ways; SIZE is a number of bytes ("8M") or a time ("30s"). Each run has a server of its own. After a run a
# server closes its socket and opens another one: a client that connected in between would be reset.
iperf() {
	local way out got much=(-n "$3") least=$(((${3%[Ms]} << 20) - iperf_uncounted))
	[ "$3" = "${3%s}" ] || much=(-t "${3%s}") least=$((${3%s} * 10000))
	for way in "" -R; do
		iperf_serve "$2" -1
		# shellcheck disable=SC2086
		out=$(on "$1" iperf3 -c 10.78.0.2 "${much[@]}" -w 64K -J $way) || fail "iperf3 $way, $3, on $1 ended with $?: $(jq -r .error <<< "$out")"
		got=$(jq .end.sum_received.bytes <<< "$out")
		say "iperf3 $way: $got bytes, $(jq '.end.sum_received.bits_per_second / 1e6 | floor' <<< "$out") Mbit/s"
		[ "$got" -ge $least ] || fail "iperf3 $way, $3: expected $least bytes or more received, saw $got"
		until_true 10 "iperf3's server to end" sh_on "$2" "! $iperf_listens"
	done
}

# ---- lent and borrowed ----

# A lender without an IOMMU lends a function only if it trusts the borrowers.
lender_iommu=$(iommu_of lender)
trusted=--trust-borrowers
[ -z "$lender_iommu" ] || trusted=
# stores_refused [LINK]: registers that were shut under a borrower: the lender's IOMMU refuses what its driver still stores
# there, and says so.
stores_refused() {
	[ -n "$lender_iommu" ] || return 0
	local ntb link=${1:-ntb0}
	ntb=$(sh_on lender 'basename "$(readlink /sys/class/smartio_link/$1/device)"' "$link")
	log_may lender "$(iommu_messages "${ntb#*:}")"
	fabric_may "^lender\.$link (dma_refused_by_qemu|dma_reads_unclaimed)"
	fabric_may " warning lender\.$link: DMA read at 0x[0-9a-f]+ \+0x[0-9a-f]+ is unclaimed"
}

# The borrowers release their functions first.
lender_last() { hosts | grep -vx lender; echo lender; }
links_up() { in_time "$1" 'for l in /sys/class/smartio_link/*; do [ ! -e $l ] || { read -r s < $l/state; [ $s = up ]; }; done'; }
# unborrow HOST: it has no function of another host, nor lends one.
unborrow() { sh_on "$1" "$unborrow"; }
unborrow='for b in /sys/bus/smartio/devices/*/borrowed; do [ ! -e $b ] || echo 0 > $b; done
		for m in smartio_pci smartio_pci_stub; do ! [ -d /sys/module/$m ] || modprobe -r $m; done
'
# Sets the links of all hosts up, with nothing lent or borrowed; the state before does not matter. A device that QEMU models
# fetches its data by eight bytes. Each fetch is a round trip through its QEMU, whose CPUs stand still meanwhile: heartbeats are
# late. $link_options: other parameters of the links.
lending_begin() {
	local host
	for host in $(lender_last); do
		sh_on "$host" "$unborrow"'
			for d in /sys/bus/pci/devices/*; do
				! [ -e $d/sriov_numvfs ] || { read -r n < $d/sriov_numvfs; [ $n = 0 ]; } || { echo 0 > $d/sriov_numvfs; echo default > $d/reset_method; }
			done
			pkill iperf3 || true
			ip addr del 10.78.0.2/24 dev eth0 2> /dev/null || true
			for m in smartio_nvme smartio_nvme_mgr nvme e1000e igb; do ! [ -d /sys/module/$m ] || modprobe -r $m; done
			for d in /sys/bus/pci/devices/*; do read -r driver < $d/driver_override; [ "$driver" = "(null)" ] || echo > $d/driver_override; done
			modprobe "$1"
			! [ -d /sys/module/ntb_smartio ] || modprobe -r ntb_smartio
			modprobe ntb_smartio $2; modprobe smartio_pci' "$ntb_driver" "${link_options:-heartbeat_timeout_ms=60000}"
	done
	for host in "${all_hosts[@]}"; do until_true 30 "all links of $host" links_up "$host"; done
}
lending_end() {
	local host
	for host in $(lender_last); do unborrow "$host"; done
}

# lent DEVICE [LENDER]: by the lender, whose IOMMU may be off.
lent() {
	local pci lender=${2:-lender}
	pci=$(pci_of "$lender" "$1")
	# shellcheck disable=SC2086
	on "$lender" smartioctl lend --as pci $trusted "$pci" | sed 's/^/# /'
	expect "the driver of $1 in the $lender" smartio_pci_stub "$(driver_of "$lender" "$pci")"
}
# offered HOST PCI [LENDER]
offered() { sh_on "$1" 'for d in /sys/bus/smartio/devices/*; do ! { grep -qx "$1" $d/pci && grep -qx "$2" $d/host_name; } || exit 0; done; false' "$2" "${3:-lender}"; }
# borrowed DEVICE [HOST [LENDER]]: prints the function's address on HOST.
borrowed() {
	local host=${2:-borrower} lender=${3:-lender} pci
	pci=$(pci_of "$lender" "$1")
	until_true 20 "$1 to be offered to $host" offered "$host" "$pci" "$lender"
	on "$host" smartioctl borrow "$lender:$pci" >&2
	on "$host" smartioctl status -o json | jq -er --arg p "$pci" --arg l "$lender" '.paths[] | select(.pci == $p and .host_name == $l and .function).function'
}
# returned DEVICE MODULE [HOST]: and the lender's own driver has it again.
returned() {
	local host=${3:-borrower} pci
	pci=$(pci_of lender "$1")
	on "$host" smartioctl return "lender:$pci" | sed 's/^/# /'
	expect "functions of $host that are borrowed" 0 "$(on "$host" smartioctl status -o json | jq '[.paths[].function | select(.)] | length')"
	on lender modprobe "$2"
	until_true 10 "$1 to be free" nobody_has "$pci"
	on lender smartioctl unlend "$pci" | sed 's/^/# /'
	expect "the driver of $1 in the lender" "$2" "$(driver_of lender "$pci")"
}
# `nobody_has PCI [LENDER]`: no host borrows the function.
nobody_has() { sh_on "${2:-lender}" '[ -z "$(cat /sys/class/smartio_export/$1/borrowers)" ]' "$1"; }

none_left() { sh_on "$1" '! ls /sys/bus/pci/devices | grep -q "^1[0-9a-f]*:00:00.0"'; }
# iommu_faults HOST PCI [Read|Write]: how many of the function's accesses the IOMMU has refused, of those that the kernel reports.
iommu_faults() { logged "$1" "$(iommu_faults_of "${2#0000:}" ${3:+"$3"})"; }

# Allows the messages of both hosts about a function whose link was lost. Each test allows those of its stock driver by itself.
losses() {
	link_drops cable0
	stores_refused
	log_may lender 'ntb[0-9]+: link to [a-z0-9]+ is down: '
	log_may borrower 'ntb[0-9]+: link to [a-z0-9]+ is down: '
}
