# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2016,SC2154
# Virtual machines that hosts run (vms = true in the topology): a guest is QEMU with KVM in a host, with the host's own
# root image and kernel (scripts/setup.d/vm.sh). It runs the host's commands, which come over a port (selftests/guest/vm-init).
# The files of a guest are in /run/guest-NAME of its host: agent.in and agent.out, qmp.in and qmp.out, console, qemu.log, pid.
# Tests source common.sh, which sources this. Another program (scripts/demo-vm) first defines sh_on, until_true, fail, say,
# log_may and slower.

# What functions below use on the host: d is the guest's folder. `answer KEY PIPE SECONDS` prints the first line of PIPE that
# has KEY in it. A pipe is opened for both ways, so that no command waits for a QEMU that has ended. read gives a line in
# parts at a time-out.
guest_words='
alive() { [ -e /proc/$(< $d/pid) ] && [ "$(awk "{ print \$3 }" /proc/$(< $d/pid)/stat)" != Z ]; }
answer() {
	local line= part end=$((SECONDS + $3))
	exec 4<> $d/$2
	while :; do
		if IFS= read -r -t 1 -u 4 part; then
			line+=$part
			case $line in *"$1"*) printf "%s\n" "$line"; return ;; esac
			line=
		else
			line+=$part
			alive || { echo "the guest is gone: $(tail -3 $d/qemu.log)" >&2; exit 125; }
			[ $SECONDS -lt $end ] || { echo "the guest gives no answer: $(tail -3 $d/console)" >&2; exit 124; }
		fi
	done
}
qmp() { echo "$1" 1<> $d/qmp.in; }
'
# in_guest_folder HOST NAME 'shell text' [ARGS…]
in_guest_folder() { local host=$1 name=$2 text=$3; shift 3; sh_on "$host" "d=/run/guest-$name; $guest_words $text" "$@"; }

# vms_ready HOST: the disk is mounted at /run/vms, and KVM and vfio are there. The disk has KVM's modules for the stock kernel, another
# kernel has them among its own. A guest's kernel looks for a counter of its CPU.
vms_ready() {
	log_may "$1" '(kvm: )?kvm \[[0-9]+\]: vcpu0, guest rIP: 0x[0-9a-f]+ Unhandled WRMSR\(0xc0010007\) = 0xffff'
	# 7.x says it at this level
	log_may "$1" 'vfio-pci [0-9a-f:.]+: (resetting|reset done)$'
	sh_on "$1" 'if ! mountpoint -q /run/vms; then
			for s in /sys/block/vd*/serial; do [ "$(cat $s)" != vms ] || disk=$(basename ${s%/serial}); done
			mkdir -p /run/vms
			mount -t erofs -o ro /dev/$disk /run/vms
		fi
		if [ ! -e /dev/kvm ] && ! modprobe -q kvm-amd; then
			while read -r m; do lsmod | grep -q "^$(basename $m .ko | tr - _) " || insmod /run/vms/modules/$m; done < /run/vms/modules/order
		fi
		modprobe -a vfio-pci vfio_iommu_type1'
}

