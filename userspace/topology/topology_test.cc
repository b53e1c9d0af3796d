// SPDX-License-Identifier: GPL-2.0
#include "topology/topology.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace smartio::topology {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kTwoHosts = R"([cluster]
name = "c"
[[host]]
name = "a"
[[host]]
name = "b"
)";

std::string with(std::string_view more) { return fmt::format("{}{}", kTwoHosts, more); }

/// A text that is right. Any complaint fails the test.
Result<Topology> parsed(std::string_view text) {
  auto topology = parse(text, "f");
  if (!topology) throw std::runtime_error(topology.error().message);
  return topology;
}

/// Two hosts of Intel's and a cable, to which `more` is added: its line is the 11th.
std::string intel_pair(std::string_view more) {
  return fmt::format(
      "[cluster]\nname = \"c\"\n[[host]]\nname = \"a\"\nfamily = \"intel-spr\"\n[[host]]\nname = \"b\"\n"
      "family = \"intel-spr\"\n[[cable]]\nbetween = [\"a\", \"b\"]\n{}\n",
      more);
}

TEST(Topology, DefaultsAreThoseOfTheHeader) {
  const auto t =
      parsed(with("[[cable]]\nbetween = [\"a\", \"b\"]\n[[drive]]\nname = \"d\"\nhost = \"b\"\nsize = \"1G\"\n"));
  EXPECT_EQ(t->name, "c");
  ASSERT_EQ(t->hosts.size(), 2U);
  EXPECT_EQ(t->hosts[0].memory, 512ULL << 20);
  EXPECT_EQ(t->hosts[0].cpus, 1U);
  EXPECT_EQ(t->hosts[0].iommu, Iommu::none);
  ASSERT_EQ(t->links.size(), 1U);
  EXPECT_EQ(t->links[0].name, "cable0");
  EXPECT_EQ(t->links[0].primary, "a");
  EXPECT_EQ(t->links[0].secondary, "b");
  EXPECT_THAT(t->links[0].windows, ElementsAre(4ULL << 30, 64ULL << 20));
  EXPECT_EQ(t->links[0].vectors, 24U);
  ASSERT_EQ(t->drives.size(), 1U);
  EXPECT_EQ(t->drives[0].size, 1ULL << 30);
  EXPECT_TRUE(t->drives[0].backing.empty());
  EXPECT_EQ(t->drives[0].queue_pairs, 32U);
  EXPECT_EQ(t->drives[0].cmb, 0U);
  EXPECT_EQ(t->drives[0].cache, 64ULL << 20);
  EXPECT_TRUE(t->drives[0].sgl);
  EXPECT_FALSE(t->drives[0].shared);
  EXPECT_EQ(t->drives[0].mdts, 0U);
  ASSERT_EQ(t->drives[0].namespaces.size(), 1U);
  EXPECT_EQ(t->drives[0].namespaces[0].size, 1ULL << 30);
  EXPECT_EQ(t->drives[0].namespaces[0].block_size, 512U);
}

TEST(Topology, EveryKeyIsRead) {
  const auto t = parsed(R"(
[cluster]
name = "all"
[[host]]
name = "a"
memory = "1G"
cpus = 3
iommu = "intel"
lazy = true
remapping = false
one_switch = true
image = "server"
[[host]]
name = "b-2"
memory = 134217728
iommu = "none"
[[host]]
name = "c"
memory = "1536M"
vms = true
write_combining = 5
[[cable]]
name = "left"
surprise_removal = true
between = ["b-2", "a"]
windows = ["8G", 65536]
count = 2
vectors = 25
[[drive]]
name = "d"
host = "a"
size = "1T"
backing = "d.img"
queue_pairs = 128
cmb = "1M"
cache = 0
sgl = false
shared = true
mdts = 5
[[drive.namespace]]
size = "1G"
block_size = 4096
[[drive.namespace]]
size = 8192
)");
  EXPECT_EQ(t->hosts[0].memory, 1ULL << 30);
  EXPECT_EQ(t->hosts[0].cpus, 3U);
  EXPECT_EQ(t->hosts[0].iommu, Iommu::intel);
  EXPECT_TRUE(t->hosts[0].lazy);
  EXPECT_FALSE(t->hosts[0].remapping);
  EXPECT_TRUE(t->hosts[0].one_switch);
  EXPECT_FALSE(t->hosts[1].lazy);
  EXPECT_TRUE(t->hosts[1].remapping);
  EXPECT_FALSE(t->hosts[1].one_switch);
  EXPECT_EQ(t->hosts[0].image, Image::server);
  EXPECT_EQ(t->hosts[1].image, Image::host);
  EXPECT_FALSE(t->hosts[1].vms);
  EXPECT_TRUE(t->hosts[2].vms);
  EXPECT_EQ(t->hosts[1].write_combining, 0U);
  EXPECT_EQ(t->hosts[2].write_combining, 5U);
  EXPECT_EQ(t->hosts[1].memory, 128ULL << 20);
  EXPECT_EQ(t->hosts[1].iommu, Iommu::none);
  ASSERT_EQ(t->links.size(), 2U);
  EXPECT_TRUE(t->links[1].surprise_removal);
  EXPECT_EQ(t->links[0].name, "left.0");
  EXPECT_EQ(t->links[1].name, "left.1");
  EXPECT_EQ(t->links[1].primary, "b-2");
  EXPECT_EQ(t->links[1].secondary, "a");
  EXPECT_THAT(t->links[1].windows, ElementsAre(8ULL << 30, 64ULL << 10));
  EXPECT_EQ(t->links[1].secondary_windows, t->links[1].windows);
  EXPECT_EQ(t->links[1].vectors, 25U);
  const Drive& d = t->drives.at(0);
  EXPECT_EQ(d.size, 1ULL << 40);
  EXPECT_EQ(d.backing, "d.img");
  EXPECT_EQ(d.queue_pairs, 128U);
  EXPECT_EQ(d.cmb, 1ULL << 20);
  EXPECT_EQ(d.cache, 0U);
  EXPECT_FALSE(d.sgl);
  EXPECT_TRUE(d.shared);
  EXPECT_EQ(d.mdts, 5U);
  ASSERT_EQ(d.namespaces.size(), 2U);
  EXPECT_EQ(d.namespaces[0].size, 1ULL << 30);
  EXPECT_EQ(d.namespaces[0].block_size, 4096U);
  EXPECT_EQ(d.namespaces[1].size, 8192U);
  EXPECT_EQ(d.namespaces[1].block_size, 512U);
}

