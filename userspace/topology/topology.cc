// SPDX-License-Identifier: GPL-2.0
#include "topology/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <fstream>
#include <map>
#include <system_error>
#include <utility>

#include "base/numbers.h"
#include "topology/table_reader.h"

namespace smartio::topology {

namespace {

constexpr std::uint64_t kKi = 1ULL << 10;
constexpr std::uint64_t kMi = 1ULL << 20;
constexpr std::uint64_t kGi = 1ULL << 30;
constexpr std::uint64_t kTi = 1ULL << 40;
constexpr std::size_t kLargestFile = kMi;
constexpr std::size_t kMostHosts = 64;  // the hosts' LAN is a /24, and a cluster runs on one machine
constexpr std::size_t kMostNamespaces = 64;
constexpr Iommu kIommus[] = {Iommu::none, Iommu::intel, Iommu::amd};
constexpr std::uint64_t kMostSeed = 0x7ffffffe;  // std::minstd_rand has no more states
constexpr std::size_t kMostEndpoints = 128;      // 8 switches, and 145 of the 256 bus numbers

/// The differences between the families of NTBs.
struct FamilyTraits {
  NtbFamily family;
  std::string_view name;
  TableReader::Range vectors;  ///< the stock driver takes the least, which are the default
  // A CPU has some 200 vectors for all devices. A host of one CPU ran out of them at the seventh NTB of AMD's.
  std::size_t ntbs_of_cpu;
};
constexpr std::array kFamilies{
    FamilyTraits{NtbFamily::amd, "amd", {24, 128}, 6},
    FamilyTraits{NtbFamily::intel_icx, "intel-icx", {33, 33}, 4},
    FamilyTraits{NtbFamily::intel_spr, "intel-spr", {33, 33}, 4},
};

const FamilyTraits& traits(NtbFamily family) { return *std::ranges::find(kFamilies, family, &FamilyTraits::family); }

constexpr std::array kDeviceTypes{
    std::pair{Device::Type::e1000e, std::string_view("e1000e")},
    std::pair{Device::Type::igb, std::string_view("igb")},
    std::pair{Device::Type::nvme, std::string_view("nvme")},
    std::pair{Device::Type::ahci, std::string_view("ahci")},
    std::pair{Device::Type::xhci, std::string_view("xhci")},
    std::pair{Device::Type::edu, std::string_view("edu")},
};

/// Whether QEMU's words or the state folder have `name` for something else: sockets HOST.NAME.sock, ports and switches.
bool is_taken(std::string_view name) {
  for (const std::string_view word : {"lan", "qmp", "qga", "data", "console"}) {
    if (name == word) return true;
  }
  for (const std::string_view word : {"ntb", "rp", "up", "dn", "dp"}) {
    if (name.starts_with(word) && name.size() > word.size() &&
        name.find_first_not_of("0123456789", word.size()) == std::string_view::npos) {
      return true;
    }
  }
  return false;
}

/// Builds the Topology from the parsed file; every method reads one kind of table.
class Reader {
 public:
  Reader(const toml::table& root, std::string_view file) : root_(root), complaints_(file) {}

  Result<Topology> read() {
    TableReader top(root_, "the file", complaints_);
    read_cluster(top);
    for (const toml::table* table : top.tables("host", "hosts are [[host]] tables")) read_host(*table);
    if (topology_.hosts.empty()) top.complain("host", "there is no host", "add a [[host]] table with a name");
    for (const toml::table* table : top.tables("cable", "cables are [[cable]] tables")) read_cable(*table);
    for (const toml::table* table : top.tables("drive", "drives are [[drive]] tables")) read_drive(*table);
    for (const toml::table* table : top.tables("device", "devices are [[device]] tables")) read_device(*table);
    top.finish();
    if (complaints_.any()) return std::unexpected(*complaints_.first());
    return std::move(topology_);
  }

 private:
  using Names = std::map<std::string, toml::source_index, std::less<>>;

