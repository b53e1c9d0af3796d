# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2016
# The network card $nic of the lender on the borrower, by its stock driver $module. Ping, and iperf3 both ways, run against the
# lender's own interface; with LENDING_IPERF_S iperf3 also runs for that many seconds each way. The interface is set down and up,
# the interrupt of a queue moves to other CPUs; with $queues queues each has its own. The card's cable is pulled and put back. The driver runs its own test ($self, or
# in check-long), and is loaded again. Then the lender has the card back, where that test has the same results. $no_intx is for a driver
# whose test of interrupts by pin fails on the borrower: a sed script that makes it failed in the lender's results, too.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# self_test HOST INTERFACE: the driver's own test of the device (ethtool -t), "RESULT NAME" a line; its status is 2 if some of it failed.
# Its cable is out: a frame of another host fails igb's loopback test, which then loses the page of that frame. So that test,
# which needs a link, does not count.
self_test() {
	cluster monitor lender -- set_link "$nic" off > /dev/null
	sh_on "$1" 'ethtool -t $1 offline > /run/self-test || [ $? = 2 ]; cat /run/self-test' "$2" > "$notes/self-test"
	cluster monitor lender -- set_link "$nic" on > /dev/null
	sed 's/^/# /' "$notes/self-test" >&2
	sed -nE '/^Loopback/d; s/^(.*[^ \t])[ \t]+([0-9]+)$/\2 \1/p' "$notes/self-test"
}
interrupts_borrower() { sh_on borrower 'awk -v d="$1" "\$0 ~ d { for (i = 2; i <= NF; i++) { if (\$i !~ /^[0-9]+\$/) break; n += \$i } } END { print n + 0 }" /proc/interrupts' "$interface"; }

# As in userspace/cluster/qemu_args.cc: the number of the device in its host, and of the host.
address=$(printf '52:54:00:77:%02x:01' "$(jq --arg n "$nic" '.hosts[] | select(.name == "lender") | [.devices[] | select(.name | test("^(ntb|drive)") | not).name] | index($n) + 1' < "$notes/status")")
self=${self:-${SMARTIO_LONG:-}}
lending_begin
if [ -n "$self" ] && [ -n "${no_intx:-}" ]; then
	for host in lender borrower; do log_may "$host" "$module [0-9a-f:.]+ [a-z0-9]+: pattern test failed \\(reg 0x"; done
	log_may borrower 'genirq: Flags mismatch irq 0\. [0-9a-f]+ \([a-z0-9]+\) vs\. [0-9a-f]+ \(timer\)'
fi
lent "$nic"
on borrower modprobe "$module"
function=$(borrowed "$nic")
say "$nic is $function on the borrower"
expect "its driver" "$module" "$(driver_of borrower "$function")"
until_true 10 "its interface" interface_of borrower "$function"
interface=$(interface_of borrower "$function")
expect "its address" "$address" "$(on borrower cat "/sys/class/net/$interface/address")"

before=$(fabric ledger)
network_up borrower "$interface" lender
on borrower ping -c 20 -i 0.05 -q -I "$interface" 10.78.0.2 | tail -2 | sed 's/^/# /'
iperf borrower lender 1M
after=$(fabric ledger)
crossed=$(jq -n --argjson a "$after" --argjson b "$before" '[$a, $b] | map([.. | .bytes? // empty] | add) | .[0] - .[1]')
[ "$crossed" -gt $((2 * 900 * 1000)) ] || fail "bytes over the cable: expected more than 1.8 MB, saw $crossed"
say "$crossed bytes crossed the cable for 2 MiB of payload"
seconds=${LENDING_IPERF_S:-${SMARTIO_LONG:+60}}
[ -z "$seconds" ] || iperf borrower lender "${seconds}s"

