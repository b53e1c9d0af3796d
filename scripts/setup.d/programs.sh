# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Single programs, each a Debian package beside the tree and not in it, so that it changes nothing there: the model checker
# (scripts/check-model) and the checker of prose (scripts/check-prose).

step_spin() { beside_tree spin Spin; }
step_diction() { beside_tree diction 'GNU diction'; }

# beside_tree PACKAGE NAME: PACKAGE's files in a folder of the cache with its name.
beside_tree() {
	local version deb
	prepare_apt
	version=$(version "$1")
	deb=$cache/archives/$1_${version//:/%3a}_amd64.deb
	[ -e "$deb" ] || fetch_one "$1" "$version" "$deb"
	rm -rf "$cache/$1.part" "${cache:?}/$1"
	dpkg-deb -x "$deb" "$cache/$1.part"
	mv "$cache/$1.part" "$cache/$1"
	outcome "$2 $version"
}
