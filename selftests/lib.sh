# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Every test of a running cluster sources this file. A test is a small bash program that runs on the machine (inside the
# tree), talks to the hosts with `on`, and ends by itself. Then lib.sh judges the messages of hosts and hardware (judge,
# below). A test prints the expected and the seen values. Exit status: 0 passed, 4 skipped (as in kselftest), anything
# else failed.
#
#   CLUSTER=NAME selftests/nvme/probe        against a cluster that is up
#
# A test that needs a cluster of its own sets own_cluster to the words of `cluster up` before it sources this file. That
# cluster is judged, and taken down at the end.
#
# selftests/harness/lib tests this file.
set -euo pipefail
shopt -s inherit_errexit
exec < /dev/null      # `cluster exec` hands its input on, if there is any: only what a test gives it

top=$(cd "${BASH_SOURCE[0]%/*}/.." && pwd)
# asker FILE: sets asked to its last two names: the test's, or those of a file that several tests read.
asker() { local folder=${1%/*}; asked=${folder##*/}/${1##*/}; }
asker "$0"
test_name=$asked
marker="smartio-test $test_name $$"
notes=$(mktemp -d)    # what subshells have to tell the test: booted, lost (see `on` and `begin`)

say() { printf '# %s\n' "$*"; }
fail() { printf 'FAIL %s: %s\n' "$test_name" "$*"; failed=1; exit 1; }
skip() { printf 'SKIP %s: %s\n' "$test_name" "$*"; skipped=1; exit 4; }

# A test's command to the hardware announces the messages and the evidence that follow from it. A host that ends or boots
# says so in its log; meanwhile it reaches nothing, and nothing reaches it. Nothing crosses a cable that is out. A host that
# is back is judged again: reset and boot return when it answers. Its cables stay announced, as one does that is put back, until
# the test says that the link is up again (link_back).
cluster() {
	case $1 in kill | reset | boot) host_ends "$2" ;; esac
	SMARTIO_TOP=$top "$cluster_tool" "$@" || return $?    # said outright: judge runs in a trap
	case $1 in reset | boot) host_returns "$2" ;; esac
}
# In the tree the program that scripts/cluster starts runs by itself, in a third of the time.
cluster_tool=${SMARTIO_CLUSTER:-$top/build/userspace/cluster/smartio-cluster}
[ -n "${SMARTIO_IN_TREE:-}" ] && [ -x "$cluster_tool" ] || cluster_tool=$top/scripts/cluster
host_ends() {
	local link
	printf '%s\n' "$1" >> "$notes/booted"
	: > "$notes/away.$1"
	for link in $(links_of "$1"); do link_cut "$link"; done
}
# What its devices did until now is excused.
host_returns() {
	fabric evidence > "$notes/back.$1"
	rm -f "$notes/away.$1"
}
# pci_of HOST DEVICE: where the topology's device is on the bus of its host.
pci_of() { jq -er --arg h "$1" --arg d "$2" '.hosts[] | select(.name == $h) | .devices[] | select(.name == $d).pci' < "$notes/status"; }
links_of() { jq -r --arg h "$1" '.hosts[] | select(.name == $h) | .devices[].link // empty' < "$notes/status"; }
# link_drops LINK: this test makes accesses through LINK's windows reach nothing, at any time.
link_drops() { printf '^%s dropped from_(primary|secondary)$\n' "$1" >> "$notes/announced"; }
# link_cut LINK: they reach nothing from now on. Drops before that are judged.
link_cut() {
	local before=$notes/up.$1 name more
	[ ! -e "$notes/cut.$1" ] || [ -e "$before" ] || return 0
	[ -e "$before" ] || before=$notes/evidence.before
	# none: a host is booted before the test begins
	[ ! -e "$before" ] || while IFS=$'\t' read -r name more; do
		allowed_by_fabric "$name" || printf 'fabric: %s: %s more while the link was up\n' "$name" "$more" >> "$notes/lost"
	done < <(cluster fabric evidence | jq -r --arg l "$1 dropped " --slurpfile b "$before" '.evidence | to_entries[] |
		select(.key | startswith($l)) | [.key, .value - ($b[0].evidence[.key] // 0)] | select(.[1] > 0) | @tsv')
	rm -f "$notes/up.$1"
	: > "$notes/cut.$1"
}
# link_back [LINK…]: both sides have their links over these cables up, or over all. Their drops are judged again.
link_back() {
	local link
	[ $# -gt 0 ] || for link in "$notes"/cut.*; do [ ! -e "$link" ] || set -- "$@" "${link##*/cut.}"; done
	[ $# -gt 0 ] || return 0
	fabric evidence > "$notes/back"
	for link in "$@"; do [ ! -e "$notes/cut.$link" ] || [ -e "$notes/up.$link" ] || cp "$notes/back" "$notes/up.$link"; done
}

# A host with the debug kernel is slow: all deadlines are $slower times as far away.
slower=1
[[ ${SMARTIO_KERNEL:-} != debug* ]] || slower=5

# on HOST COMMAND…: runs it there; its output, its exit status. A host that does not answer fails the test, even if the
# test accepts the status. Only until_true and expect_fail judge that status themselves.
on() {
	local host=$1 status=0 words; shift
	words=$*
	cluster exec "$host" --timeout "${within:-$((${on_timeout:-240} * slower))}" -- "$@" || status=$?
	case $status in 124 | 125) [ -n "${within:-}${unjudged:-}" ] || printf '%s gave no answer (status %s): %s\n' "$host" $status "${words:0:80}" >> "$notes/lost" ;; esac
	return $status
}
# sh_on HOST 'shell text' [ARGS…]: the same for a piece of shell.
sh_on() { local host=$1 text=$2; shift 2; on "$host" bash -euo pipefail -c "$text" bash "$@"; }
# in_time HOST 'shell text' [ARGS…]: as sh_on, of a condition. Where until_true polls, the host itself looks for it for a second, which
# takes less of the CPUs than a command for each look.
in_time() {
	local host=$1 text=$2; shift 2
	[ -z "${within:-}" ] || text='n=0
		until ( '$text' ); do status=$?; ((++n < 8 && status < 126)) || exit $status; [ $n != 1 ] || exec 9<> <(:); read -rt 0.1 -u 9 || true; done'
	sh_on "$host" "$text" "$@"
}
# fabric WORDS…: the control socket; prints JSON, fails when the answer is not ok.
fabric() {
	local link
	case "$1 ${3:-} ${4:-}" in
	'link down '* | 'link silent '* | 'link flap '*) link_cut "$2" ;;
	'drive remove '*) printf '\\.%s dma_\n' "$2" >> "$notes/announced" ;;
	'device '*' remove')
		printf '^%s\\.%s dma_\n' "$2" "$3" >> "$notes/announced"
		for link in $(links_of "$2"); do link_cut "$link"; done ;;
	esac
	cluster fabric "$@"
}

# expect WHAT EXPECTED SEEN
expect() {
	[ "$2" = "$3" ] || fail "$1: expected '$2', saw '$3'"
	say "$1: $3"
}
# expect_match WHAT REGEX SEEN
expect_match() {
	[[ $3 =~ $2 ]] || fail "$1: expected to match '$2', saw '$3'"
}
# expect_fail WHAT STATUS REGEX COMMAND…: it ends with just this status, and its output, errors too, matches.
expect_fail() {
	local what=$1 expected=$2 regex=$3 status=0 out; shift 3
	out=$(unjudged=1 "$@" 2>&1) || status=$?
	[ "$status" = "$expected" ] || fail "$what: expected to fail with status $expected, saw $status: $out"
	[[ $out =~ $regex ]] || fail "$what: expected it to say '$regex', saw '$out'"
	say "$what: fails with status $status"
}
# until_true SECONDS WHAT COMMAND…: polls until COMMAND succeeds; fails at the deadline, which also ends a command on a
# host that takes longer, naming WHAT. A command that can't be run at all fails at once. Of `on` and `sh_on` the host itself
# looks for the condition (in_time).
until_true() {
	local deadline=$((SECONDS + $1 * slower)) what=$2 status left pause=1; shift 2
	case $1 in
	sh_on) set -- in_time "${@:2}" ;;
	on) set -- in_time "$2" '"$@"' "${@:3}" ;;
	esac
	while :; do
		left=$((deadline - SECONDS)) status=0
		within=$((left > 0 ? left : 1)) "$@" > "$notes/polled" 2>&1 || status=$?
		case $status in 0) return ;; 126 | 127) fail "$what: can't run '$*': $(tail -1 "$notes/polled")" ;; esac
		[ $SECONDS -lt "$deadline" ] || fail "timed out waiting for: $what (status $status: $(tail -1 "$notes/polled"))"
		# a command in a host takes a tenth of a second of a CPU: what takes longer is asked for less often
		sleep 0.$pause
		[ $pause = 4 ] || pause=$((pause + 1))
	done
}

