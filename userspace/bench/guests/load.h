// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "bench/guests/counters.h"
#include "bench/guests/guests.h"

namespace smartio::bench {

/// fio on a host, and the drive that is to notice it.
struct Load {
  std::string host;
  std::string drive;  ///< the fabric's name of it
  std::vector<std::string> command;
  unsigned seconds = 0;  ///< so long it runs
};

/// Starts it and waits until it does I/O, and a twentieth of its time more. Guests::finish() gives what it printed.
Result<void> begin(Guests& guests, Counters& counters, const Load& load);

}  // namespace smartio::bench
