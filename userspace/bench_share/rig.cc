// SPDX-License-Identifier: GPL-2.0
#include "bench_share/rig.h"

#include <fmt/format.h>

#include "bench/lending.h"

namespace smartio::bench_share {

Result<void> Rig::leave(const std::string& host) {
  const auto left =
      guests_.shell(host, R"(for m in smartio_nvme nvme; do ! [ -d /sys/module/$m ] || modprobe -r $m; done)");
  if (!left) return std::unexpected(left.error());
  return {};
}

Result<void> Rig::lend() {
  if (lent_) return {};
  const auto hosts = cluster_.running_hosts();
  if (!hosts) return std::unexpected(hosts.error());
  if (auto lent = bench::lend(guests_, *hosts); !lent) return lent;
  lent_ = true;
  return {};
}

Result<std::string> Rig::enter(const Setup& setup) {
  for (const std::string& host : {std::string(bench::kLender), std::string("borrower")}) {
    if (auto left = leave(host); !left) return std::unexpected(left.error());
  }
  if (setup.stock && lent_) return fail(fmt::format("{}: the drive is lent already", setup.name));
  if (!setup.stock) {
    if (auto lent = lend(); !lent) return std::unexpected(lent.error());
  }
  const auto loaded = guests_.shell(
      setup.host, fmt::format("modprobe {} poll_queues=1 {}", setup.stock ? "nvme" : "smartio_nvme", setup.parameters));
  if (!loaded) return std::unexpected(loaded.error());
  auto disk = bench::one_disk(guests_, setup.host, setup.drive);
  if (!disk) return fail(fmt::format("{}: {}", setup.name, disk.error().message));
  return disk;
}

}  // namespace smartio::bench_share
