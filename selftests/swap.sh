# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2016
# For tests of hosts whose memory is on the shared drive.

room=140    # MiB that a host has for itself

# swap_begin HOST DISK MIB: memory that can't be swapped out takes all available memory of HOST but $room MiB. A program
# (userspace/tests/guest/swapped.cc) has MIB MiB in use, which are swapped to DISK. It looks at each page again and again.
swap_begin() {
	sh_on "$1" 'swapoff -a; rm -f /run/swapped.*
		mkdir -p /run/pinned
		mountpoint -q /run/pinned || mount -t ramfs none /run/pinned
		echo 3 > /proc/sys/vm/drop_caches
		available=$(($(sed -n "s/^MemAvailable: *\([0-9]*\) kB/\1/p" /proc/meminfo) / 1024))
		[ $available -gt $1 ] || { echo "$available MiB are available"; exit 1; }
		head -c $((available - $1))M /dev/zero > /run/pinned/memory
		mkswap -q "$4" $((($2 + 60) * 1024))
		swapon "$(readlink -f "$4")"
		setsid sh -c "swapped $2 $3 /run/swapped > /run/swapped.out 2>&1; echo \$? > /run/swapped.end" > /dev/null 2>&1 &' $room "$3" "$1" "$2"
}
swap_over() { on "$1" swapoff -a; }
swapped_mib() { sh_on "$1" 'echo $(($(awk "NR > 1 { n += \$4 } END { print n + 0 }" /proc/swaps) / 1024))'; }
# Pages of HOST that were as they had been written.
pages_right() { sh_on "$1" '! [ -e /run/swapped.end ] || { echo "it has ended: $(cat /run/swapped.out)" >&2; exit 1; }; cat /run/swapped.pages'; }
pages_above() { [ "$(pages_right "$1")" -gt "$2" ]; }
swapped_ended() { on "$1" test -s /run/swapped.end; }
# swap_end HOST: it looks at all pages a last time. They have room now: each is swapped in once.
swap_end() {
	sh_on "$1" 'umount /run/pinned; touch /run/swapped.stop'
	# As long as it gets on: an emulated CPU that has little time swaps a few pages in a second.
	local seen=-1 now end=$((SECONDS + 120))
	until swapped_ended "$1" 2> /dev/null; do
		if ((SECONDS >= end)); then
			now=$(on "$1" cat /run/swapped.pages)
			[ "$now" != "$seen" ] || fail "the last look of $1 at its pages: expected to get on, saw $now for 120 s"
			seen=$now end=$((SECONDS + 120))
		fi
		sleep 0.5
	done
	expect "how the program on $1 ended whose memory was swapped: $(on "$1" cat /run/swapped.out)" 0 "$(on "$1" cat /run/swapped.end)"
	say "pages of $1 that were as they had been written: $(on "$1" cat /run/swapped.pages)"
	swap_over "$1"
}
# As the lender sees it: who asks the host itself now may have to wait for its memory.
sessions() { holdings | sed -n "s/.*session=\(0x[0-9a-f]*\) host=$1 .*/\1/p" | sort -u; }
# is_back HOST SESSION PAIRS: it has another session than that one, with as many queue pairs.
is_back() { local now; now=$(sessions "$1"); [ -n "$now" ] && [ "$now" != "$2" ] && [ "$(holds "$1")" = "$3" ]; }
