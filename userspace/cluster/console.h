// SPDX-License-Identifier: GPL-2.0
#pragma once

#include "base/result.h"
#include "cluster/stream.h"

namespace smartio::cluster {

/// Joins the terminal and a host's serial console until Ctrl-] or the console's end. Where standard input is no
/// terminal the console is only followed, until it ends or the tool is interrupted.
Result<void> join_console(const Stream& console);

}  // namespace smartio::cluster
