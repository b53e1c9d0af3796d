# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The debug kernel (setup --debug-kernel; make check-debug): the same source as the stock kernel's, with KASAN, lockdep
# and the like, and little else (debug.config). Built once, and kept:
#
#   debug/build/           the kernel's build folder, against which modules are built
#   debug/source/          its source
#   guest-debug/{vmlinuz,initrd,cmdline,modules}  as in guest/; its modules come into hosts by the initrd. It is no
#                          vmlinux: the PVH entry is no way into a kernel with KASAN (triple fault)

step_debug_kernel() {
	local series version deb part=$cache/debug option
	version=$(in_tree dpkg-query -W -f '${Version}' "linux-headers-$(<"$cache/linux/release")")
	series=$(cut -d . -f 1,2 <"$cache/linux/release")
	deb=$cache/archives/linux-source-${series}_${version//:/%3a}_all.deb
	rm -rf "$part"
	mkdir -p "$part"/{source,build}
	unpack_source "$deb" "$series" "$part/source"
	# ntb_hw_amd can tell of its link before ntb_register_device() has made the lock which that takes. Without lockdep
	# nobody notices; with it, it is off from then on, for all that follows.
	sed -i '/^static inline void ndev_init_struct/,/^}/s/^\tspin_lock_init(&ndev->db_mask_lock);$/&\n\tspin_lock_init(\&ndev->ntb.ctx_lock);/' \
		"$part/source/drivers/ntb/hw/amd/ntb_hw_amd.c"
	grep -q 'ntb\.ctx_lock' "$part/source/drivers/ntb/hw/amd/ntb_hw_amd.c"
	cp "$top/scripts/setup.d/debug.config" "$part/wanted"
	echo 'CONFIG_LOCALVERSION="-smartio-debug"' >>"$part/wanted"
	in_tree env KCONFIG_ALLCONFIG="$part/wanted" make -s -C "$part/source" O="$part/build" allnoconfig
	while read -r option; do
		grep -qxF "$option" "$part/build/.config" || { echo "the kernel's configuration refused $option"; return 1; }
	done < <(grep '^CONFIG_' "$part/wanted")
	in_tree make -s -C "$part/source" O="$part/build" CC='ccache gcc' -j "$(nproc)" bzImage modules
	outcome "Linux $(<"$part/build/include/config/kernel.release")"
}

# Only modules that tests load and unload are modules here, and none is needed to boot.
step_debug_guest() {
	local release to
	release=$(<"$cache/debug/build/include/config/kernel.release")
	rm -rf "$cache/guest-debug.part"
	mkdir -p "$cache/guest-debug.part"
	make_initrd "$cache/guest-debug.part/initrd" "$top/selftests/guest/initramfs-init" ''
	to=$cache/guest-debug.part/modules/usr/lib/modules/$release
	mkdir -p "$to"
	(cd "$cache/debug/build" && find . -name '*.ko' -not -path './drivers/net/*') | while read -r file; do
		cp "$cache/debug/build/$file" "$to/"
	done
	in_tree strip --strip-debug "$to"/*.ko
	cp "$cache"/debug/build/modules.{builtin,builtin.modinfo,order} "$to/"
	in_tree depmod -b "$cache/guest-debug.part/modules/usr" "$release"
	cp "$cache/debug/build/arch/x86/boot/bzImage" "$cache/guest-debug.part/vmlinuz"
	# Its reports matter more than its speed, and a slow host must not be taken for a hung one.
	echo "$(kernel_arguments)" 'workqueue.watchdog_thresh=120' >"$cache/guest-debug.part/cmdline"
	replace "$cache/guest-debug.part" "$cache/guest-debug"
}