struct Refusal {
  std::string name;
  std::string text;
  unsigned line;
  std::string wrong;
  std::string right;
};

class Refused : public ::testing::TestWithParam<Refusal> {};

TEST_P(Refused, NamesFileLineAndWhatWouldBeRight) {
  const Refusal& r = GetParam();
  auto t = parse(r.text, "x.toml");
  ASSERT_FALSE(t) << r.text;
  EXPECT_THAT(t.error().message, AllOf(StartsWith(fmt::format("x.toml:{}: ", r.line)), HasSubstr(r.wrong),
                                       HasSubstr("; "), HasSubstr(r.right)));
}

std::string host(std::string_view line) { return fmt::format("[cluster]\nname = \"c\"\n[[host]]\n{}\n", line); }
std::string cable(std::string_view line) {
  return with(fmt::format("[[cable]]\nbetween = [\"a\", \"b\"]\n{}\n", line));
}
std::string drive(std::string_view line) {
  return with(fmt::format("[[drive]]\nname = \"d\"\nhost = \"a\"\nsize = \"1G\"\n{}\n", line));
}

std::string device(std::string_view type, std::string_view line) {
  return with(fmt::format("[[device]]\nname = \"d\"\nhost = \"a\"\ntype = \"{}\"\n{}\n", type, line));
}
std::string many_devices(unsigned count) {
  std::string text(kTwoHosts);
  for (unsigned i = 0; i < count; ++i)
    text += fmt::format("[[device]]\nname = \"d{}\"\ntype = \"edu\"\nhost = \"a\"\n", i);
  return text;
}

/// A hub with `count` cables to hosts spoke1, spoke2 …
std::string many_cables(unsigned cpus, unsigned count, std::string_view iommu) {
  return fmt::format(R"([cluster]
name = "c"
[[host]]
name = "hub"
cpus = {}
iommu = "{}"
[[host]]
name = "spoke"
count = {}
cpus = 2
[[cable]]
between = ["hub", "spoke*"]
)",
                     cpus, iommu, count);
}

