// SPDX-License-Identifier: GPL-2.0
// The sysfs of a lender with one borrower, for unit tests.
#pragma once

#include <tuple>

#include "smartioctl/fake_sysfs.h"

namespace smartio::ctl {

inline void put_lender(const ScratchFolder& root) {
  root.put("class/smartio_host/fence", "");
  root.put("class/smartio_host/aaaa/name", "lender\n");
  root.put("class/smartio_host/aaaa/self", "1\n");
  root.put("class/smartio_host/aaaa/fenced", "0\n");
  root.put("class/smartio_host/aaaa/links", "\n");
  root.put("class/smartio_host/bbbb/name", "borrower\n");
  root.put("class/smartio_host/bbbb/self", "0\n");
  root.put("class/smartio_host/bbbb/fenced", "0\n");
  root.put("class/smartio_host/bbbb/links", "ntb0\n");
  root.put("class/smartio_link/ntb0/state", "up\n");
  root.put("class/smartio_link/ntb0/peer", "bbbb\n");
  root.put("class/smartio_link/ntb0/peer_name", "borrower\n");
  root.put("class/smartio_link/ntb0/generation", "3\n");
  root.put("class/smartio_link/ntb0/losses", "1\n");
  root.put("class/smartio_link/ntb0/heartbeat_age_ms", "40\n");
  root.put("class/smartio_link/ntb0/windows",
           "in mw=0 base=0x0 size=0x100000000 used=0x400000\nout mw=0 base=0x0 size=0x100000000 used=0x0\n");
  root.put("class/smartio_link/ntb0/reason", "\n");
  root.put("class/smartio_export/0000:01:00.0/service", "nvme\n");
  root.put("class/smartio_export/0000:01:00.0/borrowers",
           "session=0x10 host=aaaa name=lender link=local\nsession=0x11 host=bbbb name=borrower link=ntb0\n");
  root.put("class/smartio_export/0000:01:00.0/holdings",
           "qid=1 session=0x10 host=lender entries=1024 sq=lender irq=1\n"
           "qid=2 session=0x11 host=borrower entries=1024 sq=lender irq=2\n"
           "qid=3 session=0x11 host=borrower entries=64 sq=cmb poll\n");
  root.put("bus/pci/devices/0000:01:00.0/incarnation", "1\n");
  root.put("bus/pci/devices/0000:01:00.0/nvme/nvme0/serial", "S1\n");
  root.put("bus/pci/devices/0000:01:00.0/nvme/nvme0/model", "Emulated drive\n");
  const std::string path = "bus/smartio/devices/aaaa-0000.01.00.0-local";
  root.put(path + "/service", "nvme\n");
  root.put(path + "/host", "aaaa\n");
  root.put(path + "/host_name", "lender\n");
  root.put(path + "/pci", "0000:01:00.0\n");
  root.put(path + "/link", "local\n");
  root.put(path + "/state", "open\n");
  root.put(path + "/session", "0x10\n");
  root.put(path + "/nvme/nvme1/state", "live\n");
  std::filesystem::create_directory_symlink("../../drivers/smartio_nvme", root.path() / path / "driver");
  root.put(path + "/nvme/nvme1/serial", "S 1                 \n");
  root.put(path + "/nvme/nvme1/nvme1c1n1/size", "8\n");
  root.put(path + "/nvme/nvme1/nvme1c1n1/nsid", "7\n");
  root.put(path + "/nvme/nvme1/nvme1c1n1/nguid", "00112233-4455-6677-8899-aabbccddeeff\n");
  root.put(path + "/nvme/nvme1/nvme1c1n1/eui", "00 11 22 33 44 55 66 77\n");
}

/// A host that lends a function as a whole, and has one of another host, a network card.
inline void put_borrower_of_function(const ScratchFolder& root) {
  root.put("class/smartio_host/fence", "");
  root.put("class/smartio_host/bbbb/name", "borrower\n");
  root.put("class/smartio_host/bbbb/self", "1\n");
  root.put("class/smartio_export/0000:05:00.0/service", "pci\n");
  root.put("class/smartio_export/0000:05:00.0/borrowers", "session=0x21 host=cccc name=third link=ntb1\n");
  for (const auto& [path, host, pci, link] :
       {std::tuple{"aaaa-0000:03:00.0-ntb0", "lender", "0000:03:00.0", "ntb0"},
        std::tuple{"bbbb-0000:05:00.0-local", "borrower", "0000:05:00.0", "local"}}) {
    const std::string at = std::string("bus/smartio/devices/") + path;
    root.put(at + "/service", "pci\n");
    root.put(at + "/host_name", std::string(host) + "\n");
    root.put(at + "/pci", std::string(pci) + "\n");
    root.put(at + "/link", std::string(link) + "\n");
    root.put(at + "/state", "open\n");
  }
  const std::string path = "bus/smartio/devices/aaaa-0000:03:00.0-ntb0";
  root.put(path + "/function", "1000:00:00.0\n");
  std::filesystem::create_directory_symlink("../../drivers/smartio_pci", root.path() / path / "driver");
  const std::string function = "bus/pci/devices/1000:00:00.0";
  root.put(function + "/net/eth1/address", "");
  std::filesystem::create_directory_symlink("../../drivers/e1000e", root.path() / function / "driver");
}

}  // namespace smartio::ctl
