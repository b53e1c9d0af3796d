# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# For tests of hosts that boot as servers do.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

settled() { # HOST: no job is left, and no unit has failed
	local state
	state=$(on "$1" systemctl is-system-running) || true
	[ "$state" = running ]
}
booted_up() {
	until_true 900 "$1 to finish its boot" settled "$1" || { on "$1" systemctl --failed --no-legend; return 1; }
}
loaded() { sh_on "$1" '[ -d /sys/module/$1 ]' "$2"; }
# reboot_host HOST [SECONDS [-f]]: as an administrator reboots it, with all its services; -f: without stopping them. It may take SECONDS to stop.
reboot_host() {
	log_may "$1" 'watchdog: watchdog0: watchdog did not stop!$'
	log_may "$1" 'reboot: Restarting system$'
	on "$1" systemd-run --on-active=1 systemctl reboot ${3:+"$3"} >/dev/null 2>&1 || true
	until_true "${2:-300}" "$1 to go down" sh -c "\"$top/scripts/cluster\" status -o json | jq -e --arg h $1 '.hosts[] | select(.name == \$h) | .state == \"stopped\"'"
	cluster boot "$1" --patience 1200
	booted_up "$1"
}