  void read_cluster(TableReader& top) {
    constexpr std::string_view kRight = "start the file with [cluster] and name = \"NAME\"";
    const toml::node* node = root_.get("cluster");
    top.known("cluster");
    if (node == nullptr || !node->is_table()) {
      top.complain("cluster", node == nullptr ? "[cluster] is missing" : "cluster is not a table", kRight);
      return;
    }
    TableReader cluster(*node->as_table(), "[cluster]", complaints_);
    topology_.name = cluster.name("name");
    cluster.finish();
  }

  static void read_image(TableReader& reader, Host& host) {
    constexpr std::string_view kRightImage =
        "image is \"host\" or \"server\", and \"server\" takes memory of 512M or more";
    reader.known("image");
    if (!reader.has("image")) return;
    const std::string image = reader.text("image", kRightImage);
    if (image == "server") {
      host.image = Image::server;
      if (host.memory < 512 * kMi) {
        reader.complain("image", fmt::format("memory = {} is too little", format_size(host.memory)), kRightImage);
      }
    } else if (image != "host") {
      reader.complain("image", fmt::format("image = {:?} is not known", image), kRightImage);
    }
  }

  /// A guest of 256 MiB, which pins all of it, beside QEMU and the host's own files in memory.
  static void read_vms(TableReader& reader, Host& host) {
    constexpr std::uint64_t kLeast = 1536 * kMi;
    host.vms = reader.boolean("vms", host.vms);
    if (!host.vms) return;
    if (host.image == Image::server) {
      reader.complain("vms", "a server host has nothing to run virtual machines with", "image = \"host\"");
    }
    if (host.memory < kLeast) {
      reader.complain("vms", fmt::format("memory = {} is too little to run virtual machines", format_size(host.memory)),
                      fmt::format("memory = \"{}\" or more", format_size(kLeast)));
    }
  }

  void read_host(const toml::table& table) {
    TableReader reader(table, "[[host]]", complaints_);
    Host host;
    host.name = reader.name("name");
    constexpr std::string_view kRightMemory = "memory is 64M to 1T in whole MiB, e.g. \"512M\"";
    host.memory = reader.size("memory", host.memory, kRightMemory);
    if (host.memory < 64 * kMi || host.memory > kTi || host.memory % kMi != 0) {
      reader.complain("memory", fmt::format("memory = {} is not possible", format_size(host.memory)), kRightMemory);
    }
    host.cpus = static_cast<unsigned>(reader.number("cpus", host.cpus, {1, 64}));
    if (reader.has("iommu")) {
      constexpr std::string_view kRightIommu = R"(iommu is "none", "intel" or "amd")";
      const std::string iommu = reader.text("iommu", kRightIommu);
      const auto known = std::ranges::find(kIommus, iommu, word_of);
      if (known != std::end(kIommus)) {
        host.iommu = *known;
      } else {
        reader.complain("iommu", fmt::format("iommu = {:?} is not known", iommu), kRightIommu);
      }
    }
    reader.known("iommu");
    if (reader.has("family")) {
      constexpr std::string_view kRightFamily = "family is \"amd\", \"intel-icx\" or \"intel-spr\"";
      const std::string family = reader.text("family", kRightFamily);
      if (const auto found = std::ranges::find(kFamilies, family, &FamilyTraits::name); found != kFamilies.end()) {
        host.family = found->family;
      } else {
        reader.complain("family", fmt::format("family = {:?} is not known", family), kRightFamily);
      }
    }
    reader.known("family");
    host.lazy = reader.boolean("lazy", host.lazy);
    host.remapping = reader.boolean("remapping", host.remapping);
    host.one_switch = reader.boolean("one_switch", host.one_switch);
    if (host.iommu == Iommu::none && (host.lazy || !host.remapping)) {
      reader.complain(host.lazy ? "lazy" : "remapping", "the host has no IOMMU",
                      "lazy and remapping say how its IOMMU works");
    }
    if (host.iommu == Iommu::amd && host.remapping) {
      reader.complain("iommu", "QEMU's model of AMD's IOMMU remaps no message that comes through an NTB",
                      "remapping = false");
    }
    host.write_combining = static_cast<std::uint32_t>(reader.number("write_combining", 0, {0, kMostSeed}));
    read_image(reader, host);
    read_vms(reader, host);
    const auto count = reader.number("count", 1, {1, kMostHosts});
    reader.finish();
    if (!reader.has("count")) {
      unique(reader, host.name, host_names_);
      add_host(reader, std::move(host));
      return;
    }
    const std::string name = host.name;
    series_[name] = count;
    for (const std::string& numbered : numbered_names(name, count)) {
      host.name = numbered;
      if (!is_name(numbered)) reader.complain("name", fmt::format("{:?} is too long a name", numbered), "shorten it");
      unique(reader, numbered, host_names_);
      add_host(reader, host);
    }
  }

