// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <cstdint>

namespace smartio::cluster {

/// The frequency of this machine's time-stamp counter in kHz, measured against the kernel's raw clock for about 20 ms.
/// 0 where there is no such counter. Under TCG a guest reads this very counter. With its frequency (tsc_early_khz=) the
/// guest need not measure it against an emulated timer. On a busy machine that measurement gives a guest whose clock
/// runs several times too fast.
std::uint64_t measure_tsc_khz();

}  // namespace smartio::cluster