INSTANTIATE_TEST_SUITE_P(
    Topology, Refused,
    ::testing::Values(
        Refusal{"NotToml", "[cluster]\nname = \n", 2, "not TOML", "toml.io"},
        Refusal{"DuplicateKey", "[cluster]\nname = \"a\"\nname = \"b\"\n", 3, "not TOML", "toml.io"},
        Refusal{"BracketsApart", "[cluster]\nname = \"a\"\n[ [host]]\nname = \"b\"\n", 3, "not TOML", "toml.io"},
        Refusal{"ThreeBracketsInTheLastLine", "[cluster]\n[[[host]]]", 2, "not TOML", "toml.io"},
        Refusal{"EndOfAValueInAnArray", "[cluster]\nname = [}", 2, "not TOML", "toml.io"},
        Refusal{"NotAsciiInAKey", "[cluster]\nna\xd6\xb4me = 3\n", 2, "not TOML", "toml.io"},
        Refusal{"NotUtf8", "[cluster]\nname = \"c\" # \xff\n", 2, "not TOML", "toml.io"},
        Refusal{"NotAsciiInAString", "[cluster]\nname = \"a#\xc3\xa9\"\n", 2, "is not a name", "lower-case"},
        Refusal{"Empty", "", 1, "[cluster] is missing", "[cluster]"},
        Refusal{"ClusterIsNumber", "cluster = 5\n", 1, "not a table", "[cluster]"},
        Refusal{"ClusterWithoutName", "[cluster]\n[[host]]\nname=\"a\"\n", 1, "name is missing", "lower-case"},
        Refusal{"ClusterName", "[cluster]\nname = \"C\"\n", 2, "\"C\" is not a name", "lower-case"},
        Refusal{"ClusterKey", "[cluster]\nname = \"c\"\nsize = 3\n[[host]]\nname=\"a\"\n", 3, "unknown key \"size\"",
                "name"},
        Refusal{"TopKey", with("[[hots]]\nname = \"x\"\n"), 7, "unknown key \"hots\"",
                "cable, cluster, device, drive, host"},
        Refusal{"NoHost", "[cluster]\nname = \"c\"\n", 1, "no host", "[[host]]"},
        Refusal{"HostNotArray", "[cluster]\nname = \"c\"\n[host]\nname = \"a\"\n", 3, "not an array of tables",
                "[[host]]"},
        Refusal{"HostOfNumbers", "host = [1]\n[cluster]\nname = \"c\"\n", 1, "1 is not a table", "[[host]]"},
        Refusal{"HostWithoutName", host("cpus = 1"), 3, "name is missing", "lower-case"},
        Refusal{"HostNameType", host("name = 5"), 4, "5 is not a string", "lower-case"},
        Refusal{"HostNameDot", host("name = \"a.b\""), 4, "not a name", "lower-case"},
        Refusal{"HostNameDigitFirst", host("name = \"1a\""), 4, "not a name", "letter first"},
        Refusal{"HostNameEmpty", host("name = \"\""), 4, "not a name", "letter first"},
        Refusal{"HostNameLong", host("name = \"a23456789012345678901234567890123\""), 4, "not a name", "at most 32"},
        Refusal{"HostTwice", with("[[host]]\nname = \"a\"\n"), 8, "two of the name \"a\"", "line 4"},
        Refusal{"MemoryUnit", host("name = \"a\"\nmemory = \"5X\""), 5, "\"5X\" is not a size", "512M"},
        Refusal{"MemoryNegative", host("name = \"a\"\nmemory = -1"), 5, "-1 is not a size", "512M"},
        Refusal{"MemoryFloat", host("name = \"a\"\nmemory = 1.5"), 5, "1.5 is not a size", "512M"},
        Refusal{"MemoryOverflow", host("name = \"a\"\nmemory = \"99999999999T\""), 5, "not a size", "512M"},
        Refusal{"MemorySmall", host("name = \"a\"\nmemory = \"63M\""), 5, "63M is not possible", "64M to 1T"},
        Refusal{"MemoryOdd", host("name = \"a\"\nmemory = 67108865"), 5, "67108865 is not possible", "whole MiB"},
        Refusal{"CpusZero", host("name = \"a\"\ncpus = 0"), 5, "0 is not possible", "1 to 64"},
        Refusal{"CpusText", host("name = \"a\"\ncpus = \"2\""), 5, "\"2\" is not possible", "1 to 64"},
        Refusal{"CpusNegative", host("name = \"a\"\ncpus = -2"), 5, "-2 is not possible", "1 to 64"},
        Refusal{"IommuUnknown", host("name = \"a\"\niommu = \"arm\""), 5, "\"arm\" is not known", "\"amd\""},
        Refusal{"LazyWithoutIommu", host("name = \"a\"\nlazy = true"), 5, "no IOMMU", "how its IOMMU works"},
        Refusal{"NoRemappingWithoutIommu", host("name = \"a\"\nremapping = false"), 5, "no IOMMU", "how its IOMMU"},
        Refusal{"AmdRemaps", host("name = \"a\"\niommu = \"amd\""), 5, "through an NTB", "remapping = false"},
        Refusal{"ImageUnknown", host("name = \"a\"\nimage = \"tiny\""), 5, "\"tiny\" is not known", "\"server\""},
        Refusal{"ImageMemory", host("name = \"a\"\nmemory = \"256M\"\nimage = \"server\""), 6, "too little", "512M"},
        Refusal{"VmsMemory", host("name = \"a\"\nmemory = \"1535M\"\nvms = true"), 6, "too little to run", "1536M"},
        Refusal{"VmsServer", host("name = \"a\"\nmemory = \"2G\"\nimage = \"server\"\nvms = true"), 7, "server host",
                "\"host\""},
        Refusal{"VmsText", host("name = \"a\"\nvms = 1"), 5, "1 is neither", "true"},
        Refusal{"IommuBool", host("name = \"a\"\niommu = true"), 5, "true is not a string", "\"intel\""},
        Refusal{"FamilyUnknown", host("name = \"a\"\nfamily = \"intel\""), 5, "\"intel\" is not known",
                "\"intel-spr\""},
        Refusal{"FamilyNumber", host("name = \"a\"\nfamily = 4"), 5, "4 is not a string", "\"intel-icx\""},
        Refusal{"HostKey", host("name = \"a\"\nram = \"1G\""), 5, "unknown key \"ram\"",
                "cpus, family, image, iommu, lazy, memory, name"},
        Refusal{"CableWithoutBetween", with("[[cable]]\ncount = 1\n"), 7, "between is missing", "lender"},
        Refusal{"BetweenText", with("[[cable]]\nbetween = \"ab\"\n"), 8, "not an array", "two different"},
        Refusal{"BetweenOne", with("[[cable]]\nbetween = [\"a\"]\n"), 8, "two different", "primary side first"},
        Refusal{"BetweenThree", with("[[cable]]\nbetween = [\"a\",\"b\",\"a\"]\n"), 8, "two different", "primary"},
        Refusal{"BetweenItself", with("[[cable]]\nbetween = [\"a\",\"a\"]\n"), 8, "two different", "primary"},
        Refusal{"BetweenNumbers", with("[[cable]]\nbetween = [1,2]\n"), 8, "1 is not a string", "primary"},
        Refusal{"BetweenUnknown", with("[[cable]]\nbetween = [\"a\",\"x\"]\n"), 8, "no host \"x\"", "a, b"},
        Refusal{"CableName", cable("name = \"A\""), 9, "not a name", "lower-case"},
        Refusal{"CableTwice", cable("name = \"n\"\n[[cable]]\nname=\"n\"\nbetween=[\"a\",\"b\"]"), 11,
                "two of the name", "line 9"},
        Refusal{"WindowsText", cable("windows = \"4G\""), 9, "2 sizes", "powers of two"},
        Refusal{"WindowsOne", cable("windows = [\"4G\"]"), 9, "2 sizes", "powers of two"},
        Refusal{"WindowsOdd", cable("windows = [\"3G\", \"64M\"]"), 9, "3G is not possible", "powers of two"},
        Refusal{"WindowsSecondOdd", cable("windows = [\"4G\", \"65M\"]"), 9, "65M is not possible", "powers of two"},
        Refusal{"WindowsZero", cable("windows = [0, \"64M\"]"), 9, "window of 0", "64K"},
        Refusal{"WindowsSmall", cable("windows = [\"32K\", \"64M\"]"), 9, "32K is not", "64K"},
        Refusal{"WindowsLarge", cable("windows = [\"512G\", \"64M\"]"), 9, "512G is not", "256G"},
        Refusal{"WindowsBool", cable("windows = [true, \"64M\"]"), 9, "true is not a size", "powers of two"},
        Refusal{"WindowsOfOneSide", cable("windows = { a = [\"4G\", \"64M\"] }"), 9, "windows of \"b\" are missing",
                "both"},
        Refusal{"WindowsOfAnother", cable("windows = { a = [65536, 65536], b = [65536, 65536], c = [1, 2] }"), 9,
                "unknown key \"c\"", "a, b"},
        Refusal{"WindowsOfASideOdd", cable("windows = { a = [65536, 65536], b = [65536, \"3M\"] }"), 9,
                "3M is not possible", "powers of two"},
        Refusal{"WindowsOfASideText", cable("windows = { a = \"4G\", b = [65536, 65536] }"), 9, "2 sizes",
                "powers of two"},
        Refusal{"CountZero", cable("count = 0"), 9, "0 is not possible", "1 to 8"},
        Refusal{"CountNine", cable("count = 9"), 9, "9 is not possible", "1 to 8"},
        Refusal{"VectorsFew", cable("vectors = 23"), 9, "23 is not possible", "24 to 128"},
        Refusal{"VectorsOfIntel", intel_pair("vectors = 64"), 11, "64 is not possible", "33"},
        Refusal{"FamiliesMixed",
                "[cluster]\nname = \"c\"\n[[host]]\nname = \"a\"\n[[host]]\nname = \"b\"\nfamily = \"intel-icx\"\n"
                "[[cable]]\nbetween = [\"a\", \"b\"]\n",
                9, "\"a\" has \"amd\", \"b\" has \"intel-icx\"", "one family"},
        Refusal{"FamiliesMixedWithMany",
                "[cluster]\nname = \"c\"\n[[host]]\nname = \"a\"\nfamily = \"intel-spr\"\n[[host]]\nname = \"b\"\n"
                "count = 2\nfamily = \"intel-icx\"\n[[cable]]\nbetween = [\"b*\", \"a\"]\n",
                11, "\"b1\" has \"intel-icx\", \"a\" has \"intel-spr\"", "one family"},
        Refusal{"FifthIntelNtbOfACpu", intel_pair("count = 5"), 10, "too few interrupt vectors for 5 NTBs",
                "takes 33 each: 4 NTBs need a CPU, so cpus = 2"},
        Refusal{"CableKey", cable("window = 1"), 9, "unknown key \"window\"", "windows"},
        Refusal{"HostCountZero", host("name = \"a\"\ncount = 0"), 5, "0 is not possible", "1 to 64"},
        Refusal{"HostCountLarge", host("name = \"a\"\ncount = 65"), 5, "65 is not possible", "1 to 64"},
        Refusal{"HostOfCountTwice", with("[[host]]\nname = \"c2\"\n[[host]]\nname = \"c\"\ncount = 2\n"), 10,
                "two of the name \"c2\"", "line 8"},
        Refusal{"HostOfCountLongName", host("name = \"a2345678901234567890123456789012\"\ncount = 1"), 4, "too long",
                "shorten"},
        Refusal{"HostsOfCountAreTooMany", with("[[host]]\nname = \"c\"\ncount = 63\n"), 8, "too many hosts",
                "at most 64"},
        Refusal{"BetweenManyUnknown", with("[[cable]]\nbetween = [\"a\", \"c*\"]\n"), 8, "no [[host]] \"c\" with count",
                "NAME*"},
        Refusal{"BetweenManyOfOne", with("[[cable]]\nbetween = [\"a\", \"b*\"]\n"), 8, "no [[host]] \"b\" with count",
                "NAME*"},
        Refusal{"BetweenManyAndMany",
                with("[[host]]\nname=\"c\"\ncount=2\n[[host]]\nname=\"d\"\ncount=2\n"
                     "[[cable]]\nbetween = [\"c*\", \"d*\"]\n"),
                14, "both are many", "single host"},
        Refusal{"BetweenManyAndOneOfThem",
                with("[[host]]\nname=\"c\"\ncount=2\n[[cable]]\nbetween = [\"c2\", \"c*\"]\n"), 11,
                "two different hosts", "primary side first"},
        Refusal{"SeventhNtbOfACpu", cable("count = 7"), 8, "too few interrupt vectors for 7 NTBs",
                "6 NTBs need a CPU, so cpus = 2"},
        Refusal{"ThirteenthNtbOfTwoCpus", many_cables(2, 13, "none"), 12,
                "host \"hub\" has too few interrupt vectors for 13 NTBs", "cpus = 3"},
        Refusal{"DevicesBehindAnIommu", many_cables(3, 17, "intel"), 12, "\"hub\", which has an IOMMU", "at most 16"},
        Refusal{
            "TooManyDevices",
            many_cables(22, 62, "none") +
                "[[cable]]\nbetween = [\"spoke*\", \"hub\"]\n[[cable]]\nbetween = [\"hub\", \"spoke1\"]\ncount = 5\n",
            16, "too many devices in host \"hub\"", "at most 128"},
        Refusal{"DriveWithoutName", with("[[drive]]\nhost = \"a\"\nsize = \"1G\"\n"), 7, "name is missing", "letter"},
        Refusal{"DriveTwice", drive("[[drive]]\nname = \"d\"\nhost = \"b\"\nsize = \"1G\""), 12, "two of the name",
                "8"},
        Refusal{"DriveNamedNtb", with("[[drive]]\nname = \"ntb0\"\nhost = \"a\"\nsize = \"1G\"\n"), 8, "cluster's own",
                "drive0"},
        Refusal{"DriveNamedLan", with("[[drive]]\nname = \"lan\"\nhost = \"a\"\nsize = \"1G\"\n"), 8, "cluster's own",
                "drive0"},
        Refusal{"DriveWithoutHost", with("[[drive]]\nname = \"d\"\nsize = \"1G\"\n"), 7, "host is missing", "host"},
        Refusal{"DriveNamedPort", with("[[drive]]\nname = \"rp0\"\nhost = \"a\"\nsize = \"1G\"\n"), 8, "cluster's own",
                "\"drive0\""},
        Refusal{"DriveUnknownHost", with("[[drive]]\nname = \"d\"\nhost = \"z\"\nsize = \"1G\"\n"), 9, "no host \"z\"",
                "a, b"},
        Refusal{"DriveWithoutSize", with("[[drive]]\nname = \"d\"\nhost = \"a\"\n"), 7, "size is missing", "1M to 16T"},
        Refusal{"DriveSizeZero", with("[[drive]]\nname = \"d\"\nhost = \"a\"\nsize = 0\n"), 10, "not possible", "1M"},
        Refusal{"BackingNumber", drive("backing = 1"), 11, "not a string", "state folder"},
        Refusal{"BackingEmpty", drive("backing = \"\""), 11, "not a path", "state folder"},
        Refusal{"QueuePairsZero", drive("queue_pairs = 0"), 11, "0 is not possible", "1 to 1023"},
        Refusal{"CmbOdd", drive("cmb = \"3M\""), 11, "3M is not possible", "power of two"},
        Refusal{"CmbSmall", drive("cmb = 2048"), 11, "2K is not possible", "4K"},
        Refusal{"CacheText", drive("cache = \"lots\""), 11, "\"lots\" is not a size", "64M"},
        Refusal{"SglText", drive("sgl = \"yes\""), 11, "neither true nor false", "without quotes"},
        Refusal{"Mdts", drive("mdts = 13"), 11, "13 is not possible", "0 to 12"},
        Refusal{"DriveKey", drive("queues = 1"), 11, "unknown key \"queues\"", "queue_pairs"},
        Refusal{"DeviceWithoutName", with("[[device]]\nhost = \"a\"\ntype = \"edu\"\n"), 7, "name is missing",
                "letter"},
        Refusal{"DeviceNamedAsADrive", drive("[[device]]\nname = \"d\"\nhost = \"b\"\ntype = \"edu\""), 12,
                "two of the name", "line 8"},
        Refusal{"DeviceNamedSlot", with("[[device]]\nname = \"dp3\"\nhost = \"a\"\ntype = \"edu\"\n"), 8,
                "cluster's own", "\"nic0\""},
        Refusal{"DeviceWithoutType", with("[[device]]\nname = \"d\"\nhost = \"a\"\n"), 7, "type is missing", "\"igb\""},
        Refusal{"DeviceOfUnknownType", device("rtl8139", ""), 10, "\"rtl8139\" is not known", "\"e1000e\""},
        Refusal{"DeviceTypeInjected", device("edu,bus=pcie.0", ""), 10, "is not known", "\"edu\""},
        Refusal{"DeviceWithoutHost", with("[[device]]\nname = \"d\"\ntype = \"edu\"\n"), 7, "host is missing",
                "device"},
        Refusal{"DeviceUnknownHost", with("[[device]]\nname = \"d\"\nhost = \"z\"\ntype = \"edu\"\n"), 9,
                "no host \"z\"", "a, b"},
        Refusal{"EighthDevice", many_devices(8), 38, "too many devices of QEMU's own in host \"a\"", "at most 7"},
        Refusal{"NvmeWithoutSize", device("nvme", ""), 7, "size is missing", "1M to 16T"},
        Refusal{"NvmeSizeOdd", device("nvme", "size = 1048577"), 11, "1048577 is not possible", "whole MiB"},
        Refusal{"NvmeCmbSmall", device("nvme", "size = \"1G\"\ncmb = \"512K\""), 12, "512K is not possible",
                "1M to 1G"},
        Refusal{"NvmeVfsMany", device("nvme", "size = \"1G\"\nvfs = 8"), 12, "8 is not possible", "0 to 7"},
        Refusal{"NvmeVfsAndCmb", device("nvme", "size = \"1G\"\ncmb = \"1M\"\nvfs = 2"), 13, "not possible with a cmb",
                "one or the other"},
        Refusal{"IgbWithVfs", device("igb", "vfs = 2"), 11, "unknown key \"vfs\"", "host, name, type"},
        Refusal{"NicWithSize", device("e1000e", "size = \"1G\""), 11, "unknown key \"size\"", "host, name, type"},
        Refusal{"AhciWithCmb", device("ahci", "size = \"1G\"\ncmb = \"1M\""), 12, "unknown key \"cmb\"", "size"},
        Refusal{"EduDmaBitsFew", device("edu", "dma_bits = 27"), 11, "27 is not possible", "28 to 64"},
        Refusal{"EduDmaBitsMany", device("edu", "dma_bits = 65"), 11, "65 is not possible", "28 to 64"},
        Refusal{"NamespaceNotArray", drive("namespace = 3"), 11, "not an array of tables", "[[drive.namespace]]"},
        Refusal{"NamespaceWithoutSize", drive("[[drive.namespace]]\nblock_size = 512"), 11, "size is missing", "4096"},
        Refusal{"NamespaceZero", drive("[[drive.namespace]]\nsize = 0"), 12, "0 is not possible", "4096"},
        Refusal{"NamespaceOdd", drive("[[drive.namespace]]\nsize = 4097"), 12, "4097 is not possible", "4096"},
        Refusal{"NamespaceBlock", drive("[[drive.namespace]]\nsize = 4096\nblock_size = 1024"), 13,
                "1024 is not possible", "512 or 4096"},
        Refusal{"NamespaceLarge", drive("[[drive.namespace]]\nsize = \"2G\""), 12, "larger than the drive", "1G"},
        Refusal{"NamespacesLarge", drive("[[drive.namespace]]\nsize = \"512M\"\n[[drive.namespace]]\nsize = \"513M\""),
                14, "larger than the drive", "512M of its 1G"},
        Refusal{"NamespaceKey", drive("[[drive.namespace]]\nsize = 4096\nlba = 512"), 13, "unknown key \"lba\"",
                "block_size"}),
    [](const auto& param) { return param.param.name; });

