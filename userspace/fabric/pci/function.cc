// SPDX-License-Identifier: GPL-2.0
#include "fabric/pci/function.h"

namespace smartio::pci {

void Function::bar_write_many(unsigned bar, std::span<const Store> stores, Transaction transaction) {
  for (const Store& store : stores) {
    bar_write(bar, store.offset, std::as_bytes(std::span(&store.data, 1)).first(store.size), transaction);
  }
}

}  // namespace smartio::pci