# at_once COMMAND WORD…: COMMAND WORD for each, all at the same time; fails if one fails.
at_once() {
	local what=$1 word pid pids=() bad=0; shift
	for word in "$@"; do "$what" "$word" & pids+=($!); done
	for pid in "${pids[@]}"; do wait "$pid" || bad=1; done
	[ $bad = 0 ] || fail "$what failed for one of: $*"
}

# iommu_of HOST: the kind that the topology gives it, nothing if it has none. /sys/class/iommu has smartio_pci's, too.
iommu_of() { jq -er --arg h "$1" '.hosts[] | select(.name == $h).iommu | if . == "none" then "" else . end' < "$notes/status"; }
# iommu_faults_of DEVICES [ACCESS]: a pattern for the reports of Intel's IOMMU and of AMD's about accesses that they refused. DEVICES:
# BUS:DEVICE.FUNCTION, a pattern; 7.x prints Intel's with the domain before it. ACCESS: Read or Write, which only Intel's says in words.
iommu_faults_of() { printf '%s' "DMAR: \\[DMA ${2:-(Read|Write)} NO_PASID\\] Request device \\[(0000:)?($1)\\]|[a-z_-]+ [0-9a-f]{4}:($1): AMD-Vi: Event logged \\[IO_PAGE_FAULT "; }
# iommu_messages DEVICES [ACCESS]: a pattern for all that the kernel says about them.
iommu_messages() { printf '%s' "DMAR: DRHD: handling fault status reg|$(iommu_faults_of "$@")"; }