  void add_host(TableReader& reader, Host host) {
    if (topology_.hosts.size() == kMostHosts) {
      reader.complain("name", "too many hosts", fmt::format("at most {}", kMostHosts));
      return;
    }
    topology_.hosts.push_back(std::move(host));
  }

  /// NAME1, NAME2 …
  static std::vector<std::string> numbered_names(std::string_view name, std::uint64_t count) {
    std::vector<std::string> names;
    for (std::uint64_t i = 1; i <= count; ++i) names.push_back(fmt::format("{}{}", name, i));
    return names;
  }

  void read_cable(const toml::table& table) {
    TableReader reader(table, "[[cable]]", complaints_);
    Link link;
    std::string name;
    if (reader.has("name")) name = reader.name("name");
    reader.known("name");

    constexpr std::string_view kRightBetween =
        "between names two different hosts, the one with the primary side first, e.g. [\"lender\", \"borrower\"]";
    const std::vector<std::string> between = reader.texts("between", kRightBetween);
    if (between.size() != 2 || between[0] == between[1]) {
      reader.complain("between", "between does not name two different hosts", kRightBetween);
      return;
    }
    const std::vector<std::string> primaries = hosts_of(reader, between[0]);
    const std::vector<std::string> secondaries = hosts_of(reader, between[1]);
    if (between[0].ends_with('*') && between[1].ends_with('*')) {
      reader.complain("between", "both are many hosts", "one of the two is a single host");
    }

    read_windows(reader, link, between);
    const auto count = reader.number("count", 1, {1, 8});
    read_family(reader, link, primaries, secondaries);
    link.surprise_removal = reader.boolean("surprise_removal", link.surprise_removal);
    if (link.surprise_removal && link.family != NtbFamily::amd) {
      reader.complain("surprise_removal", "an NTB of Intel's is a part of the processor", "surprise_removal = false");
    }
    reader.finish();
    if (complaints_.any()) return;

    const std::size_t cables = std::max(primaries.size(), secondaries.size());
    for (std::size_t i = 0; i < cables; ++i) {
      link.primary = primaries[primaries.size() == 1 ? 0 : i];
      link.secondary = secondaries[secondaries.size() == 1 ? 0 : i];
      const bool many = between[0].ends_with('*') || between[1].ends_with('*');
      const std::string own = name.empty() ? fmt::format("cable{}", cables_)
                              : many       ? fmt::format("{}{}", name, i + 1)
                                           : name;
      ++cables_;
      if (link.primary == link.secondary) {
        reader.complain("between", "between does not name two different hosts", kRightBetween);
      }
      unique(reader, own, cable_names_);
      add_links(reader, link, own, count);
    }
  }

  /// Both hosts' family, and what depends on it. All hosts of a [[host]] are of one.
  void read_family(TableReader& reader, Link& link, const std::vector<std::string>& primaries,
                   const std::vector<std::string>& secondaries) {
    const Host* primary = primaries.empty() ? nullptr : find_host(topology_, primaries.front());
    const Host* secondary = secondaries.empty() ? nullptr : find_host(topology_, secondaries.front());
    reader.known("vectors");
    if (primary == nullptr || secondary == nullptr) return;
    if (primary->family != secondary->family) {
      reader.complain("between",
                      fmt::format("between joins NTBs of two families: {:?} has {:?}, {:?} has {:?}", primary->name,
                                  traits(primary->family).name, secondary->name, traits(secondary->family).name),
                      "a cable joins NTBs of one family: give both hosts the same");
      return;
    }
    link.family = primary->family;
    const FamilyTraits& family = traits(link.family);
    link.vectors = static_cast<unsigned>(reader.number("vectors", family.vectors.low, family.vectors));
  }