TEST(Topology, RefusesMoreHostsThanTheLanHolds) {
  std::string text = "[cluster]\nname = \"c\"\n";
  for (int i = 0; i < 64; ++i) text += fmt::format("[[host]]\nname = \"h{}\"\n", i);
  EXPECT_NO_THROW(parsed(text));
  auto t = parse(text + "[[host]]\nname = \"more\"\n", "f");
  ASSERT_FALSE(t);
  EXPECT_THAT(t.error().message, AllOf(StartsWith("f:132: "), HasSubstr("too many hosts")));
}

TEST(Topology, AHostWithCountIsThatManyAndACableToAllIsThatManyToo) {
  const auto t = parsed(R"([cluster]
name = "c"
[[host]]
name = "hub"
cpus = 2
[[host]]
name = "spoke"
memory = "96M"
count = 2
[[cable]]
between = ["hub", "spoke2"]
[[cable]]
between = ["hub", "spoke*"]
vectors = 32
[[cable]]
name = "back"
between = ["spoke*", "hub"]
count = 2
[[cable]]
between = ["hub", "spoke1"]
)");
  std::vector<std::string> hosts;
  for (const Host& h : t->hosts) hosts.push_back(fmt::format("{} {}", h.name, h.memory >> 20));
  EXPECT_THAT(hosts, ElementsAre("hub 512", "spoke1 96", "spoke2 96"));
  std::vector<std::string> links;
  for (const Link& l : t->links) links.push_back(fmt::format("{} {} {} {}", l.name, l.primary, l.secondary, l.vectors));
  EXPECT_THAT(links, ElementsAre("cable0 hub spoke2 24", "cable1 hub spoke1 32", "cable2 hub spoke2 32",
                                 "back1.0 spoke1 hub 24", "back1.1 spoke1 hub 24", "back2.0 spoke2 hub 24",
                                 "back2.1 spoke2 hub 24", "cable5 hub spoke1 24"));
}

