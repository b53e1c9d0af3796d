# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
# Whose NTBs the cluster has: their stock driver, their PCI device ID, and what `fabric device list` calls them.
ntb_family=$(fabric link list | jq -r '.links[0].family')
case $ntb_family in
amd) ntb_driver=ntb_hw_amd ntb_device_id=0x148b ntb_pci_id=1022:148b ;;
*) ntb_driver=ntb_hw_intel ntb_device_id=0x347e ntb_pci_id=8086:347e ;;
esac
# Bytes that are open of a window that is shut. Ice Lake's driver sets no limit of 0: such a window leads elsewhere, and a page is open.
ntb_shut=0
[ "$ntb_family" != intel-icx ] || ntb_shut=4096
# A client leaves an NTB. Intel's link goes with it, under the feet of the other host.
clients_leave() {
	local link
	[ "$ntb_family" != amd ] || return 0
	for link in $(fabric link list | jq -r '.links[].name'); do link_drops "$link"; done
}
