// SPDX-License-Identifier: GPL-2.0
#include "cluster/qemu_args.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "base/numbers.h"
#include "base/text.h"
#include "cluster/guest_agent.h"

namespace smartio::cluster {

namespace {

using topology::Endpoint;

// Places on pcie.0: 0x1f is q35's own, 1 is left free.
constexpr unsigned kDiskSlot = 2;
constexpr unsigned kNetworkSlot = 3;
constexpr unsigned kSerialSlot = 4;
constexpr unsigned kVmDiskSlot = 5;
constexpr unsigned kFirstPortSlot = 8;
constexpr unsigned kFirstDeviceSlot = kFirstPortSlot + topology::kMostRootPorts;
constexpr std::uint64_t kMostBounced = 1ULL << 30U;  // more than a driver of a few queues has in flight
constexpr unsigned kPhysicalQueues = 8;              // I/O queue pairs of an nvme that its virtual functions can't have
constexpr std::size_t kSerialSize = 20;              // NVM Express Base Specification, Identify Controller: SN
// Chassis numbers of downstream ports; those of root ports begin at 1.
constexpr unsigned kFirstSwitchChassis = 64;
// All that TCG can do, but for the promises that string instructions are fast: it runs them byte by byte, and the
// kernel would clear and copy pages so.
constexpr const char* kCpu = "max,erms=off,fsrm=off,fsrs=off,fsrc=off,fzrm=off";
static_assert(kFirstDeviceSlot + topology::kMostDevices == 0x1f);

std::size_t number_of(const topology::Topology& topology, std::string_view host) {
  const auto found = std::ranges::find(topology.hosts, host, &topology::Host::name);
  return static_cast<std::size_t>(found - topology.hosts.begin()) + 1;
}

std::vector<Endpoint> endpoints_of(const topology::Topology& topology, std::string_view host) {
  std::vector<Endpoint> endpoints = topology::endpoints(topology);
  std::erase_if(endpoints, [&](const Endpoint& endpoint) { return endpoint.host != host; });
  return endpoints;
}

std::string kernel_arguments(const topology::Topology& topology, const topology::Host& host,
                             const HostOptions& options) {
  std::string hosts;
  for (const topology::Host& other : topology.hosts) {
    hosts += fmt::format("{}{}:{}", hosts.empty() ? "" : ",", other.name, address_of(topology, other.name));
  }
  // An oops ends the host, and the console has all warnings: a test finds them there after the host has ended.
  std::string line = fmt::format("{} oops=panic loglevel=5 intel_iommu={} guest.host={} guest.ip={}/24 guest.hosts={}",
                                 options.kernel_arguments, host.iommu == topology::Iommu::intel ? "on" : "off",
                                 host.name, address_of(topology, host.name), hosts);
  if (!host.remapping) line += " intremap=off";
  if (host.lazy) line += " guest.iommu=lazy";
  return line;
}

std::string iommu_device(const topology::Host& host) {
  // Both tell QEMU of each new mapping, which vfio-user needs.
  const std::string_view model =
      host.iommu == topology::Iommu::amd ? "amd-iommu,dma-remap=on" : "intel-iommu,caching-mode=on";
  return fmt::format("{},intremap={}", model, host.remapping ? "on" : "off");
}

/// A chardev that listens on a socket of the state folder.
std::string listening(std::string_view id, std::string_view host, std::string_view more) {
  return fmt::format("socket,id={0},path={1}.{0}.sock,server=on,wait=off{2}", id, host, more);
}

class Arguments {
 public:
  template <typename... Words>
  void add(Words&&... words) {
    (words_.emplace_back(std::forward<Words>(words)), ...);
  }
  void device(std::string text) { add("-device", std::move(text)); }
  std::vector<std::string> take() { return std::move(words_); }

