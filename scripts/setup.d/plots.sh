# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The plotting library of make bench's report (setup --plots): Vega, one file of a Debian package, beside the tree and not in
# it, so that it changes nothing there; only for who asks for it.

step_plots() {
	local version deb
	prepare_apt
	version=$(version libjs-vega)
	deb=$cache/archives/libjs-vega_${version//:/%3a}_all.deb
	[ -e "$deb" ] || fetch_one libjs-vega "$version" "$deb"
	rm -rf "$cache/plots.part" "$cache/plots"
	mkdir "$cache/plots.part"
	dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$cache/plots.part" --strip-components=5 ./usr/share/javascript/vega/vega.min.js
	mv "$cache/plots.part" "$cache/plots"
	outcome "Vega $version"
}
