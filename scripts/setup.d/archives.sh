# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Downloading: an apt of our own (its lists and packages in the cache, the machine's apt untouched) fetches all
# packages into archives/, where apt goes on with a package that was broken off and never fetches one twice.
# mmdebstrap is then given these lists and packages and needs no network.

suite=trixie
qemu_wanted=11.1
debian_keyring=/usr/share/keyrings/debian-archive-keyring.gpg
apt_dir=$cache/apt

# The Debian mirror that this machine uses, whether its sources are written in one line each or as deb822.
find_mirror() {
	if [ -n "${SMARTIO_MIRROR:-}" ]; then echo "${SMARTIO_MIRROR%/}"; return; fi
	apt-get indextargets --format '$(CREATED_BY) $(REPO_URI)' 2>/dev/null |
		awk '$1 == "Packages" && $2 ~ /^https?:.*\/debian\/?$/ { sub(/\/$/, "", $2); print $2; exit }'
}

# The settings of this machine's apt that are about reaching a mirror (proxies, limits), in apt's own syntax.
machine_apt_settings() { apt-config dump | grep -E '^Acquire::(http|https|Check-|Retries|ForceIPv|By-Hash)' || true; }

# Nothing but QEMU and its firmware comes from the backports: the kernel and the compiler are those of the release.
package_pins() {
	echo 'Package: src:qemu src:seabios src:ipxe src:edk2 src:libslirp'
	echo "Pin: release n=$suite-backports"
	echo 'Pin-Priority: 600'
}

# Once per set-up, before the first step that needs packages.
prepare_apt() {
	local mirror
	[ ! -e "$apt_dir/ready.$$" ] || return 0
	mirror=$(find_mirror)
	[ -n "$mirror" ] || die "no Debian mirror in this machine's apt sources: say which with SMARTIO_MIRROR=URL"
	rm -f "$apt_dir"/ready.*
	mkdir -p "$apt_dir"/{etc/apt.conf.d,etc/preferences.d,lists/partial,state,cache} "$cache/archives/partial"
	: >"$apt_dir/state/status"
	for s in $suite $suite-backports; do
		echo "deb [signed-by=$debian_keyring] $mirror $s main"
	done >"$apt_dir/etc/sources.list"
	package_pins >"$apt_dir/etc/preferences.d/qemu"
	machine_apt_settings >"$apt_dir/machine.conf"
	cat >"$apt_dir/apt.conf" <<-END
		Dir::Etc "$apt_dir/etc";
		Dir::Etc::parts "$apt_dir/etc/apt.conf.d";
		Dir::Etc::netrc "/etc/apt/auth.conf";
		Dir::Etc::netrcparts "/etc/apt/auth.conf.d";
		Dir::State "$apt_dir/state";
		Dir::State::status "$apt_dir/state/status";
		Dir::State::lists "$apt_dir/lists";
		Dir::Cache "$apt_dir/cache";
		Dir::Cache::archives "$cache/archives";
		APT::Architecture "amd64";
		APT::Architectures "amd64";
		APT::Install-Recommends "false";
		APT::Sandbox::User "root";
		Acquire::Languages "none";
		Acquire::Retries "3";
		APT::Update::Error-Mode "any";
	END
	cat "$apt_dir/machine.conf" >>"$apt_dir/apt.conf"
	APT_CONFIG=$apt_dir/apt.conf apt-get -q update || {
		echo "apt could not read the lists of $suite and $suite-backports at $mirror."
		echo "Is the machine online? Another mirror: SMARTIO_MIRROR=URL"
		return 1
	}
	touch "$apt_dir/ready.$$"
}

our_apt() { APT_CONFIG=$apt_dir/apt.conf "$@"; }

# version PACKAGE: the one that would be installed.
version() { our_apt apt-cache policy "$1" | awk '$1 == "Candidate:" { print $2 }'; }

# fetch_set DIR PACKAGE…: downloads these, what they depend on and all essential packages, and links them into DIR.
fetch_set() {
	local dir=$1 file
	shift
	set -- "$@" "?and(?codename(^$suite\$),?essential)"
	our_apt apt-get -q -y install --download-only "$@"
	rm -rf "$dir"
	mkdir -p "$dir" "$apt_dir/none/partial"
	# With an archive that holds nothing, apt names every file of the set.
	our_apt apt-get -qq -y install --print-uris -o Dir::Cache::archives="$apt_dir/none" "$@" |
		sed -n "s/^'[^']*' \([^ ]*\).*/\1/p" >"$dir/names"
	while read -r file; do ln "$cache/archives/$file" "$dir/$file"; done <"$dir/names"
	rm "$dir/names"
}

# fetch_one PACKAGE VERSION FILE: downloads just this package, as FILE.
fetch_one() {
	(
		cd "$cache/archives/partial" || exit
		our_apt apt-get -q download "$1=$2"
		mv "${3##*/}" "$3"
	)
}

# bootstrap NAME VARIANT LIST [MMDEBSTRAP OPTIONS…] TARGET: a root from LIST's packages (one a line, # is a remark).
bootstrap() {
	local name=$1 variant=$2 list=$3 packages set
	shift 3
	mapfile -t packages < <(sed 's/#.*//; s/[[:space:]]//g; /^$/d' "$list")
	prepare_apt
	set=$cache/archives/set.$name
	local extra=()
	[ "$variant" != apt ] || extra=(apt)
	fetch_set "$set" "${packages[@]}" "${extra[@]}"
	# No documents, no translations, no initrd for the kernel that the headers bring along; nothing is worth an fsync in a folder that is renamed when it is whole.
	mmdebstrap --variant="$variant" --mode="$(if [ "$(id -u)" = 0 ]; then echo root; else echo unshare; fi)" \
		--architectures=amd64 \
		--aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Languages "none"' \
		--dpkgopt=force-unsafe-io --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
		--dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/info/*' \
		--dpkgopt='path-exclude=/etc/kernel/postinst.d/initramfs-tools' \
		--skip=update,download/empty,essential/unlink \
		--setup-hook='mkdir -p "$1/var/lib/apt/lists/partial" "$1/var/cache/apt/archives/partial" "$1/etc/apt/preferences.d"' \
		--setup-hook="sync-in $apt_dir/etc/preferences.d /etc/apt/preferences.d" \
		--setup-hook="sync-in $apt_dir/lists /var/lib/apt/lists" \
		--setup-hook="sync-in $set /var/cache/apt/archives" \
		--include="$(IFS=,; echo "${packages[*]}")" \
		"$@" "$apt_dir/etc/sources.list"
	rm -rf "$set"
}

# make_root NAME: the folder NAME of the cache, a root with apt from NAME.list, in which in-tree runs commands.
make_root() {
	local part=$cache/$1.part list=$top/scripts/setup.d/$1.list
	rm -rf --one-file-system "$part" "$part.tar"
	if [ "$(id -u)" = 0 ]; then
		bootstrap "$1" apt "$list" "$suite" "$part"
	else
		# Without root every file belongs to whom it is unpacked by: in-tree makes that user look like root.
		bootstrap "$1" apt "$list" --format=tar "$suite" "$part.tar"
		mkdir "$part"
		tar -x --no-same-owner --exclude='./dev/*' -C "$part" -f "$part.tar"
		rm "$part.tar"
	fi
	mkdir -p "$part"/{dev,proc,sys,tmp}
	replace "$part" "$cache/$1"
}
