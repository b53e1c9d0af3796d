// SPDX-License-Identifier: GPL-2.0
#include "bench_share/rig.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <thread>

#include "cluster/execute.h"
#include "cluster/interrupt.h"
#include "cluster/transfer.h"

namespace smartio::bench_share {

using nlohmann::json;
using namespace std::chrono_literals;

namespace {

constexpr std::string_view kLender = "lender";
constexpr auto kPatience = 60s;

// The one disk there is: /dev/nvmeXnY, not the hidden disks of its paths.
constexpr std::string_view kDisk = R"(for d in /sys/block/nvme*; do
  n=${d##*/}
  case $n in nvme*c*) continue ;; esac
  [ -b /dev/$n ] && dd if=/dev/$n of=/dev/null bs=4096 count=1 iflag=direct status=none 2> /dev/null && echo /dev/$n
done; true)";

// The lender's drive, once its link is up.
constexpr std::string_view kLend = R"sh(for ((i = 0; i < 300; i++)); do
  ! grep -qsx up /sys/class/smartio_link/*/state || break
  sleep 0.1
done
smartioctl lend "$(grep -l 0x010802 /sys/bus/pci/devices/*/class | head -1 | cut -d/ -f6)")sh";

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

}  // namespace

Result<std::string> Rig::shell(const std::string& host, std::string_view text, std::vector<std::string> arguments,
                               std::chrono::seconds patience) {
  auto agent = cluster_.agent(host);
  if (!agent) return std::unexpected(agent.error());
  std::vector<std::string> words{"bash", "-euo", "pipefail", "-c", std::string(text), "bash"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const auto outcome = cluster::execute(*agent, {.command = std::move(words), .input = {}, .timeout = patience});
  if (!outcome) return std::unexpected(outcome.error());
  if (outcome->exit_status() != 0) {
    return fail(fmt::format("{}: status {} of: {}\n{}{}", host, outcome->exit_status(), text, outcome->output,
                            outcome->errors));
  }
  return outcome->output;
}

Result<void> Rig::leave(const std::string& host) {
  const auto left = shell(host, R"(for m in smartio_nvme nvme; do ! [ -d /sys/module/$m ] || modprobe -r $m; done)");
  if (!left) return std::unexpected(left.error());
  return {};
}

Result<void> Rig::lend() {
  if (lent_) return {};
  const auto hosts = cluster_.running_hosts();
  if (!hosts) return std::unexpected(hosts.error());
  for (const std::string& host : *hosts) {
    if (const auto loaded = shell(host, "modprobe ntb_hw_amd; modprobe ntb_smartio"); !loaded) {
      return std::unexpected(loaded.error());
    }
  }
  const auto lent = shell(std::string(kLender), kLend);
  if (!lent) return std::unexpected(lent.error());
  lent_ = true;
  return {};
}

Result<std::string> Rig::enter(const Setup& setup) {
  for (const std::string& host : {std::string(kLender), std::string("borrower")}) {
    if (auto left = leave(host); !left) return std::unexpected(left.error());
  }
  if (setup.stock && lent_) return fail(fmt::format("{}: the drive is lent already", setup.name));
  if (!setup.stock) {
    if (auto lent = lend(); !lent) return std::unexpected(lent.error());
  }
  const auto loaded = shell(
      setup.host, fmt::format("modprobe {} poll_queues=1 {}", setup.stock ? "nvme" : "smartio_nvme", setup.parameters));
  if (!loaded) return std::unexpected(loaded.error());
  const auto deadline = cluster::Deadline::in(kPatience);
  while (!deadline.passed() && cluster::interrupted() == 0) {
    const auto disk = shell(setup.host, kDisk);
    if (!disk) return disk;
    if (const std::string path = trimmed(*disk); !path.empty() && path.find('\n') == std::string::npos) return path;
    std::this_thread::sleep_for(200ms);
  }
  return fail(fmt::format("{}: waited in vain for the one NVMe disk on {}", setup.name, setup.host));
}

Result<void> Rig::start(const std::string& host, const std::vector<std::string>& command) {
  const auto started = shell(host, R"(rm -f /run/bench.out /run/bench.status
    setsid bash -c '"$@" > /run/bench.out 2>&1; echo $? > /run/bench.status' bash "$@" > /dev/null 2>&1 < /dev/null &)",
                             command);
  if (!started) return std::unexpected(started.error());
  return {};
}

Result<std::string> Rig::finish(const std::string& host, std::chrono::seconds patience) {
  const auto deadline = cluster::Deadline::in(patience);
  while (cluster::interrupted() == 0) {
    const auto status = shell(host, "cat /run/bench.status 2> /dev/null || true");
    if (!status) return status;
    if (const std::string code = trimmed(*status); !code.empty()) {
      auto output = shell(host, "cat /run/bench.out");
      if (output && code != "0") return fail(fmt::format("{}: the program ended with {}: {}", host, code, *output));
      return output;
    }
    if (deadline.passed()) return fail(fmt::format("{}: the program does not end", host));
    std::this_thread::sleep_for(500ms);
  }
  return fail("interrupted");
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
  if (const auto made = shell(host, "grep -E '^[0-9a-f]+ [TtWw] ' /proc/kallsyms > /run/kallsyms"); !made) {
    return std::unexpected(made.error());
  }
  auto agent = cluster_.agent(host);
  if (!agent) return std::unexpected(agent.error());
  std::string text;
  const auto pulled = cluster::Transfer(cluster_.folder(), *agent).pull("/run/kallsyms", [&](std::string_view bytes) {
    text += bytes;
    return Result<void>();
  });
  if (!pulled) return std::unexpected(pulled.error());
  return Symbols(text);
}

}  // namespace smartio::bench_share
