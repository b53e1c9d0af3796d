# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The second kernel (setup --backports; make check KERNEL=backports): that of the backports, from its packages. They are not
# installed in the tree, which has the stock kernel, but unpacked beside it:
#
#   backports/release      the kernel's release, say 7.3.4+deb13-amd64
#   backports/root/        its packages: image, modules, headers
#   backports/build        the headers, against which modules are built
#   backports/source/ ntb/ as in linux/
#   guest-backports/{vmlinux,initrd,cmdline,modules}  as in guest/; its modules come into hosts by the initrd

backports_suite=$suite-backports

# The release that the meta package of the backports stands for.
backports_release() {
	our_apt apt-cache show linux-image-amd64 | awk -v v="$1" '
		$1 == "Version:" { now = $2 }
		$1 == "Depends:" && now == v && match($0, /linux-image-[0-9][^ ]*-amd64/) { print substr($0, RSTART + 12, RLENGTH - 12); exit }'
}

# fetch_backport PACKAGE VERSION: downloads it unless it is there, and prints the file's name.
fetch_backport() {
	local file
	file=$(our_apt apt-cache show "$1=$2" | sed -n 's|^Filename: .*/||p' | head -n 1)
	# apt writes a colon in a file's name as %3a, and the archive has none
	file=$cache/archives/$file
	[ -e "$file" ] || (cd "$cache/archives/partial" && our_apt apt-get -q download "$1=$2" && mv "${file##*/}" "$file") >&2
	echo "$file"
}

step_backports_kernel() {
	local version release series name file part=$cache/backports.part
	prepare_apt
	version=$(our_apt apt-cache madison linux-image-amd64 | awk -F ' *[|] *' -v s="$backports_suite/" 'index($3, s) { print $2; exit }')
	[ -n "$version" ] || { echo "$backports_suite has no linux-image-amd64 at this mirror: try another with SMARTIO_MIRROR=URL"; return 1; }
	release=$(backports_release "$version")
	series=$(cut -d . -f 1,2 <<<"$release")
	rm -rf --one-file-system "$part"
	mkdir -p "$part"/{root,source,deb}
	name=${release%-amd64}
	for name in "linux-base-$release" "linux-binary-$release" "linux-modules-$release" "linux-headers-$release" "linux-headers-$name-common" "linux-kbuild-$name"; do
		file=$(fetch_backport "$name" "$version")
		dpkg-deb --fsys-tarfile "$file" | tar -x --no-same-owner -C "$part/root" --exclude='./usr/share/*'
	done
	# Debian's headers name each other by their places in the root.
	sed -i "s|/usr/src/|$cache/backports/root/usr/src/|" "$part/root/usr/src/linux-headers-$release/Makefile"
	ln -s "root/usr/src/linux-headers-$release" "$part/build"

	file=$(fetch_backport "linux-source-$series" "$version")
	dpkg-deb --fsys-tarfile "$file" | tar -x -C "$part/deb" --wildcards './usr/src/linux-source-*.tar.xz'
	xz -T0 -dc "$part/deb/usr/src/linux-source-$series.tar.xz" |
		tar -x -C "$part/source" --strip-components=1 --wildcards "${source_parts[@]/#/linux-source-$series/}"
	rm -rf "$part/deb"
	echo "$release" >"$part/release"
	in_tree sh "$part/source/scripts/extract-vmlinux" "$part/root/usr/lib/modules/$release/vmlinuz" >"$part/vmlinux"
	replace "$part" "$cache/backports"
	outcome "Linux $release"
}

# As step_ntb does.
step_backports_ntb() {
	local part=$cache/backports/ntb.part
	rm -rf "$part"
	cp -r "$cache/backports/source/drivers/ntb" "$part"
	cp "$cache/backports/source/drivers/net/ntb_netdev.c" "$cache/backports/source/drivers/pci/switch/switchtec.c" "$part/"
	echo 'obj-m += ntb_netdev.o switchtec.o' >>"$part/Makefile"
	in_tree make -s -j "$(nproc)" -C "$cache/backports/build" M="$part" KCFLAGS=-DCONFIG_NTB_MSI=1 CONFIG_NTB=m CONFIG_NTB_MSI=y \
		CONFIG_NTB_{AMD,IDT,INTEL,EPF,SWITCHTEC,PINGPONG,TOOL,PERF,MSI_TEST,TRANSPORT}=m modules
	replace "$part" "$cache/backports/ntb"
	outcome "$(find "$cache/backports/ntb" -name '*.ko' | wc -l) modules"
}

# The modules in use, and an initrd as step_initrd makes it. Checksums are built into this kernel, their algorithms' modules
# are called otherwise.
step_backports_guest() {
	local release from to file part=$cache/guest-backports.part dir module
	release=$(<"$cache/backports/release")
	from=$cache/backports/root/usr/lib/modules/$release
	to=$part/modules/usr/lib/modules/$release
	rm -rf "$part"
	mkdir -p "$to/ntb"
	in_tree depmod -b "$cache/backports/root/usr" "$release"
	grep -vE '^(crc32|crct10dif|xxhash)' "$top/scripts/setup.d/modules.list" >"$part/list"
	echo crc32c-cryptoapi >>"$part/list"
	pick_modules "$from" "$part/list" >"$part/names"
	while read -r file; do
		mkdir -p "$to/${file%/*}"
		xz -dc "$from/$file" >"$to/${file%.xz}"
	done <"$part/names"
	find "$cache/backports/ntb" -name '*.ko' -exec cp -t "$to/ntb" {} +
	in_tree strip --strip-debug "${to}"/ntb/*.ko
	cp "$from"/modules.{builtin,builtin.modinfo,order} "$to/"
	in_tree depmod -b "$part/modules/usr" "$release"

	dir=$part/initrd.dir
	mkdir -p "$dir"/{bin,dev,modules,ro,rw,new}
	cp "$cache/tree/bin/busybox" "$dir/bin/"
	cp "$top/selftests/guest/initramfs-init" "$dir/init"
	chmod 755 "$dir/init"
	for module in virtio_blk erofs overlay virtio_net configfs; do
		awk -v m="$module" '$1 ~ "/" m "\\.ko:$" { sub(/:/, "", $1); for (i = NF; i > 0; i--) print $i }' "$to/modules.dep"
	done | awk '!seen[$0]++' >"$part/files"
	while read -r file; do
		cp "$to/$file" "$dir/modules/"
		echo "${file##*/}"
	done <"$part/files" >"$dir/modules/order"
	in_tree sh -euc 'cd "$1" && find . | cpio --quiet -o -H newc -R 0:0 >"$2"' sh "$dir" "$part/initrd"
	rm -rf "$dir" "$part"/{files,list,names}
	cp "$cache/backports/vmlinux" "$part/vmlinux"
	kernel_arguments >"$part/cmdline"
	replace "$part" "$cache/guest-backports"
	outcome "$(find "$cache/guest-backports/modules" -name '*.ko' | wc -l) modules"
}
