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
	mkdir -p "$part"/{root,source}
	name=${release%-amd64}
	for name in "linux-base-$release" "linux-binary-$release" "linux-modules-$release" "linux-headers-$release" "linux-headers-$name-common" "linux-kbuild-$name"; do
		file=$(fetch_backport "$name" "$version")
		dpkg-deb --fsys-tarfile "$file" | tar -x --no-same-owner -C "$part/root" --exclude='./usr/share/*'
	done
	# Debian's headers name each other by their places in the root.
	sed -i "s|/usr/src/|$cache/backports/root/usr/src/|" "$part/root/usr/src/linux-headers-$release/Makefile"
	ln -s "root/usr/src/linux-headers-$release" "$part/build"

	file=$(fetch_backport "linux-source-$series" "$version")
	unpack_source "$file" "$series" "$part/source" "${source_parts[@]}"
	echo "$release" >"$part/release"
	in_tree sh "$part/source/scripts/extract-vmlinux" "$part/root/usr/lib/modules/$release/vmlinuz" >"$part/vmlinux"
	replace "$part" "$cache/backports"
	outcome "Linux $release"
}

step_backports_ntb() {
	build_ntb "$cache/backports" "$cache/backports/build"
	outcome "$(find "$cache/backports/ntb" -name '*.ko' | wc -l) modules"
}

# The modules in use, and an initrd as step_initrd makes it. Checksums are built into this kernel, their algorithms' modules
# are called otherwise. Hosts with virtual machines have those of KVM from here (step_vm has the stock kernel's).
step_backports_guest() {
	local release part=$cache/guest-backports.part
	release=$(<"$cache/backports/release")
	rm -rf "$part"
	mkdir -p "$part"
	in_tree depmod -b "$cache/backports/root/usr" "$release"
	grep -vE '^(crc32|crct10dif|xxhash)' "$top/scripts/setup.d/modules.list" >"$part/list"
	printf '%s\n' crc32c-cryptoapi kvm-amd >>"$part/list"
	collect_modules "$cache/backports/root/usr/lib/modules/$release" "$part/list" "$cache/backports/ntb" "$part/modules"
	rm "$part/list"
	make_initrd "$part/initrd" "$top/selftests/guest/initramfs-init" "$part/modules/usr/lib/modules/$release" \
		virtio_blk erofs overlay virtio_net configfs
	cp "$cache/backports/vmlinux" "$part/vmlinux"
	kernel_arguments >"$part/cmdline"
	replace "$part" "$cache/guest-backports"
	outcome "$(find "$cache/guest-backports/modules" -name '*.ko' | wc -l) modules"
}