# ---- what crosses a cable ----

link_of() { fabric link list | jq -r --arg h "$1" '[.links[] | select(.primary.host == $h or .secondary.host == $h)][0].name'; }
# The directions of HOST's link in the ledger: toward and from it.
directions() {
	local secondary
	link=$(link_of "$1")
	secondary=$(fabric link list | jq -r --arg h "$1" '[.links[] | select(.secondary.host == $h)] | length')
	if [ "$secondary" != 0 ]; then toward=from_primary from=from_secondary; else toward=from_secondary from=from_primary; fi
}
# ledger_cells DIRECTION: of $ledger, "posted data TRANSACTIONS BYTES, …" of all kinds that occurred.
ledger_cells() {
	jq -r --arg d "$1" '.links[][$d] | [("posted", "non_posted") as $class | .[$class] | to_entries[] | select(.value.transactions > 0) |
		"\($class) \(.key) \(.value.transactions) \(.value.bytes)"] | sort | join(", ")' <<< "$ledger"
}
# Interrupts that the lender took so far, by a regular expression of their lines in /proc/interrupts.
interrupts_of() { sh_on lender 'awk -v d="$1" "\$0 ~ d { for (i = 2; i <= NF; i++) { if (\$i !~ /^[0-9]+$/) break; n += \$i } } END { print n + 0 }" /proc/interrupts' "$1"; }