# guest_start HOST NAME MIB ARG…: and waits until it is up. Functions can be plugged into the ports hp0 and hp1.
guest_start() {
	guest_launch "$@"
	if ! guest_answers "$1" "$2"; then
		if guest_ended "$1" "$2"; then guest_is_not_up "$1" "$2"; fi
		guest_may_ask "$1" "$2"
		guest_lost_by_emulator "$1" "$2" || guest_is_not_up "$1" "$2"
		say "guest $2 of $1 was lost by the emulated CPU (docs/virtual-machines.md): started again"
		guest_kill "$1" "$2"
		guest_launch "$@"
		guest_boots "$1" "$2"
	fi
	guest_may_ask "$1" "$2"
	guest_qmp "$1" "$2" '{"execute":"set-action","arguments":{"shutdown":"poweroff"}}' > /dev/null
}
# QEMU's monitor wants this once.
guest_may_ask() { guest_qmp "$1" "$2" '{"execute":"qmp_capabilities"}' > /dev/null; }
# A guest that ends while it boots stays in its QEMU, to be looked at.
guest_launch() {
	local host=$1 name=$2 mib=$3; shift 3
	in_guest_folder "$host" "$name" 'rm -rf $d; mkdir $d
		mkfifo $d/agent.in $d/agent.out $d/qmp.in $d/qmp.out
		mib=$1; shift
		free=$(awk "/^MemAvailable/ { print int(\$2 / 1024) }" /proc/meminfo)
		[ $free -ge $((mib + 64)) ] || { echo "a guest of $mib MiB takes $((mib + 64)), the host has $free MiB free" >&2; exit 1; }
		/run/vms/qemu/run -name guest -nodefaults -no-user-config -display none -accel kvm -cpu host -smp 1 -machine q35 -m $mib \
			-kernel /run/vms/vmlinux -initrd /run/vms/initrd -append "$(< /run/vms/cmdline)" -action reboot=shutdown,shutdown=pause \
			-blockdev driver=host_device,node-name=root,filename=/dev/vda,read-only=on,locking=off \
			-device virtio-blk-pci,bus=pcie.0,addr=2,drive=root -device virtio-serial-pci,bus=pcie.0,addr=3 \
			-chardev pipe,id=agent,path=$d/agent -device virtserialport,chardev=agent,name=org.smartio.commands \
			-chardev pipe,id=qmp,path=$d/qmp -mon chardev=qmp,mode=control -serial file:$d/console \
			-device pcie-root-port,id=hp0,bus=pcie.0,addr=4,chassis=1,slot=1 \
			-device pcie-root-port,id=hp1,bus=pcie.0,addr=5,chassis=2,slot=2 "$@" > $d/qemu.log 2>&1 < /dev/null &
		echo $! > $d/pid' "$mib" "$@"
}
# guest_boots HOST NAME: waits until it is up.
guest_boots() { guest_answers "$1" "$2" || guest_is_not_up "$1" "$2"; }
guest_answers() {
	local up
	up=$(in_guest_folder "$1" "$2" 'answer "0 0 " agent.out $1 | cut -d" " -f3 | base64 -d' $((150 * slower))) || return
	say "guest $2 of $1 is up, ${up} s after its kernel began"
}
guest_is_not_up() { fail "guest $2 of $1 did not come up: $(guest_qmp "$1" "$2" '{"execute":"query-status"}') $(guest_registers "$1" "$2") $(in_guest_folder "$1" "$2" 'tail -n 25 $d/qemu.log $d/console') $(guest_log "$1" "$2")"; }
# guest_log HOST NAME: the end of its kernel's log, from its memory. A kernel with `quiet` writes little of it to the console.
guest_log() {
	guest_qmp "$1" "$2" "{\"execute\":\"pmemsave\",\"arguments\":{\"val\":0,\"size\":268435456,\"filename\":\"/run/guest-$2/memory\"}}" > /dev/null || return 0
	in_guest_folder "$1" "$2" 'at=$(tr "\0" "\n" < $d/memory | grep -abo "Linux version [0-9]" | tail -n 1 | cut -d: -f1) || true
		[ -z "$at" ] || dd if=$d/memory iflag=skip_bytes,count_bytes skip=$at count=64k bs=64k status=none | tr -c "[:print:]" "\n" | grep -E ".{12}" | tail -n 40 || true
		rm -f $d/memory'
}
# guest_registers HOST NAME: of its CPU, as QEMU prints them.
guest_registers() { guest_qmp "$1" "$2" '{"execute":"human-monitor-command","arguments":{"command-line":"info registers"}}'; }
# guest_lost_by_emulator HOST NAME: its CPU is where the host's one runs guests. Or it waits for a lock with interrupts off: of a
# guest with one CPU that means that it took an interrupt while they were off.
guest_lost_by_emulator() {
	local registers
	registers=$(guest_registers "$1" "$2") || return
	sh_on "$1" 'within() { # RIP SYMBOL SIZE
			at=$(awk -v s="$2" "\$3 == s { print \"0x\" \$1; exit }" /proc/kallsyms)
			[ -n "$at" ] && [ $((0x$1 - at)) -ge 0 ] && [ $((0x$1 - at)) -lt "$3" ]
		}
		within "$1" __svm_vcpu_run 1024 || { within "$1" native_queued_spin_lock_slowpath 672 && [ $((0x$2 & 0x200)) = 0 ]; }' \
		"$(grep -oP 'RIP=\K[0-9a-f]{16}' <<< "$registers" | head -1)" "$(grep -oP 'RFL=\K[0-9a-f]{8}' <<< "$registers" | head -1)"
}