sh_on borrower 'ip link set $1 down && ip link set $1 up' "$interface"
until_true 30 "a ping after the link was down" on borrower ping -c 1 -W 1 -I "$interface" 10.78.0.2
# Its cable, not the link's.
set_link() {
	cluster monitor lender -- set_link "$nic" "$1" > /dev/null
	until_true 20 "the carrier of $interface, cable $1" sh_on borrower '[ "$(cat /sys/class/net/$1/carrier)" = "$2" ]' "$interface" "$2"
}
# A line for each queue that receives: its number, its interrupt, how many came to CPU 0 and to CPU 1.
queue_irqs='awk -v d="$1-(rx|TxRx)-[0-9]+\$" "\$0 ~ d { print substr(\$NF, length(\$NF)), \$1 + 0, \$2, \$3 }" /proc/interrupts'
# received_on CPU: pings' interrupts come to that CPU alone, whichever queue the card chooses for their packets.
received_on() {
	sh_on borrower "counts() { $queue_irqs | awk '{ a += \$3; b += \$4 } END { print a, b }'; }"'
		before=($(counts $1)); ping -c 3 -i 0.1 -q -I $1 10.78.0.2 > /dev/null; after=($(counts $1))
		[ ${after[$2]} -gt ${before[$2]} ] && [ ${after[$((1 - $2))]} = ${before[$((1 - $2))]} ]' "$interface" "$1"
}
for cpu in 1 0; do
	sh_on borrower "$queue_irqs"' | while read -r queue irq rest; do echo $2 > /proc/irq/$irq/smp_affinity_list; done' "$interface" $cpu
	until_true 20 "interrupts of received packets on CPU $cpu alone" received_on $cpu
done
# Connections of 16 ports: the card sorts their packets into its queues, and each queue's interrupts come to its CPU alone.
if [ -n "${queues:-}" ]; then
	# The second kernel's igb has another key for each boot, the first one's always the same: this one sorts ports into both queues.
	key=6d:5a:56:da:25:5b:0e:c2:41:67:25:3d:43:a3:8f:b0:d0:ca:2b:cb:ae:7b:30:b4:77:cb:2d:a3:80:30:f2:0c:6a:42:b7:3b:be:ac:01:fa
	sh_on borrower 'ethtool -X $1 hkey $2 2> /dev/null || [[ $(uname -r) = 6.12.* ]]' "$interface" "$key"
	sh_on borrower "$queue_irqs"' | while read -r queue irq rest; do echo $queue > /proc/irq/$irq/smp_affinity_list; done' "$interface"
	iperf_serve lender -1
	before=$(sh_on borrower "$queue_irqs" "$interface")
	out=$(on borrower iperf3 -c 10.78.0.2 -R -P 16 -n 1M -w 64K -J) || fail "iperf3 of 16 connections ended with $?: $(jq -r .error <<< "$out")"
	until_true 10 "iperf3's server to end" sh_on lender "! $iperf_listens"
	after=$(sh_on borrower "$queue_irqs" "$interface")
	expect "queues with interrupts" "$queues" "$(wc -l <<< "$after")"
	while read -r queue _ was0 was1 _ _ now0 now1; do
		say "queue $queue: interrupts on CPU 0: $((now0 - was0)), on CPU 1: $((now1 - was1))"
		on_its=$((queue ? now1 - was1 : now0 - was0)) on_other=$((queue ? now0 - was0 : now1 - was1))
		[ $on_its -ge 5 ] && [ $on_other -le 1 ] || fail "interrupts of queue $queue: expected them on its own CPU, saw $on_its there, $on_other on the other"
	done < <(paste -d' ' <(echo "$before") <(echo "$after"))
fi
before=$(interrupts_borrower)
set_link off 0
set_link on 1
until_true 30 "a ping after its cable was out" on borrower ping -c 1 -W 1 -I "$interface" 10.78.0.2
[ "$(interrupts_borrower)" -gt "$before" ] || fail "interrupts of $interface: expected more than $before"
network_down borrower "$interface" lender
there=
[ -z "$self" ] || there=$(self_test borrower "$interface")
on borrower modprobe -r "$module"
on borrower modprobe "$module"
until_true 10 "its interface again" interface_of borrower "$function"
interface=$(interface_of borrower "$function")
network_up borrower "$interface" lender
expect_fail "a function that is in use is not returned" 4 "$interface is up" on borrower smartioctl return "$function"
network_down borrower "$interface" lender

returned "$nic" "$module"
pci=$(pci_of lender "$nic")
until_true 10 "the lender's own interface" interface_of lender "$pci"
interface=$(interface_of lender "$pci")
network_up lender "$interface" borrower
iperf lender borrower 1M
network_down lender "$interface" borrower
if [ -n "$self" ]; then
	here=$(self_test lender "$interface")
	[ -n "$here" ] || fail "the driver's test of $interface: expected results, saw none"
	expect "what the driver's test says of it on the borrower${no_intx:+, without interrupts by pin}" "$(sed "${no_intx:-s/^//}" <<< "$here")" "$there"
fi
for host in lender borrower; do on "$host" modprobe -r "$module"; done
lending_end