# driver_of HOST PCI: its name, or none.
driver_of() { sh_on "$1" 'basename "$(readlink /sys/bus/pci/devices/$1/driver || echo none)"' "$2"; }
# logged HOST REGEX: how often its log says that since the test began, or since its boot, if that was later. (A count from the
# boot on is wrong once the kernel has dropped its first lines.)
logged() {
	sh_on "$1" 'dmesg | awk -v m="$1" "index(\$0, m) { n = 0; next } { l[n++] = \$0 } END { for (i = 0; i < n; i++) print l[i] }" | grep -cE -e "$2" || true' \
		"$marker" "$2"
}
logged_more() { [ "$(logged "$1" "$2")" -gt "$3" ]; }
# port_errors_may HOST PORT: the kernel's messages about errors that this port reports or contains, and its recovery (6.12 and 7.3).
port_errors_may() {
	log_may "$1" "pcieport $2: (AER: |DPC: |pciehp: |Data Link Layer Link Active not set|  device \\[| +\\[[ 0-9]+\\] )"
	log_may "$1" "pcieport $2: PCIe Bus Error: severity=Uncorrect(ed|able) \\((Non-)?Fatal\\)"
}
# port_above HOST PCI: the root port, or the switch's, of a function. The monitor's injections name QEMU's: see userspace/cluster/qemu_args.cc.
port_above() { sh_on "$1" 'basename "$(dirname "$(readlink -f /sys/bus/pci/devices/$1)")"' "$2"; }
# dpc_trigger HOST PORT: sets the software trigger of a port that dpc_port is loaded for (PCI Express 6.0, 7.9.14.3, DPC Control).
dpc_trigger() { sh_on "$1" 'printf "\111\0" | dd of=/sys/bus/pci/devices/$1/config bs=2 seek=$((0xe06 / 2)) count=1 conv=notrunc status=none' "$2"; }
# dpc_disable HOST PORT: that port contains no error, and reports it instead (DPC Trigger Enable).
dpc_disable() { sh_on "$1" 'printf "\0\0" | dd of=/sys/bus/pci/devices/$1/config bs=2 seek=$((0xe06 / 2)) count=1 conv=notrunc status=none' "$2"; }
# time_out_severity HOST PORT FATAL: whether a completion time-out is fatal to the port (7.8.4.4, Uncorrectable Error Severity, bit 14).
# Its capability is the first of the extended ones.
time_out_severity() {
	sh_on "$1" 'at=/sys/bus/pci/devices/$1/config
		[ "$(od -An -tx2 -j 256 -N 2 $at | tr -d " ")" = 0001 ]
		byte=$(od -An -tu1 -j 269 -N 1 $at)
		printf "\\$(printf %o $(($2 ? byte | 64 : byte & ~64)))" | dd of=$at bs=1 seek=269 conv=notrunc status=none' "$2" "$3"
}