TEST(Topology, TheSidesOfACableMayHaveWindowsOfTheirOwn) {
  const auto t = parsed(R"([cluster]
name = "c"
[[host]]
name = "hub"
[[host]]
name = "spoke"
count = 2
[[cable]]
between = ["spoke*", "hub"]
windows = { hub = ["4G", "64M"], "spoke*" = ["1G", 65536] }
)");
  ASSERT_EQ(t->links.size(), 2U);
  for (const Link& link : t->links) {
    EXPECT_THAT(link.windows, ElementsAre(1ULL << 30, 64ULL << 10)) << "the first word of between is the primary side";
    EXPECT_THAT(link.secondary_windows, ElementsAre(4ULL << 30, 64ULL << 20));
  }
}

TEST(Topology, ACountOfOneIsNumberedToo) {
  const auto t = parsed(many_cables(1, 1, "intel"));
  EXPECT_EQ(t->hosts[1].name, "spoke1");
  EXPECT_EQ(t->links.at(0).secondary, "spoke1");
}

TEST(Topology, SixNtbsNeedACpu) {
  EXPECT_NO_THROW(parsed(many_cables(1, 6, "none")));
  EXPECT_NO_THROW(parsed(many_cables(6, 36, "none")));
}

TEST(Topology, AHostWithAnIommuMayHaveSixteenDevices) { EXPECT_NO_THROW(parsed(many_cables(3, 16, "intel"))); }

