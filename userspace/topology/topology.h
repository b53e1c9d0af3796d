// SPDX-License-Identifier: GPL-2.0
// The topology file (TOML) as data: what hosts, cables and drives a cluster has. Read by smartio-fabric, which
// makes the devices, and by smartio-cluster, which starts a QEMU for each host: both name sockets from here.
//
// The file:
//
//    [cluster]
//    name = "pair"                       # required
//
//    [[host]]                            # one or more
//    name = "lender"                     # required; names are lower-case letters, digits and '-', a letter first
//    memory = "512M"                     # 64M to 1T in whole MiB; default 512M
//    cpus = 1                            # 1 to 64, at least one for 6 NTBs, 4 of Intel's; default 1
//    iommu = "none"                      # or "intel", "amd", with at most 16 NTBs and drives; default "none"
//    lazy = false                        # the IOMMU unmaps memory 10 ms later, as on Debian's machines by default;
//                                        # default at once
//    remapping = true                    # the IOMMU remaps interrupts, too; default true; false with "amd"
//    one_switch = false                  # all NTBs and drives are behind one switch without ACS, and so in one IOMMU
//                                        # group; at most 16; default: each behind a root port of its own
//    family = "amd"                      # whose NTBs it has: or "intel-icx" (Ice Lake), "intel-spr" (Sapphire Rapids);
//                                        # default "amd"
//    write_combining = 0                 # not 0: its CPUs' stores to memory beyond an NTB tear and arrive in any order
//                                        # until a fence, by choices that follow this number, 1 to 2147483646; not with
//                                        # devices of QEMU's own, nor with an IOMMU and drives; default 0
//    image = "host"                      # or "server": systemd, udev and apt, on a disk of its own, 512M or more;
//                                        # default "host"
//    vms = false                         # has QEMU and KVM to run virtual machines itself: a disk with both, 1536M or
//                                        # more, not with "server"; default false
//    count = 31                          # 1 to 64: hosts NAME1 to NAME31 instead of one NAME
//
//    [[cable]]                           # none or more: an NTB adapter in each of two hosts, and the cable
//    name = "cable0"                     # default "cable" and the cable's place in the file, from 0; cables of a
//                                        # "NAME*" count one for each host, and a name gets numbers from 1
//    between = ["lender", "borrower"]    # required; the host with the primary side comes first. Both have NTBs of one
//                                        # family. One of them may be "NAME*": a cable for each host
//                                        # of a [[host]] with count
//    windows = ["4G", "64M"]             # the two memory windows, powers of two, 64K to 256G; default as here. Sides
//                                        # that differ, by the words of between:
//                                        # { lender = ["4G", "64M"], borrower = ["1G", "32M"] }
//    count = 1                           # 1 to 8; 2 makes links cable0.0 and cable0.1 ("dual adapters"); default 1
//    surprise_removal = false            # the NTB of the secondary side hangs on the cable: a pulled cable removes it
//                                        # from its host, and it is back with the cable; AMD's only; default false
//    vectors = 24                        # MSI-X entries on each side: AMD's have 24, or up to 128; Intel's 33
//
//    [[drive]]                           # none or more
//    name = "drive0"                     # required
//    host = "lender"                     # required
//    size = "1G"                         # required: the media, all namespaces together; 1M to 16T in whole MiB
//    backing = "drive0.img"              # a file, relative to the state folder; default: RAM
//    queue_pairs = 32                    # I/O queue pairs, 1 to 1023; default 32
//    cmb = "0"                           # controller memory buffer: 0 or a power of two, 4K to 1G; default none
//    cache = "64M"                       # volatile write cache, 0 for none; default 64M
//    sgl = true                          # SGLs besides PRPs; default true
//    shared = false                      # reports that it may have several controllers, as drives with two ports do;
//                                        # Linux then puts its multipath on top, of one path; default false
//    mdts = 0                            # largest transfer, 2^mdts pages of 4 KiB, 1 to 12; 0 takes the default
//
//    [[drive.namespace]]                 # none: one of the whole size with blocks of 512 bytes
//    size = "512M"                       # required; a multiple of 4096
//    block_size = 512                    # or 4096; default 512
//
//    [[device]]                          # none or more, at most 7 a host: a device of QEMU's own, behind a root port
//    name = "nic0"                       # required; unlike the names of drives
//    type = "e1000e"                     # required: "e1000e", "igb" (network), "nvme", "ahci", "xhci" (disk), "edu"
//    host = "lender"                     # required
//    size = "64M"                        # of the disk, which is the file HOST.NAME.img of the state folder: required
//                                        # for nvme, ahci and xhci (a USB disk), 1M to 16T in whole MiB
//    cmb = "0"                           # nvme: controller memory buffer, 0 or a power of two, 1M to 1G; default none
//    vfs = 0                             # nvme: SR-IOV virtual functions at most, 0 to 7, none with a cmb; default 0
//    dma_bits = 28                       # edu: bits of a bus address that its DMA can use, 28 to 64; default 28
//
// A size is a number of bytes, or a string of digits with K, M, G or T (powers of 1024) behind it.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace smartio::topology {

enum class Iommu : std::uint8_t { none, intel, amd };
/// As files and commands spell it.
std::string_view word_of(Iommu iommu);
/// The system that a host boots: the small root that all share, or a Debian with systemd that it may write to.
enum class Image : std::uint8_t { host, server };

