# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What a host needs to run virtual machines itself (setup --vms): an image that hosts with vms = true in their topology have as a
# second, read-only disk (selftests/vm/common.sh).
#
#   guest-vm/vm.img   EROFS, uncompressed:
#     qemu/           the tree's QEMU with its libraries and firmware; qemu/run starts it
#     modules/        KVM's modules, and in modules/order their order
#     vmlinux, initrd the hosts' own kernel and initrd, with selftests/guest/vm-init for the first program
#     cmdline         the kernel's arguments
#
# A guest's root is the hosts' own root image: the first disk of the host that it runs on. So nothing of it is here.

step_vm() {
	local dir=$cache/guest-vm.part part=$cache/guest-vm.img.part file
	rm -rf "$dir"
	mkdir -p "$dir"/{qemu/lib,qemu/share,modules,extra/overlay/smartio}
	in_tree ldd /usr/bin/qemu-system-x86_64 | awk '/=> \//{ print $3 } /^[[:space:]]*\/lib64/{ print $1 }' | while read -r file; do
		cp -L "$cache/tree$file" "$dir/qemu/lib/"
	done
	cp "$cache/tree/usr/bin/qemu-system-x86_64" "$dir/qemu/"
	cp "$cache"/tree/usr/share/qemu/{kvmvapic,linuxboot_dma,pvh}.bin "$cache/tree/usr/share/seabios/bios-256k.bin" "$dir/qemu/share/"
	# The hosts' root has no libraries of QEMU's, and those of the same name may be others.
	cat >"$dir/qemu/run" <<-'END'
		#!/bin/sh
		# run ARGUMENT…: QEMU
		d=${0%/*}
		exec "$d/lib/ld-linux-x86-64.so.2" --library-path "$d/lib" "$d/qemu-system-x86_64" -L "$d/share" "$@"
	END
	chmod 755 "$dir/qemu/run"
	kvm_modules "$dir/modules"
	cp "$cache/guest/vmlinux" "$dir/"
	echo "$(kernel_arguments)" 'oops=panic' >"$dir/cmdline"
	cp "$top/selftests/guest/vm-init" "$dir/extra/overlay/smartio/init"
	chmod 755 "$dir/extra/overlay/smartio/init"
	# Two archives in one file: the second begins at a multiple of 4 bytes, since cpio fills up to 512.
	in_tree sh -euc 'cd "$1/extra" && find . -mindepth 1 | cpio --quiet -o -H newc -R 0:0 | cat "$2" - >"$1/initrd"' sh "$dir" "$cache/guest/initrd"
	rm -rf "$dir/extra"
	in_tree mkfs.erofs --quiet "$part" "$dir"
	rm -rf "$dir"
	mkdir -p "$cache/guest-vm"
	mv "$part" "$cache/guest-vm/vm.img"
	outcome "$(du -m "$cache/guest-vm/vm.img" | cut -f 1) MB"
}

# kvm_modules TO: those of AMD's, which is what an emulated CPU looks like, and all that they depend on.
kvm_modules() {
	local from file
	from=$cache/tree/usr/lib/modules/$(<"$cache/linux/release")
	awk '$1 ~ "/kvm-amd\\.ko" { sub(/:/, "", $1); for (i = NF; i > 0; i--) print $i }' "$from/modules.dep" | while read -r file; do
		file=${file%.xz}
		xz -dc "$from/$file.xz" >"$1/${file##*/}"
		echo "${file##*/}"
	done >"$1/order"
}
