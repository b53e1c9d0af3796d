// SPDX-License-Identifier: GPL-2.0
// reboot_now
//    Reboots at once, as `reboot -f` does: no program ends, no file system is unmounted, but drivers are shut down.
// reboot_now KERNEL INITRD
//    The same, into that kernel and with this boot's command line, without the firmware (kexec_file_load(2)): no device
//    is reset on the way.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>

#include "tests/guest/file.h"
#include "tests/guest/programs.h"

namespace {

void load(const std::string& kernel, const std::string& initrd) {
  std::ifstream file("/proc/cmdline");
  std::string line{std::istreambuf_iterator<char>(file), {}};
  while (line.ends_with('\n')) line.pop_back();
  const smartio::UniqueFd kernel_file = smartio::open_file(kernel, O_RDONLY);
  const smartio::UniqueFd initrd_file = smartio::open_file(initrd, O_RDONLY);
  // The length has the line's end in it.
  if (::syscall(SYS_kexec_file_load, kernel_file.get(), initrd_file.get(), line.size() + 1, line.c_str(), 0UL) != 0)
    throw std::system_error(errno, std::generic_category(), "kexec_file_load");
}

}  // namespace

int reboot_now_main(int argc, char** argv) {
  const std::span<char*> words(argv, static_cast<std::size_t>(argc));
  try {
    if (words.size() != 1 && words.size() != 3) throw std::runtime_error("reboot_now [KERNEL INITRD]");
    if (words.size() == 3) load(words[1], words[2]);
    ::reboot(words.size() == 3 ? RB_KEXEC : RB_AUTOBOOT);
    throw std::system_error(errno, std::generic_category(), "reboot");
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
