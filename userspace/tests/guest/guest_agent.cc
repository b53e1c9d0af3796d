// SPDX-License-Identifier: GPL-2.0
// guest_agent PORT: runs commands for the cluster tool, in the protocol of QEMU's guest agent, until it is ended. PORT
// is a virtio-serial port.
#include "guest_agent/guest_agent.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <thread>

#include "tests/guest/file.h"
#include "tests/guest/programs.h"

int guest_agent_main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "guest_agent: expected a port\n");
    return 2;
  }
  try {
    const smartio::UniqueFd port = smartio::open_file(argv[1], O_RDWR);
    smartio::guest_agent::GuestAgent agent(port.get());
    for (;;) {
      agent.serve();
      // No client: the port has nothing to wait for.
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "guest_agent: {}\n", error.what());
    return 1;
  }
}
