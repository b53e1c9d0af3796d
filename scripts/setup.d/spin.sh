# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The model checker (scripts/check-model): one program, beside the tree and not in it, so that it changes nothing there.

step_spin() {
	local version deb
	prepare_apt
	version=$(version spin)
	deb=$cache/archives/spin_${version//:/%3a}_amd64.deb
	[ -e "$deb" ] || fetch_one spin "$version" "$deb"
	rm -rf "$cache/spin.part" "$cache/spin"
	dpkg-deb -x "$deb" "$cache/spin.part"
	mv "$cache/spin.part" "$cache/spin"
	outcome "Spin $version"
}
