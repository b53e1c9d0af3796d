// SPDX-License-Identifier: GPL-2.0
#include "smartioctl/fence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "smartioctl/text.h"

namespace smartio::ctl {

namespace {

constexpr const char* kClass = "class/smartio_host";

bool same(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::string advice(const std::string& verb, const std::string& host, std::error_code error) {
  switch (error.value()) {
    case EACCES:
    case EPERM:
      return fmt::format("can't {} {}: not permitted: run it as root", verb, host);
    case EINVAL:
      return fmt::format("can't {} {}: a host can't do that to itself: run it on another host", verb, host);
    case ETIMEDOUT:
      return fmt::format(
          "{} {} did not end in time: it may not be complete, so don't count on it; see dmesg, and power that host off",
          verb, host);
    default:
      return fmt::format("can't {} {}: {}; see dmesg", verb, host, error.message());
  }
}

Outcome<std::string> apply(Sysfs& sysfs, const std::string& verb, const std::string& host) {
  const auto uuid = find_host(sysfs, host);
  if (!uuid) return std::unexpected(uuid.error());
  const std::string name = sysfs.text(fmt::format("{}/{}/name", kClass, *uuid));
  if (const auto error = sysfs.write(fmt::format("{}/{}", kClass, verb), *uuid)) {
    return refuse(advice(verb, name.empty() ? *uuid : name, error));
  }
  return name.empty() ? *uuid : name;
}

}  // namespace

Outcome<std::string> find_host(const Sysfs& sysfs, const std::string& host) {
  if (!sysfs.exists(kClass)) return refuse("the module ntb_smartio is not loaded on this host: modprobe ntb_smartio");
  std::vector<std::string> matches;
  std::vector<std::string> names;
  for (const std::string& uuid : sysfs.list(kClass)) {
    const std::string folder = fmt::format("{}/{}", kClass, uuid);
    if (!sysfs.exists(folder + "/fenced")) continue;
    const std::string name = sysfs.text(folder + "/name");
    if (same(uuid, host) || name == host) matches.push_back(uuid);
    names.push_back(name);
  }
  if (matches.size() == 1) return matches.front();
  if (matches.empty()) {
    return refuse(fmt::format("no host '{}' is known here; known: {}", printable(host), fmt::join(names, ", ")));
  }
  return refuse(fmt::format("{} hosts are called {}: give one's UUID: {}", matches.size(), printable(host),
                            fmt::join(matches, ", ")),
                Exit::kUsage);
}

Outcome<std::string> fence(Sysfs& sysfs, const std::string& host) { return apply(sysfs, "fence", host); }
Outcome<std::string> unfence(Sysfs& sysfs, const std::string& host) { return apply(sysfs, "unfence", host); }

}  // namespace smartio::ctl
