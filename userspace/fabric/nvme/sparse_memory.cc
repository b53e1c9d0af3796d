// SPDX-License-Identifier: GPL-2.0
#include "fabric/nvme/sparse_memory.h"

#include <cstring>

namespace smartio::nvme {

void SparseMemory::discard(std::uint64_t offset, std::uint64_t bytes) {
  if (bytes == 0) return;
  const std::uint64_t end = offset + bytes;
  const std::uint64_t first_page = (offset + kPage - 1) & ~(kPage - 1);
  const std::uint64_t last_page = end & ~(kPage - 1);
  if (first_page >= last_page) {
    std::memset(data() + offset, 0, bytes);
    return;
  }
  std::memset(data() + offset, 0, first_page - offset);
  if (::madvise(data() + first_page, last_page - first_page, MADV_DONTNEED) != 0) {
    std::memset(data() + first_page, 0, last_page - first_page);
  }
  std::memset(data() + last_page, 0, end - last_page);
}

}  // namespace smartio::nvme
