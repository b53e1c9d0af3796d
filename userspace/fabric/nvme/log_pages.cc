// SPDX-License-Identifier: GPL-2.0
// Get Log Page (section 5.14).
#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>
#include <vector>

#include "fabric/nvme/drive_state.h"

namespace smartio::nvme {
namespace {

template <typename T>
std::vector<std::byte> bytes_of(const T& page) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto bytes = std::as_bytes(std::span(&page, 1));
  return {bytes.begin(), bytes.end()};
}

EffectsLog effects_log() {
  EffectsLog log{};
  for (std::size_t i = 0; i < 256; ++i) {
    log.admin[i] = admin_opcodes()[i].effects;
    log.io[i] = io_opcodes()[i].effects;
  }
  return log;
}

ChangedNamespaceLog changed_namespace_log(const DriveState& drive) {
  ChangedNamespaceLog log{};
  std::ranges::copy(drive.changed_namespaces, log.nsid);  // kMaxNamespaces at most
  return log;
}

std::optional<std::vector<std::byte>> log_page(const DriveState& drive, LogId id) {
  switch (id) {
    case LogId::error_information:
      return bytes_of(drive.errors.page());
    case LogId::smart_health:
      return bytes_of(drive.health.page(drive.errors.count()));
    case LogId::firmware_slot:
      return bytes_of(drive.firmware.page());
    case LogId::changed_namespaces:
      return bytes_of(changed_namespace_log(drive));
    case LogId::commands_and_effects:
      return bytes_of(effects_log());
    case LogId::device_self_test:
      return bytes_of(drive.self_test);
    case LogId::sanitize_status:
      return bytes_of(drive.sanitize);
  }
  return std::nullopt;
}

}  // namespace

Status get_log_page(ActiveCommand& x) {
  const SubmissionEntry& e = x.entry;
  const auto id = static_cast<LogId>(e.cdw10 & 0xFFU);
  const bool retain = (e.cdw10 & 1U << 15U) != 0;
  const std::uint64_t length = ((std::uint64_t{e.cdw11 & 0xFFFFU} << 16U | e.cdw10 >> 16U) + 1) * 4;
  const std::uint64_t offset = std::uint64_t{e.cdw13} << 32U | e.cdw12;

  const auto page = log_page(x.drive, id);
  if (!page) return x.refuse(status::kInvalidLogPage, at::kDword10);
  // One SMART log for the whole controller (LPA bit 0 is 0).
  if (id == LogId::smart_health && e.nsid != 0 && e.nsid != kNsidAll) {
    return x.refuse(status::kInvalidField, at::kNsid);
  }
  if (id == LogId::commands_and_effects && e.cdw14 >> 24U != 0) {  // of another I/O command set
    return x.refuse(status::kInvalidField, at::kDword14);
  }
  if (offset % 4 != 0 || offset > page->size()) return x.refuse(status::kInvalidField, at::kDword12);
  if (length > x.drive.config.max_transfer()) return x.refuse(status::kInvalidField, at::kDword10);

  std::vector<std::byte> data(length);  // bytes beyond the page's end read as zeroes
  const std::uint64_t available = std::min<std::uint64_t>(length, page->size() - offset);
  std::memcpy(data.data(), page->data() + offset, available);
  if (const Status sent = x.send(data); !sent.ok()) return sent;
  if (retain) return status::kSuccess;
  // The host has read it: the list begins again, unless it changed meanwhile, and the page's event may be reported
  // again.
  if (id == LogId::changed_namespaces && x.still_valid().ok()) x.drive.changed_namespaces.clear();
  x.drive.logs_read.push_back(id);
  return status::kSuccess;
}

}  // namespace smartio::nvme