  /// Of both sides, or a table of those of each, by the words of `between`.
  void read_windows(TableReader& reader, Link& link, const std::vector<std::string>& between) {
    const toml::table* sides = reader.table("windows");
    if (sides == nullptr) {
      link.windows = windows_of(reader, "windows", true);
      link.secondary_windows = link.windows;
      return;
    }
    TableReader each(*sides, "windows", complaints_);
    link.windows = windows_of(each, between[0], false);
    link.secondary_windows = windows_of(each, between[1], false);
    each.finish();
  }

  static std::array<std::uint64_t, 2> windows_of(TableReader& reader, std::string_view key, bool optional) {
    constexpr std::string_view kRight = "windows are two powers of two, 64K to 256G each, e.g. [\"4G\", \"64M\"]";
    constexpr std::array<std::uint64_t, 2> kDefault = {4 * kGi, 64 * kMi};
    if (!optional && !reader.has(key)) {
      reader.complain(key, fmt::format("the windows of {:?} are missing", key),
                      "a table of windows has those of both words of between");
      return kDefault;
    }
    const std::vector<std::uint64_t> sizes = reader.sizes(key, {kDefault.begin(), kDefault.end()}, kRight);
    for (const std::uint64_t size : sizes) {
      if (!std::has_single_bit(size) || size < 64 * kKi || size > 256 * kGi) {
        reader.complain(key, fmt::format("a window of {} is not possible", format_size(size)), kRight);
      }
    }
    return {sizes[0], sizes[1]};
  }

  void add_links(TableReader& reader, Link link, const std::string& cable, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      link.name = count == 1 ? cable : fmt::format("{}.{}", cable, i);
      add_ntb(reader, link.primary);
      add_ntb(reader, link.secondary);
      topology_.links.push_back(link);
    }
  }

  /// The hosts that a word of `between` means: one, or "NAME*" for all of a [[host]] with count.
  std::vector<std::string> hosts_of(TableReader& reader, const std::string& word) {
    if (!word.ends_with('*')) {
      known_host(reader, "between", word);
      return {word};
    }
    const std::string name = word.substr(0, word.size() - 1);
    const auto found = series_.find(name);
    if (found == series_.end()) {
      reader.complain("between", fmt::format("there is no [[host]] {:?} with count", name),
                      "\"NAME*\" means the hosts of a [[host]] above that has a count");
      return {};
    }
    return numbered_names(name, found->second);
  }

  /// The name of a drive, or of a device of QEMU's own.
  std::string read_name(TableReader& reader, std::string_view what, std::string_view example) {
    std::string name = reader.name("name");
    unique(reader, name, drive_names_);
    if (is_taken(name)) {
      reader.complain("name", fmt::format("{:?} is a name of the cluster's own", name),
                      fmt::format("name the {} otherwise, e.g. {:?}", what, example));
    }
    return name;
  }

  void read_drive(const toml::table& table) {
    TableReader reader(table, "[[drive]]", complaints_);
    Drive drive;
    drive.name = read_name(reader, "drive", "drive0");
    drive.host = reader.text("host", "host names the host that the drive is in");
    known_host(reader, "host", drive.host);
    add_endpoint(reader, "host", drive.host);
    // With an IOMMU a drive's writes to a window come from QEMU, as a CPU's do.
    if (const Host* host = find_host(topology_, drive.host); host != nullptr && host->iommu != Iommu::none) {
      not_combining(reader, *host, "a drive behind an IOMMU");
    }
    read_media(reader, drive);
    drive.queue_pairs = static_cast<unsigned>(reader.number("queue_pairs", drive.queue_pairs, {1, 1023}));
    constexpr std::string_view kRightCmb = "cmb is 0 or a power of two, 4K to 1G";
    drive.cmb = reader.size("cmb", 0, kRightCmb);
    if (drive.cmb != 0 && (!std::has_single_bit(drive.cmb) || drive.cmb < 4 * kKi || drive.cmb > kGi)) {
      reader.complain("cmb", fmt::format("cmb = {} is not possible", format_size(drive.cmb)), kRightCmb);
    }
    drive.cache = reader.size("cache", drive.cache, "cache is a size, 0 for none, e.g. \"64M\"");
    drive.sgl = reader.boolean("sgl", drive.sgl);
    drive.shared = reader.boolean("shared", drive.shared);
    drive.mdts = static_cast<unsigned>(reader.number("mdts", drive.mdts, {0, 12}));
    reader.finish();
    topology_.drives.push_back(std::move(drive));
  }

