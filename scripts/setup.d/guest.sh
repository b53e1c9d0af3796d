# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The guest image: the root that all hosts share, and the initrd that gives each host an overlay of its own on it.

# The packages, as a tarball: so the right owners come into the image without root too.
step_rootfs() {
	local part=$cache/guest/rootfs.tar.part
	mkdir -p "$cache/guest"
	# shellcheck disable=SC2016
	bootstrap guest essential "$top/scripts/setup.d/guest.list" --format=tar \
		--customize-hook='! chroot "$1" dpkg-query -W systemd systemd-sysv' \
		--customize-hook='rm -rf "$1"/usr/share/locale "$1"/usr/share/doc "$1"/usr/share/man "$1"/usr/lib/python3* "$1"/var/lib/apt "$1"/var/cache/*' \
		--customize-hook='chroot "$1" ssh-keygen -q -t ed25519 -N "" -f /root/.ssh/id_ed25519' \
		--customize-hook='rm -f "$1"/etc/hostname "$1"/etc/resolv.conf "$1"/etc/hosts' \
		"$suite" "$part"
	mv "$part" "$cache/guest/rootfs.tar"
}

# The modules in use, uncompressed (to unpack them takes an emulated host seconds), the NTB drivers with them.
step_modules() {
	local part=$cache/guest/modules.part
	rm -rf "$part"
	collect_modules "$cache/tree/usr/lib/modules/$(<"$cache/linux/release")" "$top/scripts/setup.d/modules.list" "$cache/linux/ntb" "$part"
	replace "$part" "$cache/guest/modules"
	outcome "$(find "$cache/guest/modules" -name '*.ko' | wc -l) modules"
}

# collect_modules FOLDER LIST NTB TO: LIST's modules from the FOLDER of a release, and those of the folder NTB, go to the root TO.
collect_modules() {
	local from=$1 list=$2 ntb=$3 root=$4 to=$4/usr/lib/modules/${1##*/} file
	mkdir -p "$to/ntb"
	pick_modules "$from" "$list" | while read -r file; do
		mkdir -p "$to/${file%/*}"
		xz -dc "$from/$file" >"$to/${file%.xz}"
	done
	find "$ntb" -name '*.ko' -exec cp -t "$to/ntb" {} +
	in_tree strip --strip-debug "$to"/ntb/*.ko
	cp "$from"/modules.{builtin,builtin.modinfo,order} "$to/"
	in_tree depmod -b "$root/usr" "${1##*/}"
}

