# SPDX-License-Identifier: GPL-2.0
# Which test runs on which cluster (see on_cluster in CMakeLists.txt).
set(NVME nvme/probe nvme/fio-verify nvme/poll-queues nvme/discard-zeroes nvme/passthrough nvme/nvme-cli
  nvme/namespaces nvme/filesystem nvme/media-error nvme/reset-under-load nvme/timeouts nvme/flush-fua-power)
set(NTB ntb/link ntb/pingpong ntb/silent ntb/perf ntb/netdev ntb/kselftest)
set(FAULTS faults/pulled-cable faults/killed-host faults/removed-drive faults/removed-ntb)
set(P2P p2p/cpu-window p2p/drive-writes-memory p2p/drive-reads-memory p2p/interrupt p2p/ledger p2p/unmapped)
set(LINKS smartio/local smartio/echo smartio/link smartio/reload smartio/late-store smartio/fence smartio/killed-host)
set(SHARE share/attach share/nvme-cli share/commands share/interrupts share/sharing share/coming-and-going
  share/unload-under-load share/killed-borrower share/pulled-cable share/starved share/swap share/reset-under-load share/flush share/fence share/reservations share/lender-reload share/namespaces
  share/lender-reboot)
# A function lent whole, here the fabric's drive.
set(LENDING lending/drive lending/take-back lending/taken-away lending/killed-borrower lending/allowed)
# They take two borrowers, the hostile ones with IOMMUs.
set(HOSTILE share/allowed share/noisy share/threads share/fence-agent share/hostile share/hostile-link share/unmapped-page)
set(GFS2 clusterfs/gfs2-workload clusterfs/gfs2-killed-host clusterfs/gfs2-partition clusterfs/gfs2-lender-reboot clusterfs/gfs2-power-cut)
string(REPLACE gfs2 ocfs2 OCFS2 "${GFS2}")
set(CLIENT smartio_nvme/client-io smartio_nvme/client-attach smartio_nvme/client-losses smartio_nvme/client-modes
  smartio_nvme/client-timeouts smartio_nvme/client-early smartio_nvme/late-command smartio_nvme/late-timeout
  smartio_nvme/late-event smartio_nvme/late-reservation smartio_nvme/memory)
set(FAILOVER failover/paths failover/flush failover/fence failover/late-write failover/late-read failover/join failover/nowait failover/gives-up failover/quota failover/lost-again failover/flaps failover/contained failover/events)
set(SMARTIOCTL smartioctl/lending smartioctl/refusals smartioctl/boot smartioctl/completion smartioctl/watch)

# `make check` with the stock kernel has this on the second one, too: what it does otherwise (docs/decisions.md), a function
# that is lent, and two links to one drive.
if(SMARTIO_CORE)
  on_cluster(core pair smartio/link share/attach share/interrupts share/pulled-cable share/reservations)
  # not behind a drive that is still attached: it would be lost with the modules
  on_cluster(core-lending pair lending/drive)
  on_cluster(core-dual pair-dual failover/paths)
  return()
endif()

