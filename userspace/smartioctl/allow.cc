// SPDX-License-Identifier: GPL-2.0
#include "smartioctl/allow.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cerrno>

#include "base/text.h"
#include "smartioctl/fence.h"
#include "smartioctl/text.h"

namespace smartio::ctl {

namespace {

constexpr const char* kAllow = "class/smartio_export/allow";
constexpr const char* kHosts = "class/smartio_host";

/// Those that this host has seen.
std::vector<KnownHost> known_hosts(const Sysfs& sysfs) {
  std::vector<KnownHost> hosts;
  for (const std::string& uuid : sysfs.devices(kHosts)) {
    hosts.push_back({.uuid = uuid, .name = sysfs.text(fmt::format("{}/{}/name", kHosts, uuid))});
  }
  return hosts;
}

/// The rule of these hosts. One that was never seen is named by its UUID.
Outcome<Rule> rule_of(const Sysfs& sysfs, const std::vector<std::string>& hosts, const std::string& pci) {
  Rule rule{.pci = pci, .hosts = {}, .names = {}};
  const std::vector<KnownHost> known = known_hosts(sysfs);
  for (const std::string& host : hosts) {
    if (host == "any" || host == "none") {
      if (hosts.size() == 1) continue;
      return refuse(fmt::format("'{}' can't be combined with other hosts", host), Exit::kUsage);
    }
    auto found = find_host(known, {.uuid = "", .name = "this host", .self = true}, host);
    if (!found && is_uuid(host)) found = KnownHost{.uuid = host, .name = ""};
    if (!found) {
      if (found.error().status != Exit::kUsage) {
        found.error().message += "; name a host that was not seen yet by its UUID";
      }
      return std::unexpected(found.error());
    }
    std::string uuid = found->uuid;
    std::ranges::transform(uuid, uuid.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (std::ranges::contains(rule.hosts, uuid)) continue;
    rule.hosts.push_back(std::move(uuid));
    rule.names.push_back(found->name);
  }
  return rule;
}

std::vector<std::string> labels_of(const Rule& rule) {
  std::vector<std::string> labels = rule.hosts;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (i < rule.names.size() && !rule.names[i].empty()) labels[i] = rule.names[i];
  }
  return labels;
}

std::string why(std::error_code error) {
  if (error.value() == ENOSPC) return "limit: 64 hosts a device, 256 devices with rules";
  return reason(error);
}

std::error_code put_in_force(Sysfs& sysfs, const std::string& pci, const std::vector<std::string>& hosts) {
  return sysfs.write(kAllow,
                     fmt::format("{} {}", pci, hosts.empty() ? "none" : fmt::format("{}", fmt::join(hosts, ","))));
}

}  // namespace

Outcome<void> allow(Sysfs& sysfs, const Rules& rules, const std::vector<std::string>& hosts, const std::string& device,
                    bool force, const std::function<void(const std::string&)>& report) {
  const auto pci = parse_pci_address(device);
  if (!pci) {
    return refuse(fmt::format("'{}' is no PCI address; it looks like 01:00.0 or 0000:01:00.0, and is the last argument",
                              printable(device)),
                  Exit::kUsage);
  }
  if (hosts.empty()) return refuse("no host is named: smartioctl allow HOST… EXPORT", Exit::kUsage);
  const auto rule = rule_of(sysfs, hosts, *pci);
  if (!rule) return std::unexpected(rule.error());
  const bool any = hosts.front() == "any";

  std::vector<std::string> losers;
  for (const Borrower& borrower :
       parse_borrowers(sysfs.read(fmt::format("class/smartio_export/{}/borrowers", *pci))).items) {
    if (any || borrower.link == "local" || std::ranges::contains(rule->hosts, borrower.host)) continue;
    losers.push_back(fmt::format("{} over {}", borrower.name, borrower.link));
  }
  if (!losers.empty() && !force) {
    return refuse(
        fmt::format("{} is borrowed by {}; stop its users there and return it, or use --force (they get I/O errors)",
                    *pci, fmt::join(losers, ", ")),
        Exit::kInUse);
  }

  const bool loaded = sysfs.exists(kAllow);
  if (loaded) {
    const std::error_code error =
        any ? sysfs.write(kAllow, fmt::format("{} any", *pci)) : put_in_force(sysfs, *pci, rule->hosts);
    if (error) return refuse(fmt::format("{}: the rule is not changed: {}", *pci, why(error)));
  }
  if (any) {
    if (const auto forgotten = rules.forget(*pci); !forgotten) {
      return refuse(
          fmt::format("any host may borrow {}, but not after the next boot: {}", *pci, forgotten.error().message));
    }
    report(fmt::format("any host may borrow {}", *pci));
  } else {
    if (const auto kept = rules.keep(*rule); !kept) {
      return refuse(fmt::format("the rule of {} is {}: {}", *pci,
                                loaded ? "in force, but not after the next boot" : "not written",
                                kept.error().message));
    }
    const std::vector<std::string> labels = labels_of(*rule);
    report(fmt::format("{} may borrow {} ({})",
                       labels.empty() ? "no other host" : fmt::format("only {}", fmt::join(labels, ", ")), *pci,
                       rules.file(*pci).string()));
  }
  if (!sysfs.exists(device_path(*pci))) report(fmt::format("There is no device {} on this host now", *pci));
  return {};
}

Outcome<void> enforce(Sysfs& sysfs, const Rules& rules, const std::function<void(const std::string&)>& report) {
  const auto [good, broken] = rules.read();
  std::vector<std::string> failures;
  const auto put = [&](const std::string& pci, const std::vector<std::string>& hosts) {
    if (!sysfs.exists(kAllow)) {
      failures.push_back(fmt::format("the rule of {}: the module smartio is not loaded, or knows no rules", pci));
    } else if (const std::error_code error = put_in_force(sysfs, pci, hosts)) {
      failures.push_back(fmt::format("the rule of {}: {}", pci, why(error)));
    }
  };
  for (const Rule& rule : good) put(rule.pci, rule.hosts);
  for (const Rules::Broken& file : broken) {
    if (!file.pci.empty()) put(file.pci, {});
    report(file.complaint +
           (file.pci.empty() ? "" : fmt::format("; until then no other host may borrow {}", file.pci)));
  }
  if (!failures.empty()) {
    return refuse(fmt::format("not in force: {}", fmt::join(failures, "\n")));
  }
  return {};
}

}  // namespace smartio::ctl
