// SPDX-License-Identifier: GPL-2.0
// Shutting a host out of the devices of lenders, and letting it in again. A lender does it itself; any other host with
// a path to one of its devices asks it to, over any link that is up.
#pragma once

#include <string>
#include <vector>

#include "smartioctl/lend.h"
#include "smartioctl/sysfs.h"

namespace smartio::ctl {

/// A host at which fencing counts.
struct Lending {
  std::string uuid;
  std::string name;
  bool self = false;  ///< it is this host
};

/// How a lender sees a host.
enum class Standing {
  kLinked,  ///< a link to it is up
  kAway,    ///< it was seen, and no link is up
  kFenced,  ///< it is refused
};

struct KnownHost {
  std::string uuid;
  std::string name;
  Standing standing = Standing::kAway;
};

/// This host if it lends a device, and all hosts to whose devices it has a path. With `at` (names or UUIDs, with commas
/// between), those hosts instead, which need not lend any device. None is a refusal.
Outcome<std::vector<Lending>> lenders(const Sysfs& sysfs, const std::string& at = "");
/// The hosts that a lender knows, itself included; a refusal if it can't be asked.
Outcome<std::vector<KnownHost>> hosts_of(const Sysfs& sysfs, const Lending& lender);
/// The one that is given by UUID or name. A name that two hosts have is refused.
Outcome<KnownHost> find_host(const std::vector<KnownHost>& hosts, const Lending& lender, const std::string& host);
/// Whether that is this host's name or UUID.
bool is_self(const Sysfs& sysfs, const std::string& host);

/// At all lenders, or at `at`. When it returns without a refusal nothing of that host reaches any device there. It
/// continues after a failure, and then refuses with all the reasons. Returns the names of the lenders.
Outcome<std::vector<std::string>> fence(Sysfs& sysfs, const std::string& host, const std::string& at = "");
/// Admits a fenced host again. This host asks its lenders itself, which admit only a new incarnation.
Outcome<std::vector<std::string>> unfence(Sysfs& sysfs, const std::string& host, const std::string& at = "");
/// Whether all lenders refuse the host, as far as they can be asked.
Outcome<bool> is_fenced(const Sysfs& sysfs, const std::string& host, const std::string& at = "");

}  // namespace smartio::ctl