 private:
  std::vector<std::string> words_;
};

void add_root_port(Arguments& arguments, unsigned port) {
  arguments.device(fmt::format("pcie-root-port,id=rp{0},bus=pcie.0,addr={1:#x},chassis={2},slot={2}", port,
                               kFirstPortSlot + port, port + 1));
}

void add_endpoint(Arguments& arguments, const Endpoint& endpoint, const std::string& bus) {
  const nlohmann::ordered_json device = {{"driver", "vfio-user-pci"},
                                         {"id", endpoint.name},
                                         {"bus", bus},
                                         {"socket", {{"type", "unix"}, {"path", endpoint.socket}}}};
  arguments.device(device.dump());
}

/// Whether an endpoint with a root port of its own is behind a switch, too: the secondary side of AMD's NTB, whose
/// driver reads the switch's link. Intel's is a part of the processor on both sides.
bool has_switch(const Endpoint& endpoint, topology::NtbFamily family) {
  return endpoint.kind == Endpoint::Kind::ntb_secondary && family == topology::NtbFamily::amd;
}

/// Each endpoint behind a root port of its own.
void add_to_root_ports(Arguments& arguments, const std::vector<Endpoint>& endpoints, topology::NtbFamily family) {
  unsigned port = 0;
  for (const Endpoint& endpoint : endpoints) {
    add_root_port(arguments, port);
    std::string bus = fmt::format("rp{}", port);
    if (has_switch(endpoint, family)) {
      arguments.device(fmt::format("x3130-upstream,id=up{0},bus=rp{0}", port));
      arguments.device(fmt::format("xio3130-downstream,id=dn{0},bus=up{0},chassis={1},slot={2}", port,
                                   kFirstSwitchChassis + port, port + 1));
      bus = fmt::format("dn{}", port);
    }
    add_endpoint(arguments, endpoint, bus);
    ++port;
  }
}

/// Switches behind root ports, each endpoint behind a downstream port.
void add_to_switches(Arguments& arguments, const std::vector<Endpoint>& endpoints) {
  unsigned port = 0;
  for (const Endpoint& endpoint : endpoints) {
    const unsigned number = port / topology::kMostRootPorts;
    if (port % topology::kMostRootPorts == 0) {
      add_root_port(arguments, number);
      arguments.device(fmt::format("x3130-upstream,id=up{0},bus=rp{0}", number));
    }
    arguments.device(fmt::format("xio3130-downstream,id=dn{0},bus=up{1},addr={2:#x},chassis={3},slot={4}", port, number,
                                 port % topology::kMostRootPorts, kFirstSwitchChassis + number, port + 1));
    add_endpoint(arguments, endpoint, fmt::format("dn{}", port));
    ++port;
  }
}

/// QEMU's devices reach memory beyond an NTB by bounce buffers, since that memory is not QEMU's. By default each has
/// 4 KiB at a time. A request that waits for a buffer when its device is reset never ends. QEMU waits for it with its
/// lock held: in bdrv_aio_cancel(), QEMU 11.1.3. With kMostBounced bytes no request waits.
void add_bounce_buffers(Arguments& arguments) {
  arguments.add("-global", fmt::format("pci-device.x-max-bounce-buffer-size={}", kMostBounced));
}

/// QEMU's nvme. With virtual functions it is in a subsystem, whose namespace all controllers have; each virtual one can
/// get two I/O queues and two interrupts.
void add_nvme(Arguments& arguments, const topology::Device& device, std::string_view port, std::string_view disk) {
  using Json = nlohmann::ordered_json;
  // Real drives have no doorbells in memory. With a link lost, all ones as a tail would keep it fetching commands.
  Json words = {{"driver", "nvme"},
                {"id", device.name},
                {"bus", port},
                {"serial", device.name.substr(0, kSerialSize)},
                {"dbcs", false}};
  if (device.vfs == 0) {
    words.update({{"drive", disk}, {"cmb_size_mb", device.cmb >> 20U}});
    arguments.device(words.dump());
    return;
  }
  const std::string subsystem = device.name + ".subsystem";
  const unsigned queues = device.vfs * 3;
  const unsigned vectors = device.vfs * 2;
  words.update({{"subsys", subsystem},
                {"sriov_max_vfs", device.vfs},
                {"sriov_vq_flexible", queues},
                {"sriov_vi_flexible", vectors},
                {"max_ioqpairs", queues + kPhysicalQueues},
                {"msix_qsize", vectors + kPhysicalQueues + 1}});
  arguments.device(Json{{"driver", "nvme-subsys"}, {"id", subsystem}, {"nqn", device.name}}.dump());
  arguments.device(words.dump());
  arguments.device(
      Json{{"driver", "nvme-ns"}, {"bus", device.name}, {"drive", disk}, {"nsid", 1}, {"shared", true}}.dump());
}

/// A device of QEMU's own, `number` in its host, behind a root port: as cards have it, so that its bus can be reset.
void add_device(Arguments& arguments, const topology::Device& device, unsigned number, std::string_view mac) {
  using Type = topology::Device::Type;
  using Json = nlohmann::ordered_json;
  const std::string port = fmt::format("dp{}", number);
  const unsigned slot = topology::kMostRootPorts + number + 1;
  arguments.device(fmt::format("pcie-root-port,id={0},bus=pcie.0,addr={1:#x},chassis={2},slot={2}", port,
                               kFirstDeviceSlot + number, slot));
  // Names of QEMU's own for what belongs to the device: those of nodes have 31 characters at most. `set_link` takes the
  // name of a device or of a -netdev, so no -netdev has a name that a device can have.
  const std::string disk = fmt::format("disk{}", number);
  const std::string nic = port + ".lan";
  if (topology::has_disk(device.type)) {
    arguments.add(
        "-blockdev",
        Json{{"driver", "file"}, {"node-name", disk}, {"filename", topology::disk_file(device)}, {"discard", "unmap"}}
            .dump());
  }
  if (topology::is_network(device.type)) {
    arguments.add("-netdev", fmt::format("stream,id={},server=off,addr.type=unix,addr.path={}", nic,
                                         topology::lan_socket(device)));
  }
  const auto with = [&](std::string_view driver, const Json& more) {
    Json words = {{"driver", driver}, {"id", device.name}, {"bus", port}};
    words.update(more);
    arguments.device(words.dump());
  };
  switch (device.type) {
    case Type::e1000e:
    case Type::igb:
      with(topology::type_name(device.type), {{"netdev", nic}, {"mac", mac}, {"romfile", ""}});
      break;
    case Type::nvme:
      add_nvme(arguments, device, port, disk);
      break;
    case Type::ahci:
      with("ich9-ahci", Json::object());
      arguments.device(Json{{"driver", "ide-hd"}, {"bus", device.name + ".0"}, {"drive", disk}}.dump());
      break;
    case Type::xhci:
      with("qemu-xhci", Json::object());
      arguments.device(Json{{"driver", "usb-storage"}, {"bus", device.name + ".0"}, {"drive", disk}}.dump());
      break;
    case Type::edu:
      with("edu", {{"dma_mask", ~std::uint64_t{0} >> (64 - device.dma_bits)}});
      break;
  }
}

/// The bus of each device of a host, by the device's name, as firmware numbers them: depth first, by slot.
std::map<std::string, unsigned, std::less<>> buses_of(const topology::Topology& topology, std::string_view host) {
  std::map<std::string, unsigned, std::less<>> buses;
  const std::vector<Endpoint> endpoints = endpoints_of(topology, host);
  const bool switches = endpoints.size() > topology::kMostRootPorts;
  const auto found = std::ranges::find(topology.hosts, host, &topology::Host::name);
  const topology::NtbFamily family = found == topology.hosts.end() ? topology::NtbFamily::amd : found->family;
  const bool one_switch = found != topology.hosts.end() && found->one_switch;
  unsigned next = 1;
  for (std::size_t i = 0; i < endpoints.size(); ++i) {
    // The root port's bus has the upstream port, whose bus has the downstream ports.
    if (one_switch) {
      if (i == 0) next += 4;  // two switches, one below the other
    } else if (switches ? i % topology::kMostRootPorts == 0 : has_switch(endpoints[i], family)) {
      next += 2;
    }
    buses[endpoints[i].name] = next++;
  }
  for (const topology::Device& device : topology.devices) {
    if (device.host == host) buses[device.name] = next++;
  }
  return buses;
}

/// A switch behind a port without ACS: the kernel puts all below that port into one IOMMU group. Ports of one switch
/// alone it takes for isolated from each other.
void add_to_one_switch(Arguments& arguments, const std::vector<Endpoint>& endpoints) {
  add_root_port(arguments, 0);
  arguments.device("x3130-upstream,id=up0,bus=rp0");
  const std::string above = fmt::format("dn{}", topology::kMostRootPorts);
  arguments.device(fmt::format("xio3130-downstream,id={},bus=up0,chassis={},slot=1", above, kFirstSwitchChassis));
  arguments.device(fmt::format("x3130-upstream,id=up1,bus={}", above));
  unsigned port = 0;
  for (const Endpoint& endpoint : endpoints) {
    arguments.device(fmt::format("xio3130-downstream,id=dn{0},bus=up1,addr={0:#x},chassis={1},slot={2}", port,
                                 kFirstSwitchChassis + 1, port + 1));
    add_endpoint(arguments, endpoint, fmt::format("dn{}", port));
    ++port;
  }
}

}  // namespace

std::string pci_address_of(const topology::Topology& topology, std::string_view host, std::string_view name) {
  const auto buses = buses_of(topology, host);
  const auto found = buses.find(name);
  return found == buses.end() ? "" : fmt::format("0000:{:02x}:00.0", found->second);
}

std::string address_of(const topology::Topology& topology, std::string_view host) {
  return fmt::format("10.77.0.{}", number_of(topology, host));
}

std::string uuid_of(const topology::Topology& topology, std::string_view host) {
  const std::string name = fmt::format("{}/{}", topology.name, host);
  const std::uint64_t high = fnv1a(name);
  const std::uint64_t low = fnv1a(fmt::format("smartio/{}", name));
  return fmt::format("{:08x}-{:04x}-8{:03x}-{:04x}-{:012x}", high >> 32U, high >> 16U & 0xffffU, high & 0xfffU,
                     (low >> 48U & 0x3fffU) | 0x8000U, low & 0xffffffffffffU);
}

std::vector<std::string> qemu_arguments(const topology::Topology& topology, const topology::Host& host,
                                        const Installation& installation, const HostOptions& options) {
  Arguments arguments;
  const std::string memory = format_size(host.memory * options.memory_factor);
  arguments.add("qemu-system-x86_64", "-name", host.name, "-uuid", uuid_of(topology, host.name), "-nodefaults",
                "-no-user-config", "-display", "none");
  // A host that panics, or resets itself, ends: no test takes it for one that is well. Cluster::reset() asks for more.
  arguments.add("-no-reboot");
  arguments.add("-accel", options.accel, "-cpu", kCpu, "-smp", fmt::format("{}", host.cpus));
  if (!options.counter.empty()) {
    arguments.add("-plugin", fmt::format("{},socket={}.{}", options.counter, host.name, kCounterSocket));
  }
  if (host.write_combining != 0 && options.with_fabric) {
    arguments.add("-plugin", fmt::format("{},page={}", installation.fencer().string(), topology::fence_file(host)));
  }
  // Shared, so that the fabric's DMA is a copy in memory.
  // No HPET: Linux uses it briefly in its boot. After that QEMU's wakes 250 times a second all the same.
  arguments.add("-machine", "q35,hpet=off,memory-backend=memory", "-m", memory);
  // Slots with PCIe's own hot-plug, as servers have them. With ACPI's, QEMU's ports report neither a card nor an active
  // link (PCI Express 6.0, 7.5.3.8 and 7.5.3.11). Linux gives up a device whose link does not become active.
  arguments.add("-global", "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off");
  arguments.add("-object", fmt::format("memory-backend-memfd,id=memory,size={},share=on", memory));
  // Before all other devices: those that come first are not behind it.
  if (host.iommu != topology::Iommu::none) arguments.device(iommu_device(host));

  const bool server = host.image == topology::Image::server;
  arguments.add("-kernel", installation.kernel().string());
  arguments.add("-initrd", server ? installation.server_initrd().string() : options.initrd);
  arguments.add("-append", kernel_arguments(topology, host, options));
  if (server) {
    arguments.add("-blockdev", fmt::format("driver=qcow2,node-name=root,discard=unmap,file.driver=file,"
                                           "file.filename={}.{}",
                                           host.name, kServerDisk));
  } else {
    arguments.add("-blockdev", fmt::format("driver=file,node-name=root,filename={},read-only=on,locking=off",
                                           installation.root_image().string()));
  }
  arguments.device(fmt::format("virtio-blk-pci,bus=pcie.0,addr={:#x},drive=root,serial=root", kDiskSlot));
  if (host.vms) {
    arguments.add("-blockdev", fmt::format("driver=file,node-name=vms,filename={},read-only=on,locking=off",
                                           installation.vm_image().string()));
    arguments.device(fmt::format("virtio-blk-pci,bus=pcie.0,addr={:#x},drive=vms,serial=vms", kVmDiskSlot));
  }

  const std::string network =
      options.with_fabric ? fmt::format("stream,id=lan,server=off,addr.type=unix,addr.path={}.lan.sock", host.name)
                          : "hubport,id=lan,hubid=0";
  arguments.add("-netdev", network);
  arguments.device(fmt::format("virtio-net-pci,bus=pcie.0,addr={:#x},netdev=lan,mac=52:54:00:77:00:{:02x},romfile=",
                               kNetworkSlot, number_of(topology, host.name)));

  arguments.device(fmt::format("virtio-serial-pci,bus=pcie.0,addr={:#x}", kSerialSlot));
  // Pipes: see GuestAgent.
  arguments.add("-chardev", fmt::format("pipe,id=qga,path={}.{}", host.name, GuestAgent::kAgentPipes));
  arguments.device("virtserialport,chardev=qga,name=org.qemu.guest_agent.0");
  // Files go through a port of their own: the agent takes seconds for a MiB.
  arguments.add("-chardev", listening("data", host.name, ""));
  arguments.device("virtserialport,chardev=data,name=org.smartio.data");
  arguments.add("-chardev",
                listening("console", host.name, fmt::format(",logfile={}.console.log,logappend=on", host.name)));
  arguments.add("-serial", "chardev:console");
  arguments.add("-chardev", listening("qmp", host.name, ""), "-object", "monitor-qmp,id=monitor,chardev=qmp");

  if (options.with_fabric) {
    const std::vector<Endpoint> endpoints = endpoints_of(topology, host.name);
    if (host.one_switch) {
      add_to_one_switch(arguments, endpoints);
    } else if (endpoints.size() <= topology::kMostRootPorts) {
      add_to_root_ports(arguments, endpoints, host.family);
    } else {
      add_to_switches(arguments, endpoints);
    }
    unsigned number = 0;
    for (const topology::Device& device : topology.devices) {
      if (device.host != host.name) continue;
      if (number == 0) add_bounce_buffers(arguments);
      add_device(arguments, device, number,
                 fmt::format("52:54:00:77:{:02x}:{:02x}", number + 1, number_of(topology, host.name)));
      ++number;
    }
  }
  return arguments.take();
}

std::string shell_quoted(const std::vector<std::string>& words) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) {
      line += word;
      continue;
    }
    line += '\'';
    for (char c : word) {
      if (c == '\'') {
        line += "'\\''";
      } else {
        line += c;
      }
    }
    line += '\'';
  }
  return line;
}

}  // namespace smartio::cluster
