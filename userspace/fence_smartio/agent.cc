// SPDX-License-Identifier: GPL-2.0
#include "fence_smartio/agent.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <istream>
#include <map>
#include <ostream>

#include "base/text.h"
#include "smartioctl/fence.h"
#include "smartioctl/text.h"

namespace smartio::fence_agent {

namespace {

struct Parameter {
  std::string_view name;
  std::string_view getopt;  ///< as a flag
  std::string_view type;
  std::string_view by_default;
  std::string_view attributes;  ///< in XML
  std::string_view description;
};

constexpr std::array kParameters = {
    Parameter{"action", "-o, --action=[action]", "string", "off", R"(required="1")",
              "off, on, status, monitor, list, validate-all or metadata"},
    Parameter{"plug", "-n, --plug=[host]", "string", "", R"(required="0" obsoletes="port")",
              "The host: its name or its UUID"},
    Parameter{"port", "-n, --plug=[host]", "string", "", R"(required="0" deprecated="1")", "The same"},
    Parameter{"nodename", "--nodename=[host]", "string", "", R"(required="0")", "The same, if there is no plug"},
    Parameter{"lender", "--lender=[host]", "string", "", R"(required="0")",
              "The lender at which to fence; default: all whose devices this host uses or lends"},
    Parameter{"verbose", "-v, --verbose", "boolean", "0", R"(required="0")", "Log each action"},
};

constexpr std::string_view kLongText =
    "fence_smartio cuts a host off from the NVMe drives that hosts of a PCIe cluster lend to each other with "
    "smartio. The lender deletes the queues of that host on the drive and shuts its windows to it. The action succeeds "
    "once that host can't reach the media. The host keeps running, with I/O errors. The agent runs on the lender, or "
    "on any host that has a link to it. The action on readmits the host. A host that has restarted may call it for "
    "itself.";

Status failed(const std::function<void(const std::string&)>& log, const std::string& message) {
  log(message);
  return Status::kFailed;
}

Status turn(const Options& options, ctl::Sysfs& sysfs, const std::string& host,
            const std::function<void(const std::string&)>& log) {
  const bool off = options.action == "off";
  const auto done = off ? ctl::fence(sysfs, host, options.lender) : ctl::unfence(sysfs, host, options.lender);
  if (!done) return failed(log, done.error().message);
  if (options.verbose) {
    log(done->empty() ? fmt::format("{}: on: no lender refuses it", host)
                      : fmt::format("{}: {} at {}", host, options.action, fmt::join(*done, ", ")));
  }
  return Status::kOk;
}

Status status_of(const Options& options, ctl::Sysfs& sysfs, const std::string& host, std::ostream& out,
                 const std::function<void(const std::string&)>& log) {
  const auto fenced = ctl::is_fenced(sysfs, host, options.lender);
  if (!fenced) return failed(log, fenced.error().message);
  out << "Status: " << (*fenced ? "OFF" : "ON") << "\n";
  return *fenced ? Status::kOff : Status::kOk;
}

/// All hosts that the lenders know, each once: name and UUID. That one lender can be asked will do.
Status list(const Options& options, ctl::Sysfs& sysfs, std::ostream* out,
            const std::function<void(const std::string&)>& log) {
  const auto places = ctl::lenders(sysfs, options.lender);
  if (!places) return failed(log, places.error().message);
  std::map<std::string, std::string> names;
  for (const ctl::Lending& place : *places) {
    const auto hosts = ctl::hosts_of(sysfs, place);
    if (!hosts) {
      log(hosts.error().message);
      continue;
    }
    for (const ctl::KnownHost& host : *hosts) names.emplace(host.uuid, host.name);
  }
  if (names.empty()) return Status::kFailed;
  if (out == nullptr) return Status::kOk;
  for (const auto& [uuid, name] : names) *out << name << "," << uuid << "\n";
  return Status::kOk;
}

}  // namespace

void read_lines(std::istream& in, Options& options) {
  std::string line;
  while (std::getline(in, line)) {
    const std::string_view text = trimmed(line);
    const std::size_t equals = text.find('=');
    if (text.starts_with('#') || equals == std::string_view::npos) continue;
    const std::string_view key = trimmed(text.substr(0, equals));
    const std::string value(trimmed(text.substr(equals + 1)));
    if (key == "action" || key == "option") options.action = value;
    if (key == "plug" || key == "port") options.plug = value;
    if (key == "nodename") options.nodename = value;
    if (key == "lender") options.lender = value;
    if (key == "verbose") options.verbose = value != "0" && value != "no" && value != "off" && value != "false";
  }
}

std::string metadata() {
  std::string xml = fmt::format(
      "<?xml version=\"1.0\" ?>\n"
      "<resource-agent name=\"fence_smartio\" shortdesc=\"Fence agent for drives shared over PCIe with smartio\">\n"
      "<longdesc>{}</longdesc>\n<parameters>\n",
      kLongText);
  for (const Parameter& p : kParameters) {
    const std::string content = p.by_default.empty() ? std::string{} : fmt::format(" default=\"{}\"", p.by_default);
    xml += fmt::format(
        "\t<parameter name=\"{}\" unique=\"0\" {}>\n\t\t<getopt mixed=\"{}\" />\n\t\t<content type=\"{}\"{} />\n"
        "\t\t<shortdesc lang=\"en\">{}</shortdesc>\n\t</parameter>\n",
        p.name, p.attributes, p.getopt, p.type, content, p.description);
  }
  xml +=
      "</parameters>\n<actions>\n"
      "\t<action name=\"on\" on_target=\"1\" automatic=\"1\" />\n";
  for (const char* action : {"off", "status", "monitor", "list", "metadata", "validate-all"}) {
    xml += fmt::format("\t<action name=\"{}\" />\n", action);
  }
  return xml + "</actions>\n</resource-agent>\n";
}

Status run(const Options& options, ctl::Sysfs& sysfs, std::ostream& out,
           const std::function<void(const std::string&)>& log) {
  const std::string& action = options.action;
  const std::string& host = options.plug.empty() ? options.nodename : options.plug;
  if (action == "metadata") {
    out << metadata();
    return Status::kOk;
  }
  if (action == "monitor") return list(options, sysfs, nullptr, log);
  if (action == "list" || action == "list-status") return list(options, sysfs, &out, log);
  if (action != "off" && action != "on" && action != "status" && action != "validate-all") {
    return failed(log,
                  fmt::format("action '{}' is not supported: off, on, status, monitor, list, validate-all, metadata",
                              printable(action)));
  }
  if (host.empty()) return failed(log, "no host given: use --plug=HOST, or port=HOST on stdin");
  if (action == "validate-all") return Status::kOk;
  if (action == "status") return status_of(options, sysfs, host, out, log);
  return turn(options, sysfs, host, log);
}

}  // namespace smartio::fence_agent
