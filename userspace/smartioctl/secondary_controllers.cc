// SPDX-License-Identifier: GPL-2.0
#include "smartioctl/secondary_controllers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <vector>

namespace smartio::ctl {

namespace {

// NVM Express Base Specification 2.1. Identify: 5.1.13.
constexpr std::uint8_t kPrimaryCapabilities = 0x14;
constexpr std::uint8_t kSecondaryList = 0x15;
constexpr std::size_t kResourceTypes = 4;  // CRT
constexpr std::size_t kFirstEntry = 32;
constexpr std::size_t kEntrySize = 32;
constexpr unsigned kMostEntries = 127;
// Virtualization Management: 5.2.6.
constexpr std::uint8_t kVirtualizationManagement = 0x1c;
constexpr unsigned kAssign = 8;
constexpr unsigned kOnline = 9;

/// A kind of resource: RT of the command, bit of CRT, and where the primary controller's capabilities have it.
struct Kind {
  unsigned type;
  std::size_t capabilities;
  std::size_t in_entry;
  unsigned least;  // that a controller can work with
  std::string_view name;
};
constexpr Kind kQueues{.type = 0, .capabilities = 32, .in_entry = 10, .least = 2, .name = "queue"};
constexpr Kind kInterrupts{.type = 1, .capabilities = 64, .in_entry = 12, .least = 1, .name = "interrupt"};

unsigned word(const NvmeAdmin::Page& page, std::size_t at) {
  return page[at] | static_cast<unsigned>(page[at + 1]) << 8U;
}
unsigned dword(const NvmeAdmin::Page& page, std::size_t at) { return word(page, at) | word(page, at + 2) << 16U; }

struct Secondary {
  unsigned id = 0;
  unsigned function = 0;  // its virtual function's number, from 1 on
  bool online = false;
  unsigned queues = 0;
  unsigned interrupts = 0;
};

std::vector<Secondary> parse_list(const NvmeAdmin::Page& page) {
  std::vector<Secondary> all;
  for (unsigned n = 0; n < std::min<unsigned>(page[0], kMostEntries); ++n) {
    const std::size_t at = kFirstEntry + n * kEntrySize;
    all.push_back({.id = word(page, at),
                   .function = word(page, at + 8),
                   .online = (page[at + 4] & 1U) != 0,
                   .queues = word(page, at + kQueues.in_entry),
                   .interrupts = word(page, at + kInterrupts.in_entry)});
  }
  return all;
}

std::string failure(int status) {
  return status < 0 ? std::error_code(-status, std::generic_category()).message()
                    : fmt::format("NVMe status {:#x}", static_cast<unsigned>(status));
}

/// How many each of `count` controllers gets, if they have `had` of them already. 0: the drive does not assign this
/// kind.
Outcome<unsigned> share(const NvmeAdmin::Page& primary, const Kind& kind, unsigned count, unsigned had) {
  if ((primary[kResourceTypes] >> kind.type & 1U) == 0) return 0;
  const unsigned total = dword(primary, kind.capabilities);
  const unsigned assigned = dword(primary, kind.capabilities + 4);
  const unsigned of_primary = word(primary, kind.capabilities + 8);
  const unsigned most = word(primary, kind.capabilities + 12);
  const unsigned step = std::max(word(primary, kind.capabilities + 14), 1U);
  const unsigned taken = assigned + of_primary - std::min(had, assigned);
  const unsigned each = std::min((total - std::min(taken, total)) / count, most) / step * step;
  if (each >= kind.least) return each;
  return refuse(fmt::format(
      "too few flexible {}s: {} in total, {} primary, {} secondary, for {} functions; release some with nvme "
      "virt-mgmt",
      kind.name, total, of_primary, assigned, count));
}

}  // namespace

Outcome<void> SecondaryControllers::manage(unsigned controller, unsigned action, unsigned resource, unsigned number,
                                           std::string_view what) const {
  nvme_admin_cmd command{};
  command.opcode = kVirtualizationManagement;
  command.cdw10 = controller << 16U | resource << 8U | action;
  command.cdw11 = number;
  if (const int status = admin_.send(primary_, command); status != 0) {
    return refuse(fmt::format("{}: can't {} secondary controller {}: {}", primary_, what, controller, failure(status)));
  }
  return {};
}

Outcome<void> SecondaryControllers::bring_online(unsigned count) const {
  const auto list = admin_.identify(primary_, kSecondaryList);
  const auto primary = admin_.identify(primary_, kPrimaryCapabilities);
  if (!list || !primary) {
    return refuse(fmt::format("{}: can't read its secondary controllers: {}", primary_,
                              failure(list ? primary.error() : list.error())));
  }
  std::vector<Secondary> offline = parse_list(*list);
  std::erase_if(offline, [&](const Secondary& s) { return s.online || s.function == 0 || s.function > count; });
  if (offline.empty()) return {};
  const auto number = static_cast<unsigned>(offline.size());
  unsigned queues_had = 0;
  unsigned interrupts_had = 0;
  for (const Secondary& s : offline) {
    queues_had += s.queues;
    interrupts_had += s.interrupts;
  }
  const auto queues = share(*primary, kQueues, number, queues_had);
  if (!queues) return refuse(fmt::format("{}: {}", primary_, queues.error().message));
  const auto interrupts = share(*primary, kInterrupts, number, interrupts_had);
  if (!interrupts) return refuse(fmt::format("{}: {}", primary_, interrupts.error().message));
  // The surplus of one controller is free before another gets its share of it.
  std::ranges::sort(offline, std::greater{}, [](const Secondary& s) { return s.queues + s.interrupts; });
  for (const Secondary& s : offline) {
    for (const auto& [kind, each] : {std::pair{&kQueues, *queues}, std::pair{&kInterrupts, *interrupts}}) {
      if (each == 0) continue;
      if (auto done = manage(s.id, kAssign, kind->type, each, fmt::format("assign {} {}s to", each, kind->name));
          !done) {
        return done;
      }
    }
  }
  for (const Secondary& s : offline) {
    if (auto done = manage(s.id, kOnline, 0, 0, "bring online"); !done) return done;
  }
  return {};
}

}  // namespace smartio::ctl
