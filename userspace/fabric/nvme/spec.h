// SPDX-License-Identifier: GPL-2.0
// The wire formats and numbers of the NVM Express Base Specification 1.4c that both the queue engine and the command
// set speak: queue entries, opcodes, status codes, feature and log page identifiers. Identify structures are in
// spec_identify.h, log pages in spec_log.h. All fields are little endian, as is every machine this runs on.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace smartio::nvme {

static_assert(std::endian::native == std::endian::little, "wire formats are laid over memory as they are");

/// Applies to a command as a whole where a namespace is asked for: "all namespaces" (section 6.1.2).
inline constexpr std::uint32_t kNsidAll = 0xFFFFFFFF;

/// NVMe version that the controller reports in VS and in Identify Controller (section 3.1.2).
inline constexpr std::uint32_t kVersion = 0x00010400;

/// Submission queue entry (section 4.2, figure 104 and 105). Bytes 24 to 39 are the data pointer: two PRP entries or
/// one SGL descriptor.
struct SubmissionEntry {
  std::uint8_t opcode;
  std::uint8_t flags;  ///< bits 1:0 FUSE, bits 7:6 PSDT
  std::uint16_t cid;
  std::uint32_t nsid;
  std::uint32_t cdw2;
  std::uint32_t cdw3;
  std::uint64_t mptr;
  std::uint64_t prp1;  ///< PRP Entry 1, or bytes 0 to 7 of the SGL descriptor
  std::uint64_t prp2;  ///< PRP Entry 2, or bytes 8 to 15 of the SGL descriptor
  std::uint32_t cdw10;
  std::uint32_t cdw11;
  std::uint32_t cdw12;
  std::uint32_t cdw13;
  std::uint32_t cdw14;
  std::uint32_t cdw15;

  [[nodiscard]] constexpr unsigned fuse() const { return flags & 3U; }
  [[nodiscard]] constexpr unsigned psdt() const { return flags >> 6U; }
};
static_assert(sizeof(SubmissionEntry) == 64);
static_assert(offsetof(SubmissionEntry, nsid) == 4);
static_assert(offsetof(SubmissionEntry, mptr) == 16);
static_assert(offsetof(SubmissionEntry, prp1) == 24);
static_assert(offsetof(SubmissionEntry, cdw10) == 40);
static_assert(offsetof(SubmissionEntry, cdw15) == 60);

/// Values of SubmissionEntry::fuse().
enum class Fuse : std::uint8_t { none = 0, first = 1, second = 2 };
/// Values of SubmissionEntry::psdt(). 3 is reserved.
enum class DataPointer : std::uint8_t { prp = 0, sgl = 1, sgl_metadata_sgl = 2 };

/// Completion queue entry (section 4.6, figure 122).
struct CompletionEntry {
  std::uint64_t result;  ///< dwords 0 and 1: command specific
  std::uint16_t sq_head;
  std::uint16_t sq_id;
  std::uint16_t cid;
  std::uint16_t status;  ///< bit 0 phase tag, bits 15:1 Status::field()
};
static_assert(sizeof(CompletionEntry) == 16);
static_assert(offsetof(CompletionEntry, sq_head) == 8);
static_assert(offsetof(CompletionEntry, status) == 14);

/// SGL descriptor (section 4.4, figure 115).
struct SglDescriptor {
  std::uint64_t address;
  std::uint32_t length;
  std::uint8_t reserved[3];
  std::uint8_t type;  ///< bits 7:4 descriptor type, bits 3:0 subtype
};
static_assert(sizeof(SglDescriptor) == 16);
static_assert(offsetof(SglDescriptor, type) == 15);

/// Status field of a completion (section 4.6.1). Two statuses are equal when type and code are: More and Do Not Retry
/// only qualify them.
struct Status {
  std::uint8_t sct = 0;  ///< Status Code Type, 3 bits
  std::uint8_t sc = 0;   ///< Status Code
  bool dnr = false;      ///< Do Not Retry
  bool more = false;     ///< the Error Information log has an entry on it

  [[nodiscard]] constexpr bool ok() const { return sct == 0 && sc == 0; }
  /// The 15 bits that stand above the phase tag.
  [[nodiscard]] constexpr std::uint16_t field() const {
    return static_cast<std::uint16_t>(std::uint32_t{sc} | (sct & 7U) << 8U | (more ? 1U << 13U : 0U) |
                                      (dnr ? 1U << 14U : 0U));
  }
  /// The status word of a completion queue entry.
  [[nodiscard]] constexpr std::uint16_t word(bool phase) const {
    return static_cast<std::uint16_t>(std::uint32_t{field()} << 1U | (phase ? 1U : 0U));
  }
  /// The opposite of field(), for injected statuses: bits 10:0 and 14:13 count.
  [[nodiscard]] static constexpr Status from_field(std::uint16_t field) {
    return {.sct = static_cast<std::uint8_t>(field >> 8U & 7U),
            .sc = static_cast<std::uint8_t>(field),
            .dnr = (field & 1U << 14U) != 0,
            .more = (field & 1U << 13U) != 0};
  }
  /// The same status with Do Not Retry set: for commands that fail at each retry.
  [[nodiscard]] constexpr Status do_not_retry() const { return {sct, sc, true, more}; }

