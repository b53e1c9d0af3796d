// SPDX-License-Identifier: GPL-2.0
#include "bench/failover/rig.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "bench/guests/lending.h"

namespace smartio::bench_failover {

using namespace std::chrono_literals;

namespace {

constexpr std::string_view kPolicy = R"sh(for s in /sys/class/nvme-subsystem/*/iopolicy; do echo "$1" > "$s"; done)sh";

// The last words of their addresses: a host's, the other's.
struct Numbers {
  const char* host;
  const char* number;
  const char* peer;
};
constexpr std::array<Numbers, 2> kNumbers{{{bench::kLender, "1", "2"}, {kBorrower, "2", "1"}}};

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

void Rig::leave() {
  for (const char* host : {kBorrower, bench::kLender}) {
    guests_.shell(host, "nvmeof_tcp leave");
    bench::unlend(guests_, host);
  }
}

std::string Rig::enter(Transport transport) {
  transport_ = Transport::smartio;
  cables_.clear();
  const auto links = checked(cluster_.fabric("link list"));
  for (const auto& link : links.at("links")) cables_.push_back(link.at("name"));
  for (unsigned cable = 0; cable < cables_.size(); ++cable) set_cable(cable, "up");
  leave();
  transport_ = transport;
  if (transport == Transport::smartio) {
    bench::lend(guests_, {bench::kLender, kBorrower});
    guests_.shell(kBorrower, "modprobe smartio_nvme");
  } else {
    for (const auto& [host, number, peer] : kNumbers) guests_.shell(host, "nvmeof_tcp network $1", {number});
    guests_.shell(bench::kLender, fmt::format("nvmeof_tcp export \"{}\"", bench::kDriveAddress));
    guests_.shell(kBorrower, "nvmeof_tcp connect 1");
  }
  std::string disk = bench::one_disk(guests_, kBorrower);
  wait_all_live(60s);
  return disk;
}

void Rig::set_policy(std::string_view policy) { guests_.shell(kBorrower, kPolicy, {std::string(policy)}); }

void Rig::set_cable(unsigned cable, std::string_view state) {
  if (transport_ == Transport::nvmeof_tcp) {
    for (const auto& [host, number, peer] : kNumbers) {
      guests_.shell(host, R"sh(nvmeof_tcp "$1" "$2" "$3")sh",
                    {state == "up" ? "mend" : "cut", std::to_string(cable), peer});
    }
  } else {
    checked(cluster_.fabric(fmt::format("link {} {}", cables_.at(cable), state)));
  }
}

std::vector<Path> Rig::paths() { return checked(parse_paths(guests_.shell(kBorrower, "nvme_paths"))); }

void Rig::wait_all_live(std::chrono::seconds patience) {
  auto all_live = [&] {
    const auto now = paths();
    return now.size() == cables_.size() && std::ranges::all_of(now, [](const Path& p) { return p.state == "live"; });
  };
  bench::wait_for(100ms, patience, all_live, [&] { return fmt::format("not all paths are live after {}", patience); });
}

unsigned Rig::active_cable() {
  const auto before = paths();
  bench::sleep_for(200ms);
  return checked(busiest(before, paths()));
}

}  // namespace smartio::bench_failover
