# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What the demonstrations share; each sets CLUSTER before it sources this. DEMO_KEEP=1 leaves the cluster up.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec < /dev/null
cluster() { scripts/cluster "$@"; }
on() { local host=$1; shift; cluster exec "$host" -- "$@"; }
# on_sh HOST SCRIPT ARGUMENT…
on_sh() { local host=$1 script=$2; shift 2; on "$host" bash -euc "$script" bash "$@"; }
step() { printf '\n\033[1m# %s\033[0m\n' "$*"; }
now_ms() { echo $(($(date +%s%N) / 1000000)); }
# until_true SECONDS WHAT COMMAND…
until_true() {
	local end=$((SECONDS + $1)) what=$2; shift 2
	until "$@" > /dev/null 2>&1; do
		[ $SECONDS -lt $end ] || { echo "waited in vain for $what" >&2; exit 1; }
		sleep 0.1
	done
}
trap '[ -n "${DEMO_KEEP:-}" ] || cluster down > /dev/null' EXIT
