// SPDX-License-Identifier: GPL-2.0
// All that one host knows of its cluster, read from sysfs at one moment.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "smartioctl/choices.h"
#include "smartioctl/sysfs.h"
#include "smartioctl/text.h"

namespace smartio::ctl {

struct Host {
  std::string uuid;
  std::string name;
  bool self = false;
  bool fenced = false;
  std::vector<std::string> links;
};

struct Link {
  std::string name;
  std::string state;  ///< up, joining, down, refused
  std::string peer;   ///< UUID; empty while no peer was seen
  std::string peer_name;
  std::string reason;  ///< why it is not up
  std::uint64_t generation = 0;
  std::uint64_t losses = 0;
  std::optional<std::uint64_t> heartbeat_age_ms;
  Lines<Window> windows;
};

/// A device that this host lends: an export.
struct Export {
  std::string pci;
  std::string service;
  std::string physical;    ///< of a virtual function, the PCI address of its physical one; else empty
  std::string controller;  ///< nvmeN, the manager's own; empty if there is none
  std::string model;
  std::string serial;
  std::string incarnation;
  std::string queue_pairs;                          ///< for I/O, as the manager puts it
  std::optional<std::vector<std::string>> allowed;  ///< UUIDs of the hosts that may borrow it; none: any may
  Lines<Borrower> borrowers;
  Lines<Holding> holdings;
};

/// A namespace as one path leads to it. Only the drive's own identifiers name it on all hosts; the disk does not.
struct Namespace {
  std::string disk;  ///< nvmeNnM, on this host, until the next boot or attach
  std::uint64_t nsid = 0;
  std::string nguid;   ///< empty if the drive has none
  std::string eui64;   ///< the same
  std::string serial;  ///< of the drive

  /// Its name by the udev rule below /dev/smartio/by-serial, on every host.
  [[nodiscard]] std::string name() const;
};

/// One path from this host to an export.
struct Path {
  std::string name;
  std::string service;
  std::string host;  ///< the lender's UUID
  std::string host_name;
  std::string pci;    ///< in the lender
  std::string link;   ///< "local" on the lender
  std::string state;  ///< ready, open, lost
  std::string session;
  std::string driver;
  std::string controller;          ///< nvmeN
  std::vector<std::string> disks;  ///< nvmeNnM; two paths to a device lead to the same ones
  std::vector<Namespace> namespaces;
  /// Of a function that is lent as a whole: its address on this host, its driver there, its network interfaces.
  std::string function;
  std::string function_driver;
  std::vector<std::string> interfaces;
};

struct View {
  std::vector<Host> hosts;
  std::vector<Link> links;
  std::vector<Export> exports;
  std::vector<Path> paths;
  std::vector<Choice> choices;

  /// A host's name, or its UUID if it is not known.
  [[nodiscard]] std::string name_of(const std::string& uuid) const;
  /// This host's name.
  [[nodiscard]] std::string self_name() const;
};

/// Fails if ntb_smartio is not loaded here.
Result<View> read_view(const Sysfs& sysfs, const Choices& choices);
/// Everything that is not as it should be, each a sentence that names the fault and the next step.
std::vector<std::string> problems_of(const View& view);
nlohmann::json to_json(const View& view);

/// The nvme-core controller below a device ("nvme0"), and the disks that it leads to.
std::string controller_below(const Sysfs& sysfs, const std::string& device);
std::vector<std::string> disks_of(const Sysfs& sysfs, const std::string& device);
/// The same with their names, by NSID.
std::vector<Namespace> namespaces_of(const Sysfs& sysfs, const std::string& device);

}  // namespace smartio::ctl
