// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "smartioctl/choices.h"
#include "smartioctl/disk_use.h"
#include "smartioctl/kernel.h"
#include "smartioctl/sysfs.h"

namespace smartio::ctl {

/// Exit statuses; the manual page explains them.
enum class Exit { kDone = 0, kFailed = 1, kUsage = 2, kProblems = 3, kInUse = 4 };

/// Why something was not done, and with which status to end.
struct Refusal {
  std::string message;
  Exit status = Exit::kFailed;
};
template <typename T>
using Outcome = std::expected<T, Refusal>;
inline std::unexpected<Refusal> refuse(std::string message, Exit status = Exit::kFailed) {
  return std::unexpected(Refusal{std::move(message), status});
}

/// Gives NVMe drives from the stock driver to the manager and back. A drive that can't be lent goes back to the driver
/// that it had. Every step is one write to sysfs, and the kernel does the rest.
class Lender {
 public:
  struct Options {
    bool force = false;    ///< although it is in use
    bool persist = false;  ///< at every boot, or no more
    std::chrono::milliseconds patience{30000};
  };
  /// Told what was done, a line at a time.
  using Report = std::function<void(const std::string&)>;

  Lender(Sysfs& sysfs, Kernel& kernel, const DiskUse& use, const Choices& choices, Report report)
      : sysfs_(sysfs), kernel_(kernel), use_(use), choices_(choices), report_(std::move(report)) {}

  Outcome<void> lend(std::string_view address, const Options& options);
  Outcome<void> unlend(std::string_view address, const Options& options);
  /// All that was chosen; goes on to the next after a failure, and then fails with all the reasons.
  Outcome<void> lend_all(const Options& options);

 private:
  /// The address in full, of an NVMe controller that is there.
  [[nodiscard]] Outcome<std::string> find(std::string_view address) const;
  [[nodiscard]] std::vector<std::string> controllers() const;
  [[nodiscard]] bool is_lent(const std::string& pci) const;
  [[nodiscard]] std::string driver(const std::string& pci) const;
  [[nodiscard]] std::string serial(const std::string& pci) const;
  [[nodiscard]] std::vector<std::string> uses(const std::string& pci) const;
  [[nodiscard]] Choice describe(const std::string& pci) const;
  /// The kernel's words about the device, to be put behind a message.
  [[nodiscard]] std::string log_of(const std::string& pci) const;

  Outcome<void> load_modules();
  Outcome<void> take(const std::string& pci, const Options& options);
  Outcome<void> write(const std::string& pci, const std::string& file, std::string_view value, std::string_view what);
  /// To the stock driver, or without one to none.
  void give_back(const std::string& pci, const std::string& driver);
  bool wait_until(std::chrono::milliseconds patience, const std::function<bool()>& done);
  Outcome<void> lend_choice(const Choice& choice, const Options& options);
  /// Writes down where each chosen drive is now.
  void follow_moves(const std::vector<Choice>& choices);

  Sysfs& sysfs_;
  Kernel& kernel_;
  const DiskUse& use_;
  const Choices& choices_;
  Report report_;
};

}  // namespace smartio::ctl
