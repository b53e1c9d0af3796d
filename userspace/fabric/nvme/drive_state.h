// SPDX-License-Identifier: GPL-2.0
// Shared by the command set's parts: the state of one drive, and one command while it is carried out on it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "fabric/nvme/command.h"
#include "fabric/nvme/command_set.h"
#include "fabric/nvme/error_log.h"
#include "fabric/nvme/features.h"
#include "fabric/nvme/firmware.h"
#include "fabric/nvme/health.h"
#include "fabric/nvme/spec.h"
#include "fabric/nvme/spec_log.h"
#include "fabric/nvme/store.h"

namespace smartio::nvme {

/// Most namespaces a drive has; also NN, the highest NSID.
inline constexpr std::uint32_t kMaxNamespaces = 64;

/// Block sizes, by LBA format.
inline constexpr std::array<std::uint32_t, 2> kLbaFormats{512, 4096};

/// Organizationally unique identifier, most significant byte first: locally administered, as this is no company.
inline constexpr std::array<std::uint8_t, 3> kOui{0x02, 0x53, 0x4D};

/// The globally unique names of a namespace: a function of drive, NSID and how often that NSID was given out.
struct NamespaceIdentity {
  std::array<std::uint8_t, 8> eui64{};
  std::array<std::uint8_t, 16> nguid{};
  std::array<std::uint8_t, 16> uuid{};
};

struct Namespace {
  Namespace(std::uint32_t id, const NamespaceIdentity& names, std::unique_ptr<Media> media, std::uint32_t block_size,
            WriteCache& cache)
      : nsid(id), identity(names), store(std::move(media), block_size, cache) {}

  std::uint32_t nsid;
  NamespaceIdentity identity;
  Store store;
};

struct DriveState {
  explicit DriveState(DriveConfig drive_config);

  const DriveConfig config;

  /// Guards everything below. Let go while a command waits for host memory (see ActiveCommand).
  mutable std::mutex mutex;

  /// Commands that release the mutex compare these. A power cut or reset ends them, a changed namespace makes them look
  /// again.
  std::uint64_t resets = 0;
  std::uint64_t namespace_changes = 0;

  std::string serial;  ///< 20 characters at most, not padded
  std::string subnqn;
  WriteCache cache;
  std::map<std::uint32_t, std::unique_ptr<Namespace>> namespaces;
  std::array<std::uint32_t, kMaxNamespaces + 1> incarnations{};  ///< by NSID
  std::set<std::uint32_t> changed_namespaces;

  Features features;
  Health health;
  ErrorLog errors;
  Firmware firmware;
  SelfTestLog self_test{};
  SanitizeLog sanitize{};
  DriveCounters counters;

  std::function<void(AsyncEvent)> event_sink;
  std::function<void(LogId)> log_read_sink;
  std::vector<AsyncEvent> events;  ///< to be given to event_sink after the mutex is released
  std::vector<LogId> logs_read;    ///< to be given to log_read_sink likewise

  // The worker's, so not guarded: as long as the longest transfer, made when first used.
  std::vector<std::byte> data;     ///< a command's data from the host
  std::vector<std::byte> compare;  ///< the data of a fused compare, while `data` is the write's
  std::vector<std::byte> scratch;  ///< content of media that is a file

  /// The active namespace, or null.
  [[nodiscard]] Namespace* find(std::uint32_t nsid);
  /// Puts an event into `events` if it is enabled.
  void raise(AsyncEvent event);
  /// Raises events for the critical warnings that are set now and were not in `before`.
  void raise_warnings(std::uint8_t before);
  /// Notes a changed namespace, for the log and as an event.
  void note_change(std::uint32_t nsid);
  /// Whether writes may stay in the cache.
  [[nodiscard]] bool cache_enabled() const;
  /// Bytes of all namespaces.
  [[nodiscard]] std::uint64_t capacity() const;
  /// Makes a namespace and puts it in place; `path` empty: RAM.
  Result<void> attach(std::uint32_t nsid, const NamespaceConfig& namespace_config, bool fresh);
  /// Current state of the values that controller reset sets back.
  void reset_controller();
};

/// One command while it is carried out. Holds the drive's mutex except inside map(), fetch() and finish(). The caller
/// must look at the status of map() and fetch(), as the drive may have been reset meanwhile.
class ActiveCommand {
 public:
  ActiveCommand(DriveState& drive_state, CommandContext& context)
      : drive(drive_state),
        command(context),
        entry(context.entry()),
        lock_(drive_state.mutex),
        resets_(drive_state.resets),
        namespace_changes_(drive_state.namespace_changes) {}

