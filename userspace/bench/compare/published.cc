// SPDX-License-Identifier: GPL-2.0
#include "bench/compare/published.h"

#include <algorithm>
#include <iterator>

#include "bench/compare/link.h"

namespace smartio::bench_compare {

namespace {

// "The full round trip latency for a 4 byte message is below 600 nanoseconds", between two CPUs whose own NTBs are
// connected: no switch chip.
constexpr double kNoChipUs = 0.3;
constexpr const char* kIntelNtb =
    "Dolphin, PCIe Intel NTB Networking, dolphinics.com/products/pcie_Intel_NTB_networking.html";
constexpr const char* kVxworks =
    "Dolphin, Benefits of using PCI Express with VxWorks, "
    "dolphinics.com/solutions/vxworks_real-time_benefits_pci_Express.html";
constexpr const char* kExpressIx =
    "University of Oslo, Dolphin PCI Express file system (thesis proposal), "
    "www.mn.uio.no/ifi/studier/masteroppgaver/nd/dias-2019-mpg-dolphin-pcie-fs.html";
constexpr const char* kGen4Drive =
    "Guru3D, Lexar hits 7 GB/s with new M.2 PCIe 4 SSD, "
    "www.guru3d.com/news-story/lexar-hits-7-gbs-with-new-m-2-pcie-4-sdd.html";
constexpr const char* kSwitch =
    "Linley Newsletter, Broadcom Ships PCIe Gen4 Switches, 24 September 2019, www.linleygroup.com/newsletters";
constexpr const char* kOptane =
    "AnandTech, The Intel Optane SSD DC P4800X Review, Checking Intel's Numbers, www.anandtech.com/show/11209";
constexpr const char* kPcieBench =
    "Neugebauer et al., Understanding PCIe performance for end host networking, SIGCOMM 2018, doi "
    "10.1145/3230543.3230560, and "
    "its model, github.com/pcie-bench/pcie-model";
constexpr const char* kPrototype =
    "Markussen et al., SmartIO: Zero-overhead Device Sharing through PCIe Networking, ACM TOCS 38 (1-2), 2021, doi "
    "10.1145/3462545; Markussen et al., Multi-Host Sharing of a Single-Function NVMe Device in a PCIe Cluster, SC'24 "
    "Workshops";

}  // namespace

Range message_latency(unsigned chips, const Assumptions& assumptions) {
  return {.low = kNoChipUs + chips * assumptions.chip_us.low, .high = kNoChipUs + chips * assumptions.chip_us.high};
}

std::vector<Check> checks(const Assumptions& assumptions) {
  constexpr double kRead = 128.0 * 1024;
  // The packets that a drive sends for a read of 128 KiB.
  const bench::Ledger local{{"posted data", {.transactions = kRead / kMaxPayload, .bytes = kRead}},
                            {"posted completion", {.transactions = 1, .bytes = 16}},
                            {"posted interrupt", {.transactions = 1, .bytes = 4}}};
  return {
      {.what = "a CPU's 4-byte store to another host's memory, one way, two Dolphin PXH810 (Gen3 x8) and a cable",
       .unit = "us",
       .computed = message_latency(2, assumptions),
       .published = 0.54,
       .source = kVxworks},
      {.what = "the same, two Dolphin Express IX, whose chips are of Gen2",
       .unit = "us",
       .computed = message_latency(2, assumptions),
       .published = 0.74,
       .source = kExpressIx},
      {.what = "sequential reads from a drive behind Gen4 x4",
       .unit = "GB/s",
       .computed = bandwidth(local, kRead, kGen4X4),
       .published = 7,
       .source = kGen4Drive},
  };
}

std::vector<Source> sources() {
  return {
      {"a Gen4 switch chip (PEX88000) delays by 105 ns, 30 % less than the Gen3 family PEX9700: 150 ns",
       "the delay of a chip", kSwitch},
      {"a 4-byte message between two hosts without a switch chip: below 300 ns one way", "a CPU's store without chips",
       kIntelNtb},
      {"TLP headers, acknowledgements and flow control in bytes", "the bandwidth", kPcieBench},
      {"a local P4800X, 4 KiB random reads at depth 1: most 8 or 9 us, median 9, 99th 10, 99.999th 37",
       "the distribution that the path's delay is added to", kOptane},
      {"the prototype adds 1 us to a read and 2 us to a write, NVMe-oF/RDMA 7.7 and 7.5 us",
       "three chips were chosen so that the first two come out", kPrototype},
  };
}

const std::vector<Quantile>& published_drive() {
  static const std::vector<Quantile> kDrive{{0, 8}, {0.30103, 9}, {2, 10}, {5, 37}};
  return kDrive;
}

double drive_latency(double nines) {
  const auto& points = published_drive();
  const auto after = std::ranges::upper_bound(points, nines, {}, &Quantile::nines);
  if (after == points.begin()) return points.front().us;
  if (after == points.end()) return points.back().us;
  const Quantile& from = *std::prev(after);
  return from.us + (after->us - from.us) * (nines - from.nines) / (after->nines - from.nines);
}

}  // namespace smartio::bench_compare
