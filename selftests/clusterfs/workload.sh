# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2016
# All hosts work on one file system at once. Each checks the work of the others (userspace/tests/guest/fs_worker.cc has the
# checks). Then fio writes and verifies through the file system on all of them. Afterwards fsck finds nothing.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
rounds=${FS_ROUNDS:-8} mib=${FS_MIB:-16}
# O2CB has no POSIX locks between hosts (docs/cluster-filesystems.md).
local_posix=(); [ "$fs" = gfs2 ] || local_posix=(--local-posix)

fs_log
fs_up
on lender mkdir "$mounted_at/work"
worker() { on_timeout=1200 on "$1" fs_worker work "${local_posix[@]}" "$mounted_at/work" "$(host_number "$1")" ${#all[@]} "$rounds"; }
at_once worker "${all[@]}"
checker() { on "$1" fs_worker check "${local_posix[@]}" "$mounted_at/work" ${#all[@]} "$rounds"; }
at_once checker "${all[@]}"
say "$rounds rounds of everything on each of ${#all[@]} hosts"
run_fio() {
	on_timeout=1200 sh_on "$1" 'fio --name=$1 --directory=$2 --rw=randrw --bssplit=4k/60:64k/30:1m/10 --size=$3m --ioengine=io_uring --iodepth=8 --direct=1 \
		--verify=crc32c --verify_fatal=1 --fallocate=none > /run/fio.out 2>&1 || { tail -20 /run/fio.out; exit 1; }' "$1" "$mounted_at" "$mib"
}
at_once run_fio "${all[@]}"
say "$mib MiB written and verified by fio on each host"
fs_down
