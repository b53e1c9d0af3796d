# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# bash completion of smartioctl

# What sysfs has of devices and hosts; SMARTIO_SYSFS as for the program.
_smartioctl_drives() {
	local at class
	for at in "${SMARTIO_SYSFS:-/sys}"/bus/pci/devices/*; do
		class=$(cat "$at/class" 2>/dev/null)
		if [ "$class" = 0x010802 ]; then echo "${at##*/}"; fi
	done
}
# Functions that are no bridges.
_smartioctl_functions() {
	local at class
	for at in "${SMARTIO_SYSFS:-/sys}"/bus/pci/devices/*; do
		class=$(cat "$at/class" 2>/dev/null)
		if [ -n "$class" ] && [[ $class != 0x06* ]]; then echo "${at##*/}"; fi
	done
}
# _smartioctl_offered BORROWED: HOST:BDF of functions of other hosts that this one has borrowed (1) or has not (0).
_smartioctl_offered() {
	local at
	for at in "${SMARTIO_SYSFS:-/sys}"/bus/smartio/devices/*; do
		if [ "$(cat "$at/service" 2>/dev/null)" = pci ] && [ "$(cat "$at/borrowed" 2>/dev/null)" = "$1" ]; then
			echo "$(cat "$at/host_name"):$(cat "$at/pci")"
		fi
	done
}
_smartioctl_exports() {
	local at
	for at in "${SMARTIO_SYSFS:-/sys}"/class/smartio_export/*/; do
		if [ -e "$at" ]; then basename "$at"; fi
	done
}
# _smartioctl_hosts PATTERN: those that this host and its lenders know, with such a standing ("linked", "fenced" …);
# never this host.
_smartioctl_hosts() {
	local at self='' uuid standing name
	for at in "${SMARTIO_SYSFS:-/sys}"/class/smartio_host/*/; do
		if [ "$(cat "$at/self" 2>/dev/null)" = 1 ]; then self=$(basename "$at"); fi
	done
	cat "${SMARTIO_SYSFS:-/sys}"/class/smartio_host/*/hosts 2>/dev/null | sort -u | while read -r uuid standing name; do
		# shellcheck disable=SC2053
		if [ "$uuid" != "$self" ] && [[ $standing = $1 ]]; then echo "$name"; fi
	done
}
_smartioctl_lenders() {
	cat "${SMARTIO_SYSFS:-/sys}"/class/smartio_host/*/name 2>/dev/null
}

_smartioctl() {
	local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command='' word words
	# A PCI address is one word here, though ':' separates words on bash's command line.
	if declare -F _get_comp_words_by_ref >/dev/null; then _get_comp_words_by_ref -n : -c current -p before; fi
	for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
		case $word in
		lend | unlend | take-back | allow | borrow | return | list | status | topology | doctor | fence | unfence | watch)
			command=$word
			break
			;;
		esac
	done
	case $before in
	-o | --output) words='text json' ;;
	--as) words='nvme pci' ;;
	-n | --interval | --timeout | --vfs) words='' ;;
	--at) words=$(_smartioctl_lenders) ;;
	--sysfs | --choices | --rules)
		mapfile -t COMPREPLY < <(compgen -d -- "$current")
		return
		;;
	*)
		case $command in
		'') words='lend unlend allow borrow return list status topology doctor fence unfence watch --help --version --sysfs --choices --rules' ;;
		lend)
			words="--all --chosen --persist --as --vfs --trust-borrowers --shared-group --force --timeout --help"
			if [[ " ${COMP_WORDS[*]} " = *' --as nvme '* ]]; then
				words+=" $(_smartioctl_drives)"
			else
				words+=" $(_smartioctl_functions)"
			fi
			;;
		allow) words="--all --force --help any none $(_smartioctl_hosts '*') $(_smartioctl_exports)" ;;
		borrow) words="--for-vm --timeout --output --help $(_smartioctl_offered 0)" ;;
		return) words="--force --help $(_smartioctl_offered 1)" ;;
		unlend | take-back) words="--persist --force --timeout --help $(_smartioctl_exports)" ;;
		status) words='--check --output --help' ;;
		list | topology) words='--output --help' ;;
		doctor) words='--output --root --help' ;;
		watch) words='--interval --output --help' ;;
		fence) words="--at --help $(_smartioctl_hosts '[la]*')" ;;
		unfence) words="--at --help $(_smartioctl_hosts fenced)" ;;
		esac
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
	if declare -F __ltrim_colon_completions >/dev/null; then __ltrim_colon_completions "$current"; fi
}
complete -F _smartioctl smartioctl
