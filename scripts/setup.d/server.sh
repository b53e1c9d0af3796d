# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The server image (setup --packaging): a Debian 13 with systemd, udev, apt and dkms, for hosts whose topology says
# image = "server". Each of them writes to a copy of its own.
#
#   guest-server/root.tar  all files of a server host
#   guest-server/root.img  the same as a disk, ext4; it has no partition and no boot loader, since QEMU starts the kernel
#   guest-server/initrd    loads the disk's driver, mounts it and starts systemd
#   guest-server/clean.tar all files of a server on which nothing of smartio or of a cluster has been installed
#   guest-server/pool/     a repository with what docs/install.md and docs/cluster-filesystems.md install there

# server_bootstrap NAME TAR: the root of NAME.list as a tarball.
server_bootstrap() {
	mkdir -p "$cache/guest-server"
	# The settings that keep documents out of the other images do not stay: packages are compared file by file here.
	# shellcheck disable=SC2016
	bootstrap "$1" apt "$top/scripts/setup.d/$1.list" --format=tar \
		--customize-hook='rm -rf "$1"/etc/dpkg/dpkg.cfg.d/99mmdebstrap "$1"/var/lib/apt/lists/* "$1"/etc/apt/preferences.d/qemu "$1"/etc/apt/sources.list' \
		--customize-hook='chroot "$1" passwd -d root' \
		"$suite" "$2"
}

step_server_rootfs() {
	local part=$cache/guest-server/rootfs.tar.part
	server_bootstrap server "$part"
	mv "$part" "$cache/guest-server/rootfs.tar"
	outcome "$(du -m "$cache/guest-server/rootfs.tar" | cut -f 1) MB"
}

# Units that only cost an emulated host time. Those of the cluster's daemons are started in order by smartio-fs@.service.
server_masked='apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer logrotate.timer
	man-db.timer systemd-tmpfiles-clean.timer e2scrub_reap.service systemd-timesyncd.service'

# server_has_kernel TAR: the tarball has the kernel that hosts boot.
server_has_kernel() {
	local release
	release=$(<"$cache/linux/release")
	tar -t -f "$1" "./usr/lib/modules/$release/modules.dep" >/dev/null 2>&1 && return
	echo "The server's packages have another kernel than the tree, Linux $release: the mirror has changed."
	echo "Remove $cache/stamps/tree and $cache/stamps/server_rootfs, and run setup again."
	return 1
}

# server_settings TAR: adds what makes a server a host of an emulated cluster.
server_settings() {
	local extra=$cache/guest-server/extra.part unit
	rm -rf "$extra"
	mkdir -p "$extra"/{smartio,etc/systemd/{system/multi-user.target.wants,system.conf.d,network}}
	# An emulated host on a busy machine takes longer than 90 s to find its devices.
	printf '[Manager]\nDefaultDeviceTimeoutSec=900\nDefaultTimeoutStartSec=900\n' >"$extra/etc/systemd/system.conf.d/smartio.conf"
	cp "$top"/selftests/guest/server/smartio-guest "$extra/smartio/"
	cp "$top"/selftests/guest/server/smartio-guest.service "$extra/etc/systemd/system/"
	ln -s ../smartio-guest.service "$extra/etc/systemd/system/multi-user.target.wants/"
	# Interfaces keep the kernel's names.
	ln -s /dev/null "$extra/etc/systemd/network/99-default.link"
	for unit in $server_masked; do ln -s /dev/null "$extra/etc/systemd/system/$unit"; done
	: >"$extra/etc/machine-id"
	tar --append --owner=0 --group=0 --numeric-owner -C "$extra" -f "$1" ./smartio ./etc
	rm -rf "$extra"
}

step_server() {
	local release tar=$cache/guest-server/root.tar.part part=$cache/guest-server/root.img.part unit
	release=$(<"$cache/linux/release")
	server_has_kernel "$cache/guest-server/rootfs.tar"
	cp "$cache/guest-server/rootfs.tar" "$tar"
	for unit in corosync dlm; do
		tar --delete -f "$tar" "./etc/systemd/system/multi-user.target.wants/$unit.service" || true
	done
	server_settings "$tar"
	truncate -s 6G "$part"
	in_tree mkfs.ext4 -q -F -L server -d "$tar" "$part"
	# virtio_net, because udev comes to it only after a minute or two.
	make_initrd "$cache/guest-server/initrd" "$top/selftests/guest/server/initramfs-init" "$cache/guest/modules/usr/lib/modules/$release" \
		virtio_blk crc32c_generic ext4 virtio_net
	mv "$tar" "$cache/guest-server/root.tar"
	mv "$part" "$cache/guest-server/root.img"
	outcome "$(du -m "$cache/guest-server/root.img" | cut -f 1) MB"
}

step_clean() {
	local part=$cache/guest-server/clean.tar.part
	server_bootstrap clean "$part"
	server_has_kernel "$part"
	server_settings "$part"
	mv "$part" "$cache/guest-server/clean.tar"
	outcome "$(du -m "$cache/guest-server/clean.tar" | cut -f 1) MB"
}

step_pool() {
	local part=$cache/guest-server/pool.part packages
	mapfile -t packages < <(sed 's/#.*//; s/[[:space:]]//g; /^$/d' "$top/scripts/setup.d/pool.list")
	prepare_apt
	mkdir -p "$cache/guest-server"
	rm -rf "$cache/guest-server/pool"
	fetch_set "$part" "${packages[@]}"
	(cd "$part" && SMARTIO_ROOT=packaging SMARTIO_CACHE=$cache "$top/scripts/in-tree" sh -c 'dpkg-scanpackages . > Packages')
	mv "$part" "$cache/guest-server/pool"
	outcome "$(du -sm "$cache/guest-server/pool" | cut -f 1) MB"
}
