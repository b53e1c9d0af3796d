// SPDX-License-Identifier: GPL-2.0
// Runs the program that the name says by which it was called.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

#include "tests/guest/programs.h"

namespace {

struct Program {
  std::string_view name;
  int (*run)(int, char**);
};

constexpr std::array kPrograms = {
    Program{"blocks", blocks_main},
    Program{"fragment", fragment_main},
    Program{"fs_log", fs_log_main},
    Program{"fs_worker", fs_worker_main},
    Program{"guest_agent", guest_agent_main},
    Program{"hot_plug", hot_plug_main},
    Program{"late_read", late_read_main},
    Program{"nvme_admin", nvme_admin_main},
    Program{"pr_ioctl", pr_ioctl_main},
    Program{"reboot_now", reboot_now_main},
    Program{"register_stores", register_stores_main},
    Program{"stamps", stamps_main},
    Program{"swapped", swapped_main},
    Program{"udp_load", udp_load_main},
    Program{"vfio_edu", vfio_edu_main},
};

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 0 ? std::filesystem::path(*argv).filename().string() : std::string();
  const auto* const found = std::ranges::find(kPrograms, name, &Program::name);
  if (found == kPrograms.end()) {
    fmt::print(stderr, "{}: no program of this name\n", name);
    return 127;
  }
  return found->run(argc, argv);
}
