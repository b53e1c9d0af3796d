// SPDX-License-Identifier: GPL-2.0
// Log pages of the NVM Express Base Specification 1.4c, section 5.14.1.
#pragma once

#include <cstddef>
#include <cstdint>

namespace smartio::nvme {

/// Error Information (LID 01h, figure 194): one entry, newest first in the log.
struct [[gnu::packed]] ErrorLogEntry {
  std::uint64_t error_count;
  std::uint16_t sqid;
  std::uint16_t cid;
  std::uint16_t status;  ///< as in a completion: bits 15:1
  std::uint16_t location;
  std::uint64_t lba;
  std::uint32_t nsid;
  std::uint8_t vendor;
  std::uint8_t trtype;
  std::uint8_t reserved30[2];
  std::uint64_t command_specific;
  std::uint16_t transport_specific;
  std::uint8_t reserved42[22];
};
static_assert(sizeof(ErrorLogEntry) == 64);
static_assert(offsetof(ErrorLogEntry, lba) == 16);
static_assert(offsetof(ErrorLogEntry, command_specific) == 32);

/// SMART / Health Information (LID 02h, figure 195). 16-byte counters are two little endian halves.
struct [[gnu::packed]] SmartLog {
  std::uint8_t critical_warning;
  std::uint16_t temperature;  ///< Kelvin
  std::uint8_t available_spare;
  std::uint8_t spare_threshold;
  std::uint8_t percentage_used;
  std::uint8_t endurance_group_summary;
  std::uint8_t reserved7[25];
  std::uint64_t data_units_read[2];
  std::uint64_t data_units_written[2];
  std::uint64_t host_read_commands[2];
  std::uint64_t host_write_commands[2];
  std::uint64_t controller_busy_minutes[2];
  std::uint64_t power_cycles[2];
  std::uint64_t power_on_hours[2];
  std::uint64_t unsafe_shutdowns[2];
  std::uint64_t media_errors[2];
  std::uint64_t error_log_entries[2];
  std::uint32_t warning_temperature_minutes;
  std::uint32_t critical_temperature_minutes;
  std::uint16_t sensors[8];
  std::uint32_t thermal_transitions[2];
  std::uint32_t thermal_seconds[2];
  std::uint8_t reserved232[280];
};
static_assert(sizeof(SmartLog) == 512);
static_assert(offsetof(SmartLog, data_units_read) == 32);
static_assert(offsetof(SmartLog, power_cycles) == 112);
static_assert(offsetof(SmartLog, sensors) == 200);

/// SMART critical warning bits (figure 195, byte 0).
namespace critical {
inline constexpr std::uint8_t kSpare = 1U << 0U;
inline constexpr std::uint8_t kTemperature = 1U << 1U;
inline constexpr std::uint8_t kReliability = 1U << 2U;
inline constexpr std::uint8_t kReadOnly = 1U << 3U;
inline constexpr std::uint8_t kVolatileBackup = 1U << 4U;
}  // namespace critical

/// Firmware Slot Information (LID 03h, figure 196).
struct [[gnu::packed]] FirmwareSlotLog {
  std::uint8_t afi;  ///< bits 2:0 active slot, bits 6:4 slot after the next controller reset
  std::uint8_t reserved1[7];
  char revision[7][8];
  std::uint8_t reserved64[448];
};
static_assert(sizeof(FirmwareSlotLog) == 512);

/// Changed Namespace List (LID 04h, section 5.14.1.4).
struct ChangedNamespaceLog {
  std::uint32_t nsid[1024];
};
static_assert(sizeof(ChangedNamespaceLog) == 4096);

/// Commands Supported and Effects (LID 05h, figure 197).
struct EffectsLog {
  std::uint32_t admin[256];
  std::uint32_t io[256];
  std::uint32_t reserved2048[512];
};
static_assert(sizeof(EffectsLog) == 4096);

/// Bits of a Commands Supported and Effects entry (figure 198).
namespace effects {
inline constexpr std::uint32_t kSupported = 1U << 0U;
inline constexpr std::uint32_t kContentChange = 1U << 1U;
inline constexpr std::uint32_t kNamespaceCapabilityChange = 1U << 2U;
inline constexpr std::uint32_t kNamespaceInventoryChange = 1U << 3U;
inline constexpr std::uint32_t kControllerCapabilityChange = 1U << 4U;
inline constexpr std::uint32_t kExclusiveInNamespace = 1U << 16U;  ///< CSE 001b
inline constexpr std::uint32_t kExclusive = 2U << 16U;             ///< CSE 010b
}  // namespace effects

/// Self-test Result (figure 200).
struct [[gnu::packed]] SelfTestResult {
  std::uint8_t status;  ///< bits 3:0 result (0 no error, 1 aborted, 7 failed segment, Fh unused), bits 7:4 code
  std::uint8_t segment;
  std::uint8_t valid;  ///< bit 0 NSID, bit 1 failing LBA, bit 2 SCT, bit 3 SC
  std::uint8_t reserved3;
  std::uint64_t power_on_hours;
  std::uint32_t nsid;
  std::uint64_t failing_lba;
  std::uint8_t sct;
  std::uint8_t sc;
  std::uint8_t vendor[2];
};
static_assert(sizeof(SelfTestResult) == 28);

/// Device Self-test (LID 06h, figure 199).
struct [[gnu::packed]] SelfTestLog {
  std::uint8_t current_operation;
  std::uint8_t current_completion;
  std::uint8_t reserved2[2];
  SelfTestResult results[20];  ///< newest first
};
static_assert(sizeof(SelfTestLog) == 564);

/// Sanitize Status (LID 81h, figure 219).
struct [[gnu::packed]] SanitizeLog {
  std::uint16_t progress;  ///< FFFFh: none runs
  std::uint16_t status;    ///< bits 2:0: 0 never, 1 completed, 2 in progress, 3 failed; bit 8 global data erased
  std::uint32_t cdw10;
  std::uint32_t overwrite_seconds;
  std::uint32_t block_erase_seconds;
  std::uint32_t crypto_erase_seconds;
  std::uint32_t overwrite_no_deallocate_seconds;
  std::uint32_t block_erase_no_deallocate_seconds;
  std::uint32_t crypto_erase_no_deallocate_seconds;
  std::uint8_t reserved32[480];
};
static_assert(sizeof(SanitizeLog) == 512);

}  // namespace smartio::nvme
