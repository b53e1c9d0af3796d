# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# The state of a machine, for a comparison: its packages; type, owner, mode and sum of each file below the folder $1. The links of
# enabled units are among the files. Left out: logs, caches, the lists of dpkg and apt themselves, DKMS's files for all
# packages (the key for signing, the version of its own folder). Further arguments are more to leave out, as of find's -path.
root=$1
shift
leave_out='./proc ./sys ./dev ./run ./tmp ./var/log ./var/cache ./var/lib/apt ./var/lib/dpkg ./var/lib/dkms/mok.* ./var/lib/dkms/dkms_dbversion'
dpkg-query --admindir="$root/var/lib/dpkg" -W -f '${Package} ${Version} ${db:Status-Status}\n'
cd "$root" || exit
set -f
prune=
for path in $leave_out "$@"; do prune="$prune${prune:+ -o }-path $path"; done
# shellcheck disable=SC2086
find . -xdev \( $prune \) -prune -o -type f -printf '%p %M %u %g\n' -exec sha256sum {} + -o -printf '%p %M %u %g %l\n' | LC_ALL=C sort