/// Whose NTBs a host has.
enum class NtbFamily : std::uint8_t { amd, intel_icx, intel_spr };

/// A host with more endpoints has them behind switches of this number of ports each.
constexpr unsigned kMostRootPorts = 16;
/// The places that are left for devices of QEMU's own.
constexpr unsigned kMostDevices = 7;
/// Virtual functions of one device.
constexpr unsigned kMostVirtual = 7;

struct Host {
  std::string name;
  std::uint64_t memory = 512ULL << 20;  ///< bytes
  unsigned cpus = 1;
  Iommu iommu = Iommu::none;
  NtbFamily family = NtbFamily::amd;
  bool lazy = false;        ///< unmapped memory is out of reach later
  bool remapping = true;    ///< of interrupts, by the IOMMU
  bool one_switch = false;  ///< all endpoints are behind one switch without ACS
  std::uint32_t write_combining =
      0;  ///< the seed of its CPUs' write-combining buffers, 0: stores come as they are made
  Image image = Image::host;
  bool vms = false;  ///< it can run virtual machines
};

/// One NTB connection between two hosts. A [[cable]] with count = 2 ("dual adapters") makes two of them.
struct Link {
  std::string name;                                  ///< unique: the cable's name, with ".0", ".1" … where count > 1
  std::string primary;                               ///< host that has the NTB's primary side
  std::string secondary;                             ///< host that has its secondary side
  std::array<std::uint64_t, 2> windows{};            ///< bytes of BAR2 and BAR4 on the primary side, powers of two
  std::array<std::uint64_t, 2> secondary_windows{};  ///< of the secondary side
  NtbFamily family = NtbFamily::amd;                 ///< of both sides
  bool surprise_removal = false;                     ///< a pulled cable takes the secondary side's NTB out of its host
  unsigned vectors = 24;  ///< MSI-X entries: AMD's 24, which its driver takes, or more; Intel's 33
};

struct Namespace {
  std::uint64_t size = 0;          ///< bytes, a multiple of block_size
  std::uint32_t block_size = 512;  ///< 512 or 4096
};

struct Drive {
  std::string name;
  std::string host;
  std::uint64_t size = 0;             ///< bytes of media, at least the sum of the namespaces
  std::filesystem::path backing;      ///< empty: RAM. Else a file (relative to the state folder), made if missing
  unsigned queue_pairs = 32;          ///< I/O queue pairs
  std::uint64_t cmb = 0;              ///< bytes of controller memory buffer, 0: none
  std::uint64_t cache = 64ULL << 20;  ///< bytes of volatile write cache, 0: none
  bool sgl = true;                    ///< supports SGLs besides PRPs
  bool shared = false;                ///< says that it may have several controllers
  unsigned mdts = 0;  ///< Maximum Data Transfer Size as power of two of 4 KiB pages; 0 takes the default
  std::vector<Namespace> namespaces;  ///< NSID 1, 2, …
};

/// A device that QEMU models, and not the fabric.
struct Device {
  enum class Type : std::uint8_t { e1000e, igb, nvme, ahci, xhci, edu };
  std::string name;  ///< unlike those of all other devices and drives
  std::string host;
  Type type = Type::edu;
  std::uint64_t size = 0;  ///< bytes of its disk, 0: it has none
  std::uint64_t cmb = 0;   ///< nvme: bytes of controller memory buffer, 0: none
  unsigned vfs = 0;        ///< nvme: virtual functions that it can have
  unsigned dma_bits = 28;  ///< edu: bits of its DMA addresses
};

/// The word of the topology file, which is QEMU's name of the device but for some.
std::string_view type_name(Device::Type type);
/// Whether it has a port on the hosts' LAN.
bool is_network(Device::Type type);
/// Whether it has a disk, the file disk_file() of the state folder.
bool has_disk(Device::Type type);
std::string disk_file(const Device& device);
/// The LAN's socket of a network device, a file name in the state folder; the port's name is "HOST.NAME".
std::string lan_socket(const Device& device);

struct Topology {
  std::string name;
  std::vector<Host> hosts;
  std::vector<Link> links;
  std::vector<Drive> drives;
  std::vector<Device> devices;
};

/// Where the fabric says to a host's QEMU which registers take its CPUs' fences: a file name in the state folder.
std::string fence_file(const Host& host);

/// One PCIe device of one host, with the vfio-user socket that its QEMU connects to.
struct Endpoint {
  enum class Kind : std::uint8_t { ntb_primary, ntb_secondary, drive };
  Kind kind;
  std::string host;
  std::string name;    ///< unique within the host: "ntb0", "ntb1", … or the drive's name
  std::string socket;  ///< file name in the state folder: "HOST.NAME.sock"
  std::size_t index;   ///< into Topology::links or Topology::drives
};

/// Reads and checks a topology file. Errors name file, line and what would be right.
Result<Topology> load(const std::filesystem::path& file);
/// The same from text; `file` is only for messages.
Result<Topology> parse(std::string_view text, std::string_view file);

/// The host of that name, or null.
const Host* find_host(const Topology& topology, std::string_view name);
/// All endpoints, host by host in the file's order; links before drives. The order is the order of root ports.
std::vector<Endpoint> endpoints(const Topology& topology);

}  // namespace smartio::topology