# pick_modules FOLDER LIST: the files of LIST's modules and of all that they depend on, by modules.dep.
pick_modules() {
	awk '
		NR == FNR { sub(/#.*/, ""); if ($1 != "") { if ($1 ~ /\//) folder[$1]; else name[$1] } next }
		{
			file = $1; sub(/:$/, "", file)
			base = file; sub(/.*\//, "", base); sub(/\.ko.*/, "", base)
			want = base in name
			if (want) found[base]
			for (f in folder) if (index(file, "kernel/" f) == 1) { want = 1; found[f] }
			if (want) { print file; for (i = 2; i <= NF; i++) print $i }
		}
		END {
			for (n in name) if (!(n in found)) { print "no module " n > "/dev/stderr"; bad = 1 }
			for (f in folder) if (!(f in found)) { print "no module in " f > "/dev/stderr"; bad = 1 }
			exit bad
		}' "$2" "$1/modules.dep" | sort -u
}

step_image() {
	local extra=$cache/guest/extra.part part=$cache/guest/root.img.part tar=$cache/guest/root.tar.part
	rm -rf "$extra"
	mkdir -p "$extra"/{smartio/{kselftest,bin},usr/lib,etc/dlm,etc/ssh/ssh{,d}_config.d,root/.ssh,var/log/{dlm_controld,corosync}}
	ln -s /proc/mounts "$extra/etc/mtab"
	cp "$top/selftests/guest/init" "$extra/smartio/init"
	cp "$cache"/linux/source/tools/testing/selftests/ntb/*.sh "$extra/smartio/kselftest/"
	chmod 755 "$extra"/smartio/init "$extra"/smartio/kselftest/*.sh
	ssh_settings "$extra"
	cp -rl "$cache/guest/modules/usr/lib/modules" "$extra/usr/lib/"
	cp "$cache/guest/rootfs.tar" "$tar"
	tar --append --owner=0 --group=0 --numeric-owner --hard-dereference -C "$extra" -f "$tar" smartio usr/lib/modules etc root var
	# EROFS, uncompressed: a small module to load and nothing to unpack; an emulated host boots 0.6 s sooner than with ext4.
	in_tree mkfs.erofs --quiet --tar=f "$part" "$tar"
	rm -rf "$extra" "$tar"
	mv "$part" "$cache/guest/root.img"
	outcome "$(du -m "$cache/guest/root.img" | cut -f 1) MB"
}

# Root of any host may be root on any other: all have the keys that were made with the rootfs. sshd runs where a test
# starts it. One connection carries all that a host asks of another in a minute, since an emulated CPU takes its time
# over the keys.
ssh_settings() {
	cat >"$1/etc/ssh/ssh_config.d/smartio.conf" <<-END
		Host *
		StrictHostKeyChecking no
		UserKnownHostsFile /dev/null
		LogLevel ERROR
		ControlMaster auto
		ControlPath /run/ssh-%C
		ControlPersist 60
	END
	cat >"$1/etc/ssh/sshd_config.d/smartio.conf" <<-END
		PermitRootLogin prohibit-password
		UsePAM no
		PrintMotd no
	END
	tar -x -O -f "$cache/guest/rootfs.tar" ./root/.ssh/id_ed25519.pub >"$1/root/.ssh/authorized_keys"
	chmod 700 "$1/root" "$1/root/.ssh"
	chmod 600 "$1/root/.ssh/authorized_keys"
}

step_initrd() {
	make_initrd "$cache/guest/initrd" "$top/selftests/guest/initramfs-init" "$cache/guest/modules/usr/lib/modules/$(<"$cache/linux/release")" \
		virtio_blk crc32c_generic erofs overlay virtio_net configfs
	kernel_arguments >"$cache/guest/cmdline"
	outcome "$(du -k "$cache/guest/initrd" | cut -f 1) KB"
}

# make_initrd FILE INIT FOLDER MODULE…: an initrd with the program INIT, and these modules of FOLDER, each behind what it
# depends on.
make_initrd() {
	local dir=$1.dir part=$1.part init=$2 modules=$3 to=$1 module file
	shift 3
	rm -rf "$dir"
	mkdir -p "$dir"/{bin,dev,modules,ro,rw,new}
	cp "$cache/tree/bin/busybox" "$dir/bin/"
	cp "$init" "$dir/init"
	chmod 755 "$dir/init"
	for module; do
		awk -v m="$module" '$1 ~ "/" m "\\.ko:$" { sub(/:/, "", $1); for (i = NF; i > 0; i--) print $i }' "$modules/modules.dep"
	done | awk '!seen[$0]++' | while read -r file; do
		cp "$modules/$file" "$dir/modules/"
		echo "${file##*/}"
	done >"$dir/modules/order"
	in_tree sh -euc 'cd "$1" && find . | cpio --quiet -o -H newc -R 0:0 >"$2"' sh "$dir" "$part"
	rm -rf "$dir"
	mv "$part" "$to"
}

# What every host's kernel is told: its console, and what saves an emulated host time. no_timer_check: the kernel counts
# timer ticks against its own busy loop, which an emulated CPU on a loaded machine fails; with an IOMMU it then panics.
# init_on_alloc=0: Debian's kernel clears what it allocates. A host that does not shows a driver that relies on it.
kernel_arguments() {
	echo 'console=ttyS0 quiet loglevel=4 panic=1 mitigations=off nokaslr tsc=reliable clocksource=tsc no_timer_check' \
		'init_on_alloc=0 random.trust_cpu=on cryptomgr.notests ipv6.disable=1 rdinit=/init'
}
