// SPDX-License-Identifier: GPL-2.0
#include "smartioctl/fence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <sstream>
#include <thread>

#include "base/deadline.h"
#include "base/text.h"
#include "smartioctl/text.h"

namespace smartio::ctl {

namespace {

constexpr const char* kClass = "class/smartio_host";
constexpr const char* kPaths = "bus/smartio/devices";

bool same(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::string self_uuid(const Sysfs& sysfs) {
  for (const std::string& uuid : sysfs.devices(kClass)) {
    if (sysfs.text(fmt::format("{}/{}/self", kClass, uuid)) == "1") return uuid;
  }
  return {};
}

Lending lending(const Sysfs& sysfs, const std::string& uuid) {
  const std::string folder = fmt::format("{}/{}", kClass, uuid);
  const std::string name = sysfs.text(folder + "/name");
  return {.uuid = uuid, .name = name.empty() ? uuid : name, .self = sysfs.text(folder + "/self") == "1"};
}

std::string advice(const std::string& verb, const std::string& host, const Lending& at, std::error_code error) {
  const bool fencing = verb == "fence";
  if (::geteuid() != 0 && (error.value() == EACCES || error.value() == EPERM)) {
    return fmt::format("can't {} {}: not permitted: run it as root", verb, host);
  }
  switch (error.value()) {
    case EACCES:
      return fmt::format("can't {} {}: {} accepts no requests of other hosts (remote_fence=0); run smartioctl on {}",
                         verb, host, at.name, at.name);
    case EBUSY:
      return fmt::format("can't {} {}: {} is processing another request of this host, or {} keeps rejoining; retry",
                         verb, host, at.name, host);
    case EPERM:
      return fmt::format("can't {} {}: this host is fenced itself", verb, host);
    case EINVAL:
      return fmt::format("can't {} {}: a host can't fence itself; run smartioctl on another host", verb, host);
    case ENOLINK:
      return fmt::format("can't {} {}: no link to {} is up; {}", verb, host, at.name,
                         fencing ? fmt::format("{} may still use drives of {}", host, at.name) : "check the link");
    case ETIMEDOUT:
      return fmt::format("{} of {} timed out at {} and may be incomplete; check dmesg on {}, {}", verb, host, at.name,
                         at.name, fencing ? fmt::format("and power {} off", host) : "then retry");
    default:
      return fmt::format("can't {} {} at {}: {}; see dmesg", verb, host, at.name, error.message());
  }
}

/// The host that a name or UUID means at a lender. One that is just being linked again can be asked in a moment.
Outcome<KnownHost> find_at(const Sysfs& sysfs, const std::string& host, const Lending& at,
                           std::chrono::seconds patience) {
  Outcome<std::vector<KnownHost>> known;
  const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(100)); };
  const auto linked = [&] {
    known = hosts_of(sysfs, at);
    return known.has_value();
  };
  if (!wait_until(Deadline::in(patience), pause, linked)) return std::unexpected(known.error());
  return find_host(*known, at, host);
}

Outcome<std::string> apply_at(Sysfs& sysfs, const std::string& verb, const KnownHost& host, const Lending& at) {
  if (const auto error = sysfs.write(fmt::format("{}/{}/{}", kClass, at.uuid, verb), host.uuid)) {
    return refuse(advice(verb, host.name, at, error));
  }
  return at.name;
}

Outcome<std::vector<std::string>> apply(Sysfs& sysfs, bool fencing, const std::string& host, const std::string& at) {
  auto places = lenders(sysfs, at);
  if (!places) return std::unexpected(places.error());
  // This host cuts the link to the victim, which may be a lender that must be asked before. So this host comes last in
  // fencing, and first in admitting the victim.
  std::ranges::stable_sort(*places, {}, [&](const Lending& place) { return place.self == fencing; });
  const std::string verb = fencing ? "fence" : "unfence";
  std::vector<std::string> done;
  std::vector<std::string> reasons;
  std::string uuid;
  Exit status = Exit::kFailed;
  for (const Lending& place : *places) {
    if (fencing && place.self && !reasons.empty()) break;
    const auto found = find_at(sysfs, uuid.empty() ? host : uuid, place, std::chrono::seconds(fencing ? 0 : 10));
    auto name = found ? apply_at(sysfs, verb, *found, place) : std::unexpected(found.error());
    // One name may be another host's elsewhere: that of the first lender is meant.
    if (found) uuid = found->uuid;
    if (name) {
      done.push_back(*name);
    } else {
      reasons.push_back(name.error().message);
      status = name.error().status;
    }
  }
  if (reasons.empty()) return done;
  return refuse(fmt::format("{}", fmt::join(reasons, "; ")), status);
}

Outcome<std::vector<std::string>> rejoin(Sysfs& sysfs) {
  const auto error = sysfs.write(fmt::format("{}/rejoin", kClass), "1");
  if (!error) return std::vector<std::string>{};
  if (error.value() == ENOLINK) return refuse("no link is up; this host can't request admission");
  if (error.value() == EPERM) {
    return refuse(
        "this host has not restarted since it was fenced; reboot it, reload smartio, or run unfence on another host");
  }
  return refuse(fmt::format("admission request failed: {}", error.message()));
}

}  // namespace