TEST(Topology, RefusesMoreNamespacesThanItHolds) {
  std::string text = drive("");
  for (int i = 0; i < 65; ++i) text += "[[drive.namespace]]\nsize = 4096\n";
  auto t = parse(text, "f");
  ASSERT_FALSE(t);
  EXPECT_THAT(t.error().message, HasSubstr("too many namespaces"));
}

TEST(Topology, RefusesAHugeFile) {
  auto t = parse(std::string((1 << 20) + 1, '#'), "f");
  ASSERT_FALSE(t);
  EXPECT_THAT(t.error().message, HasSubstr("at most 1048576"));
}

TEST(Topology, CommentsMayHoldAllOfUnicode) {
  EXPECT_NO_THROW(parsed(with("# \xc3\xa9 \n[[cable]] # it's \xe2\x80\x94 so\nbetween = [\"a\", \"b\"]\n")));
}

TEST(Topology, OnlyTheFirstComplaintIsTold) {
  auto t = parse(host("name = \"A\"\ncpus = 0"), "f");
  ASSERT_FALSE(t);
  EXPECT_THAT(t.error().message, AllOf(StartsWith("f:4: "), Not(HasSubstr("cpus"))));
}

TEST(Topology, EndpointsFollowTheHostsAndPutLinksFirst) {
  const auto t = parsed(with(R"([[cable]]
between = ["a", "b"]
[[drive]]
name = "d"
host = "a"
size = "1M"
[[cable]]
between = ["b", "a"]
)"));
  std::vector<std::string> seen;
  for (const Endpoint& e : endpoints(*t)) {
    seen.push_back(fmt::format("{} {} {} {} {}", static_cast<int>(e.kind), e.host, e.name, e.socket, e.index));
  }
  EXPECT_THAT(seen, ElementsAre("0 a ntb0 a.ntb0.sock 0", "1 a ntb1 a.ntb1.sock 1", "2 a d a.d.sock 0",
                                "1 b ntb0 b.ntb0.sock 0", "0 b ntb1 b.ntb1.sock 1"));
}

TEST(Topology, EndpointsOfDualAdaptersAreNumbered) {
  const auto t = parsed(cable("count = 2"));
  std::vector<std::string> seen;
  for (const Endpoint& e : endpoints(*t)) seen.push_back(fmt::format("{} {}", e.socket, t->links[e.index].name));
  EXPECT_THAT(seen, ElementsAre("a.ntb0.sock cable0.0", "a.ntb1.sock cable0.1", "b.ntb0.sock cable0.0",
                                "b.ntb1.sock cable0.1"));
}

TEST(Topology, LoadRefusesWhatIsNoFile) {
  auto missing = load("/nonexistent/x.toml");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, AllOf(HasSubstr("/nonexistent/x.toml"), HasSubstr("selftests/topologies")));
  EXPECT_FALSE(load("/"));
}