# Of the harness itself, without any host: before all clusters, in two halves.
file(GLOB HARNESS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/harness/*)
list(FILTER HARNESS EXCLUDE REGEX "\\.")
list(REMOVE_ITEM HARNESS harness/lib harness/results)
on_cluster(harness "-" ${HARNESS})
on_cluster(harness-lib "-" harness/lib harness/results)

# No test skips in make check. One that has to is announced here: may_skip(CLUSTER TEST "its reason, a regex").

# On a debug kernel (make check-debug) only what judges our own modules runs, and it looks for leaks at the end.
if(SMARTIO_KERNEL MATCHES "^debug")
  # Its hosts are slow: what one borrower shows runs with one, and three hosts where they can disturb each other.
  on_cluster(debug pair ${LINKS} smartio_nvme/manager smartio_nvme/hostile smartio_nvme/admin-table ${CLIENT}
    share/ledger share/attach share/nvme-cli share/commands share/interrupts share/pulled-cable share/flush
    share/reservations share/lender-reload share/lender-reboot share/dpc debug/kmemleak)
  on_cluster(debug-iommu pair-iommu smartio/late-store smartio/removed-ntb debug/kmemleak)
  on_cluster(debug-dual pair-dual ${FAILOVER} debug/kmemleak)
  on_cluster(debug-cpus pair-cpus share/cpus share/fewer-queues share/pairs-kept debug/kmemleak)
  on_cluster(debug-lending pair ${LENDING} lending/rounds lending/rough debug/kmemleak)
  # This kernel has iommufd, and edu a program that opens it.
  on_cluster(debug-lending-iommu pair-lending-iommu lending/edu debug/kmemleak)
  on_cluster(debug-few star-few share/quota share/timer debug/kmemleak)
  # Its commands time out after 30 s, and these hosts take that long for what it does beside them.
  list(REMOVE_ITEM HOSTILE share/threads)
  on_cluster(debug-star star share/sharing share/coming-and-going share/unload-under-load share/killed-borrower
    share/reset-under-load share/fence ${HOSTILE} share/starved share/pressure debug/kmemleak)
  return()
endif()

# What is tested on one cluster is not tested on another like it in make check, nor what a test beside it shows, too. The rest
# is for make check-long.
# The drive's model has unit tests, and the hosts' verified I/O in all of share/: the stock driver shows the model's other sides.
set(NVME_HERE ${NVME})
# Cluster file systems run on the same model.
list(REMOVE_ITEM NVME_HERE nvme/fio-verify nvme/poll-queues nvme/discard-zeroes nvme/timeouts nvme/filesystem)
# With the IOMMUs on, only what they can change: how the drive and the NTBs reach memory, mapped and unmapped while I/O is
# in progress. What a command does at the drive, or a doorbell at the NTB, is the same with them off.
set(NVME_IOMMU nvme/probe nvme/passthrough nvme/reset-under-load)
set(NTB_IOMMU ntb/netdev)
set(FAULTS_IOMMU faults/removed-ntb)
# The stock drivers on the other family: the link, its doorbells, and copies through the windows.
set(NTB_INTEL_SPR ntb/link)
set(NTB_INTEL_ICX ntb/silent ntb/perf)
# The stock NTB drivers without an IOMMU: but for the network, which is looked at with them, and for what Ice Lake has. ntb_pingpong
# runs in ntb/kselftest and in faults/removed-ntb, with a pulled cable in ntb/link.
set(NTB_HERE ${NTB})
list(REMOVE_ITEM NTB_HERE ntb/netdev ntb/pingpong ${NTB_INTEL_ICX})
# Ours on it: with the borrowers' IOMMUs, and with a pool in a window that leads to multiples of its size.
set(LINKS_INTEL_SPR smartio/link)
set(LINKS_INTEL_ICX smartio/link smartio/stuck-window)
# Sapphire Rapids shares a drive on star-intel-spr. Ice Lake does it with the lender's IOMMU on.
set(CLIENT_INTEL_SPR smartio_nvme/client-attach)
set(CLIENT_INTEL_ICX smartio_nvme/client-attach share/attach)
# The core of a shared drive on the other family, and there the cluster file system that is not looked at on AMD's.
set(SHARE_INTEL share/attach share/interrupts share/pulled-cable)
set(GFS2_INTEL clusterfs/gfs2-partition)
set(FAILOVER_INTEL failover/paths)
# The hosts of `pair` have two CPUs, those of `star` one. share/cpus is there for what several CPUs at a time can upset.
set(SHARE_AGAIN)
# What the lender's IOMMU has to map. The emulation is slow there (docs/fabric.md), so that a boot of the lender, which maps
# all of it again, is for check-long.
set(SHARE_IOMMU share/attach)
set(LINKS_IOMMU smartio/removed-ntb smartio/unplaced)
# Without interrupt remapping an interrupt that moves is a request to the lender.
set(LENDING_NOIOMMU lending/late-answers)
set(LENDING_IOMMU)
# The drive on a borrower's memory by a driver of few lines: share/ and lending/ do the same by real ones.
set(P2P_HERE p2p/ledger p2p/unmapped)
set(P2P_LONG)
# Queues that wrap while a cable flaps; failover/events has a few flaps, with queues of the usual size.
set(FAILOVER_HERE ${FAILOVER})
list(REMOVE_ITEM FAILOVER_HERE failover/flaps failover/contained)
# To the drivers one cluster file system is as the other: each shows some. `demo` kills a host with GFS2 mounted, and
# share/lender-reboot has a lender that returns.
set(GFS2_HERE)
set(OCFS2_HERE clusterfs/ocfs2-workload)
# Swapping over a cable that flaps takes a busy machine minutes.
set(SHARE_HERE ${SHARE})
list(REMOVE_ITEM SHARE_HERE share/swap)
set(FEW share/quota)
# A few rounds, beside other tests of lending: a shared drive that is attached still would be lost with the modules.
set(ROUNDS lending/rounds)
set(ROUGH lending/rough)
# A host that stands still for half a minute; hosts that swap to the drive.
# Reboots without a shutdown, and into another kernel.
set(PRESSURE)
if(SMARTIO_LONG)
  # on clusters of their own
  set(ROUNDS)
  set(ROUGH)
  set(PRESSURE share/stopped share/pressure share/kexec)
  set(SHARE_HERE ${SHARE})
  set(NVME_HERE ${NVME})
  set(NTB_HERE ${NTB} ntb/kselftest-tool)
  set(FAILOVER_HERE ${FAILOVER})
  set(GFS2_HERE ${GFS2} clusterfs/gfs2-alone)
  set(OCFS2_HERE ${OCFS2})
  set(NVME_IOMMU ${NVME})
  set(NTB_IOMMU ${NTB} ntb/kselftest-tool)
  set(FAULTS_IOMMU ${FAULTS})
  set(SHARE_AGAIN ${SHARE})
  set(SHARE_IOMMU ${SHARE})
  list(APPEND LINKS_IOMMU smartio/late-store)
  set(LENDING_IOMMU ${LENDING} lending/in-flight)
  list(APPEND LENDING_NOIOMMU ${LENDING})
  set(P2P_HERE ${P2P})
  set(P2P_LONG p2p/pulled-cable p2p/reload)
  set(NTB_INTEL_SPR ${NTB} ntb/kselftest-tool)
  set(NTB_INTEL_ICX ${NTB_INTEL_SPR})
  set(LINKS_INTEL_SPR ${LINKS})
  set(LINKS_INTEL_ICX smartio/echo smartio/link smartio/stuck-window smartio/late-store smartio/fence)
  set(SHARE_INTEL share/ledger ${SHARE} ${HOSTILE} share/stopped share/kexec)
  set(CLIENT_INTEL_SPR smartio_nvme/manager smartio_nvme/hostile smartio_nvme/admin-table ${CLIENT})
  # On Ice Lake ntb_perf and ntb_transport take no memory from behind an IOMMU: its addresses are not multiples of the window's size.
  set(CLIENT_INTEL_ICX ntb/link ntb/pingpong ntb/silent ${LINKS} ${CLIENT_INTEL_SPR} share/pcie-error share/completion-timeout share/dpc
    share/large-queues)
  set(GFS2_INTEL ${GFS2})
  set(FAILOVER_INTEL ${FAILOVER})
  list(APPEND FEW share/timer)
endif()

on_cluster(share star share/ledger ${SHARE_HERE} ${PRESSURE} ${HOSTILE} share/opened-window ${GFS2_HERE})
# The doctor before faults/removed-ntb, too: an NTB that was out may be without a window.
on_cluster(noiommu pair-noiommu ${NVME_HERE} ${NTB_HERE} smartioctl/doctor share/large-queues ${FAULTS})
# Not behind faults/removed-ntb: the second window of an NTB that was out may find no room again, and the lent function needs it.
on_cluster(lending-noiommu pair-noiommu ${LENDING_NOIOMMU})
on_cluster(iommu pair-iommu ${NVME_IOMMU} ${NTB_IOMMU} ${FAULTS_IOMMU} ${LINKS_IOMMU} ${LENDING_IOMMU})
# side-by-side brings a pair up besides: here, where few tests hold the CPUs of both.
# What the doctor says depends on the NTBs, their windows, the IOMMUs, remapping and groups: so it runs on several clusters.
on_cluster(intel-spr "pair-intel-spr;pair" ${NTB_INTEL_SPR} ${LINKS_INTEL_SPR} ${CLIENT_INTEL_SPR} smartioctl/doctor cluster/side-by-side)
on_cluster(intel-icx pair-intel-icx ${NTB_INTEL_ICX} ${LINKS_INTEL_ICX} smartioctl/doctor)
on_cluster(client-intel-icx pair-intel-icx-iommu ${CLIENT_INTEL_ICX})
on_cluster(drives-intel-icx pair-drives-intel-icx share/own-window)
on_cluster(share-intel-spr star-intel-spr ${SHARE_INTEL} ${GFS2_INTEL})
on_cluster(dual-intel-icx pair-dual-intel-icx ${FAILOVER_INTEL})
on_cluster(share-iommu star-iommu ${SHARE_IOMMU} share/opened-window smartioctl/doctor)
# The sides of a link have windows of different sizes.
set(WINDOWS smartio/windows)
if(SMARTIO_LONG)
  list(APPEND WINDOWS smartio/echo share/attach)
  on_cluster(windows-intel-spr pair-windows-intel-spr ${WINDOWS})
endif()
on_cluster(windows pair-windows smartioctl/doctor ${WINDOWS})
# Windows that lead to no interrupt, and doorbells in their place, with the lender's IOMMU on.
on_cluster(doorbell-intel-spr pair-doorbell-intel-spr share/doorbell)
# One borrower is enough.
set(SHARE_PAIR share/pcie-error share/completion-timeout share/dpc)
on_cluster(manager pair ${LINKS} smartio_nvme/manager smartio_nvme/hostile smartio_nvme/admin-table ${CLIENT}
  ${LENDING} lending/in-flight ${ROUGH} ${SHARE_AGAIN} share/large-queues ${SHARE_PAIR} share/reset-unanswered)
# Harder hardware: stores that tear and come in any order until a fence, and NTBs that leave their host with the cable.
set(COMBINING smartio/combining)
set(REMOVAL failover/removed)
if(SMARTIO_LONG)
  list(APPEND COMBINING smartio/echo smartio/link share/attach share/sharing)
endif()
on_cluster(combining pair-combining ${COMBINING})
on_cluster(dual-removal pair-dual-removal ${REMOVAL})
# Last: it leaves the links with a heartbeat of its own.
on_cluster(dual pair-dual ntb/two-links smartioctl/doctor ${SMARTIOCTL} ${FAILOVER_HERE} lending/automatic)
if(SMARTIO_LONG)
  on_cluster(dual-iommu pair-dual-iommu ${FAILOVER})
  # Not share/unmapped-page: with the lender's IOMMU on its reads come by eight bytes, and the borrower's kernel limits its reports of faults.
  set(HOSTILE_ICX ${HOSTILE})
  list(REMOVE_ITEM HOSTILE_ICX share/unmapped-page)
  # Nor share/swap: there the drive moves some 250 KB/s for all hosts (docs/fabric.md).
  set(SHARE_ICX ${SHARE})
  list(REMOVE_ITEM SHARE_ICX share/swap)
  on_cluster(share-intel-icx star-intel-icx ${SHARE_ICX} ${HOSTILE_ICX} share/kexec)
  # What a borrower of the other family has: a cluster file system, and a client for itself.
  # Not its other tests: with the lender's IOMMU on the drive moves some 250 KB/s, and the heartbeat's writes wait behind the data of all hosts.
  on_cluster(ocfs2-intel-icx star-intel-icx clusterfs/ocfs2-killed-host)
  on_cluster(client-intel-spr pair-intel-spr ${SHARE_PAIR})
  # The stock NTB drivers and the links with the IOMMUs the other way round.
  on_cluster(noiommu-intel-spr pair-intel-spr-noiommu ${NTB} ${LINKS} share/attach share/pulled-cable share/large-queues)
  on_cluster(dual-intel-spr pair-dual-intel-spr ${FAILOVER})
  on_cluster(few-intel-spr star-few-intel-spr share/quota share/doorbell)
  on_cluster(cpus-intel-spr pair-cpus-intel-spr share/cpus)
  # What an IOMMU can do otherwise.
  foreach(iommu lazy amd no-remapping)
    on_cluster(${iommu} pair-${iommu} smartio/echo share/attach share/interrupts share/pulled-cable ${LENDING} smartioctl/doctor lending/e1000e)
    on_cluster(dual-${iommu} pair-${iommu}-dual ${FAILOVER})
  endforeach()
  on_cluster(lender-iommu pair-lender-iommu ${LENDING})
endif()
# Not with GFS2's: hosts have one cluster file system at a time.
on_cluster(p2p star-p2p cluster/tool ${P2P_HERE} ${P2P_LONG} ${OCFS2_HERE})
set(up_own --count-instructions)
on_cluster(own pair cluster/instructions share/lender-idle lending/idle-lender)
# It brings a pair of its own up.
on_cluster(evidence "-;pair" cluster/evidence)
on_cluster(cpus pair-cpus share/cpus share/fewer-queues share/pairs-kept)
if(SMARTIO_LONG)
  on_cluster(cpus-remapping pair-cpus-remapping share/cpus)
endif()
set(up_owncard --count-instructions)
on_cluster(owncard pair-cards lending/idle-card)
set(DEVICES lending/e1000e lending/pulled-cable)
# With the lender's IOMMU on a function has a domain of its own: what only that shows, and a hostile one.
set(DEVICES_IOMMU lending/edu lending/pcie-error lending/trusted lending/narrow lending/nvme lending/igb lending/two)
# Guests in emulated hosts take minutes: here one test with three of them.
set(VM)
set(VM_STAR vm/together)
set(VFS lending/vfs lending/hostile)
if(SMARTIO_LONG)
  set(DEVICES_IOMMU ${DEVICES} ${DEVICES_IOMMU})
  list(APPEND DEVICES lending/nvme lending/igb)
  list(APPEND DEVICES lending/edu)
  list(APPEND VFS lending/vfs-nvme)
  set(VM vm/local vm/lent vm/nic vm/reset vm/lost vm/rounds)
  list(APPEND VM_STAR vm/vf vm/migrate vm/attacks vm/hostile-host vm/three-users)
endif()
on_cluster(lending pair-lending smartio_nvme/quirks lending/devices lending/refused lending/forgotten lending/failed-reset lending/stubborn
  lending/narrow ${DEVICES}
  lending/two share/window-taken)
on_cluster(lending-iommu pair-lending-iommu ${DEVICES_IOMMU})
on_cluster(lending-trusted pair-trusted lending/trusted)
if(SMARTIO_LONG)
  on_cluster(drives pair-drives share/announced)
  # It leaves the lender's memory in pieces.
  on_cluster(fragmented pair-iommu share/fragmented)
endif()
# Functions that reach each other, of one lender and of two.
on_cluster(peers pair-peers lending/peer-to-peer lending/drive-to-drive)
on_cluster(peers-triangle triangle-peers lending/two-lenders)
# Virtual functions of one device, and a function that two borrowers fight for.
on_cluster(vfs star-vfs ${VFS} ${ROUNDS})
# KVM of the second kernel ends a guest for what QEMU's emulation of SVM says of each exit (docs/virtual-machines.md).
if(NOT SMARTIO_KERNEL STREQUAL "backports")
  on_cluster(vm pair-vm ${VM})
  on_cluster(vm-star star-vm ${VM_STAR})
endif()
if(SMARTIO_LONG)
  # It brings a cluster of its own up, whose instructions are counted.
  on_cluster(vm-instructions "-;pair-vm-drives" vm/instructions)
  on_cluster(rounds star lending/rounds lending/in-flight)
  on_cluster(rough pair lending/rough)
  on_cluster(rough-iommu pair-iommu lending/rough)
  on_cluster(rough-card pair-lending-iommu lending/rough-card)
endif()
on_cluster(few star-few smartioctl/doctor ${FEW})
on_cluster(switch pair-switch share/shared-group smartioctl/doctor)
if(SMARTIO_LONG)
  # The doctor on all other topologies. A server has nothing of this checkout. 32 hosts do not fit beside other clusters.
  get_property(planned GLOBAL PROPERTY plan)
  file(GLOB topologies RELATIVE ${TOP}/selftests/topologies ${TOP}/selftests/topologies/*.toml)
  foreach(topology ${topologies})
    string(REGEX REPLACE "\\.toml$" "" topology ${topology})
    if(topology MATCHES "^server-|^star-31$" OR planned MATCHES " ${topology} smartioctl/doctor\n")
      continue()
    endif()
    on_cluster(doctor-${topology} ${topology} smartioctl/doctor)
  endforeach()
endif()

# The command that README.md begins with, and others: they bring their clusters up themselves.
on_cluster(demo "-;star" demo)
if(SMARTIO_LONG)
  on_cluster(demo-lending "-;pair-lending-iommu" demo-lending)
  on_cluster(demo-vm "-;pair-vm" demo-vm)
endif()
