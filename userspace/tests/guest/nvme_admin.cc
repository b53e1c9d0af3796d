// SPDX-License-Identifier: GPL-2.0
// nvme_admin DEVICE [io]: sends the admin commands of its standard input to a controller (/dev/nvmeN), one a line; with
// "io", the I/O commands to a namespace (/dev/nvmeXnY):
//
//   OPCODE NSID CDW10 CDW11 [in BYTES | out HEX]
//
// For each a line is printed: the status (hexadecimal, 0 for success, with Do Not Retry), the result, and the data that
// came, as hexadecimal; or EACCES, if the kernel keeps that command to itself. Ends with 1 if it did not send one for
// another reason.
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/nvme_ioctl.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstdint>
#include <exception>
#include <iostream>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "tests/guest/file.h"
#include "tests/guest/programs.h"

namespace {

std::uint32_t number(const std::string& word) { return static_cast<std::uint32_t>(std::stoul(word, nullptr, 0)); }

std::vector<std::uint8_t> bytes_of(const std::string& hex) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t at = 0; at + 1 < hex.size(); at += 2)
    bytes.push_back(static_cast<std::uint8_t>(std::stoul(hex.substr(at, 2), nullptr, 16)));
  return bytes;
}

void run(int device, unsigned long request, const std::string& line) {
  std::istringstream words(line);
  std::string opcode;
  std::string nsid;
  std::string cdw10;
  std::string cdw11;
  std::string direction;
  std::string argument;
  if (!(words >> opcode >> nsid >> cdw10 >> cdw11)) throw std::runtime_error("not a command: " + line);
  words >> direction >> argument;
  const bool in = direction == "in";
  std::vector<std::uint8_t> data;
  if (in) data.resize(number(argument));
  if (direction == "out") data = bytes_of(argument);

  nvme_passthru_cmd command{};
  command.opcode = static_cast<std::uint8_t>(number(opcode));
  command.nsid = number(nsid);
  command.cdw10 = number(cdw10);
  command.cdw11 = number(cdw11);
  command.addr = reinterpret_cast<std::uintptr_t>(data.data());
  command.data_len = static_cast<std::uint32_t>(data.size());
  const int status = ::ioctl(device, request, &command);
  if (status < 0 && errno == EACCES) {
    fmt::print("EACCES\n");
    return;
  }
  if (status < 0) throw std::system_error(errno, std::generic_category(), line);
  fmt::print("{:04X} {:#x} ", status, command.result);
  if (in) {
    for (const std::uint8_t byte : data) fmt::print("{:02x}", byte);
  }
  fmt::print("\n");
}

}  // namespace

int nvme_admin_main(int argc, char** argv) {
  const std::span<char*> arguments(argv, static_cast<std::size_t>(argc));
  try {
    const bool io = arguments.size() == 3 && std::string(arguments[2]) == "io";
    if (arguments.size() != 2 && !io) throw std::runtime_error("nvme_admin DEVICE [io] < COMMANDS");
    const smartio::UniqueFd device = smartio::open_file(arguments[1], O_RDWR);
    for (std::string line; std::getline(std::cin, line);)
      run(device.get(), io ? NVME_IOCTL_IO_CMD : NVME_IOCTL_ADMIN_CMD, line);
  } catch (const std::exception& error) {
    fmt::print(stderr, "nvme_admin: {}\n", error.what());
    return 1;
  }
  return 0;
}
