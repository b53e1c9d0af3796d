# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The stock kernel is in the tree, since its headers ask for it. Here comes what the stock packages lack, from the
# same version's source: drivers/ntb with ntb_netdev and switchtec (Debian builds none of them), nvme-core's private
# headers, the NTB kselftest, checkpatch, extract-vmlinux.

source_parts=(drivers/ntb drivers/net/ntb_netdev.c drivers/pci/switch/switchtec.c 'drivers/nvme/host/*.h'
	tools/testing/selftests/ntb scripts/checkpatch.pl scripts/spelling.txt scripts/const_structs.checkpatch
	scripts/extract-vmlinux)

tree_release() { basename "$(echo "$cache"/tree/usr/lib/modules/*)"; }

# unpack_source PACKAGE SERIES FOLDER [PART…]: the kernel's source, or these parts of it.
unpack_source() {
	local package=$1 series=$2 folder=$3
	shift 3
	dpkg-deb --fsys-tarfile "$package" | tar -x -O --wildcards './usr/src/linux-source-*.tar.xz' | xz -T0 -dc |
		tar -x -C "$folder" --strip-components=1 --wildcards "${@/#/linux-source-$series/}"
}

step_kernel() {
	local release version mirrors series deb part=$cache/linux.part
	release=$(tree_release)
	version=$(in_tree dpkg-query -W -f '${Version}' "linux-headers-$release")
	series=$(cut -d . -f 1,2 <<<"$release")
	deb=$cache/archives/linux-source-${series}_${version//:/%3a}_all.deb
	if [ ! -e "$deb" ]; then
		prepare_apt
		mirrors=$(version "linux-source-$series")
		[ "$mirrors" = "$version" ] || {
			echo "The tree has the headers of Linux $version, the mirror now has the source of $mirrors: they must be equal."
			echo "The next set-up makes the tree anew, with what the mirror has."
			rm -f "$cache/stamps/tree"
			return 1
		}
		fetch_one "linux-source-$series" "$version" "$deb"
	fi
	rm -rf "$part"
	mkdir -p "$part/source" "$cache/guest"
	unpack_source "$deb" "$series" "$part/source" "${source_parts[@]}"
	echo "$release" >"$part/release"
	in_tree sh "$part/source/scripts/extract-vmlinux" "/boot/vmlinuz-$release" >"$cache/guest/vmlinux.part"
	mv "$cache/guest/vmlinux.part" "$cache/guest/vmlinux"
	cp "$cache/tree/boot/vmlinuz-$release" "$cache/guest/vmlinuz.part"
	mv "$cache/guest/vmlinuz.part" "$cache/guest/vmlinuz"
	replace "$part" "$cache/linux"
	outcome "Linux $release"
}

# All hardware drivers and clients of drivers/ntb, the message-signalled interrupts' part included: its switch is
# not in the stock kernel's configuration, and linux/ntb.h asks for it.
# build_ntb LINUX HEADERS: from LINUX/source to LINUX/ntb.
build_ntb() {
	local part=$1/ntb.part
	rm -rf "$part"
	cp -r "$1/source/drivers/ntb" "$part"
	cp "$1/source/drivers/net/ntb_netdev.c" "$1/source/drivers/pci/switch/switchtec.c" "$part/"
	echo 'obj-m += ntb_netdev.o switchtec.o' >>"$part/Makefile"
	in_tree make -s -j "$(nproc)" -C "$2" M="$part" KCFLAGS=-DCONFIG_NTB_MSI=1 CONFIG_NTB=m CONFIG_NTB_MSI=y \
		CONFIG_NTB_{AMD,IDT,INTEL,EPF,SWITCHTEC,PINGPONG,TOOL,PERF,MSI_TEST,TRANSPORT}=m modules
	replace "$part" "$1/ntb"
}

step_ntb() {
	build_ntb "$cache/linux" "/lib/modules/$(<"$cache/linux/release")/build"
	outcome "$(find "$cache/linux/ntb" -name '*.ko' | wc -l) modules"
}