TEST(Topology, LoadNamesTheFileInComplaints) {
  const auto file = std::filesystem::temp_directory_path() / fmt::format("topology_test.{}.toml", ::getpid());
  std::ofstream(file) << "[cluster]\nname = 3\n";
  auto t = load(file);
  std::filesystem::remove(file);
  ASSERT_FALSE(t);
  EXPECT_THAT(t.error().message, StartsWith(fmt::format("{}:2: ", file.string())));
}

TEST(Topology, FamilyIsOfBothSides) {
  auto t = parse(intel_pair(""), "f");
  ASSERT_TRUE(t) << t.error().message;
  EXPECT_EQ(t->hosts[0].family, NtbFamily::intel_spr);
  EXPECT_EQ(t->links[0].family, NtbFamily::intel_spr);
  EXPECT_EQ(t->links[0].vectors, 33U);
  EXPECT_TRUE(parse(intel_pair("vectors = 33"), "f"));
  t = parse(with("[[host]]\nname = \"x\"\nfamily = \"intel-icx\"\n[[cable]]\nbetween = [\"a\", \"b\"]\n"), "f");
  ASSERT_TRUE(t) << "no cable joins the two";
  EXPECT_EQ(t->hosts[2].family, NtbFamily::intel_icx);
  EXPECT_EQ(t->links[0].family, NtbFamily::amd);
  EXPECT_EQ(t->links[0].vectors, 24U);
}

/// No such pair is known to exist, and each driver takes scratchpads, doorbells and translations for those of its
/// family.
TEST(Topology, AnAmdNtbIsNotJoinedToAnIntelNtb) {
  const auto t = load(std::filesystem::path(SMARTIO_TOPOLOGIES) / "refused/pair-mixed.toml");
  ASSERT_FALSE(t);
  EXPECT_THAT(t.error().message, AllOf(HasSubstr("pair-mixed.toml:19: [[cable]]: between joins NTBs of two families"),
                                       HasSubstr("\"lender\" has \"amd\", \"borrower\" has \"intel-spr\""),
                                       HasSubstr("give both hosts the same")));
}

