// SPDX-License-Identifier: GPL-2.0
// fence_smartio: the fence agent. fence_smartio(8) describes it.
#include <fmt/format.h>
#include <syslog.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <string>

#include "fence_smartio/agent.h"

int main(int argc, char** argv) {
  using namespace smartio;
  fence_agent::Options options;
  std::string root = "/sys";
  CLI::App app("Cuts hosts off from drives that are shared over PCIe with smartio, for cluster managers.",
               "fence_smartio");
  app.footer(
      "Without arguments options are read from stdin, a line each: action=off, plug=HOST …\nSee fence_smartio(8).");
  app.set_version_flag("--version", SMARTIO_VERSION);
  app.add_option("-o,--action", options.action, "off, on, status, monitor, list, validate-all or metadata")
      ->capture_default_str();
  app.add_option("-n,--plug,--port", options.plug, "the host, by name or UUID");
  app.add_option("--nodename", options.nodename, "the same");
  app.add_option("--lender", options.lender, "only at this lender (default: at all that this host knows)");
  app.add_flag("-v,--verbose", options.verbose, "log each action");
  app.add_option("--sysfs", root, "another root of sysfs")->envname("SMARTIO_SYSFS");
  try {
    app.parse(argc, argv);
    if (argc == 1) fence_agent::read_lines(std::cin, options);
    ctl::Sysfs sysfs(root);
    ::openlog("fence_smartio", LOG_PID, LOG_DAEMON);
    const auto status = fence_agent::run(options, sysfs, std::cout, [](const std::string& line) {
      fmt::print(stderr, "fence_smartio: {}\n", line);
      ::syslog(LOG_NOTICE, "%s", line.c_str());
    });
    std::cout.flush();
    return std::cout.good() ? static_cast<int>(status) : 1;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "fence_smartio: {}\n", error.what());
    return 1;
  }
}
