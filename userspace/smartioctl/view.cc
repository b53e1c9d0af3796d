// SPDX-License-Identifier: GPL-2.0
#include "smartioctl/view.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>

#include "base/numbers.h"
#include "base/text.h"
#include "smartioctl/function.h"
#include "smartioctl/json.h"

namespace smartio::ctl {

namespace {

using nlohmann::json;

/// The disk of a name below a controller: "nvme0n1" itself, or of "nvme0c1n1", which is one path to it, that; else
/// none.
std::string disk_of(std::string_view name) {
  std::string disk;
  for (const std::string_view part : {"nvme", "c", "n"}) {
    if (!name.starts_with(part)) {
      if (part == "c") continue;
      return "";
    }
    name.remove_prefix(part.size());
    const std::string_view digits = name.substr(0, name.find_first_not_of("0123456789"));
    if (digits.empty()) return "";
    if (part != "c") disk.append(part).append(digits);
    name.remove_prefix(digits.size());
  }
  return name.empty() ? disk : "";
}

bool is_yes(const std::string& value) { return value == "1" || value == "yes" || value == "Y" || value == "y"; }

Host read_host(const Sysfs& sysfs, const std::string& uuid) {
  const std::string at = "class/smartio_host/" + uuid;
  const std::string links = sysfs.read(at + "/links");
  return {.uuid = printable(uuid),
          .name = sysfs.text(at + "/name"),
          .self = is_yes(sysfs.text(at + "/self")),
          .fenced = is_yes(sysfs.text(at + "/fenced")),
          .links = words_of(links) | std::ranges::to<std::vector<std::string>>()};
}

Link read_link(const Sysfs& sysfs, const std::string& name) {
  const std::string at = "class/smartio_link/" + name;
  return {.name = printable(name),
          .state = sysfs.text(at + "/state"),
          .peer = sysfs.text(at + "/peer"),
          .peer_name = sysfs.text(at + "/peer_name"),
          .reason = sysfs.text(at + "/reason"),
          .generation = parse_number(sysfs.text(at + "/generation")).value_or(0),
          .losses = parse_number(sysfs.text(at + "/losses")).value_or(0),
          .heartbeat_age_ms = parse_number(sysfs.text(at + "/heartbeat_age_ms")),
          .windows = parse_windows(sysfs.read(at + "/windows"))};
}

Export read_export(const Sysfs& sysfs, const std::string& pci) {
  const std::string at = "class/smartio_export/" + pci;
  const std::string device = device_path(pci);
  const std::string controller = controller_below(sysfs, device);
  const std::string below = device + "/nvme/" + controller;
  return {.pci = printable(pci),
          .service = sysfs.text(at + "/service"),
          .physical = sysfs.link(device + "/physfn"),
          .controller = controller,
          .model = controller.empty() ? "" : sysfs.text(below + "/model"),
          .serial = controller.empty() ? "" : sysfs.text(below + "/serial"),
          .incarnation = sysfs.text(device + "/incarnation"),
          .queue_pairs = sysfs.text(device + "/queue_pairs_total"),
          .allowed = parse_allowed(sysfs.read(at + "/allowed")),
          .borrowers = parse_borrowers(sysfs.read(at + "/borrowers")),
          .holdings = parse_holdings(sysfs.read(at + "/holdings"))};
}

Path read_path(const Sysfs& sysfs, const std::string& name) {
  const std::string at = "bus/smartio/devices/" + name;
  const std::string function = sysfs.text(at + "/function");
  const std::string device = device_path(function);
  Children below;
  if (!function.empty()) below = children_of(sysfs, device);
  std::ranges::copy(disks_of(sysfs, at), std::back_inserter(below.disks));
  return {.name = printable(name),
          .service = sysfs.text(at + "/service"),
          .host = sysfs.text(at + "/host"),
          .host_name = sysfs.text(at + "/host_name"),
          .pci = sysfs.text(at + "/pci"),
          .link = sysfs.text(at + "/link"),
          .state = sysfs.text(at + "/state"),
          .session = parse_number(sysfs.text(at + "/session")).value_or(0) == 0 ? "" : sysfs.text(at + "/session"),
          .driver = sysfs.link(at + "/driver"),
          .controller = controller_below(sysfs, at),
          .disks = std::move(below.disks),
          .namespaces = namespaces_of(sysfs, at),
          .function = function,
          .function_driver = function.empty() ? "" : sysfs.link(device + "/driver"),
          .interfaces = std::move(below.interfaces)};
}

template <typename T, typename Convert>
json array_of(const std::vector<T>& items, Convert convert) {
  json result = json::array();
  for (const T& item : items) result.push_back(convert(item));
  return result;
}

}  // namespace

std::string controller_below(const Sysfs& sysfs, const std::string& device) {
  const auto names = sysfs.list(device + "/nvme");
  return names.empty() ? std::string() : names.front();
}

std::vector<std::string> disks_of(const Sysfs& sysfs, const std::string& device) {
  std::vector<std::string> disks;
  const std::string controller = controller_below(sysfs, device);
  if (controller.empty()) return disks;
  for (const std::string& name : sysfs.list(fmt::format("{}/nvme/{}", device, controller))) {
    if (std::string disk = disk_of(name); !disk.empty()) disks.push_back(std::move(disk));
  }
  std::ranges::sort(disks);
  const auto doubled = std::ranges::unique(disks);
  disks.erase(doubled.begin(), doubled.end());
  return disks;
}

std::vector<Namespace> namespaces_of(const Sysfs& sysfs, const std::string& device) {
  std::vector<Namespace> namespaces;
  const std::string controller = controller_below(sysfs, device);
  if (controller.empty()) return namespaces;
  const std::string at = fmt::format("{}/nvme/{}", device, controller);
  for (const std::string& name : sysfs.list(at)) {
    std::string disk = disk_of(name);
    const auto nsid = parse_number(sysfs.text(at + "/" + name + "/nsid"));
    if (disk.empty() || !nsid) continue;
    std::string eui64 = sysfs.text(at + "/" + name + "/eui");
    std::erase(eui64, ' ');
    namespaces.push_back({.disk = std::move(disk),
                          .nsid = *nsid,
                          .nguid = sysfs.text(at + "/" + name + "/nguid"),
                          .eui64 = std::move(eui64),
                          .serial = sysfs.text(at + "/serial")});
  }
  std::ranges::sort(namespaces, {}, &Namespace::nsid);
  return namespaces;
}

// As udev does it, see 61-smartio-paths.rules: blanks become _, and other than these few characters, too.
std::string Namespace::name() const {
  constexpr std::string_view kKept = "#+-.:=@_";
  std::string kept;
  for (const char c : serial) {
    const bool word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    kept += word || kKept.contains(c) ? c : '_';
  }
  return fmt::format("{}-ns{}", kept, nsid);
}

std::string View::name_of(const std::string& uuid) const {
  const auto host = std::ranges::find(hosts, uuid, &Host::uuid);
  return host == hosts.end() || host->name.empty() ? uuid : host->name;
}

std::string View::self_name() const {
  const auto self = std::ranges::find_if(hosts, &Host::self);
  if (self != hosts.end() && !self->name.empty()) return self->name;
  utsname names{};
  return ::uname(&names) == 0 ? names.nodename : "?";
}

Result<View> read_view(const Sysfs& sysfs, const Choices& choices) {
  if (!sysfs.exists("class/smartio_export") && !sysfs.exists("class/smartio_host")) {
    return fail("the module ntb_smartio is not loaded on this host: modprobe ntb_smartio (and the NTB's own driver)");
  }
  View view;
  for (const auto& name : sysfs.devices("class/smartio_host")) view.hosts.push_back(read_host(sysfs, name));
  for (const auto& name : sysfs.devices("class/smartio_link")) view.links.push_back(read_link(sysfs, name));
  for (const auto& name : sysfs.devices("class/smartio_export")) view.exports.push_back(read_export(sysfs, name));
  for (const auto& name : sysfs.devices("bus/smartio/devices")) view.paths.push_back(read_path(sysfs, name));
  view.choices = choices.read().choices;
  // This host first, then by name.
  std::ranges::stable_sort(view.hosts,
                           [](const Host& a, const Host& b) { return a.self != b.self ? a.self : a.name < b.name; });
  return view;
}

std::vector<std::string> problems_of(const View& view) {
  std::vector<std::string> problems;
  for (const Link& link : view.links) {
    if (link.state == "up") continue;
    const std::string why = link.reason.empty() ? "" : ": " + link.reason;
    const std::string peer = link.peer_name.empty() ? "" : " to " + link.peer_name;
    const std::string next = link.state == "refused" ? "see dmesg on both hosts"
                                                     : "check the cable, and that ntb_smartio is loaded on the other "
                                                       "host";
    problems.push_back(fmt::format("link {}{} is {}{}; {}", link.name, peer, link.state, why, next));
  }
  for (const Host& host : view.hosts) {
    if (host.fenced) {
      problems.push_back(fmt::format("host {} is fenced; smartioctl unfence {} readmits it", host.name, host.name));
    }
  }
  for (const Path& path : view.paths) {
    if (path.state == "lost") {
      problems.push_back(
          fmt::format("{} of {} over {} is lost; it comes back when the link is up and its lender offers it", path.pci,
                      path.host_name, path.link));
    } else if (path.driver.empty() && !(path.service == "pci" && path.link == "local")) {
      // A lender has no use for its own function as a borrower: it takes it back.
      problems.push_back(fmt::format("{} of {} over {} has no driver; modprobe smartio_{}", path.pci, path.host_name,
                                     path.link, path.service));
    }
  }
  for (const Choice& choice : view.choices) {
    if (choice.vfs != 0) {
      const auto lent = std::ranges::count(view.exports, choice.pci, &Export::physical);
      if (static_cast<unsigned>(lent) < choice.vfs) {
        problems.push_back(
            fmt::format("{} of {} were chosen to be lent, and {} are; smartioctl lend --vfs {} {} says why",
                        plural(choice.vfs, "virtual function"), choice.pci, lent, choice.vfs, choice.pci));
      }
    } else if (std::ranges::find(view.exports, choice.pci, &Export::pci) == view.exports.end()) {
      problems.push_back(
          fmt::format("{} was chosen to be lent and is not; smartioctl lend {} says why", choice.pci, choice.pci));
    }
  }
  return problems;
}

json to_json(const View& view) {
  json result;
  result["hosts"] = array_of(view.hosts, [](const Host& h) -> json {
    return {{"uuid", h.uuid}, {"name", h.name}, {"self", h.self}, {"fenced", h.fenced}, {"links", h.links}};
  });
  result["links"] = array_of(view.links, [](const Link& l) -> json {
    json link = {{"name", l.name},
                 {"state", l.state},
                 {"peer", or_null(l.peer)},
                 {"peer_name", or_null(l.peer_name)},
                 {"reason", or_null(l.reason)},
                 {"generation", l.generation},
                 {"losses", l.losses},
                 {"heartbeat_age_ms", l.heartbeat_age_ms ? json(*l.heartbeat_age_ms) : json()}};
    link["windows"] = array_of(l.windows.items, [](const Window& w) -> json {
      return {
          {"direction", w.inbound ? "in" : "out"}, {"mw", w.mw}, {"base", w.base}, {"size", w.size}, {"used", w.used}};
    });
    return link;
  });
  result["exports"] = array_of(view.exports, [](const Export& d) -> json {
    json device = {{"pci", d.pci},
                   {"service", d.service},
                   {"physical_function", or_null(d.physical)},
                   {"controller", or_null(d.controller)},
                   {"model", or_null(d.model)},
                   {"serial", or_null(d.serial)},
                   {"incarnation", or_null(d.incarnation)},
                   {"queue_pairs", or_null(d.queue_pairs)},
                   {"allowed", d.allowed ? json(*d.allowed) : json("any")},
                   {"holdings_complete", !d.holdings.cut}};
    device["borrowers"] = array_of(d.borrowers.items, [](const Borrower& b) -> json {
      return {{"session", fmt::format("{:#x}", b.session)}, {"host", b.host}, {"name", b.name}, {"link", b.link}};
    });
    device["holdings"] = array_of(d.holdings.items, [](const Holding& h) -> json {
      return {{"qid", h.qid}, {"session", fmt::format("{:#x}", h.session)}, {"host", h.host}, {"entries", h.entries},
              {"sq", h.sq},   {"irq", h.irq ? json(*h.irq) : json()}};
    });
    return device;
  });
  result["paths"] = array_of(view.paths, [](const Path& p) -> json {
    return {{"name", p.name},
            {"service", p.service},
            {"host", p.host},
            {"host_name", p.host_name},
            {"pci", p.pci},
            {"link", p.link},
            {"state", p.state},
            {"session", or_null(p.session)},
            {"driver", or_null(p.driver)},
            {"controller", or_null(p.controller)},
            {"disks", p.disks},
            {"namespaces", array_of(p.namespaces,
                                    [](const Namespace& n) -> json {
                                      return {{"disk", n.disk},
                                              {"nsid", n.nsid},
                                              {"nguid", or_null(n.nguid)},
                                              {"eui64", or_null(n.eui64)},
                                              {"name", n.name()}};
                                    })},
            {"function", or_null(p.function)},
            {"function_driver", or_null(p.function_driver)},
            {"interfaces", p.interfaces}};
  });
  result["chosen"] = array_of(view.choices, [](const Choice& c) -> json {
    return {{"pci", c.pci}, {"as", c.as}, {"vendor", c.vendor}, {"device", c.device}, {"serial", or_null(c.serial)}};
  });
  result["problems"] = problems_of(view);
  return result;
}

}  // namespace smartio::ctl
