# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# For tests of the first link between `lender` and `borrower`: which PCI functions, and stock drivers in known states.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
# shellcheck source=selftests/ntb_family.sh
source "$(dirname "${BASH_SOURCE[0]}")/../ntb_family.sh"

pair=(lender borrower)
link=$(fabric link list | jq -r '.links[0].name') family=$ntb_family
# Which of the driver's interrupts reports the link: the one behind those of the doorbells.
link_vector=16
[ "$family" = amd ] || link_vector=32

ntb_device() { on "$1" bash -c 'ls /sys/bus/ntb/devices | head -1'; }

# Every NTB client away from both hosts, the hardware driver loaded on both. A client that goes disables the link, and
# then ntb_hw_amd hears no event until another one enables it: so it is loaded again behind a client. With ntb_hw_intel the
# link itself goes, under the feet of the other host's client.
ntb_clean() {
	local host
	[ "$family" = amd ] || link_drops "$link"
	# All clients first: an ntb_perf whose link comes up while the other side has none waits for it for half an hour.
	for host in "${pair[@]}"; do
		sh_on "$host" 'for m in ntb_netdev ntb_transport ntb_pingpong ntb_perf $([ ! -e /run/ntb_tool_holds ] || echo ntb_tool); do
				if [ -d /sys/module/$m ]; then touch /run/ntb_had_client; modprobe -r $m; fi
			done
			rm -f /run/ntb_tool_holds'
	done
	for host in "${pair[@]}"; do
		sh_on "$host" 'if [ -e /run/ntb_had_client ]; then rm /run/ntb_had_client; modprobe -r $1; fi
			modprobe $1' "$ntb_driver"
	done
}
# The hardware drivers alone: AMD's link is up then, Intel's trains when clients on both hosts have enabled it.
until_ready() {
	if [ "$family" = amd ]; then until_links Up; else until_links Down; fi
}
# raise_link HOST…: where it takes a client for the link to come up, ntb_tool is it, on each NTB.
raise_link() {
	local host
	[ "$family" != amd ] || return 0
	for host in "$@"; do
		sh_on "$host" 'touch /run/ntb_tool_holds
			modprobe ntb_tool
			for link in /sys/kernel/debug/ntb_tool/*/link; do echo Y > $link; done'
	done
}

# The state of the link in the hardware driver's info file: Up or Down.
link_state() {
	sh_on "$1" 'awk -F"\t" "/Link Status -/ { print \$NF }" /sys/kernel/debug/$1/*/info' "$ntb_driver"
}
both_links() { [ "$(link_state lender)" = "$1" ] && [ "$(link_state borrower)" = "$1" ]; }
until_links() { until_true "${2:-20}" "both drivers to see the link $1" both_links "$1"; }
link_is() { [ "$(link_state "$1")" = "$2" ]; }

# ntb_perf is loaded with max_mw_size=1048576: on both hosts it logs that it uses this size.
perf_says() {
	local host
	for host in "${pair[@]}"; do log_may "$host" 'ntb_perf .* Peer 0 outbuf reduced to 0x0000000000100000'; done
}

# The kernel's ntb_test.sh works on the borrower by ssh: the server there, and one connection, which carries all.
ssh_to_borrower() {
	sh_on borrower 'mkdir -p /run/sshd; [ -s /run/sshd.pid ] || /usr/sbin/sshd'
	until_true 30 "ssh from the lender to the borrower" sh_on lender 'ssh -fN borrower < /dev/null > /dev/null 2>&1'
}

# The ball of ntb_pingpong on a host: how often it came, whether it does.
count() { sh_on "$1" 'cat /sys/kernel/debug/ntb_pingpong/*/count'; }
grows() { local before; before=$(count "$1"); sleep 0.3; [ "$(count "$1")" -gt "$before" ]; }
stands() { ! grows "$1"; }
