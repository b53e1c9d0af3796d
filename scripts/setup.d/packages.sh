# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What must be on the machine itself.

have() { command -v "$1" >/dev/null 2>&1; }

wanted_packages() {
	have mmdebstrap || echo mmdebstrap
	have xz || echo xz-utils
	[ -e "$debian_keyring" ] || echo debian-archive-keyring
	[ "$(id -u)" = 0 ] || have newuidmap || echo uidmap
}

install_packages() {
	local wanted
	mapfile -t wanted < <(wanted_packages)
	[ ${#wanted[@]} -gt 0 ] || return 0
	[ "$(id -u)" = 0 ] || die "needs root to install: apt-get install ${wanted[*]}"
	echo "setup: installing ${wanted[*]}"
	apt-get -q update
	DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends "${wanted[@]}"
}

check_machine() {
	local wanted machine tool
	machine=$(uname -m)
	[ "$machine" = x86_64 ] || die "this machine is $machine; the tree, QEMU and the hosts are x86_64"
	for tool in apt-get dpkg-deb unshare flock tar sha256sum; do
		have "$tool" || die "'$tool' is missing on this machine: is it a Debian 12 or 13?"
	done
	mapfile -t wanted < <(wanted_packages)
	[ ${#wanted[@]} = 0 ] ||
		die "missing on this machine: ${wanted[*]}. As root: apt-get install ${wanted[*]} (or: make setup-packages)"
	if [ "$(id -u)" != 0 ]; then
		unshare --user --map-root-user true 2>/dev/null ||
			die "an ordinary user may not make a user namespace here; run as root, or allow it: sysctl kernel.unprivileged_userns_clone=1"
		{ grep -q "^$(id -un):" /etc/subuid && grep -q "^$(id -un):" /etc/subgid; } ||
			die "no subordinate ids for $(id -un). As root: usermod --add-subuids 100000-165535 --add-subgids 100000-165535 $(id -un)"
	else
		unshare --mount true 2>/dev/null ||
			die "root may not make a mount namespace here (a container without CAP_SYS_ADMIN?)"
	fi
	local free_mb
	free_mb=$(df --output=avail -m "$cache" | tail -n 1)
	[ "$free_mb" -ge 4500 ] || echo "setup: only $free_mb MB free at $cache; all of it takes about 4500 MB" >&2
}
