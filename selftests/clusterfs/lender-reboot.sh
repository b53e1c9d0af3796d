# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2016
# The lender is reset while the borrowers have the file system mounted. Their I/O waits, and continues when the lender lends
# again. First the lender has left the cluster, as for a planned reboot. Then it is reset as a member, with the file system
# mounted.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# O2CB resets a host that can't write its heartbeat for so long (docs/cluster-filesystems.md): longer than a reboot here.
[ "$fs" = gfs2 ] || configure_options=(-d 16)
for host in "${borrowers[@]}"; do losses_on "$host"; done
fs_log
fs_up
lender_again() {
	cluster reset lender > /dev/null
	load_links lender
	lend
}
borrowers_go_on() {
	local host
	for host in "${borrowers[@]}"; do log_goes_on "$host" 120; done
	for host in "${borrowers[@]}"; do
		stop_log "$host"
		say "the longest pause on $host: $(log_pause "$host") ms"
	done
	for host in "${borrowers[@]}"; do check_log "${borrowers[0]}" "$host" "$(log_count "$host")"; done
}

say "a planned reboot"
umount_one lender
on lender "smartio-$fs" stop
for host in "${borrowers[@]}"; do start_log "$host"; done
lender_again
borrowers_go_on
join_again lender
for host in "${borrowers[@]}"; do check_log lender "$host" "$(log_count "$host")"; done

say "the lender dies"
for host in "${all[@]}"; do start_log "$host"; done
lines=$(log_count lender)
lender_again
configure_one lender
start_one lender
borrowers_go_on
check_log "${borrowers[0]}" lender "$lines"
attach lender
mount_one lender
check_log lender lender "$lines"
fs_down crashed
