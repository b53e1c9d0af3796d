# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2016,SC2034
# For tests of a hostile borrower: borrower2 is hostile, for HOSTILE_S seconds (10, or $enough_s; 20 on the
# debug kernel), while borrower1's verified load continues.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

seconds=${HOSTILE_S:-$((slower > 1 ? 20 : ${enough_s:-10}))}
seed=${HOSTILE_SEED:-$RANDOM}
victim=${borrowers[0]}
hostile=${borrowers[1]:-}
[ -n "$hostile" ] || skip "it takes two borrowers"
log_may lender "ntb[0-9]+: link to $hostile is down: "
link_drops "$(link_of "$hostile")"
log_may "$hostile" 'link to lender is down'

# others_hold: lines about queue pairs of all the others.
others_hold() { holdings | grep -v "host=$hostile " | grep -c 'host=' || true; }
resets() { fabric drive "$drive" counters | jq .resets; }

# The hostile one has no disk any more, the other has one under load.
hostile_begin() {
	share_up
	detach "$hostile"
	until_true 20 "the queue pairs of $hostile to be free" holds_none "$hostile"
	holding=$(others_hold) losses=$(stat "$victim" losses) resets=$(resets)
	[ "$holding" -ge 1 ] || fail "queue pairs of the others: expected 1 or more, saw none"
	start_load "$victim"
}

# hostile_run MODULE WORDS…: in debugfs of this module, on the one NTB or path there is; the result is in $result.
hostile_run() {
	local folder=/sys/kernel/debug/$1 ok=1; shift
	sh_on "$hostile" 'mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug'
	there() { sh_on "$hostile" 'ls $1/*/run' "$folder"; }
	until_true 20 "something to be hostile to on $hostile" there
	on_timeout=$((seconds + 60)) sh_on "$hostile" 'echo "$2" > $(ls $1/*/run)' "$folder" "$*" || ok=0
	result=$(sh_on "$hostile" 'cat $1/*/result' "$folder")
	say "$* gave: $result"
	[ $ok = 1 ]
}

# unharmed: the drive and the other hosts are as before, and the hostile one holds no queue pair.
unharmed() {
	load_goes_on "$victim"
	expect "losses of $victim" "$losses" "$(stat "$victim" losses)"
	expect "resets of the drive" "$resets" "$(resets)"
	expect "queue pairs of the others" "$holding" "$(others_hold)"
	expect "queue pairs of $hostile" 0 "$(holds "$hostile")"
}

# The hostile one mends its ways, and is a borrower like any other.
hostile_ends() {
	load_links "$hostile"
	until_true 30 "the link of $hostile" links_up "$hostile"
	attach "$hostile"
	short_check "$hostile"
	stop_load "$victim"
	expect "losses of $victim at the end" "$losses" "$(stat "$victim" losses)"
}
