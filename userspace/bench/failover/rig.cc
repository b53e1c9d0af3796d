// SPDX-License-Identifier: GPL-2.0
#include "bench/failover/rig.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <thread>

#include "base/deadline.h"
#include "bench/guests/lending.h"
#include "cluster/interrupt.h"

namespace smartio::bench_failover {

using namespace std::chrono_literals;

namespace {

constexpr std::string_view kPolicy = R"sh(for s in /sys/class/nvme-subsystem/*/iopolicy; do echo "$1" > "$s"; done)sh";

constexpr std::string_view kCompleted = R"sh(read -r r _ _ _ w _ < "/sys/block/${1##*/}/stat"; echo $((r + w)))sh";

// The last words of their addresses: a host's, the other's.
struct Numbers {
  const char* host;
  const char* number;
  const char* peer;
};
constexpr std::array<Numbers, 2> kNumbers{{{bench::kLender, "1", "2"}, {kBorrower, "2", "1"}}};

Result<double> number(const Result<std::string>& text) {
  if (!text) return std::unexpected(text.error());
  try {
    return std::stod(*text);
  } catch (const std::exception&) {
    return fail(fmt::format("expected a number, saw: {:.80}", *text));
  }
}

Result<void> nothing(const Result<std::string>& text) {
  if (!text) return std::unexpected(text.error());
  return {};
}

}  // namespace

std::string_view name_of(Transport transport) { return transport == Transport::smartio ? "smartio" : "NVMe-oF/TCP"; }

Result<std::vector<Path>> parse_paths(std::string_view text) {
  std::vector<Path> all;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    Path path;
    std::string where;
    if (!(words >> path.cable >> path.controller >> path.state >> where >> path.ios))
      return fail(fmt::format("expected a path, saw: {:.80}", line));
    all.push_back(std::move(path));
  }
  return all;
}

Result<unsigned> busiest(const std::vector<Path>& before, const std::vector<Path>& after) {
  const Path* best = nullptr;
  double most = 0;
  for (const Path& path : after) {
    const auto old = std::ranges::find(before, path.controller, &Path::controller);
    const double done = old == before.end() ? 0 : path.ios - old->ios;
    if (done > most) {
      best = &path;
      most = done;
    }
  }
  if (best == nullptr) return fail("no path has done any I/O meanwhile");
  return best->cable;
}

Result<void> Rig::leave() {
  for (const char* host : {kBorrower, bench::kLender}) {
    if (auto left = nothing(guests_.shell(host, "nvmeof_tcp leave")); !left) return left;
    if (auto left = bench::unlend(guests_, host); !left) return left;
  }
  return {};
}

Result<std::string> Rig::enter(Transport transport) {
  const auto links = cluster_.fabric("link list");
  if (!links) return std::unexpected(links.error());
  transport_ = Transport::smartio;
  cables_.clear();
  for (const auto& link : links->at("links")) cables_.push_back(link.at("name"));
  for (unsigned cable = 0; cable < cables_.size(); ++cable) {
    if (auto up = set_cable(cable, "up"); !up) return std::unexpected(up.error());
  }
  if (auto left = leave(); !left) return std::unexpected(left.error());
  transport_ = transport;
  if (transport == Transport::smartio) {
    if (auto lent = bench::lend(guests_, {bench::kLender, kBorrower}); !lent) return std::unexpected(lent.error());
    if (auto loaded = nothing(guests_.shell(kBorrower, "modprobe smartio_nvme")); !loaded)
      return std::unexpected(loaded.error());
  } else {
    for (const auto& [host, number, peer] : kNumbers) {
      if (auto made = nothing(guests_.shell(host, "nvmeof_tcp network $1", {number})); !made)
        return std::unexpected(made.error());
    }
    if (auto offered =
            nothing(guests_.shell(bench::kLender, fmt::format("nvmeof_tcp export \"{}\"", bench::kDriveAddress)));
        !offered)
      return std::unexpected(offered.error());
    if (auto reached = nothing(guests_.shell(kBorrower, "nvmeof_tcp connect 1")); !reached)
      return std::unexpected(reached.error());
  }
  auto disk = bench::one_disk(guests_, kBorrower);
  if (!disk) return disk;
  if (auto live = wait_all_live(60s); !live) return std::unexpected(live.error());
  return disk;
}

Result<void> Rig::set_policy(std::string_view policy) {
  return nothing(guests_.shell(kBorrower, kPolicy, {std::string(policy)}));
}

Result<void> Rig::set_cable(unsigned cable, std::string_view state) {
  if (transport_ == Transport::nvmeof_tcp) {
    for (const auto& [host, number, peer] : kNumbers) {
      if (auto set = nothing(guests_.shell(host, R"sh(nvmeof_tcp "$1" "$2" "$3")sh",
                                           {state == "up" ? "mend" : "cut", std::to_string(cable), peer}));
          !set)
        return set;
    }
    return {};
  }
  const auto answer = cluster_.fabric(fmt::format("link {} {}", cables_.at(cable), state));
  if (!answer) return std::unexpected(answer.error());
  return {};
}

Result<std::vector<Path>> Rig::paths() {
  const auto text = guests_.shell(kBorrower, "nvme_paths");
  if (!text) return std::unexpected(text.error());
  return parse_paths(*text);
}

Result<void> Rig::wait_all_live(std::chrono::seconds patience) {
  const auto deadline = Deadline::in(patience);
  while (cluster::interrupted() == 0) {
    const auto now = paths();
    if (!now) return std::unexpected(now.error());
    if (now->size() == cables_.size() && std::ranges::all_of(*now, [](const Path& p) { return p.state == "live"; }))
      return {};
    if (deadline.passed()) return fail("waited in vain for all paths to be live");
    std::this_thread::sleep_for(100ms);
  }
  return fail("interrupted");
}

Result<unsigned> Rig::active_cable() {
  const auto before = paths();
  if (!before) return std::unexpected(before.error());
  std::this_thread::sleep_for(200ms);
  const auto after = paths();
  if (!after) return std::unexpected(after.error());
  return busiest(*before, *after);
}

Result<double> Rig::completed(const std::string& disk) { return number(guests_.shell(kBorrower, kCompleted, {disk})); }

Result<double> Rig::now_ms() { return number(guests_.shell(kBorrower, "date +%s%3N")); }

}  // namespace smartio::bench_failover
