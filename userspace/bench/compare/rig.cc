// SPDX-License-Identifier: GPL-2.0
#include "bench/compare/rig.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "bench/guests/lending.h"

namespace smartio::bench_compare {

namespace {

constexpr unsigned kUsualMtu = 1500;

Result<void> nothing(const Result<std::string>& text) {
  if (!text) return std::unexpected(text.error());
  return {};
}

}  // namespace

Result<void> Rig::leave() {
  auto hosts = cluster_.running_hosts();
  if (!hosts) return std::unexpected(hosts.error());
  // Borrowers first.
  std::ranges::sort(*hosts, {}, [](const std::string& host) { return host == bench::kLender; });
  for (const std::string& host : *hosts) {
    if (auto left = nothing(guests_.shell(host, fmt::format("nvmeof leave; ip link set eth0 mtu {}", kUsualMtu)));
        !left)
      return left;
    if (auto left = bench::unlend(guests_, host); !left) return left;
  }
  return {};
}

Result<void> Rig::enter_fabrics(const std::string& transport) {
  for (const char* host : {bench::kLender, "borrower"}) {
    if (auto set = nothing(guests_.shell(host, fmt::format("ip link set eth0 mtu {}", mtu_))); !set) return set;
  }
  const auto address = guests_.shell(bench::kLender, "ip -4 -o addr show dev eth0 | grep -oE '10[.][0-9.]+' | head -1");
  if (!address) return std::unexpected(address.error());
  const std::string lender(trimmed(*address));
  if (auto offered = nothing(guests_.shell(
          bench::kLender, fmt::format("nvmeof export \"{}\" {} {}", bench::kDriveAddress, transport, lender)));
      !offered)
    return offered;
  return nothing(guests_.shell("borrower", fmt::format("nvmeof connect {} {}", transport, lender)));
}

Result<std::string> Rig::enter(const Scenario& scenario) {
  if (auto left = leave(); !left) return std::unexpected(left.error());
  Result<void> entered;
  switch (scenario.driver) {
    case Driver::stock:
      entered = nothing(guests_.shell(scenario.host, "modprobe nvme"));
      break;
    case Driver::smartio:
      if (entered = bench::lend(guests_, {bench::kLender, "borrower"}); !entered) break;
      entered = nothing(guests_.shell(scenario.host, fmt::format("modprobe smartio_nvme {} {}", scenario.parameters,
                                                                 scenario.poll ? "poll_queues=1" : "")));
      break;
    case Driver::nvmeof:
      entered = enter_fabrics(scenario.parameters);
      break;
  }
  if (!entered) return fail(fmt::format("{}: {}", scenario.name, entered.error().message));
  // What NVMe-oF serves has a serial number of its own.
  auto disk = bench::one_disk(guests_, scenario.host, scenario.driver == Driver::nvmeof ? "" : scenario.drive);
  if (!disk) return fail(fmt::format("{}: {}", scenario.name, disk.error().message));
  return disk;
}

Result<std::map<std::string, std::string>> Rig::enter_sharing() {
  if (auto left = leave(); !left) return std::unexpected(left.error());
  const auto hosts = cluster_.running_hosts();
  if (!hosts) return std::unexpected(hosts.error());
  if (auto lent = bench::lend(guests_, *hosts); !lent) return std::unexpected(lent.error());
  std::map<std::string, std::string> disks;
  for (const std::string& host : *hosts) {
    if (auto loaded = nothing(guests_.shell(host, "modprobe smartio_nvme")); !loaded)
      return std::unexpected(loaded.error());
    auto disk = bench::one_disk(guests_, host);
    if (!disk) return std::unexpected(disk.error());
    disks[host] = std::move(*disk);
  }
  return disks;
}

}  // namespace smartio::bench_compare
