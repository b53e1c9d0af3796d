// SPDX-License-Identifier: GPL-2.0
#include "bench/compare/rig.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "bench/guests/lending.h"

namespace smartio::bench_compare {

namespace {

constexpr unsigned kUsualMtu = 1500;

}  // namespace

void Rig::leave() {
  if (exported_) return_seconds_.push_back(bench::take_back_whole(guests_, "borrower"));
  exported_ = false;
  auto all = hosts();
  // Borrowers first.
  std::ranges::sort(all, {}, [](const std::string& host) { return host == bench::kLender; });
  for (const std::string& host : all) {
    guests_.shell(host, fmt::format("nvmeof leave; ip link set eth0 mtu {}", kUsualMtu));
    bench::unlend(guests_, host);
  }
}

void Rig::enter_fabrics(const std::string& transport) {
  for (const char* host : {bench::kLender, "borrower"}) {
    guests_.shell(host, fmt::format("ip link set eth0 mtu {}", mtu_));
  }
  const std::string lender(
      trimmed(guests_.shell(bench::kLender, "ip -4 -o addr show dev eth0 | grep -oE '10[.][0-9.]+' | head -1")));
  guests_.shell(bench::kLender, fmt::format("nvmeof export \"{}\" {} {}", bench::kDriveAddress, transport, lender));
  guests_.shell("borrower", fmt::format("nvmeof connect {} {}", transport, lender));
}

std::string Rig::enter(const Scenario& scenario) {
  leave();
  switch (scenario.driver) {
    case Driver::stock:
      guests_.shell(scenario.host, "modprobe nvme");
      break;
    case Driver::smartio:
      bench::lend(guests_, {bench::kLender, "borrower"});
      guests_.shell(scenario.host, fmt::format("modprobe smartio_nvme {} {}", scenario.parameters,
                                               scenario.poll ? "poll_queues=1" : ""));
      break;
    case Driver::lent:
      borrow_seconds_.push_back(bench::lend_whole(guests_, scenario.host));
      exported_ = true;
      break;
    case Driver::nvmeof:
      enter_fabrics(scenario.parameters);
      break;
  }
  // A drive behind NVMe-oF has another serial number.
  return bench::one_disk(guests_, scenario.host, scenario.driver == Driver::nvmeof ? "" : scenario.drive);
}

std::map<std::string, std::string> Rig::enter_sharing() {
  leave();
  const auto all = hosts();
  bench::lend(guests_, all);
  std::map<std::string, std::string> disks;
  for (const std::string& host : all) {
    guests_.shell(host, "modprobe smartio_nvme");
    disks[host] = bench::one_disk(guests_, host);
  }
  return disks;
}

}  // namespace smartio::bench_compare
