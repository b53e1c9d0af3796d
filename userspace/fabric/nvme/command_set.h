// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "fabric/nvme/command.h"
#include "fabric/nvme/drive_config.h"
#include "fabric/nvme/spec.h"

namespace smartio::nvme {

struct DriveState;

/// A range of logical blocks that fails.
struct MediaError {
  std::uint32_t nsid = 1;
  std::uint64_t lba = 0;
  std::uint64_t blocks = 1;
  bool on_read = true;           ///< Unrecovered Read Error
  bool on_write = false;         ///< Write Fault
  bool clear_on_rewrite = true;  ///< a write of a block mends that block (only where writes do not fail)
};

/// An entry for the Error Information log that the queue engine makes itself.
struct EngineError {
  std::uint16_t sq_id = 0xFFFF;  ///< 0xFFFF: belongs to no command
  std::uint16_t cid = 0xFFFF;    ///< 0xFFFF: belongs to no command
  Status status;
  std::uint16_t location = 0xFFFF;  ///< Parameter Error Location; 0xFFFF: belongs to no parameter
  std::uint32_t nsid = 0;
};

/// The drive's counters since it was made; never reset.
struct DriveCounters {
  std::uint64_t read_commands = 0;
  std::uint64_t write_commands = 0;
  std::uint64_t flush_commands = 0;
  std::uint64_t other_io_commands = 0;
  std::uint64_t admin_commands = 0;
  std::uint64_t failed_commands = 0;
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
  std::uint64_t fua_writes = 0;  ///< of write_commands, with Force Unit Access
  std::uint64_t blocks_deallocated = 0;
  std::uint64_t media_errors = 0;
  std::uint64_t dirty_blocks = 0;  ///< in the volatile write cache now
  std::uint64_t lost_blocks = 0;   ///< dropped by power cuts
};

/// A namespace as it is now.
struct NamespaceStatus {
  std::uint32_t nsid = 0;
  std::uint64_t size = 0;  ///< bytes
  std::uint32_t block_size = 0;
};

/// The NVM command set and the media of one drive: everything of the controller except queues and registers. The queue
/// engine itself carries out Create/Delete I/O Queue, Abort and Asynchronous Event Request. So it does with the
/// features Number of Queues, Interrupt Coalescing and Interrupt Vector Configuration. It hands all other commands to
/// execute_admin() and execute_io(). Unknown opcodes are refused and logged here.
///
/// Threads: execute_*() come from the drive's one worker thread. All other functions may be called from any thread at
/// any time. One mutex guards all state. A command releases it while it waits for the host's memory (read_host), never
/// in the middle of an access to the media. So a control call waits at most for one command's copy. A command notices a
/// power cut, controller reset or namespace change in between when it takes the mutex again.
class CommandSet {
 public:
  /// Opens or makes the media. Throws std::runtime_error with a sentence for a person where that fails.
  explicit CommandSet(DriveConfig config);
  ~CommandSet();
  CommandSet(const CommandSet&) = delete;
  CommandSet& operator=(const CommandSet&) = delete;

  [[nodiscard]] const DriveConfig& config() const;

  // The worker thread's.
  Status execute_admin(CommandContext& command);
  Status execute_io(CommandContext& command);
  /// Fused compare and write, atomic. Returns the write's status: Aborted due to Failed Fused Command where the
  /// compare did not succeed, whose own status goes to `compare_status`.
  Status execute_fused(CommandContext& compare, CommandContext& write, Status& compare_status);

  /// Bytes that a Write command would fetch from the host; 0 for other commands, and for one that would be refused.
  [[nodiscard]] std::size_t write_bytes(const SubmissionEntry& entry) const;

  // The queue engine's, any thread.
  /// CC.EN went 1 -> 0, or a function reset: features fall back to their saved values, a committed firmware is
  /// activated. Media and write cache stay. A command in the middle of its host transfer has no effect any more. It
  /// ends with Command Aborted due to Power Loss, a status that no host sees.
  void controller_reset();
  /// CC.SHN: everything cached becomes durable, and a later power cut is not an unsafe shutdown.
  void shutdown();
  /// Power is lost and back: data written since the last flush is lost, then as controller_reset().
  void power_cut();
  /// Adds an entry to the Error Information log, for a command that the engine itself refused.
  void record_error(const EngineError& error);
  /// Called with each event that is enabled (Asynchronous Event Configuration), from any thread, without the mutex.
  void set_event_sink(std::function<void(AsyncEvent)> sink);
  /// Called when the host read a log page without Retain Asynchronous Event: events that name this page may be
  /// reported again. On the worker thread, without the mutex.
  void set_log_read_sink(std::function<void(LogId)> sink);

  // The control socket's, any thread.
  void add_media_error(const MediaError& error);
  void clear_media_errors();
  /// SMART Critical Warning bits (section 5.14.1.2, byte 0); newly set ones raise an event.
  void set_critical_warning(std::uint8_t bits);
  /// Composite temperature in Kelvin; crossing a threshold sets the warning bit and raises an event.
  void set_temperature(std::uint16_t kelvin);
  /// Available spare and percentage used of SMART, in percent.
  void set_wear(std::uint8_t spare, std::uint8_t used);
  /// Changes of the namespaces; the host gets a Namespace Attribute Changed event. add gives the new NSID.
  Result<void> resize_namespace(std::uint32_t nsid, std::uint64_t bytes);
  Result<std::uint32_t> add_namespace(const NamespaceConfig& config);
  Result<void> remove_namespace(std::uint32_t nsid);

  [[nodiscard]] DriveCounters counters() const;
  [[nodiscard]] std::vector<NamespaceStatus> namespaces() const;

 private:
  std::unique_ptr<DriveState> state_;
};

}  // namespace smartio::nvme