instructions() { cluster instructions lender | jq '.lender | add'; }
now_ms() { date +%s%3N; }
# rates_while PID: the lender's instructions a second as long as that process runs, one figure for each part of a second.
rates_while() {
	local now at i0 t0
	i0=$(instructions) t0=$(now_ms)
	while kill -0 "$1" 2> /dev/null; do
		sleep 0.2
		now=$(instructions) at=$(now_ms)
		echo $(((now - i0) * 1000 / (at - t0)))
		i0=$now t0=$at
	done
}
# quarters FIGURE…: the lower quartile, the median and the upper quartile.
quarters() { printf '%s\n' "$@" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 3) / 4)], v[int((NR + 1) / 2)], v[int((3 * NR + 3) / 4)] }'; }
# lender_idle_during IOS COMMAND…: while the command does IOS I/Os, the lender runs no more instructions than in an idle time that is
# as long, or longer. A kernel's housekeeping costs ten times an idle moment, now and then: medians are compared, of parts of a second. The
# command is at its I/Os for more than half of its time.
lender_idle_during() {
	local ios=$1 pid began ms rates_busy=() rates_idle=() least calm most median each; shift
	began=$(now_ms)
	"$@" & pid=$!
	mapfile -t rates_busy < <(rates_while $pid)
	wait $pid
	ms=$(($(now_ms) - began))
	sleep $((ms < 8000 ? 8 : ms / 1000)) & pid=$!
	mapfile -t rates_idle < <(rates_while $pid)
	read -r least calm most <<< "$(quarters "${rates_idle[@]}")"
	read -r _ median _ <<< "$(quarters "${rates_busy[@]}")"
	each=$(((median - calm) * ms / 1000 / ios))
	say "instructions a second of the idle lender, ${#rates_idle[@]} times: half of them $least to $most, median $calm; during $ios I/Os of a borrower, $((ms / 1000)) s, ${#rates_busy[@]} times: $median"
	[ ${#rates_busy[@]} -ge 8 ] || fail "looks at the lender during I/O: expected 8 or more, saw ${#rates_busy[@]}"
	# Above the median by no more than idle times differ; or by less for each I/O than the shortest interrupt takes.
	[ "$median" -le $((calm + most - least)) ] || [ $each -lt 250 ] ||
		fail "instructions a second of the lender during I/O: expected no more than $((calm + most - least)), or fewer than 250 for each I/O, saw $median, $each for each I/O"
}

# ---- what hosts and hardware may say ----

# HOST=REGEX of kernel messages that this test asks for; how often each matched; FOLDER/FILE of who asks.
allowed_log=() log_matched=() log_asked=()
# REGEX of evidence (docs/fabric.md) and of lines of fabric.log, and the same.
allowed_fabric=() fabric_matched=() fabric_asked=()
# The kernel's messages about a module of another build, and about an emulated CPU that got too little time of the machine's CPUs.
always_allowed='loading out-of-tree module taints kernel|module verification failed|hrtimer: interrupt took [0-9]+ ns|sched: DL replenish lagged too much'
# The messages of the stock kernel, and of the debug kernel, at each boot of such a machine.
of_a_boot='mtrr: your CPUs had inconsistent|ACPI: IRQ 4 override to edge|amd_pstate: the _CPC object is not present|tsc: Unable to calibrate against PIT|APIC calibration not consistent with PM-Timer|Kernel compiled without mitigations|\] (Lock dependency validator: |\.\.\. (MAX_LOCK|CLASSHASH|CHAINHASH)| (memory used|per task-struct memory)|( +#[0-9]+)+$)'

# No allowance is so wide that it matches one of these.
canaries=('WARNING: CPU: 0 PID: 1 at kernel/none.c:1 none+0x0/0x1' 'WARNING: kernel/none.c:1 at none+0x0/0x1, CPU#0: none/1' 'BUG: unable to handle page fault for address: 0'
	'BUG: KASAN: slab-use-after-free in none+0x0/0x1' 'INFO: task none:1 blocked for more than 60 seconds.'
	'rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:' 'watchdog: BUG: soft lockup - CPU#0 stuck for 26s! [none:1]'
	'DMAR: [DMA Write NO_PASID] Request device [ff:1f.7] fault addr 0xdeadb000 [fault reason 0x05] none'
	'none 0000:ff:1f.7: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0001 address=0xdeadb000 flags=0x0020]'
	'I/O error, dev vda, sector 8 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0' 'Buffer I/O error on dev vda, logical block 1'
	'nvme nvme0: none of the messages: reset' 'ntb_hw_amd 0000:ff:1f.7: ntb9: none of the messages'
	'dlm: none of the messages' 'workqueue: none of the messages' 'nvmet: none of the messages' 'nvme_tcp: none of the messages'
	'pci 0000:ff:1f.7: none of the messages' "none 0000:ff:1f.7: can't assign; no space; failed to assign")
fabric_canaries=('none.ntb9 dma_writes_unclaimed' 'none.drive9 dma_refused_by_qemu' 'cable99 dropped from_primary' 'warning none: none of the messages')
# narrow REGEX LINE…
narrow() {
	local regex=$1 line; shift
	for line in "$@"; do [[ ! $line =~ $regex ]] || fail "the allowance '$regex' is too wide: it allows '$line'"; done
}
# log_may HOST REGEX: this test provokes such kernel messages (level warning or worse) on HOST.
log_may() { narrow "$2" "${canaries[@]}"; asker "${BASH_SOURCE[1]}"; allowed_log+=("$1=$2"); log_matched+=(0) log_asked+=("$asked"); }
# warning_may HOST PLACE: the stock kernel of HOST may warn there, "fs/dlm/lock.c:[0-9]+ _receive_message", and is tainted by it.
# 7.x says "FILE:LINE at FUNCTION", and the CPU behind it.
warning_may() {
	local regex="WARNING: (.* at $2|${2% *} at ${2##* })\\+0x"
	[[ $2 =~ ^[a-z] ]] || fail "the allowance of a warning, '$2', names no file of the kernel"
	narrow "$regex" "${canaries[@]}"
	asker "${BASH_SOURCE[1]}"; allowed_log+=("$1=$regex"); log_matched+=(0) log_asked+=("$asked")
}
# fabric_may REGEX: it provokes accesses that reach nothing: lines such as "lender.ntb0 dma_writes_unclaimed", "cable0
# dropped from_primary", or warnings in fabric.log.
fabric_may() { narrow "$1" "${fabric_canaries[@]}"; asker "${BASH_SOURCE[1]}"; allowed_fabric+=("$1"); fabric_matched+=(0) fabric_asked+=("$asked"); }
booted() { grep -qsx "$1" "$notes/booted"; }

# The hosts of the topology, in any state.
hosts() { printf '%s\n' "${all_hosts[@]}"; }
# read_status: asks for the cluster's status ($notes/status). Sets folder, all_hosts and state_of[HOST].
read_status() {
	local host state
	declare -gA state_of=()
	all_hosts=()
	cluster status -o json > "$notes/status" || return 1
	while IFS=$'\t' read -r host state; do
		if [ -z "$state" ]; then folder=$host; else all_hosts+=("$host") state_of[$host]=$state; fi
	done < <(jq -r '.folder, (.hosts[] | [.name, .state] | @tsv)' < "$notes/status")
}

# host_report HOST: its boot, its kernel's taint, and its messages of level warning and worse since the test began, `dropped` if
# the kernel has dropped the first of them. The first test of a boot judges the boot, too. A program that a host starts takes
# 20 ms of a CPU there: bash's own words take less.
# /run is new at each boot.
host_report() {
	local since=$marker
	[ -z "${boot_unjudged[$1]}" ] || since=
	sh_on "$1" 'read -r boot < /proc/sys/kernel/random/boot_id; read -r taint < /proc/sys/kernel/tainted
		echo "boot $boot"; echo "taint $taint"
		echo "<6>smartio-test has judged this boot" > /dev/kmsg
		: > /run/smartio-test
		dmesg -r | awk -v m="$1" "m && index(\$0, m) { delete l; n = 0; m = \"\" } /^<[0-4]>/ { l[n++] = \$0 } END { if (m) print \"dropped\"; for (i = 0; i < n; i++) print l[i]; print \"end\" }"' \
		"$since"
}
# log_since HOST: the messages alone.
log_since() { host_report "$1" | sed -n '/^</p'; }
# Of a host that was booted, does not run, or has dropped lines of its log: the lines of its console since the test began,
# which have all warnings.
console_report() { tail -c +$((${console_size[$1]} + 1)) "$folder/$1.console.log" | tr -d '\r' | grep -aoE '\[ *[0-9]+\.[0-9]{6}\] .*' || true; }

# allowed_on HOST LINE
allowed_on() {
	local n ok=1
	[[ $2 =~ $always_allowed ]] && ok=0
	booted "$1" || [ -n "${boot_unjudged[$1]}" ] && [[ $2 =~ $of_a_boot ]] && ok=0
	for n in "${!allowed_log[@]}"; do
		if [[ $1 = "${allowed_log[n]%%=*}" && $2 =~ ${allowed_log[n]#*=} ]]; then ok=0 log_matched[n]=$((log_matched[n] + 1)); fi
	done
	return $ok
}
allowed_by_fabric() {
	local n ok=1
	[ -e "$notes/announced" ] && grep -qEf "$notes/announced" <<< "$1" && ok=0
	for n in "${!allowed_fabric[@]}"; do
		if [[ $1 =~ ${allowed_fabric[n]} ]]; then ok=0 fabric_matched[n]=$((fabric_matched[n] + 1)); fi
	done
	return $ok
}

# The first two are repeated at the end: a kernel's warning may be far above the last line of the output.
complain() { printf '%s\n' "$*"; bad=1; [ ${#complaints[@]} -ge 2 ] || complaints+=("$*"); }

# judge_lines HOST KIND, its messages on stdin. The lines of one warning, from "cut here" to "end trace", are judged as one:
# all are allowed if that is. Sets `warned` to 512, the taint of it.
judge_lines() {
	local line report=() i
	while IFS= read -r line; do
		if [ ${#report[@]} -gt 0 ] || [[ $line = *'------------[ cut here ]------------' ]]; then
			report+=("$line")
			[[ $line = *'---[ end trace '* ]] || [ ${#report[@]} -ge 100 ] || continue
			if [[ $line = *'---[ end trace '* && ${report[1]} = *WARNING:* ]] && allowed_on "$1" "${report[1]}"; then
				warned=512
			else
				for i in "${!report[@]}"; do complain "$2 of $1: ${report[i]}"; done
			fi
			report=()
		else
			allowed_on "$1" "$line" || complain "$2 of $1: $line"
		fi
	done
	for i in "${!report[@]}"; do complain "$2 of $1: ${report[i]}"; done
}

judge_host() {
	local host=$1 line boot='' taint='' end='' dropped='' warned=0 state=${state_of[$1]:-unknown}
	if [ "$state" = running ]; then
		unjudged=1 host_report "$host" > "$notes/report" || complain "the kernel log of $host can't be read"
		: > "$notes/messages"
		while IFS= read -r line; do
			case $line in
			'boot '*) boot=${line#* } ;;
			'taint '*) taint=${line#* } ;;
			end) end=1 ;;
			dropped) dropped=1 ;;
			'<'*) printf '%s\n' "$line" >> "$notes/messages" ;;
			esac
		done < "$notes/report"
		judge_lines "$host" "kernel log" < "$notes/messages"
		[ -n "$end" ] || complain "the kernel log of $host: its end is missing"
		booted "$host" || [ "$boot" = "${boot_of[$host]}" ] || complain "$host was booted, which this test did not ask for"
		[ "$boot" = "${boot_of[$host]}" ] || taint_of[$host]=0
		# 4096 and 8192: modules that are not the kernel's own, not signed. A taint by an earlier test does not count.
		[ $((${taint:-0} & ~12288 & ~warned & ~${taint_of[$host]})) = 0 ] || complain "the kernel of $host is tainted: $taint, was ${taint_of[$host]}"
	else
		complain "$host is $state at the end of the test"
	fi
	if booted "$host" || [ "$state" != running ] || [ -n "$dropped" ]; then
		judge_lines "$host" console < <(console_report "$host")
	fi
}

judge_fabric() {
	local name count before host link
	fabric evidence > "$notes/evidence" || complain "the fabric gives no evidence"
	while IFS=$'\t' read -r name count before; do
		if [[ $name = *.*" dma_"* ]]; then
			host=${name%%.*}
			[ ! -e "$notes/away.$host" ] || continue
			[ ! -e "$notes/back.$host" ] || before=$(jq --arg n "$name" '.evidence[$n] // 0' < "$notes/back.$host")
		elif [ -e "$notes/cut.${name%% *}" ]; then
			link=${name%% *}
			[ -e "$notes/up.$link" ] || continue
			before=$(jq --arg n "$name" '.evidence[$n] // 0' < "$notes/up.$link")
		fi
		[ "$count" = "$before" ] || allowed_by_fabric "$name" || complain "fabric: $name: $((count - before)) more"
	done < <(jq -rs '.[0].evidence as $before | .[1].evidence | to_entries[] | [.key, .value, $before[.key] // 0] | @tsv' \
		"$notes/evidence.before" "$notes/evidence")
	# Warnings that only repeat a count are left out.
	while IFS= read -r name; do
		allowed_by_fabric "$name" || complain "fabric.log: $name"
	done < <(tail -c +$((fabric_log_size + 1)) "$folder/fabric.log" | grep -aE ' (warning|error|critical) ' | grep -avE 'is unclaimed \(|refused a DMA write; further' || true)
}

# At the end of a test every host of the topology answers, and has booted only on purpose. Neither its kernel nor the fabric
# reports anything that the test did not ask for, and nothing failed unseen.
judge() {
	local host n bad=0 line
	complaints=()
	local hosts=("${all_hosts[@]}")
	read_status || complain "the cluster tool does not say how the cluster is"
	all_hosts=("${hosts[@]}")
	for host in "${all_hosts[@]}"; do judge_host "$host"; done
	judge_fabric
	if [ -e "$notes/lost" ]; then
		while IFS= read -r line; do complain "unseen by the test: $line"; done < "$notes/lost"
	fi
	for n in "${!allowed_log[@]}"; do note_allowance "${log_matched[n]}" "${log_asked[n]}" "${allowed_log[n]}"; done
	for n in "${!allowed_fabric[@]}"; do note_allowance "${fabric_matched[n]}" "${fabric_asked[n]}" "fabric=${allowed_fabric[n]}"; done
	return $bad
}
# SMARTIO_ALLOWANCES=FILE: how often each allowance matched, for a report over many tests (scripts/check).
note_allowance() { [ -z "${SMARTIO_ALLOWANCES:-}" ] || printf '%s\t%s\t%s\n' "$@" >> "$SMARTIO_ALLOWANCES"; }

# A test may have its own: it runs at the end of the test, whether that passed or failed.
clean_up() { :; }

finish() {
	local status=$? of_the_test=${CLUSTER:-}
	trap - EXIT ERR
	set +eE
	# A test may have brought up one of its own, and looks after it itself.
	export CLUSTER=$judged
	if [ $status != 4 ] && ! judge; then
		[ $status != 0 ] || printf 'FAIL %s: messages, evidence or failures that the test did not ask for (expected none), first: %s\n' "$test_name" "$(IFS=';'; echo "${complaints[*]}")"
		[ $status != 0 ] || failed=1 status=1
	fi
	[ $status != 0 ] || printf 'PASS %s\n' "$test_name"
	CLUSTER=$of_the_test
	clean_up
	case $status,${failed:-0},${skipped:-0} in
	0,* | *,1,* | 4,*,1) ;;
	*) printf 'FAIL %s: a command that had to succeed ended with status %s: %s\n' "$test_name" $status "${failed_at:-}"
		status=1 ;;
	esac
	[ -z "${own_cluster:-}" ] || "$top/scripts/cluster" down > /dev/null || status=1
	rm -rf "$notes"
	exit $status
}

# Why a test, or a part of it that runs in a subshell, ends: the command, and the lines from where it is to the test's own.
# The test may ignore the status of a subshell ("$(…)" in an argument, `local x=$(…)`, a command in the background).
command_failed() {
	failed_at="$1 (line $2)"
	[ "$BASH_SUBSHELL" = 0 ] || printf 'a command failed: %s\n' "$failed_at" >> "$notes/lost"
}

own_cluster_up() {
	local words
	read -ra words <<< "$own_cluster"
	export CLUSTER=${CLUSTER:-default}-${0##*/}
	trap '"$top/scripts/cluster" down > /dev/null' EXIT
	"$top/scripts/cluster" up "${words[@]}" > "$notes/up" 2>&1 || { cat "$notes/up"; printf 'FAIL %s: its cluster did not come up\n' "$test_name"; exit 1; }
}

begin() {
	local host line
	[ -z "${own_cluster:-}" ] || own_cluster_up
	judged=${CLUSTER:-default}
	trap finish EXIT
	trap 'exit 143' TERM
	trap 'exit 130' INT HUP
	set -E
	trap 'command_failed "$BASH_COMMAND" "$LINENO${BASH_LINENO[*]:+ of ${FUNCNAME[*]}, called from lines ${BASH_LINENO[*]}}"' ERR
	read_status || fail "the cluster tool does not say how the cluster is"
	[ ${#all_hosts[@]} -gt 0 ] || fail "the cluster ${CLUSTER:-default} is not up"
	declare -gA boot_of=() taint_of=() boot_unjudged=() console_size=()
	for host in "${all_hosts[@]}"; do
		console_size[$host]=$(wc -c < "$folder/$host.console.log")
		if [ "${state_of[$host]}" != running ]; then
			say "$host is ${state_of[$host]}, by a test before: it is booted"
			cluster boot "$host"
		fi
		line=$(sh_on "$host" 'read -r taint < /proc/sys/kernel/tainted; read -r boot < /proc/sys/kernel/random/boot_id
			first=; [ -e /run/smartio-test ] || first=yes
			: > /run/smartio-test
			echo "<6>$1" > /dev/kmsg
			echo "$boot $taint $first"' "$marker")
		read -r boot_of["$host"] taint_of["$host"] boot_unjudged["$host"] <<< "$line"
	done
	fabric evidence > "$notes/evidence.before"
	fabric_log_size=$(wc -c < "$folder/fabric.log")
}
begin
