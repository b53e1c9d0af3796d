// SPDX-License-Identifier: GPL-2.0
#include "smartioctl/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace smartio::ctl {

namespace {

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

std::string yes(bool value) { return value ? "yes" : "no"; }

std::string interrupt(const Holding& holding) { return holding.irq ? fmt::format("{}", *holding.irq) : "poll"; }

/// Queue pairs of a session.
std::size_t held_by(const Export& device, std::uint64_t session) {
  return static_cast<std::size_t>(std::ranges::count(device.holdings.items, session, &Holding::session));
}

/// The queue pairs that a session holds, behind `before`. A function that is lent as a whole has nothing to count.
std::string held_text(const Export& device, std::size_t count, std::string_view before) {
  return device.service == "pci" ? "" : fmt::format("{}{}", before, plural(count, "queue pair"));
}

/// The hosts that may borrow it.
std::string allowed_text(const View& view, const Export& device) {
  if (!device.allowed) return "any";
  std::vector<std::string> names;
  for (const std::string& uuid : *device.allowed) names.push_back(view.name_of(uuid));
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

std::string section(std::string_view title, const std::vector<std::vector<std::string>>& rows,
                    std::string_view nothing) {
  if (rows.size() < 2) return fmt::format("{}: {}\n", title, nothing);
  return fmt::format("{}\n{}", title, table(rows));
}

std::string hosts_text(const View& view) {
  std::vector<std::vector<std::string>> rows = {{"NAME", "UUID", "SELF", "FENCED", "LINKS"}};
  for (const Host& h : view.hosts) rows.push_back({h.name, h.uuid, yes(h.self), yes(h.fenced), joined(h.links)});
  return section("Hosts", rows, "none");
}

std::string path_text(const Path& path) {
  std::string text = fmt::format("{} ({}) {}", path.pci, path.service, path.state);
  if (!path.function.empty()) text += " as " + path.function;
  if (!path.disks.empty()) text += ": " + joined(path.disks);
  return text;
}

/// A line of a tree and the lines below it.
struct Node {
  std::string text;
  std::vector<Node> below;
};

void draw(const Node& node, const std::string& indent, std::string& out) {
  for (std::size_t i = 0; i < node.below.size(); ++i) {
    const bool last = i + 1 == node.below.size();
    out += fmt::format("{}{} {}\n", indent, last ? "`--" : "|--", node.below[i].text);
    draw(node.below[i], indent + (last ? "    " : "|   "), out);
  }
}

}  // namespace

std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 1);
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line = " ";
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += fmt::format(" {:<{}} ", row[i].empty() ? "-" : row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string size_text(std::uint64_t bytes) {
  constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && bytes % 1024 == 0 && unit + 1 < std::size(kUnits)) bytes /= 1024, ++unit;
  // Not a round number: the unit that leaves at most five digits.
  while (bytes >= 100000 && unit + 1 < std::size(kUnits)) bytes /= 1024, ++unit;
  return fmt::format("{} {}", bytes, kUnits[unit]);
}

std::string list_text(const View& view) {
  std::string text = hosts_text(view);

  std::vector<std::vector<std::string>> links = {{"LINK", "STATE", "PEER", "GENERATION", "LOSSES", "REASON"}};
  for (const Link& l : view.links) {
    links.push_back({l.name, l.state, l.peer_name.empty() ? l.peer : l.peer_name, fmt::format("{}", l.generation),
                     fmt::format("{}", l.losses), l.reason});
  }
  text += "\n" + section("Links", links, "none (is the NTB's driver loaded?)");

  std::vector<std::vector<std::string>> exports = {
      {"DEVICE", "SERVICE", "MODEL", "SERIAL", "BORROWERS", "QUEUE PAIRS", "MAY BORROW"}};
  std::vector<std::vector<std::string>> borrowers = {{"DEVICE", "BORROWER", "LINK", "SESSION", "QUEUE PAIRS"}};
  std::vector<std::vector<std::string>> queues = {{"DEVICE", "QID", "HOST", "SESSION", "ENTRIES", "SQ", "VECTOR"}};
  for (const Export& d : view.exports) {
    const std::string model = d.physical.empty() ? d.model : "a virtual function of " + d.physical;
    exports.push_back({d.pci, d.service, model, d.serial, fmt::format("{}", d.borrowers.items.size()),
                       fmt::format("{}{}", d.holdings.items.size(), d.holdings.cut ? "+" : ""), allowed_text(view, d)});
    for (const Borrower& b : d.borrowers.items) {
      borrowers.push_back(
          {d.pci, b.name, b.link, fmt::format("{:#x}", b.session), fmt::format("{}", held_by(d, b.session))});
    }
    for (const Holding& h : d.holdings.items) {
      queues.push_back({d.pci, fmt::format("{}", h.qid), h.host, fmt::format("{:#x}", h.session),
                        fmt::format("{}", h.entries), h.sq, interrupt(h)});
    }
  }
  text += "\n" + section("Lent by this host", exports, "nothing");
  if (borrowers.size() > 1) text += "\n" + section("Borrowers", borrowers, "");
  if (queues.size() > 1) text += "\n" + section("Queue pairs", queues, "");

  std::vector<std::vector<std::string>> paths = {{"LENDER", "DEVICE", "SERVICE", "LINK", "STATE", "HERE AS", "GIVES"}};
  for (const Path& p : view.paths) {
    std::vector<std::string> made = p.disks;
    std::ranges::copy(p.interfaces, std::back_inserter(made));
    paths.push_back(
        {p.host_name, p.pci, p.service, p.link, p.state, p.function.empty() ? p.controller : p.function, joined(made)});
  }
  text += "\n" + section("Devices that this host can use", paths, "none");

  // Two paths to a drive lead to the same ones.
  std::vector<std::vector<std::string>> namespaces = {
      {"NAMESPACE", "NSID", "NGUID", "EUI-64", "/dev/smartio/by-serial/"}};
  for (const Path& p : view.paths) {
    for (const Namespace& n : p.namespaces) {
      std::vector<std::string> row = {n.disk, fmt::format("{}", n.nsid), n.nguid, n.eui64, n.name()};
      if (std::ranges::find(namespaces, row) == namespaces.end()) namespaces.push_back(std::move(row));
    }
  }
  if (namespaces.size() > 1) text += "\n" + section("Namespaces", namespaces, "");
  return text;
}

