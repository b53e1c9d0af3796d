// SPDX-License-Identifier: GPL-2.0
// A fence agent: cluster managers (dlm_controld, pacemaker) call it to shut a host out of lent drives. Follows the
// FenceAgentAPI of ClusterLabs' fence-agents: options as flags or as key=value lines on stdin, actions, exit statuses.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

#include "smartioctl/sysfs.h"

namespace smartio::fence_agent {

struct Options {
  std::string action = "off";  ///< storage fencing: there is no power to switch
  std::string plug;            ///< the same, in pacemaker's words; counts if there is no plug
  std::string nodename;        ///< the same, as pacemaker says it; counts if there is no plug
  std::string lender;          ///< only there; default: at all that are known
  bool verbose = false;
};

/// Exit statuses of the API.
enum class Status { kOk = 0, kFailed = 1, kOff = 2 };

/// Adds key=value lines to `options`. Keys that are unknown are left alone: dlm_controld adds its own.
void read_lines(std::istream& in, Options& options);

/// The description of the agent in XML.
std::string metadata();

/// Carries out options.action. `out` gets the answer, `log` gets errors and the steps that were done, a line at a time.
Status run(const Options& options, ctl::Sysfs& sysfs, std::ostream& out,
           const std::function<void(const std::string&)>& log);

}  // namespace smartio::fence_agent
