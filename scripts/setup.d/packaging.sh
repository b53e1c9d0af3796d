# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What make deb and make check-packages need (setup --packaging): a root with debhelper and lintian, beside the tree and
# not in it, so that it changes nothing there.

step_packaging() {
	local part=$cache/packaging.part
	rm -rf --one-file-system "$part" "$part.tar"
	if [ "$(id -u)" = 0 ]; then
		bootstrap packaging apt "$top/scripts/setup.d/packaging.list" "$suite" "$part"
	else
		bootstrap packaging apt "$top/scripts/setup.d/packaging.list" --format=tar "$suite" "$part.tar"
		mkdir "$part"
		tar -x --no-same-owner --exclude='./dev/*' -C "$part" -f "$part.tar"
		rm "$part.tar"
	fi
	mkdir -p "$part"/{dev,proc,sys,tmp}
	replace "$part" "$cache/packaging"
	outcome "$(du -sm "$cache/packaging" | cut -f 1) MB"
}
