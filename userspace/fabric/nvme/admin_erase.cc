// SPDX-License-Identifier: GPL-2.0
// Format NVM (section 5.23) and Sanitize (section 5.24). Both are done when the command completes: media forgets in no
// time.
#include "fabric/nvme/drive_state.h"

namespace smartio::nvme {

Status format_nvm(ActiveCommand& x) {
  const std::uint32_t dword = x.entry.cdw10;
  const std::uint32_t lba_format = dword & 0xFU;
  const std::uint32_t secure_erase = dword >> 9U & 7U;
  if (lba_format >= kLbaFormats.size()) return x.refuse(status::kInvalidFormat, at::kDword10);
  // Metadata settings and protection information need metadata, which no format has.
  if ((dword >> 4U & 0x1FU) != 0) return x.refuse(status::kInvalidFormat, at::kDword10);
  if (secure_erase > 2) return x.refuse(status::kInvalidField, at::kDword10);

  const std::uint32_t block_size = kLbaFormats[lba_format];
  std::vector<Namespace*> chosen;
  if (x.entry.nsid == kNsidAll) {
    for (const auto& [nsid, ns] : x.drive.namespaces) chosen.push_back(ns.get());
  } else {
    Namespace* ns = x.find_namespace();
    if (ns == nullptr) return x.failure();
    chosen.push_back(ns);
  }
  for (const Namespace* ns : chosen) {
    if (ns->store.bytes() < block_size) return x.refuse(status::kInvalidFormat, at::kDword10);
  }
  for (Namespace* ns : chosen) {
    ++x.drive.namespace_changes;
    if (!ns->store.format(block_size)) return x.refuse(MediaFault{status::kWriteFault, 0});
  }
  return status::kSuccess;
}

Status sanitize(ActiveCommand& x) {
  const std::uint32_t dword = x.entry.cdw10;
  const std::uint32_t action = dword & 7U;
  static constexpr std::uint32_t kExitFailureMode = 1;
  static constexpr std::uint32_t kBlockErase = 2;
  static constexpr std::uint32_t kCryptoErase = 4;
  SanitizeLog& log = x.drive.sanitize;
  if (action == kExitFailureMode) {
    if ((log.status & 7U) == 3) log.status = 0;
    return status::kSuccess;
  }
  if (action != kBlockErase && action != kCryptoErase) return x.refuse(status::kInvalidField, at::kDword10);
  log.cdw10 = dword;
  log.progress = 0xFFFF;
  bool erased = true;
  for (const auto& [nsid, ns] : x.drive.namespaces) {
    ++x.drive.namespace_changes;
    erased = ns->store.format(ns->store.block_size()) && erased;
  }
  static constexpr std::uint16_t kGlobalDataErased = 1U << 8U;
  log.status = erased ? static_cast<std::uint16_t>(1U | kGlobalDataErased) : std::uint16_t{3};
  x.drive.raise(event::kSanitizeCompleted);
  return status::kSuccess;
}

}  // namespace smartio::nvme