  /// size, backing and the namespaces, which share the media.
  void read_media(TableReader& reader, Drive& drive) {
    drive.size = media_size(reader);
    if (reader.has("backing")) {
      constexpr std::string_view kRightBacking = "backing is a file's path, relative to the state folder";
      drive.backing = reader.text("backing", kRightBacking);
      if (drive.backing.empty() || drive.backing.native().find('\0') != std::string::npos) {
        reader.complain("backing", "backing is not a path", kRightBacking);
      }
    }
    reader.known("backing");
    std::uint64_t used = 0;
    for (const toml::table* table : reader.tables("namespace", "namespaces are [[drive.namespace]] tables")) {
      read_namespace(*table, drive, used);
    }
    if (drive.namespaces.empty()) drive.namespaces.push_back({.size = drive.size, .block_size = 512});
  }

  void read_namespace(const toml::table& table, Drive& drive, std::uint64_t& used) {
    TableReader reader(table, "[[drive.namespace]]", complaints_);
    constexpr std::string_view kRightSize = "size is a multiple of 4096, e.g. \"512M\"";
    Namespace found;
    found.size = reader.size("size", std::nullopt, kRightSize);
    if (found.size == 0 || found.size % 4096 != 0) {
      reader.complain("size", fmt::format("size = {} is not possible", format_size(found.size)), kRightSize);
    }
    found.block_size = static_cast<std::uint32_t>(reader.number("block_size", found.block_size, {512, 4096}));
    if (found.block_size != 512 && found.block_size != 4096) {
      reader.complain("block_size", fmt::format("block_size = {} is not possible", found.block_size),
                      "blocks have 512 or 4096 bytes");
    }
    reader.finish();
    if (found.size > drive.size - used) {
      reader.complain(
          "size", fmt::format("the namespaces of {} are larger than the drive", drive.name),
          fmt::format("{} of its {} are left here", format_size(drive.size - used), format_size(drive.size)));
      return;
    }
    if (drive.namespaces.size() == kMostNamespaces) {
      reader.complain("size", "too many namespaces", fmt::format("at most {} a drive", kMostNamespaces));
      return;
    }
    used += found.size;
    drive.namespaces.push_back(found);
  }

  void read_device(const toml::table& table) {
    TableReader reader(table, "[[device]]", complaints_);
    Device device;
    device.name = read_name(reader, "device", "nic0");
    constexpr std::string_view kRightType = "type is \"e1000e\", \"igb\", \"nvme\", \"ahci\", \"xhci\" or \"edu\"";
    const std::string type = reader.text("type", kRightType);
    const auto found = std::ranges::find(kDeviceTypes, type, &std::pair<Device::Type, std::string_view>::second);
    if (found == kDeviceTypes.end()) {
      reader.complain("type", fmt::format("type = {:?} is not known", type), kRightType);
      return;
    }
    device.type = found->first;
    device.host = reader.text("host", "host names the host that the device is in");
    known_host(reader, "host", device.host);
    if (const Host* host = find_host(topology_, device.host)) not_combining(reader, *host, "a device of QEMU's own");
    if (++devices_[device.host] > kMostDevices) {
      reader.complain("host", fmt::format("too many devices of QEMU's own in host {:?}", device.host),
                      fmt::format("at most {} a host", kMostDevices));
    }
    // finish() refuses a key of another type, as it does each key that was not read.
    if (has_disk(device.type)) device.size = media_size(reader);
    if (device.type == Device::Type::nvme) {
      constexpr std::string_view kRightCmb = "cmb is 0 or a power of two, 1M to 1G";
      device.cmb = reader.size("cmb", 0, kRightCmb);
      if (device.cmb != 0 && (!std::has_single_bit(device.cmb) || device.cmb < kMi || device.cmb > kGi)) {
        reader.complain("cmb", fmt::format("cmb = {} is not possible", format_size(device.cmb)), kRightCmb);
      }
      device.vfs = static_cast<unsigned>(reader.number("vfs", 0, {0, kMostVirtual}));
      if (device.vfs != 0 && device.cmb != 0) {
        reader.complain("vfs", "vfs is not possible with a cmb", "QEMU's nvme has the one or the other");
      }
    }
    if (device.type == Device::Type::edu) {
      device.dma_bits = static_cast<unsigned>(reader.number("dma_bits", device.dma_bits, {28, 64}));
    }
    reader.finish();
    topology_.devices.push_back(std::move(device));
  }

