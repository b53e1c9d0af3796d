// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench_share/setups.h"

namespace smartio::bench_share {

/// fio's words for a case: the same job for every driver, on the host's second CPU.
std::vector<std::string> fio_command(const Case& one, std::string_view disk, unsigned seconds);

}  // namespace smartio::bench_share
