// SPDX-License-Identifier: GPL-2.0
// The secondary controllers of an NVMe drive, which its virtual functions are to NVMe (NVM Express Base Specification
// 2.1, 8.2.6). They are offline, with neither queues nor interrupts, until the primary controller's host gives them
// some.
#pragma once

#include <string>

#include "smartioctl/nvme_admin.h"
#include "smartioctl/outcome.h"

namespace smartio::ctl {

class SecondaryControllers {
 public:
  /// `primary` is nvme-core's name of the primary controller.
  SecondaryControllers(const NvmeAdmin& admin, std::string primary) : admin_(admin), primary_(std::move(primary)) {}
  /// Brings those of the first `count` virtual functions online. One that was offline gets its share of the queues and
  /// interrupts that no online one has. One that was online keeps its own. The virtual functions are enabled, and no
  /// driver uses those that are offline.
  [[nodiscard]] Outcome<void> bring_online(unsigned count) const;

 private:
  [[nodiscard]] Outcome<void> manage(unsigned controller, unsigned action, unsigned resource, unsigned number,
                                     std::string_view what) const;

  const NvmeAdmin& admin_;
  std::string primary_;
};

}  // namespace smartio::ctl