  /// A required size of whole MiB.
  static std::uint64_t media_size(TableReader& reader) {
    constexpr std::string_view kRightSize = "size is 1M to 16T in whole MiB, e.g. \"1G\"";
    const std::uint64_t size = reader.size("size", std::nullopt, kRightSize);
    if (size < kMi || size > 16 * kTi || size % kMi != 0) {
      reader.complain("size", fmt::format("size = {} is not possible", format_size(size)), kRightSize);
    }
    return size;
  }

  void unique(TableReader& reader, const std::string& name, Names& names) {
    const auto line = reader.where("name").begin.line;
    if (auto [at, added] = names.emplace(name, line); !added) {
      reader.complain("name", fmt::format("there are two of the name {:?}", name),
                      fmt::format("names differ; the first one is in line {}", at->second));
    }
  }

  void known_host(TableReader& reader, std::string_view key, const std::string& name) {
    if (host_names_.contains(name)) return;
    std::string all;
    for (const Host& host : topology_.hosts) all += (all.empty() ? "" : ", ") + host.name;
    reader.complain(key, fmt::format("there is no host {:?}", name), fmt::format("the hosts are {}", all));
  }

  /// A device's writes keep their order; the fabric can't distinguish those of `what` from a CPU's.
  static void not_combining(TableReader& reader, const Host& host, std::string_view what) {
    if (host.write_combining == 0) return;
    reader.complain("host", fmt::format("host {:?} has write_combining, and can't have {}", host.name, what),
                    "write_combining = 0");
  }

  void add_endpoint(TableReader& reader, std::string_view key, const std::string& name) {
    const std::size_t count = ++endpoints_[name];
    if (count > kMostEndpoints) {
      reader.complain(key, fmt::format("too many devices in host {:?}", name),
                      fmt::format("at most {} NTBs and drives a host", kMostEndpoints));
    }
    const Host* host = find_host(topology_, name);
    if (host == nullptr || count <= kMostRootPorts) return;
    if (host->one_switch) {
      reader.complain(key, fmt::format("too many devices in host {:?}, which has one_switch", name),
                      fmt::format("a switch has {} ports", kMostRootPorts));
    }
    if (host->iommu == Iommu::none) return;
    reader.complain(key, fmt::format("too many devices in host {:?}, which has an IOMMU", name),
                    fmt::format("at most {} NTBs and drives there: more are behind switches without ACS, "
                                "between whose devices it sees no request",
                                kMostRootPorts));
  }

  void add_ntb(TableReader& reader, const std::string& name) {
    add_endpoint(reader, "between", name);
    const std::size_t ntbs = ++ntbs_[name];
    const Host* host = find_host(topology_, name);
    if (host == nullptr) return;
    const FamilyTraits& family = traits(host->family);
    if (ntbs <= family.ntbs_of_cpu * host->cpus) return;
    reader.complain(
        "between", fmt::format("host {:?} has too few interrupt vectors for {} NTBs", name, ntbs),
        fmt::format("the driver takes {} each: {} NTBs need a CPU, so cpus = {} or more there", family.vectors.low,
                    family.ntbs_of_cpu, (ntbs + family.ntbs_of_cpu - 1) / family.ntbs_of_cpu));
  }

