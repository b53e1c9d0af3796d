// SPDX-License-Identifier: GPL-2.0
// Device Self-test (section 5.8). Both tests read the injected faults of the namespaces they are for, which takes no
// time, so none is ever seen running.
#include <algorithm>
#include <iterator>

#include "fabric/nvme/drive_state.h"

namespace smartio::nvme {

Status device_self_test(ActiveCommand& x) {
  const std::uint32_t code = x.entry.cdw10 & 0xFU;
  static constexpr std::uint32_t kShort = 1;
  static constexpr std::uint32_t kExtended = 2;
  static constexpr std::uint32_t kAbort = 0xF;
  if (code == kAbort) return status::kSuccess;  // none runs
  if (code != kShort && code != kExtended) return x.refuse(status::kInvalidField, at::kDword10);

  SelfTestResult result{};
  result.status = static_cast<std::uint8_t>(code << 4U);
  result.power_on_hours = x.drive.health.power_on_hours();
  const auto test = [&](const Namespace& ns) {
    const auto fault = ns.store.verify(0, ns.store.blocks());
    if (!fault || (result.status & 0xFU) != 0) return;
    result.status |= 7;  // one or more segments failed
    result.segment = 6;  // "Media check" of the example segments (figure 200 and 8.11)
    result.valid = 0xF;
    result.nsid = ns.nsid;
    result.failing_lba = fault->lba;
    result.sct = fault->status.sct;
    result.sc = fault->status.sc;
  };
  // NSID 0: the controller alone.
  if (x.entry.nsid == kNsidAll) {
    for (const auto& [nsid, ns] : x.drive.namespaces) test(*ns);
  } else if (x.entry.nsid != 0) {
    const Namespace* ns = x.find_namespace();
    if (ns == nullptr) return x.failure();
    test(*ns);
  }
  SelfTestLog& log = x.drive.self_test;
  std::shift_right(std::begin(log.results), std::end(log.results), 1);
  log.results[0] = result;
  return status::kSuccess;
}

}  // namespace smartio::nvme