# in_guest HOST NAME 'shell text': its output, its exit status. 124 and 125: it gave no answer, or is gone.
in_guest() {
	local status=0
	in_guest_folder "$1" "$2" 'number=$(< /proc/sys/kernel/random/uuid)
		echo "$number $(printf %s "$1" | base64 -w 0)" 1<> $d/agent.in
		read -r number status output <<< "$(answer "$number" agent.out $2)"
		[ -n "$status" ] || exit 125
		base64 -d <<< "$output"
		exit $status' "$3" $((${guest_timeout:-120} * slower)) || status=$?
	[ $status != 125 ] || echo "QEMU of guest $2 says: $(guest_qmp "$1" "$2" '{"execute":"query-status"}') $(in_guest_folder "$1" "$2" 'tail -n 5 $d/qemu.log')" >&2
	return $status
}

# guest_qmp HOST NAME JSON: a command to QEMU's monitor; its answer.
guest_qmp() {
	local answer
	answer=$(in_guest_folder "$1" "$2" 'id=$(< /proc/sys/kernel/random/uuid)
		echo "${1%\}},\"id\":\"$id\"}" 1<> $d/qmp.in
		answer "$id" qmp.out 60' "$3")
	jq -e 'has("return")' <<< "$answer" > /dev/null || { printf '%s\n' "$answer"; return 1; }
	jq -c .return <<< "$answer"
}

# guest_plug HOST NAME ID PCI, guest_unplug HOST NAME ID: a function of the host, behind the port hp0 of the guest.
guest_plug() { guest_qmp "$1" "$2" "{\"execute\":\"device_add\",\"arguments\":{\"driver\":\"vfio-pci\",\"id\":\"$3\",\"host\":\"$4\",\"bus\":\"hp0\"}}" > /dev/null; }
guest_unplug() {
	guest_qmp "$1" "$2" "{\"execute\":\"device_del\",\"arguments\":{\"id\":\"$3\"}}" > /dev/null
	until_true 60 "$3 to be out of guest $2" guest_lacks "$1" "$2" "$3"
}
guest_lacks() { ! guest_qmp "$1" "$2" '{"execute":"qom-list","arguments":{"path":"/machine/peripheral"}}' | jq -e --arg i "$3" '.[] | select(.name == $i)' > /dev/null; }

# guest_reboot HOST NAME 'shell text': the text makes the guest reboot; its QEMU continues, although guest_launch ends it then.
guest_reboot() {
	guest_qmp "$1" "$2" '{"execute":"set-action","arguments":{"reboot":"reset"}}' > /dev/null
	in_guest "$1" "$2" "(sleep 1; $3) > /dev/null 2>&1 &"
}
# guest_poweroff HOST NAME: it shuts down by itself, and its QEMU ends.
guest_poweroff() {
	in_guest "$1" "$2" '(sleep 1; busybox poweroff -f) > /dev/null 2>&1 &'
	until_true 60 "QEMU of guest $2 to end" guest_ended "$1" "$2"
}
# guest_stop HOST NAME: ends its QEMU by a command. guest_kill: by SIGKILL. Both wait for the end.
guest_stop() {
	in_guest_folder "$1" "$2" 'echo "{\"execute\":\"quit\"}" 1<> $d/qmp.in'
	until_true 60 "QEMU of guest $2 to end" guest_ended "$1" "$2"
}
guest_kill() {
	in_guest_folder "$1" "$2" 'kill -9 $(< $d/pid)'
	until_true 60 "QEMU of guest $2 to end" guest_ended "$1" "$2"
}
# Its first thread may end before the others, which have vfio's files still.
guest_ended() { in_guest_folder "$1" "$2" '! alive || exit 1; set -- /proc/$(< $d/pid)/task/*; [ $# -le 1 ]'; }
# Ends all guests of the host, with their files.
guests_end() { sh_on "$1" 'shopt -s nullglob; for p in /run/guest-*/pid; do kill -9 $(< $p) 2> /dev/null || :; done; rm -rf /run/guest-*'; }

# guest_disk HOST NAME: prints the guest's NVMe disk once it is there.
guest_has_disk() { in_guest "$1" "$2" 'cd /sys/class/nvme; ls -d nvme*/nvme*n* | sed "s/.*\///;s/c[0-9]*n/n/"'; }
guest_disk() {
	until_true 60 "an NVMe disk in guest $2" guest_has_disk "$1" "$2"
	guest_has_disk "$1" "$2"
}
