# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Functions of all demonstrations; each sets CLUSTER before it sources this file. DEMO_KEEP=1 leaves the cluster up.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec < /dev/null
cluster() { scripts/cluster "$@"; }
on() { local host=$1; shift; cluster exec "$host" -- "$@"; }
# sh_on HOST SCRIPT ARGUMENT…
sh_on() { local host=$1 script=$2; shift 2; on "$host" bash -euo pipefail -c "$script" bash "$@"; }
# The disk of $drive, once the lender's own driver has it.
own_disk() { sh_on lender 'cd "/sys/bus/pci/devices/$1/nvme/"nvme*/ && ls -d nvme*n* | sed "s/c[0-9]*n/n/"' "$drive"; }
step() { printf '\n\033[1m# %s\033[0m\n' "$*"; }
now_ms() { echo $(($(date +%s%N) / 1000000)); }
# until_true SECONDS WHAT COMMAND…
until_true() {
	local end=$((SECONDS + $1)) what=$2; shift 2
	until "$@" > /dev/null 2>&1; do
		[ $SECONDS -lt $end ] || { echo "timed out waiting for $what" >&2; exit 1; }
		sleep 0.1
	done
}
trap '[ -n "${DEMO_KEEP:-}" ] || cluster down > /dev/null' EXIT