Outcome<std::vector<Lending>> lenders(const Sysfs& sysfs, const std::string& at) {
  if (!sysfs.exists(kClass)) return refuse("the module ntb_smartio is not loaded on this host: modprobe ntb_smartio");
  std::vector<Lending> found;
  std::istringstream names(at);
  for (std::string one; std::getline(names, one, ',');) {
    const std::size_t before = found.size();
    for (const std::string& uuid : sysfs.devices(kClass)) {
      if (!sysfs.exists(fmt::format("{}/{}/hosts", kClass, uuid))) continue;
      const Lending host = lending(sysfs, uuid);
      if (same(uuid, one) || host.name == one) found.push_back(host);
    }
    if (found.size() == before + 1) continue;
    return refuse(
        fmt::format("{} hosts called '{}' are known here", found.size() == before ? "no" : "several", printable(one)),
        found.size() == before ? Exit::kFailed : Exit::kUsage);
  }
  if (!found.empty()) return found;
  if (!sysfs.devices("class/smartio_export").empty()) found.push_back(lending(sysfs, self_uuid(sysfs)));
  for (const std::string& path : sysfs.list(kPaths)) {
    const std::string uuid = sysfs.text(fmt::format("{}/{}/host", kPaths, path));
    if (uuid.empty() || std::ranges::any_of(found, [&](const Lending& l) { return same(l.uuid, uuid); })) continue;
    found.push_back(lending(sysfs, uuid));
  }
  if (found.empty()) {
    return refuse("this host knows no lender; check its links, or name one with --at");
  }
  return found;
}

Outcome<std::vector<KnownHost>> hosts_of(const Sysfs& sysfs, const Lending& lender) {
  std::vector<KnownHost> hosts;
  const std::string text = sysfs.read(fmt::format("{}/{}/hosts", kClass, lender.uuid));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string::npos) break;  // sysfs gives one page: the name may be cut
    const auto words = words_of(std::string_view(text).substr(at, end - at));
    at = end + 1;
    if (words.size() != 3) continue;
    hosts.push_back({.uuid = std::string(words[0]),
                     .name = printable(words[2]),
                     .standing = words[1] == "fenced"   ? Standing::kFenced
                                 : words[1] == "linked" ? Standing::kLinked
                                                        : Standing::kAway});
  }
  if (hosts.empty()) {
    return refuse(fmt::format("{} can't be asked: no link to it is up, or it does not answer", lender.name));
  }
  return hosts;
}

Outcome<KnownHost> find_host(const std::vector<KnownHost>& hosts, const Lending& lender, const std::string& host) {
  std::vector<KnownHost> matches;
  std::vector<std::string> names;
  std::vector<std::string> uuids;
  for (const KnownHost& known : hosts) {
    if (same(known.uuid, host)) return known;  // even if another host has it as its name
    names.push_back(known.name);
    if (known.name != host) continue;
    matches.push_back(known);
    uuids.push_back(known.uuid);
  }
  if (matches.size() == 1) return matches.front();
  if (matches.empty()) {
    return refuse(
        fmt::format("no host '{}' is known at {}; known: {}", printable(host), lender.name, fmt::join(names, ", ")));
  }
  return refuse(fmt::format("{} hosts are called {}: give one's UUID: {}", matches.size(), printable(host),
                            fmt::join(uuids, ", ")),
                Exit::kUsage);
}

bool is_self(const Sysfs& sysfs, const std::string& host) {
  const std::string uuid = self_uuid(sysfs);
  return !uuid.empty() && (same(uuid, host) || sysfs.text(fmt::format("{}/{}/name", kClass, uuid)) == host);
}

Outcome<std::vector<std::string>> fence(Sysfs& sysfs, const std::string& host, const std::string& at) {
  if (is_self(sysfs, host))
    return refuse(fmt::format("can't fence {}: a host can't fence itself; run smartioctl on another host", host));
  return apply(sysfs, true, host, at);
}

Outcome<std::vector<std::string>> unfence(Sysfs& sysfs, const std::string& host, const std::string& at) {
  if (is_self(sysfs, host)) return rejoin(sysfs);
  return apply(sysfs, false, host, at);
}

Outcome<bool> is_fenced(const Sysfs& sysfs, const std::string& host, const std::string& at) {
  if (is_self(sysfs, host)) {
    for (const std::string& link : sysfs.devices("class/smartio_link")) {
      if (sysfs.text(fmt::format("class/smartio_link/{}/reason", link)) == "this host is fenced") return true;
    }
    return sysfs.text(fmt::format("{}/{}/fenced", kClass, self_uuid(sysfs))) == "1";
  }
  const auto places = lenders(sysfs, at);
  if (!places) return std::unexpected(places.error());
  for (const Lending& place : *places) {
    const auto known = hosts_of(sysfs, place);
    if (!known) return std::unexpected(known.error());
    const auto found = find_host(*known, place, host);
    if (!found) return std::unexpected(found.error());
    if (found->standing != Standing::kFenced) return false;
  }
  return true;
}

}  // namespace smartio::ctl
