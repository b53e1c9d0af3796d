# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What make deb and make check-packages need (setup --packaging): a root with debhelper and lintian, beside the tree and
# not in it, so that it changes nothing there.

step_packaging() {
	make_root packaging
	outcome "$(du -sm "$cache/packaging" | cut -f 1) MB"
}
