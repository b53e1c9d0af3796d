# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2016
# A host dies in the middle of writes: it is fenced, its journal is replayed, the others continue, and all its fsynced data
# are there. It boots, rejoins and mounts again.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
victim=${borrowers[-1]}
survivors=(); for host in "${all[@]}"; do [ "$host" = "$victim" ] || survivors+=("$host"); done

losses_on lender
fs_log
fs_up
for host in "${all[@]}"; do start_log "$host"; done
for host in "${all[@]}"; do log_goes_on "$host"; done
acknowledged=$(log_count "$victim")
cluster kill "$victim" > /dev/null
say "$victim is killed"
recovered "$victim" "$acknowledged" "${survivors[@]}"
fenced "$victim" || fail "$victim, when the others had its locks: expected it to be fenced"
for host in "${survivors[@]}"; do
	log_goes_on "$host"
	stop_log "$host"
	say "the longest pause on $host: $(log_pause "$host") ms"
done
boot_again "$victim"
check_log "$victim" "$victim" "$acknowledged"
for host in "${survivors[@]}"; do check_log "$victim" "$host" "$(log_count "$host")"; done
fs_down crashed