  const toml::table& root_;
  Complaints complaints_;
  Topology topology_;
  Names host_names_;
  Names cable_names_;
  Names drive_names_;                                          // and those of devices
  std::map<std::string, std::uint64_t, std::less<>> series_;   // hosts of a [[host]] with count, by its name
  std::map<std::string, std::size_t, std::less<>> endpoints_;  // by host
  std::map<std::string, std::size_t, std::less<>> ntbs_;       // of them
  std::map<std::string, std::size_t, std::less<>> devices_;    // QEMU's own, by host
  std::size_t cables_ = 0;
};

}  // namespace

std::string_view word_of(Iommu iommu) {
  switch (iommu) {
    case Iommu::intel:
      return "intel";
    case Iommu::amd:
      return "amd";
    case Iommu::none:
      break;
  }
  return "none";
}

Result<Topology> parse(std::string_view text, std::string_view file) {
  if (text.size() > kLargestFile) {
    return fail(fmt::format("{}:1: the file has {} bytes; a topology has at most {}", file, text.size(), kLargestFile));
  }
  try {
    const toml::table root = toml::parse(text, file);
    return Reader(root, file).read();
  } catch (const toml::parse_error& error) {
    return fail(fmt::format("{}:{}: this is not TOML: {}; see https://toml.io and selftests/topologies", file,
                            error.source().begin.line, error.description()));
  }
}

Result<Topology> load(const std::filesystem::path& file) {
  std::error_code status;
  if (!std::filesystem::is_regular_file(file, status)) {
    return fail(fmt::format("{}: there is no such topology file; selftests/topologies has some", file.string()));
  }
  std::ifstream stream(file, std::ios::binary);
  // Not filled before: each command of a cluster reads this, and a mebibyte of zeros takes a third of its time.
  std::string text;
  text.resize_and_overwrite(kLargestFile + 1, [&](char* data, std::size_t size) {
    stream.read(data, static_cast<std::streamsize>(size));
    return static_cast<std::size_t>(stream.gcount());
  });
  if (stream.bad() || !stream.is_open()) return fail(fmt::format("{}: it can't be read", file.string()));
  return parse(text, file.string());
}

std::string_view type_name(Device::Type type) {
  return std::ranges::find(kDeviceTypes, type, &std::pair<Device::Type, std::string_view>::first)->second;
}

bool is_network(Device::Type type) { return type == Device::Type::e1000e || type == Device::Type::igb; }

bool has_disk(Device::Type type) {
  return type == Device::Type::nvme || type == Device::Type::ahci || type == Device::Type::xhci;
}

std::string disk_file(const Device& device) { return fmt::format("{}.{}.img", device.host, device.name); }

std::string fence_file(const Host& host) { return host.name + ".fences"; }

std::string lan_socket(const Device& device) { return fmt::format("{}.{}.lan.sock", device.host, device.name); }

const Host* find_host(const Topology& topology, std::string_view name) {
  const auto found = std::ranges::find(topology.hosts, name, &Host::name);
  return found == topology.hosts.end() ? nullptr : &*found;
}

std::vector<Endpoint> endpoints(const Topology& topology) {
  std::vector<Endpoint> found;
  for (const Host& host : topology.hosts) {
    unsigned ntbs = 0;
    auto add = [&](Endpoint::Kind kind, std::string name, std::size_t index) {
      std::string socket = fmt::format("{}.{}.sock", host.name, name);
      found.push_back(
          {.kind = kind, .host = host.name, .name = std::move(name), .socket = std::move(socket), .index = index});
    };
    for (std::size_t i = 0; i < topology.links.size(); ++i) {
      const Link& link = topology.links[i];
      if (link.primary == host.name) add(Endpoint::Kind::ntb_primary, fmt::format("ntb{}", ntbs++), i);
      if (link.secondary == host.name) add(Endpoint::Kind::ntb_secondary, fmt::format("ntb{}", ntbs++), i);
    }
    for (std::size_t i = 0; i < topology.drives.size(); ++i) {
      if (topology.drives[i].host == host.name) add(Endpoint::Kind::drive, topology.drives[i].name, i);
    }
  }
  return found;
}

}  // namespace smartio::topology
