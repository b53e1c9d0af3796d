# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154
# A disk's files in the folder $root, whose programs this machine runs. disk and guide-disk source this file.

# In a PID namespace of its own, which ends all processes that a program leaves. DKMS leaves a `sleep` of its progress bar, and as long as
# that runs /dev is busy.
in_root() { unshare --pid --fork chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive HOME=/root "$@"; }

# This machine's /proc, /sys and /dev in it.
mounts() { local each; for each in proc sys dev; do mount --rbind "/$each" "$root/$each"; mount --make-rslave "$root/$each"; done; }
# Names the processes that use one of them.
unmount() {
	local each at status=0
	for each in dev sys proc; do
		! mountpoint -q "$root/$each" || umount -R "$root/$each" || status=1
	done
	[ $status != 0 ] || return 0
	for at in /proc/[0-9]*; do
		! find "$at/root" "$at/cwd" "$at/fd" -maxdepth 1 -lname "$root*" 2>/dev/null | grep -q . || say "in use by ${at##*/}: $(tr '\0' ' ' <"$at/cmdline")"
	done
	return 1
}