/// The fabric could not tell their writes, which keep their order, from a CPU's.
TEST(Topology, AHostThatCombinesStoresHasNoDeviceWhoseWritesComeFromQemu) {
  constexpr std::string_view kHost = "[cluster]\nname = \"c\"\n[[host]]\nname = \"a\"\nwrite_combining = 1\n";
  constexpr std::string_view kDrive = "[[drive]]\nname = \"d\"\nhost = \"a\"\nsize = \"1M\"\n";
  EXPECT_TRUE(parse(fmt::format("{}{}", kHost, kDrive), "f"));
  EXPECT_TRUE(parse(fmt::format("{}iommu = \"intel\"\n", kHost), "f"));
  EXPECT_THAT(parse(fmt::format("{}iommu = \"intel\"\n{}", kHost, kDrive), "f").error().message,
              HasSubstr("host \"a\" has write_combining, and can't have a drive behind an IOMMU"));
  EXPECT_THAT(
      parse(fmt::format("{}[[device]]\nname = \"n\"\ntype = \"edu\"\nhost = \"a\"\n", kHost), "f").error().message,
      HasSubstr("can't have a device of QEMU's own"));
}

TEST(Topology, OnlyAmdsNtbHangsOnItsCable) {
  const auto t = parse(
      "[cluster]\nname = \"c\"\n[[host]]\nname = \"a\"\nfamily = \"intel-spr\"\n[[host]]\nname = \"b\"\n"
      "family = \"intel-spr\"\n[[cable]]\nbetween = [\"a\", \"b\"]\nsurprise_removal = true\n",
      "f");
  ASSERT_FALSE(t);
  EXPECT_THAT(t.error().message, HasSubstr("a part of the processor"));
}

TEST(Topology, DevicesOfQemusOwnAreRead) {
  const auto t = parsed(with(R"([[device]]
name = "nic0"
type = "e1000e"
host = "a"
[[device]]
name = "disk1"
type = "nvme"
host = "b"
size = "64M"
cmb = "1M"
[[device]]
name = "toy"
type = "edu"
host = "a"
dma_bits = 40
[[device]]
name = "disk2"
type = "nvme"
host = "b"
size = "64M"
vfs = 3
)"));
  ASSERT_EQ(t->devices.size(), 4U);
  EXPECT_EQ(t->devices[3].vfs, 3U);
  EXPECT_EQ(t->devices[1].vfs, 0U);
  EXPECT_EQ(t->devices[0].name, "nic0");
  EXPECT_EQ(t->devices[0].type, Device::Type::e1000e);
  EXPECT_EQ(t->devices[0].host, "a");
  EXPECT_EQ(t->devices[0].size, 0U);
  EXPECT_EQ(lan_socket(t->devices[0]), "a.nic0.lan.sock");
  EXPECT_EQ(t->devices[1].type, Device::Type::nvme);
  EXPECT_EQ(t->devices[1].size, 64ULL << 20);
  EXPECT_EQ(t->devices[1].cmb, 1ULL << 20);
  EXPECT_EQ(disk_file(t->devices[1]), "b.disk1.img");
  EXPECT_EQ(t->devices[2].type, Device::Type::edu);
  EXPECT_EQ(t->devices[2].dma_bits, 40U);
  EXPECT_THAT(endpoints(*t), ::testing::IsEmpty()) << "the fabric models none of them";
}

TEST(Topology, EveryTypeOfDeviceIsRead) {
  for (const std::string_view type : {"e1000e", "igb", "nvme", "ahci", "xhci", "edu"}) {
    const bool disk = type == "nvme" || type == "ahci" || type == "xhci";
    const auto t = parsed(device(type, disk ? "size = \"1M\"" : ""));
    EXPECT_EQ(type_name(t->devices.at(0).type), type);
    EXPECT_EQ(has_disk(t->devices[0].type), disk);
    EXPECT_EQ(is_network(t->devices[0].type), type == "e1000e" || type == "igb");
  }
  EXPECT_TRUE(parse(many_devices(7), "f"));
}

/// The topologies of this project are right, and named after their files.
TEST(Topology, OurOwnTopologiesAreRight) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SMARTIO_TOPOLOGIES)) {
    if (entry.path().extension() != ".toml") continue;
    ++count;
    auto t = load(entry.path());
    ASSERT_TRUE(t) << t.error().message;
    EXPECT_EQ(t->name, entry.path().stem());
    std::uint64_t memory = 0;
    std::uint64_t most = t->hosts.size() > 4 ? 5 : 2;
    for (const Host& h : t->hosts) {
      memory += h.memory;
      if (h.vms || (h.image == Image::server && t->hosts.size() > 2)) ++most;
    }
    // A QEMU takes some 150 MiB besides: 3 GiB for all, 10 for make check-scale; and 1 GiB for a host's guests, or for
    // a server with pacemaker and pcs.
    EXPECT_LE(memory, most << 30U) << entry.path();
  }
  EXPECT_GE(count, 8U);
}

}  // namespace
}  // namespace smartio::topology