std::string status_text(const View& view) {
  std::string text;
  for (const Link& l : view.links) {
    text += fmt::format("link {}: {}", l.name, l.state);
    if (!l.peer_name.empty()) text += fmt::format(", peer {} ({})", l.peer_name, l.peer);
    text += fmt::format(", generation {}, {} {}", l.generation, l.losses, l.losses == 1 ? "loss" : "losses");
    if (l.heartbeat_age_ms) text += fmt::format(", last heartbeat {} ms ago", *l.heartbeat_age_ms);
    if (!l.reason.empty()) text += ", " + l.reason;
    text += "\n";
    for (const Window& w : l.windows.items) {
      text += fmt::format("  window {} {}: {} from {:#x}, {} in use\n", w.mw, w.inbound ? "in" : "out",
                          size_text(w.size), w.base, size_text(w.used));
    }
  }
  for (const Export& d : view.exports) {
    text += fmt::format("export {}: {}, {}{}{}{}\n", d.pci, d.service, plural(d.borrowers.items.size(), "borrower"),
                        held_text(d, d.holdings.items.size(), ", "), d.holdings.cut ? " and more" : "",
                        d.serial.empty() ? "" : ", serial " + d.serial);
    if (d.allowed) text += fmt::format("  hosts that may borrow it: {}\n", allowed_text(view, d));
    for (const Borrower& b : d.borrowers.items) {
      text += fmt::format("  {} over {}{}\n", b.name, b.link, held_text(d, held_by(d, b.session), ": "));
    }
  }
  for (const Path& p : view.paths) {
    text += fmt::format("path to {} of {} over {}: {}{}{}\n", p.pci, p.host_name, p.link, p.state,
                        p.driver.empty() ? ", no driver" : "", p.disks.empty() ? "" : ", " + joined(p.disks));
    if (!p.function.empty()) {
      text += fmt::format("  here as {}, {}{}\n", p.function,
                          p.function_driver.empty() ? "without a driver" : "driver " + p.function_driver,
                          p.interfaces.empty() ? "" : ", " + joined(p.interfaces));
    }
  }
  const auto problems = problems_of(view);
  if (problems.empty()) return text + "nothing is wrong\n";
  text += fmt::format("{}:\n", plural(problems.size(), "problem"));
  for (const std::string& problem : problems) text += "  " + problem + "\n";
  return text;
}

std::string topology_text(const View& view) {
  Node top{.text = view.self_name() + " (this host)", .below = {}};
  for (const Export& d : view.exports) {
    Node device{.text = fmt::format("lends {} ({}){}", d.pci, d.service, d.model.empty() ? "" : " " + d.model),
                .below = {}};
    for (const Borrower& b : d.borrowers.items) {
      device.below.push_back({fmt::format("{} {}{}", b.link == "local" ? "used by" : "borrowed by",
                                          b.link == "local" ? "itself" : fmt::format("{} over {}", b.name, b.link),
                                          held_text(d, held_by(d, b.session), ": ")),
                              {}});
    }
    top.below.push_back(std::move(device));
  }
  for (const Path& p : view.paths) {
    if (p.link == "local") top.below.push_back({"uses its own " + path_text(p), {}});
  }
  for (const Link& l : view.links) {
    const std::string line = l.state == "up" ? "==== up ====>" : fmt::format("-- {} --", l.state);
    const auto peer = std::ranges::find(view.hosts, l.peer, &Host::uuid);
    const bool fenced = peer != view.hosts.end() && peer->fenced;
    Node link{.text = fmt::format("{} {} {}{}{}", l.name, line, l.peer_name.empty() ? "(no host seen)" : l.peer_name,
                                  fenced ? ", fenced" : "", l.reason.empty() ? "" : ": " + l.reason),
              .below = {}};
    for (const Path& p : view.paths) {
      if (p.link == l.name) link.below.push_back({"lends " + path_text(p), {}});
    }
    top.below.push_back(std::move(link));
  }
  std::string text = top.text + "\n";
  draw(top, "", text);
  return text;
}

}  // namespace smartio::ctl
