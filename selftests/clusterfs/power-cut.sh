# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2016
# The drive loses its power, and with it all unflushed data, while every host writes and fsyncs: the fsynced data
# are there. Then all hosts lose theirs with it: the journals are replayed, and nothing is left to repair.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

for host in "${all[@]}"; do losses_on "$host"; done
log_may lender 'nvme nvme[0-9]+: controller is down, CSTS 0x[0-9a-f]+: resetting'
fs_log
fs_up
declare -A lines=() joins=()
check_logs_of_all() { local reader=$1 host; for host in "${all[@]}"; do check_log "$reader" "$host" "${lines[$host]}"; done; }

for host in "${all[@]}"; do start_log "$host"; joins[$host]=$(stat "$host" joins); done
for host in "${all[@]}"; do log_goes_on "$host"; done
fabric drive "$drive" power-cut > /dev/null
for host in "${all[@]}"; do until_true 60 "$host to join after the power cut" stat_above "$host" joins "${joins[$host]}"; done
for host in "${all[@]}"; do log_goes_on "$host"; done
for host in "${all[@]}"; do stop_log "$host"; lines[$host]=$(log_count "$host"); done
for host in "${all[@]}"; do check_logs_of_all "$host"; done
say "all lines of before and after the drive's power cut are there: ${lines[*]}"

say "the drive and all hosts lose their power"
for host in "${all[@]}"; do start_log "$host"; done
for host in "${all[@]}"; do log_goes_on "$host"; lines[$host]=$(log_count "$host"); done
fabric drive "$drive" power-cut > /dev/null
for host in "${all[@]}"; do cluster kill "$host" > /dev/null & done
wait
boot_host() { cluster boot "$1" > /dev/null; }
at_once boot_host "${all[@]}"
at_once load_links "${all[@]}"
lend
at_once attach "${all[@]}"
at_once configure_one "${all[@]}"
at_once start_one "${all[@]}"
at_once mount_one "${all[@]}"
for host in "${all[@]}"; do check_logs_of_all "$host"; done
fs_down crashed
