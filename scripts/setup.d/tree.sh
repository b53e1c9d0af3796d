# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The tree: a Debian 13 root in which all is compiled and QEMU runs.

step_tree() {
	local qemu
	prepare_apt
	qemu=$(version qemu-system-x86)
	dpkg --compare-versions "${qemu:-0}" ge "1:$qemu_wanted" || {
		echo "QEMU $qemu_wanted or later is needed; this mirror offers ${qemu:-none} in $suite and $suite-backports."
		echo "Its copy of $suite-backports may be old: try another with SMARTIO_MIRROR=URL"
		return 1
	}
	make_root tree
	outcome "QEMU ${qemu%%+*}"
}

in_tree() { (cd "$cache" && "$top/scripts/in-tree" "$@"); }
