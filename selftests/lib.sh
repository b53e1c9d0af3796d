# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What every test of a running cluster sources. A test is a small bash program that runs on the machine (inside the
# tree), talks to the hosts with `on`, and ends by itself; lib.sh then looks at the kernel log of every host. It
# prints what it expected and what it saw. Exit status: 0 passed, 4 skipped (as in kselftest), anything else failed.
#
#   CLUSTER=NAME selftests/nvme/probe        against a cluster that is up
set -euo pipefail
exec < /dev/null      # `cluster exec` hands its input on, if there is any: only what a test gives it

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
test_name=$(basename "$(dirname "$0")")/$(basename "$0")
marker="smartio-test $test_name $$"
allowed_log=()      # HOST=REGEX of kernel messages that this test asks for
# What the kernel says of any module that is not of its own build.
provenance='loading out-of-tree module taints kernel|module verification failed'

say() { printf '# %s\n' "$*"; }
fail() { printf 'FAIL %s: %s\n' "$test_name" "$*"; failed=1; exit 1; }
skip() { printf 'SKIP %s: %s\n' "$test_name" "$*"; skipped=1; exit 4; }

cluster() { "$top/scripts/cluster" "$@"; }

# A host with the debug kernel takes its time: all deadlines are so many times as far away.
slower=1
[ "${SMARTIO_KERNEL:-}" != debug ] || slower=5

# on HOST COMMAND…: runs it there; its output, its exit status.
on() { local host=$1; shift; cluster exec "$host" --timeout "$((${on_timeout:-240} * slower))" -- "$@"; }
# sh_on HOST 'shell text' [ARGS…]: the same for a piece of shell.
sh_on() { local host=$1 text=$2; shift 2; on "$host" bash -euo pipefail -c "$text" bash "$@"; }
# fabric WORDS…: the control socket; prints JSON, fails when the answer is not ok.
fabric() { cluster fabric "$@"; }

# expect WHAT EXPECTED SEEN
expect() {
	[ "$2" = "$3" ] || fail "$1: expected '$2', saw '$3'"
	say "$1: $3"
}
# expect_match WHAT REGEX SEEN
expect_match() {
	[[ $3 =~ $2 ]] || fail "$1: expected to match '$2', saw '$3'"
}
# expect_fail WHAT COMMAND…: it must end with a status other than 0.
expect_fail() {
	local what=$1; shift
	if "$@"; then fail "$what: expected it to fail, it succeeded"; fi
}
# until_true SECONDS WHAT COMMAND…: polls until COMMAND succeeds; fails at the deadline, naming WHAT.
until_true() {
	local deadline=$((SECONDS + $1 * slower)) what=$2; shift 2
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt "$deadline" ] || fail "waited in vain for: $what"
		sleep 0.1
	done
}

# What a kernel says of an emulated CPU that had to wait for the machine's own.
slowness='hrtimer: interrupt took [0-9]+ ns|hpet: Lost [0-9]+ RTC interrupts'

# log_may HOST REGEX: this test provokes such kernel messages (level warning or worse) on HOST.
log_may() { allowed_log+=("$1=$2"); }

# boots HOST: this test boots HOST anew; what the stock kernel then says of any machine such as these.
boots() {
	log_may "$1" 'mtrr: your CPUs had inconsistent'
	log_may "$1" 'ACPI: IRQ 4 override to edge'
	log_may "$1" 'amd_pstate: the _CPC object is not present'
	log_may "$1" 'tsc: Unable to calibrate against PIT'
	log_may "$1" 'APIC calibration not consistent with PM-Timer'
	# the debug kernel, of itself
	log_may "$1" 'Kernel compiled without mitigations'
	log_may "$1" '\] (Lock dependency validator: |\.\.\. (MAX_LOCK|CLASSHASH|CHAINHASH)| (memory used|per task-struct memory))'
}

hosts() { cluster status -o json | jq -r '.hosts[] | select(.state == "running") | .name'; }

# Kernel messages of level warning and worse on HOST since the test began. A host that was booted anew in between
# has no marker in its log: then the whole log counts, its boot included.
log_since() {
	sh_on "$1" 'dmesg -r | awk -v m="$1" "index(\$0, m) { delete l; n = 0 } /^<[0-4]>/ { l[n++] = \$0 } END { for (i = 0; i < n; i++) print l[i] }"' \
		"$marker"
}

check_logs() {
	local host line entry ok bad=0
	for host in $(hosts); do
		while IFS= read -r line; do
			[ -n "$line" ] || continue
			ok=0
			[[ $line =~ $provenance || $line =~ $slowness ]] && ok=1
			for entry in ${allowed_log[@]+"${allowed_log[@]}"}; do
				[[ $host = "${entry%%=*}" && $line =~ ${entry#*=} ]] && ok=1
			done
			[ $ok = 1 ] || { printf 'kernel log of %s: %s\n' "$host" "$line"; bad=1; }
		done < <(log_since "$host")
	done
	return $bad
}

# A test's own: what it has to put away in the end, however it ended.
clean_up() { :; }

finish() {
	local status=$?
	trap - EXIT
	if [ $status = 0 ] && ! check_logs; then
		printf 'FAIL %s: kernel messages that the test did not ask for (expected none)\n' "$test_name"
		failed=1 status=1
	fi
	[ $status = 0 ] && printf 'PASS %s\n' "$test_name"
	set +e
	clean_up
	case $status,${failed:-0},${skipped:-0} in
	0,* | *,1,* | 4,*,1) ;;
	*) printf 'FAIL %s: a command that had to succeed ended with status %s: %s\n' "$test_name" $status "${failed_at:-}"
		status=1 ;;
	esac
	exit $status
}

begin() {
	local host
	trap finish EXIT
	# the command, and the lines from where it is to the test's own
	set -E
	trap 'failed_at="$BASH_COMMAND (line $LINENO${BASH_LINENO[*]:+ of ${FUNCNAME[*]}, called from lines ${BASH_LINENO[*]}})"' ERR
	for host in $(hosts); do sh_on "$host" 'echo "<6>$1" > /dev/kmsg' "$marker"; done
}
begin
