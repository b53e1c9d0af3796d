// SPDX-License-Identifier: GPL-2.0
#include "bench_share/rig.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/lending.h"

namespace smartio::bench_share {

using nlohmann::json;

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
  auto disk = bench::one_disk(guests_, setup.host);
  if (!disk) return fail(fmt::format("{}: {}", setup.name, disk.error().message));
  return disk;
}

Result<Sample> Rig::sample(const std::string& drive) {
  auto ios = [&]() -> Result<double> {
    const auto counters = cluster_.fabric(fmt::format("drive {} counters", drive));
    if (!counters) return std::unexpected(counters.error());
    double sum = 0;
    for (const auto& [name, count] : counters->at("commands").items()) sum += count.get<double>();
    return sum;
  };
  Sample now;
  // Before and after the rest: the mean is that of the moment between.
  const auto before = ios();
  if (!before) return std::unexpected(before.error());
  now.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  const auto hosts = cluster_.running_hosts();
  if (!hosts) return std::unexpected(hosts.error());
  for (const std::string& host : *hosts) {
    const auto mode = cluster_.instructions(host, "mode");
    if (!mode) return std::unexpected(mode.error());
    now.hosts[host] = instructions_from(*mode);
  }
  const auto after = ios();
  if (!after) return std::unexpected(after.error());
  now.ios = (*before + *after) / 2;
  const auto ledger = cluster_.fabric("ledger");
  if (!ledger) return std::unexpected(ledger.error());
  now.ledger = ledger_from(*ledger);
  return now;
}

Result<Symbols> Rig::symbols(const std::string& host) {
  // Code only: a third of the lines.
  if (const auto made = guests_.shell(host, "grep -E '^[0-9a-f]+ [TtWw] ' /proc/kallsyms > /run/kallsyms"); !made) {
    return std::unexpected(made.error());
  }
  const auto text = guests_.file(host, "/run/kallsyms");
  if (!text) return std::unexpected(text.error());
  return Symbols(*text);
}

}  // namespace smartio::bench_share
