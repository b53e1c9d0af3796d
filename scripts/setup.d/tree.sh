# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The tree: a Debian 13 root in which all is compiled and QEMU runs.

step_tree() {
	local qemu part=$cache/tree.part
	prepare_apt
	qemu=$(version qemu-system-x86)
	dpkg --compare-versions "${qemu:-0}" ge "1:$qemu_wanted" || {
		echo "QEMU $qemu_wanted or later is needed; this mirror offers ${qemu:-none} in $suite and $suite-backports."
		echo "Its copy of $suite-backports may be old: try another with SMARTIO_MIRROR=URL"
		return 1
	}
	rm -rf --one-file-system "$part" "$part.tar"
	if [ "$(id -u)" = 0 ]; then
		bootstrap tree apt "$top/scripts/setup.d/tree.list" "$suite" "$part"
	else
		# Without root every file belongs to whom it is unpacked by: in-tree makes that user look like root.
		bootstrap tree apt "$top/scripts/setup.d/tree.list" --format=tar "$suite" "$part.tar"
		mkdir "$part"
		tar -x --no-same-owner --exclude='./dev/*' -C "$part" -f "$part.tar"
		rm "$part.tar"
	fi
	mkdir -p "$part"/{dev,proc,sys,tmp}
	replace "$part" "$cache/tree"
	outcome "QEMU ${qemu%%+*}"
}

in_tree() { (cd "$cache" && "$top/scripts/in-tree" "$@"); }