  friend constexpr bool operator==(const Status& a, const Status& b) { return a.sct == b.sct && a.sc == b.sc; }
};

/// Status codes by name. Those that no retry can mend carry Do Not Retry.
namespace status {
// Generic command status (section 4.6.1.2.1).
inline constexpr Status kSuccess{};
inline constexpr Status kInvalidOpcode{0, 0x01, true};
inline constexpr Status kInvalidField{0, 0x02, true};
inline constexpr Status kCommandIdConflict{0, 0x03, true};
inline constexpr Status kDataTransferError{0, 0x04};
inline constexpr Status kAbortedPowerLoss{0, 0x05};
inline constexpr Status kInternalError{0, 0x06};
inline constexpr Status kAbortRequested{0, 0x07};
inline constexpr Status kAbortedSqDeletion{0, 0x08};
inline constexpr Status kAbortedFailedFused{0, 0x09};
inline constexpr Status kAbortedMissingFused{0, 0x0A, true};
inline constexpr Status kInvalidNamespaceOrFormat{0, 0x0B, true};
inline constexpr Status kCommandSequenceError{0, 0x0C, true};
inline constexpr Status kInvalidSglSegmentDescriptor{0, 0x0D, true};
inline constexpr Status kInvalidNumberOfSglDescriptors{0, 0x0E, true};
inline constexpr Status kDataSglLengthInvalid{0, 0x0F, true};
inline constexpr Status kMetadataSglLengthInvalid{0, 0x10, true};
inline constexpr Status kSglDescriptorTypeInvalid{0, 0x11, true};
inline constexpr Status kInvalidUseOfCmb{0, 0x12, true};
inline constexpr Status kPrpOffsetInvalid{0, 0x13, true};
inline constexpr Status kAtomicWriteUnitExceeded{0, 0x14, true};
inline constexpr Status kOperationDenied{0, 0x15, true};
inline constexpr Status kSglOffsetInvalid{0, 0x16, true};
inline constexpr Status kSanitizeFailed{0, 0x1C, true};
inline constexpr Status kSanitizeInProgress{0, 0x1D};
inline constexpr Status kSglDataBlockGranularityInvalid{0, 0x1E, true};
inline constexpr Status kCommandNotSupportedForQueueInCmb{0, 0x1F, true};
inline constexpr Status kNamespaceWriteProtected{0, 0x20, true};
inline constexpr Status kLbaOutOfRange{0, 0x80, true};
inline constexpr Status kCapacityExceeded{0, 0x81, true};
inline constexpr Status kNamespaceNotReady{0, 0x82};
inline constexpr Status kFormatInProgress{0, 0x84};
// Command specific status (section 4.6.1.2.2).
inline constexpr Status kCompletionQueueInvalid{1, 0x00, true};
inline constexpr Status kInvalidQueueIdentifier{1, 0x01, true};
inline constexpr Status kInvalidQueueSize{1, 0x02, true};
inline constexpr Status kAbortLimitExceeded{1, 0x03, true};
inline constexpr Status kAsyncEventLimitExceeded{1, 0x05, true};
inline constexpr Status kInvalidFirmwareSlot{1, 0x06, true};
inline constexpr Status kInvalidFirmwareImage{1, 0x07, true};
inline constexpr Status kInvalidInterruptVector{1, 0x08, true};
inline constexpr Status kInvalidLogPage{1, 0x09, true};
inline constexpr Status kInvalidFormat{1, 0x0A, true};
inline constexpr Status kInvalidQueueDeletion{1, 0x0C, true};
inline constexpr Status kFeatureNotSaveable{1, 0x0D, true};
inline constexpr Status kFeatureNotChangeable{1, 0x0E, true};
inline constexpr Status kFeatureNotNamespaceSpecific{1, 0x0F, true};
inline constexpr Status kOverlappingRange{1, 0x14, true};
inline constexpr Status kNamespaceInsufficientCapacity{1, 0x15, true};
inline constexpr Status kNamespaceIdUnavailable{1, 0x16, true};
inline constexpr Status kNamespaceAlreadyAttached{1, 0x18, true};
inline constexpr Status kNamespaceIsPrivate{1, 0x19, true};
inline constexpr Status kNamespaceNotAttached{1, 0x1A, true};
inline constexpr Status kThinProvisioningNotSupported{1, 0x1B, true};
inline constexpr Status kControllerListInvalid{1, 0x1C, true};
inline constexpr Status kSelfTestInProgress{1, 0x1D};
inline constexpr Status kConflictingAttributes{1, 0x80, true};
inline constexpr Status kInvalidProtectionInformation{1, 0x81, true};
inline constexpr Status kWriteToReadOnlyRange{1, 0x82, true};
inline constexpr Status kCommandSizeLimitExceeded{1, 0x83, true};
// Media and data integrity errors (section 4.6.1.2.3).
inline constexpr Status kWriteFault{2, 0x80};
inline constexpr Status kUnrecoveredReadError{2, 0x81};
inline constexpr Status kCompareFailure{2, 0x85, true};
inline constexpr Status kAccessDenied{2, 0x86, true};
inline constexpr Status kDeallocatedBlock{2, 0x87, true};
}  // namespace status

