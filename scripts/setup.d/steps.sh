# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The steps of scripts/setup: a step is a function step_NAME; its stamp holds a hash of its input, and it is run when
# the stamp differs. A step builds in a .part file or folder and renames it at its end, so one that was broken off
# is simply begun again.

die() { printf 'setup: %s\n' "$*" >&2; exit 1; }

seconds_since() { local ms=$((($(date +%s%N) - $1) / 1000000)); printf '%d.%d s' $((ms / 1000)) $((ms % 1000 / 100)); }

# key[STEP]: the hash of its function, its input and the keys of what it needs, so a change runs all that follows.
compute_keys() {
	local step need text sum
	declare -gA key
	for step in "${steps[@]}"; do
		text=$(declare -f "step_$step")${input[$step]}
		for need in ${needs[$step]}; do text+=" $need=${key[$need]}"; done
		sum=$(sha256sum <<<"$text")
		key[$step]=${sum%% *}
	done
}

step_done() {
	local stamp=''
	[ -f "$cache/stamps/$1" ] && read -r stamp <"$cache/stamps/$1"
	[ "$stamp" = "${key[$1]}" ]
}

all_done() {
	local step
	for step in "${steps[@]}"; do step_done "$step" || return 1; done
}

# run_step NAME: prints "NAME … TIME"; what the step says goes to log/NAME, whose end is shown when it fails. A step
# may name its result in $outcome.
run_step() {
	local name=$1 start status=0
	step_done "$name" && return
	mkdir -p "$cache/stamps" "$cache/log"
	rm -f "$cache/stamps/$name"
	printf '  %-8s … ' "$name"
	start=$(date +%s%N)
	: >"$cache/log/$name.outcome"
	# In a process group of its own, so that it can be ended as a whole, and in a subshell that ends at the first
	# failure, which `if` or `||` around it would suspend.
	set -m
	(set -e; "step_$name") >"$cache/log/$name" 2>&1 </dev/null &
	step_group=$!
	set +m
	trap break_off INT TERM HUP
	set +e
	wait $step_group
	status=$?
	set -e
	trap - INT TERM HUP
	if [ $status != 0 ]; then
		echo "failed after $(seconds_since "$start")"
		tail -n 15 "$cache/log/$name" | sed 's/^/    | /' >&2
		die "step '$name' failed; all it said is in $cache/log/$name"
	fi
	printf '%s%s\n' "$(seconds_since "$start")" "$(sed 's/^/, /' "$cache/log/$name.outcome")"
	rm -f "$cache/log/$name.outcome"
	echo "${key[$name]}" >"$cache/stamps/$name.part"
	mv "$cache/stamps/$name.part" "$cache/stamps/$name"
}

# ^C: what the step has started is ended with it. What it made so far is taken up by the next set-up.
break_off() {
	trap '' INT TERM HUP
	echo "broken off"
	kill -TERM -- "-$step_group" 2>/dev/null
	wait "$step_group"
	echo "setup: run it again to go on" >&2
	exit 130
}

# outcome TEXT: what the step's progress line says behind the time.
outcome() { echo "$*" >"$cache/log/${FUNCNAME[1]#step_}.outcome"; }

# One set-up of a cache at a time. The lock is inherited by what the steps start, so it outlives a killed set-up
# just as long as its children do.
take_lock() {
	exec 8>"$cache/lock"
	flock -n 8 && return
	echo "setup: another set-up works in $cache: waiting for it"
	flock 8
}

# replace NEW OLD: OLD becomes NEW at once. What runs from the old one goes on: it is renamed, and removed by a
# later set-up, when nobody holds it any more (in-tree holds a shared lock on the tree's folder).
replace() {
	[ ! -e "$2" ] || mv "$2" "$2.old.$$"
	mv "$1" "$2"
}

drop_old() {
	local old
	for old in "$cache"/{tree,packaging,linux,linux/ntb,guest/modules,guest-debug,backports,backports/ntb,guest-backports}.old.*; do
		[ -e "$old" ] || continue
		flock -n -x "$old" rm -rf --one-file-system "$old" ||
			echo "setup: $old is still in use; a later set-up removes it"
	done
}
