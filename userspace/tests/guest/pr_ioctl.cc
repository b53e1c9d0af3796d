// SPDX-License-Identifier: GPL-2.0
// pr_ioctl: persistent reservations by the kernel's own interface (linux/pr.h), for tests in hosts. Prints why and ends
// with 1 if the kernel refuses: a negative error, or a positive status of the device.
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/pr.h>
#include <sys/ioctl.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include "base/unique_fd.h"
#include "tests/guest/programs.h"

namespace {

struct Arguments {
  std::string device;
  std::uint64_t key = 0;
  std::uint64_t other_key = 0;
  std::uint32_t type = 0;
  std::uint32_t flags = 0;
};

int call(const Arguments& arguments, const std::string& command) {
  const smartio::UniqueFd file(::open(arguments.device.c_str(), O_RDWR | O_CLOEXEC));
  int result = -1;
  if (command == "register") {
    pr_registration what{
        .old_key = arguments.key, .new_key = arguments.other_key, .flags = arguments.flags, .__pad = 0};
    result = ::ioctl(file.get(), IOC_PR_REGISTER, &what);
  } else if (command == "reserve" || command == "release") {
    pr_reservation what{.key = arguments.key, .type = arguments.type, .flags = arguments.flags};
    result = ::ioctl(file.get(), command == "reserve" ? IOC_PR_RESERVE : IOC_PR_RELEASE, &what);
  } else if (command == "clear") {
    pr_clear what{.key = arguments.key, .flags = arguments.flags, .__pad = 0};
    result = ::ioctl(file.get(), IOC_PR_CLEAR, &what);
  } else {
    pr_preempt what{
        .old_key = arguments.key, .new_key = arguments.other_key, .type = arguments.type, .flags = arguments.flags};
    result = ::ioctl(file.get(), command == "preempt" ? IOC_PR_PREEMPT : IOC_PR_PREEMPT_ABORT, &what);
  }
  if (result == 0) return 0;
  fmt::print(stderr, "pr_ioctl {}: {}\n", command,
             result < 0 ? std::string(std::strerror(errno)) : fmt::format("status {:#x}", result));
  return 1;
}

}  // namespace

int pr_ioctl_main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Persistent reservations by ioctl.", "pr_ioctl");
  app.add_option("device", arguments.device)->required();
  app.require_subcommand(1);
  for (const char* name : {"register", "reserve", "release", "clear", "preempt", "preempt-abort"}) {
    auto* command = app.add_subcommand(name);
    const std::string which(name);
    command->add_option("key", arguments.key, "this host's key (register: the old one)")->required();
    if (which == "register") command->add_option("new", arguments.other_key, "its new key")->required();
    if (which.starts_with("preempt")) command->add_option("victim", arguments.other_key, "the other's key")->required();
    if (which.starts_with("re") && which != "register") {
      command->add_option("type", arguments.type, "enum pr_type")->required();
    }
    if (which.starts_with("preempt")) command->add_option("type", arguments.type, "enum pr_type")->required();
    command->add_option("flags", arguments.flags, "PR_FL_*");
  }
  CLI11_PARSE(app, argc, argv);
  return call(arguments, app.get_subcommands().front()->get_name());
}