/// Admin command opcodes (section 5, figure 139). Those not named are Invalid Opcode.
enum class AdminOpcode : std::uint8_t {
  delete_io_sq = 0x00,
  create_io_sq = 0x01,
  get_log_page = 0x02,
  delete_io_cq = 0x04,
  create_io_cq = 0x05,
  identify = 0x06,
  abort = 0x08,
  set_features = 0x09,
  get_features = 0x0A,
  async_event_request = 0x0C,
  namespace_management = 0x0D,
  firmware_commit = 0x10,
  firmware_download = 0x11,
  device_self_test = 0x14,
  namespace_attachment = 0x15,
  keep_alive = 0x18,
  format_nvm = 0x80,
  security_send = 0x81,
  security_receive = 0x82,
  sanitize = 0x84,
};

/// NVM command set opcodes (section 6, figure 346).
enum class IoOpcode : std::uint8_t {
  flush = 0x00,
  write = 0x01,
  read = 0x02,
  write_uncorrectable = 0x04,
  compare = 0x05,
  write_zeroes = 0x08,
  dataset_management = 0x09,
  verify = 0x0C,
  copy = 0x19,
};

/// Feature identifiers (section 5.21.1, figure 271).
enum class FeatureId : std::uint8_t {
  arbitration = 0x01,
  power_management = 0x02,
  temperature_threshold = 0x04,
  error_recovery = 0x05,
  volatile_write_cache = 0x06,
  number_of_queues = 0x07,
  interrupt_coalescing = 0x08,
  interrupt_vector_configuration = 0x09,
  write_atomicity = 0x0A,
  async_event_configuration = 0x0B,
  timestamp = 0x0E,
  software_progress_marker = 0x80,
};

/// Log page identifiers (section 5.14.1, figure 193).
enum class LogId : std::uint8_t {
  error_information = 0x01,
  smart_health = 0x02,
  firmware_slot = 0x03,
  changed_namespaces = 0x04,
  commands_and_effects = 0x05,
  device_self_test = 0x06,
  sanitize_status = 0x81,
};

/// Asynchronous event types (section 5.2.1, figure 146).
enum class AsyncEventType : std::uint8_t {
  error = 0,
  smart_health = 1,
  notice = 2,
  io_command_set = 6,
};

/// The result of a completed Asynchronous Event Request.
struct AsyncEvent {
  AsyncEventType type = AsyncEventType::error;
  std::uint8_t info = 0;
  LogId log = LogId::error_information;

  [[nodiscard]] constexpr std::uint32_t result() const {
    return static_cast<std::uint32_t>(type) | std::uint32_t{info} << 8U | static_cast<std::uint32_t>(log) << 16U;
  }
  friend constexpr bool operator==(const AsyncEvent&, const AsyncEvent&) = default;
};

/// Events by name (figures 147 to 150).
namespace event {
inline constexpr AsyncEvent kInvalidDoorbellRegister{AsyncEventType::error, 0x00, LogId::error_information};
inline constexpr AsyncEvent kInvalidDoorbellValue{AsyncEventType::error, 0x01, LogId::error_information};
inline constexpr AsyncEvent kInternalError{AsyncEventType::error, 0x04, LogId::error_information};
inline constexpr AsyncEvent kReliability{AsyncEventType::smart_health, 0x00, LogId::smart_health};
inline constexpr AsyncEvent kTemperature{AsyncEventType::smart_health, 0x01, LogId::smart_health};
inline constexpr AsyncEvent kSpare{AsyncEventType::smart_health, 0x02, LogId::smart_health};
inline constexpr AsyncEvent kNamespaceAttributeChanged{AsyncEventType::notice, 0x00, LogId::changed_namespaces};
inline constexpr AsyncEvent kSanitizeCompleted{AsyncEventType::io_command_set, 0x01, LogId::sanitize_status};
}  // namespace event

/// One range of Dataset Management (section 6.7, figure 367).
struct DatasetRange {
  std::uint32_t attributes;
  std::uint32_t blocks;
  std::uint64_t lba;
};
static_assert(sizeof(DatasetRange) == 16);

/// Source range of Copy, descriptor format 0h (NVM Command Set Specification 1.0, section 3.2.2).
struct CopyRange {
  std::uint64_t reserved0;
  std::uint64_t lba;
  std::uint16_t blocks;  ///< 0's based
  std::uint8_t reserved18[14];
};
static_assert(sizeof(CopyRange) == 32);
static_assert(offsetof(CopyRange, blocks) == 16);

}  // namespace smartio::nvme