  DriveState& drive;
  CommandContext& command;
  const SubmissionEntry& entry;

  /// map_data(), with the mutex released.
  [[nodiscard]] Status map(std::uint64_t length);
  /// map_data() and read_host() of all of `into`, with the mutex released.
  [[nodiscard]] Status fetch(std::span<std::byte> into);
  /// map_data() and write_host() of all of `from`, which must be the command's own copy: no view of media.
  [[nodiscard]] Status send(std::span<const std::byte> from);
  /// Writes `from` to the host after map(), with the mutex held: a posted write never waits.
  [[nodiscard]] Status store(std::span<const std::byte> from) { return command.write_host(0, from); }

  /// The command's namespace, checked: NSID valid and active. Sets failure() otherwise, and gives null.
  [[nodiscard]] Namespace* find_namespace();
  [[nodiscard]] Status failure() const { return failure_; }

  /// `why`, for a parameter at byte `location` of the submission entry.
  Status refuse(Status why, unsigned location) {
    location_ = static_cast<std::uint16_t>(location);
    return why;
  }
  /// A media error: counts it.
  Status refuse(const MediaFault& fault);

  /// Releases the mutex and takes it again, so that another ActiveCommand of the same thread can continue in between.
  void suspend() { lock_.unlock(); }
  void resume() { lock_.lock(); }
  /// After the mutex was released: whether the command may continue. The caller holds the mutex.
  [[nodiscard]] Status still_valid() const;

  /// Logs a failure, releases the mutex and gives events away. Last call.
  Status finish(Status status);

 private:
  std::unique_lock<std::mutex> lock_;
  std::uint64_t resets_;
  std::uint64_t namespace_changes_;
  Status failure_;
  std::uint16_t location_ = 0xFFFF;
  std::uint64_t lba_ = 0;
};

/// Releases `lock` and gives the collected events to the sinks.
void unlock_and_notify(DriveState& drive, std::unique_lock<std::mutex>& lock);

/// Byte offsets of command dwords in a submission entry, for ActiveCommand::refuse().
namespace at {
inline constexpr unsigned kOpcode = 0;
inline constexpr unsigned kNsid = 4;
inline constexpr unsigned kDword10 = 40;
inline constexpr unsigned kDword11 = 44;
inline constexpr unsigned kDword12 = 48;
inline constexpr unsigned kDword13 = 52;
inline constexpr unsigned kDword14 = 56;
}  // namespace at

using Handler = Status (*)(ActiveCommand&);

/// A row of an opcode table.
struct Opcode {
  Handler handler = nullptr;  ///< null: the queue engine's, or not supported
  std::uint32_t effects = 0;  ///< Commands Supported and Effects; 0: not supported
};
using OpcodeTable = std::array<Opcode, 256>;
const OpcodeTable& admin_opcodes();
const OpcodeTable& io_opcodes();

// Handlers, by file.
Status identify(ActiveCommand& x);      // identify.cc
Status get_log_page(ActiveCommand& x);  // log_pages.cc
Status set_features(ActiveCommand& x);  // admin_features.cc
Status get_features(ActiveCommand& x);
Status format_nvm(ActiveCommand& x);  // admin_erase.cc
Status sanitize(ActiveCommand& x);
Status firmware_download(ActiveCommand& x);  // admin_firmware.cc
Status firmware_commit(ActiveCommand& x);
Status device_self_test(ActiveCommand& x);  // admin_selftest.cc
Status io_read(ActiveCommand& x);           // io_transfer.cc
Status io_write(ActiveCommand& x);
Status io_compare(ActiveCommand& x);
Status io_flush(ActiveCommand& x);
/// Both commands of a fused pair, from start to finish.
Status io_fused(CommandContext& compare, CommandContext& write, DriveState& drive, Status& compare_status);
Status io_write_zeroes(ActiveCommand& x);  // io_ranges.cc
Status io_write_uncorrectable(ActiveCommand& x);
Status io_verify(ActiveCommand& x);
Status io_dataset_management(ActiveCommand& x);
Status io_copy(ActiveCommand& x);

}  // namespace smartio::nvme
