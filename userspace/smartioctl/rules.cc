// SPDX-License-Identifier: GPL-2.0
#include "smartioctl/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <toml++/toml.hpp>

#include "base/text.h"
#include "smartioctl/conf.h"
#include "smartioctl/text.h"

namespace smartio::ctl {

namespace {

Result<Rule> read_rule(const std::filesystem::path& file) {
  const auto address = conf_address(file);
  if (!address) return std::unexpected(address.error());
  Rule rule{.pci = *address, .hosts = {}, .names = {}};
  try {
    const toml::table table = toml::parse_file(file.string());
    const toml::array* hosts = table["hosts"].as_array();
    if (hosts == nullptr) return fail("it lacks hosts, a list of UUIDs");
    for (const toml::node& host : *hosts) {
      std::string uuid = host.value_or(std::string());
      if (!is_uuid(uuid)) return fail(fmt::format("'{}' is no UUID of a host", printable(uuid)));
      rule.hosts.push_back(std::move(uuid));
    }
  } catch (const toml::parse_error& bad) {
    return fail(fmt::format("line {}: {}", bad.source().begin.line, bad.description()));
  }
  return rule;
}

}  // namespace

bool is_uuid(std::string_view text) {
  constexpr std::string_view kForm = "00000000-0000-0000-0000-000000000000";
  return std::ranges::equal(text, kForm, [](char c, char form) {
    return form == '-' ? c == '-' : std::string_view("0123456789abcdefABCDEF").contains(c);
  });
}

Rules::Found Rules::read() const {
  Found found;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() != ".conf") continue;
    if (auto rule = read_rule(at->path())) {
      found.rules.push_back(std::move(*rule));
    } else {
      const auto address = parse_pci_address(at->path().stem().string());
      found.broken.push_back(
          {.pci = address ? *address : "",
           .complaint = fmt::format("{}: {}; fix or remove it", at->path().string(), rule.error().message)});
    }
  }
  std::ranges::sort(found.rules, {}, &Rule::pci);
  return found;
}

bool Rules::has(const std::string& pci) const {
  std::error_code error;
  return std::filesystem::exists(file(pci), error);
}

Result<void> Rules::keep(const Rule& rule) const {
  std::string text =
      "# The hosts that may borrow this device; made by smartioctl allow. smartioctl allow --all puts changes in "
      "force.\n"
      "hosts = [\n";
  for (std::size_t i = 0; i < rule.hosts.size(); ++i) {
    text += fmt::format("  {},", toml_string(rule.hosts[i]));
    if (i < rule.names.size() && !rule.names[i].empty()) text += "  # " + printable(rule.names[i]);
    text += "\n";
  }
  return write_conf(file(rule.pci), text + "]\n");
}

Result<bool> Rules::forget(const std::string& pci) const { return remove_conf(file(pci)); }

}  // namespace smartio::ctl
