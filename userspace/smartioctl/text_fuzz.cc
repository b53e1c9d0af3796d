// SPDX-License-Identifier: GPL-2.0
// Bytes of a sysfs attribute, partly written by another host: through all parsers.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "base/numbers.h"
#include "base/text.h"
#include "smartioctl/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace smartio;
  using namespace smartio::ctl;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto clean = [](const std::string& field) {
    if (printable(field) != field) std::abort();
  };
  for (const Borrower& borrower : parse_borrowers(text).items) clean(borrower.host), clean(borrower.name);
  for (const Holding& holding : parse_holdings(text).items) clean(holding.host), clean(holding.sq);
  static_cast<void>(parse_windows(text));
  static_cast<void>(parse_inbound(text));
  static_cast<void>(parse_reach(text));
  if (const auto allowed = parse_allowed(text)) std::ranges::for_each(*allowed, clean);
  static_cast<void>(parse_number(text));
  if (const auto address = parse_pci_address(text); address && parse_pci_address(*address) != address) std::abort();
  for (const std::string_view word : words_of(text)) {
    if (trimmed(word) != word) std::abort();
  }
  return 0;
}
