# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The debug kernel (setup --debug-kernel; make check-debug): the same source as the stock kernel's, with KASAN, lockdep
# and the like, and little else (debug.config). Built once, and kept:
#
#   debug/build/           the kernel's build folder, against which modules are built
#   debug/source/          its source
#   guest-debug/{vmlinuz,initrd,cmdline,modules}  as in guest/; its modules come into hosts by the initrd. It is no
#                          vmlinux: the PVH entry is no way into a kernel with KASAN (triple fault)
#
# debug-backports and guest-debug-backports are the same of the second kernel's source (setup --debug-backports).

step_debug_kernel() {
	local version
	version=$(in_tree dpkg-query -W -f '${Version}' "linux-headers-$(<"$cache/linux/release")")
	build_debug_kernel "$(<"$cache/linux/release")" "$version" debug
	outcome "Linux $(<"$cache/debug/build/include/config/kernel.release")"
}

# build_debug_kernel RELEASE VERSION FOLDER: from the source of that package's version, in FOLDER of the cache.
build_debug_kernel() {
	local series deb part=$cache/$3 option
	series=$(cut -d . -f 1,2 <<<"$1")
	deb=$cache/archives/linux-source-${series}_${2//:/%3a}_all.deb
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
		grep -qxF "$option" "$part/build/.config" && continue
		# what a source no longer asks for, it always has
		grep -rqxE --include='Kconfig*' "(menu)?config $(sed 's/^CONFIG_\([^=]*\)=.*/\1/' <<<"$option")" "$part/source" || continue
		echo "the kernel's configuration refused $option"
		return 1
	done < <(grep '^CONFIG_' "$part/wanted")
	in_tree make -s -C "$part/source" O="$part/build" CC='ccache gcc' -j "$(nproc)" bzImage modules
}

# Only modules that tests load and unload are modules here, and none is needed to boot.
step_debug_guest() { make_debug_guest debug; }

# make_debug_guest FOLDER: of the cache.
make_debug_guest() {
	local release to build=$cache/$1/build part=$cache/guest-$1.part
	release=$(<"$build/include/config/kernel.release")
	rm -rf "$part"
	mkdir -p "$part"
	make_initrd "$part/initrd" "$top/selftests/guest/initramfs-init" ''
	to=$part/modules/usr/lib/modules/$release
	mkdir -p "$to"
	(cd "$build" && find . -name '*.ko' -not -path './drivers/net/*') | while read -r file; do
		cp "$build/$file" "$to/"
	done
	in_tree strip --strip-debug "$to"/*.ko
	cp "$build"/modules.{builtin,builtin.modinfo,order} "$to/"
	in_tree depmod -b "$part/modules/usr" "$release"
	cp "$build/arch/x86/boot/bzImage" "$part/vmlinuz"
	# Its reports matter more than its speed, and a slow host must not be taken for a hung one.
	echo "$(kernel_arguments)" 'workqueue.watchdog_thresh=120' >"$part/cmdline"
	replace "$part" "$cache/guest-$1"
}

# The second kernel's. Its package's version is in the name of the source that step_backports_kernel has fetched.
step_debug_backports_kernel() {
	local release deb version
	release=$(<"$cache/backports/release")
	deb=$(find "$cache/archives" -maxdepth 1 -name "linux-source-$(cut -d . -f 1,2 <<<"$release")_${release%%+*}-*_all.deb" | sort -V | tail -n 1)
	version=${deb##*_"${release%%+*}"}
	build_debug_kernel "$release" "${release%%+*}${version%_all.deb}" debug-backports
	outcome "Linux $(<"$cache/debug-backports/build/include/config/kernel.release")"
}
step_debug_backports_guest() { make_debug_guest debug-backports; }
