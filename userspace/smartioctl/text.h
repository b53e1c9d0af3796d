// SPDX-License-Identifier: GPL-2.0
// The text that the modules put into sysfs, parsed. Some of it was written by other hosts (names, reasons). So every
// parser here takes any bytes: it counts the lines that it can't read and leaves them out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smartio::ctl {

/// The content of an attribute of several lines.
template <typename T>
struct Lines {
  std::vector<T> items;
  std::size_t unreadable = 0;  ///< lines that are not as the modules write them
  bool cut = false;            ///< the last line has no end: sysfs gives at most one page
};

/// One borrower's session on a lent device.
struct Borrower {
  std::uint64_t session = 0;
  std::string host;  ///< UUID
  std::string name;
  std::string link;  ///< "local" for the lender itself
  bool operator==(const Borrower&) const = default;
};

/// One queue pair of a lent device.
struct Holding {
  unsigned qid = 0;
  std::uint64_t session = 0;
  std::string host;  ///< name or UUID of the borrower
  unsigned entries = 0;
  std::string sq;               ///< where its submission queue is: lender, borrower, cmb
  std::optional<unsigned> irq;  ///< the device's vector; none: polled
  bool operator==(const Holding&) const = default;
};

/// One memory window of a link. Bus addresses and bytes.
struct Window {
  bool inbound = false;
  unsigned mw = 0;
  std::uint64_t base = 0;
  std::uint64_t size = 0;
  std::uint64_t used = 0;
  bool operator==(const Window&) const = default;
};

/// How much of a device's registers the other side of a link can reach.
struct Reach {
  std::uint64_t max = 0;
  bool span = false;  ///< of all BARs of the device, and the space between them; else of each
  bool operator==(const Reach&) const = default;
};

Lines<Borrower> parse_borrowers(std::string_view text);
Lines<Holding> parse_holdings(std::string_view text);
Lines<Window> parse_windows(std::string_view text);
std::optional<Reach> parse_reach(std::string_view text);
/// Bytes of each window that lead into this host, of a link's `window_sizes`; none until the other host was there.
std::vector<std::uint64_t> parse_inbound(std::string_view text);

/// The hosts that may borrow a device: "none" or UUIDs with commas between; none at all for "any".
std::optional<std::vector<std::string>> parse_allowed(std::string_view text);

/// "0000:01:00.0" for that, for "01:00.0" and for either in capitals; none if it is no PCI address.
std::optional<std::string> parse_pci_address(std::string_view text);

/// "1 borrower", "2 borrowers".
std::string plural(std::size_t count, std::string_view what);

}  // namespace smartio::ctl
