// SPDX-License-Identifier: GPL-2.0
#include "bench/compare/machine.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <thread>

#include "base/files.h"
#include "base/text.h"

namespace smartio::bench_compare {

namespace {

std::string text_of(const std::filesystem::path& file) { return read_file(file).value_or(""); }

/// The text after `begin`, up to the end of its line.
std::string rest_of_line(std::string_view text, std::size_t begin) {
  begin = text.find_first_not_of(" \t:", begin);
  if (begin == std::string_view::npos) return "?";
  return std::string(text.substr(begin, text.find('\n', begin) - begin));
}

}  // namespace

std::string package_version(std::string_view status, std::string_view package) {
  const std::string head = fmt::format("Package: {}\n", package);
  std::size_t at = status.starts_with(head) ? 0 : status.find("\n" + head);
  if (at == std::string_view::npos) return "?";
  constexpr std::string_view kKey = "\nVersion:";
  const std::size_t end = status.find("\n\n", at + 1);
  at = status.find(kKey, at);
  if (at == std::string_view::npos || at > end) return "?";
  return rest_of_line(status, at + kKey.size());
}

std::string proc_value(std::string_view text, std::string_view key) {
  const std::size_t at = text.starts_with(key) ? 0 : text.find(fmt::format("\n{}", key));
  if (at == std::string_view::npos) return "?";
  return rest_of_line(text, at + key.size() + (at == 0 ? 0 : 1));
}

Fact network_fact(unsigned mtu) {
  return {.what = "network of NVMe-oF",
          .value = fmt::format(
              "the hosts' LAN: virtio-net, Ethernet frames over unix sockets through a switch in the fabric's "
              "process, MTU {}; no offloads (the CPUs sum and segment), not behind the IOMMU; RDMA is "
              "soft-RoCE on it, done by the CPUs",
              mtu)};
}

std::vector<Fact> machine_facts(Rig& rig, const std::filesystem::path& tree, const std::string& commit) {
  std::array<double, 3> load{};
  ::getloadavg(load.data(), static_cast<int>(load.size()));
  std::vector<Fact> facts{
      {"commit", commit},
      {"machine", fmt::format("{} x {}, {}", std::thread::hardware_concurrency(),
                              proc_value(text_of("/proc/cpuinfo"), "model name"),
                              proc_value(text_of("/proc/meminfo"), "MemTotal"))},
      {"load when it began", fmt::format("{:.2f} {:.2f} {:.2f}", load[0], load[1], load[2])},
      {"QEMU", fmt::format("{}, TCG, counting plugin",
                           package_version(text_of(tree / "var/lib/dpkg/status"), "qemu-system-x86"))},
  };
  facts.push_back(
      {"hosts", "lender: 2 CPUs, 512 MiB, no IOMMU; borrower: 2 CPUs, 512 MiB, emulated VT-d, strict mode"});
  std::string text(trimmed(rig.guests().shell(kBorrower, "uname -sr; fio --version; nvme version | head -1")));
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos;) text.replace(at, 1, ", ");
  facts.push_back({"in the hosts", text});
  return facts;
}

}  // namespace smartio::bench_compare
