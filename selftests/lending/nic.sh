# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2016
# The network card $nic of the lender on the borrower, by its stock driver $module: ping and iperf3 both ways against the
# lender's own interface, its link down and up, the driver loaded again; then the lender has it back.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

lending_begin
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

sh_on borrower 'ip link set $1 down && ip link set $1 up' "$interface"
until_true 30 "a ping after the link was down" on borrower ping -c 1 -W 1 -I "$interface" 10.78.0.2
network_down borrower "$interface" lender
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
for host in lender borrower; do on "$host" modprobe -r "$module"; done
lending_end
