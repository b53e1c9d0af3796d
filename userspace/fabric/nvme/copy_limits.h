// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "fabric/nvme/drive_config.h"

namespace smartio::nvme {

/// The limits of one Copy, as Identify Namespace reports them (MSSRL, MCL, MSRC). All of its data fits the buffer that
/// a write of MDTS needs anyway.
struct CopyLimits {
  static constexpr unsigned kRanges = 128;

  CopyLimits(const DriveConfig& config, std::uint32_t block_size)
      : range_blocks(static_cast<std::uint16_t>(std::min<std::uint64_t>(config.max_transfer() / block_size, 0xFFFF))),
        total_blocks(static_cast<std::uint32_t>(config.max_transfer() / block_size)) {}

  std::uint16_t range_blocks;
  std::uint32_t total_blocks;
};

}  // namespace smartio::nvme
