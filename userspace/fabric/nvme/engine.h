// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "fabric/nvme/admin_log.h"
#include "fabric/nvme/cmb.h"
#include "fabric/nvme/context.h"
#include "fabric/nvme/counters.h"
#include "fabric/nvme/dma.h"
#include "fabric/nvme/doorbells.h"
#include "fabric/nvme/events.h"
#include "fabric/nvme/executor.h"
#include "fabric/nvme/faults.h"
#include "fabric/nvme/queue.h"
#include "fabric/nvme/registers.h"

namespace smartio::nvme {

/// A controller's parameters, as its engine needs them.
struct EngineConfig {
  std::string name = "nvme";  ///< for log lines
  unsigned queue_pairs = 32;  ///< I/O queue pairs at most
  bool sgl = true;            ///< SGLs are supported in I/O commands
};

/// The part of the controller that works: enables and resets it as the registers say, fetches commands, has them
/// carried out, posts their completions, interrupts. Everything but request() and raise() belongs to one thread, the
/// worker; a test or a benchmark may be that thread.
class Engine {
 public:
  using Clock = std::chrono::steady_clock;

  /// Asynchronous Event Requests that may be outstanding: Identify Controller AERL + 1.
  static constexpr std::size_t kEventRequests = kAsyncEventLimit;
  /// Commands fetched from one queue before the next one has its turn.
  static constexpr std::uint32_t kBurst = 32;
  /// Fatal errors that are logged; a guest can make as many as it likes.
  static constexpr std::uint64_t kLoggedFatals = 16;
  /// Bytes moved for commands of a burst before the host is notified of those that are done.
  static constexpr std::uint64_t kSignalBytes = 256 << 10;

  /// Things that other threads ask of the worker.
  enum Request : std::uint32_t {
    kControl = 1U << 0,   ///< look at CC
    kDisable = 1U << 1,   ///< CC.EN was cleared
    kReset = 1U << 2,     ///< function or subsystem reset; the registers are reset already
    kPowerCut = 1U << 3,  ///< the same with power lost
    kFatal = 1U << 4,     ///< CSTS.CFS is set: stop until a reset
  };

  Engine(const EngineConfig& config, CommandExecutor& executor, Registers& registers, Doorbells& doorbells, Cmb& cmb,
         Faults& faults, EngineCounters& counters);

  void bind(pci::Port& port) { dma_.bind(port); }

  /// Any thread. When the worker sees a request other than kControl, a running command has no further effect on the
  /// host. Its completion is not posted.
  void request(std::uint32_t requests);
  /// Any thread: an asynchronous event for the host.
  void raise(AsyncEvent event);
  /// Any thread: processing paused, CSTS.PP.
  void pause(bool paused);
  /// The host read a log page: events of it may be reported again. Any thread.
  void log_read(LogId log) { events_.log_read(log); }

  /// One round: requests, doorbells, delayed commands that are due, and a burst of each queue that has commands. True
  /// if there is more to do at once.
  bool process_once();
  /// When process_once() must be called even if nothing happens: the next delayed command.
  [[nodiscard]] std::optional<Clock::time_point> deadline() const;

  /// The admin commands fetched last. Any thread.
  [[nodiscard]] const AdminLog& admin_log() const { return admin_log_; }

  /// Queues that exist, for tests.
  [[nodiscard]] unsigned submission_queues() const;
  [[nodiscard]] unsigned completion_queues() const;

 private:
  /// A command in flight: one entry, or the two of a fused compare and write.
  struct Command {
    SubmissionEntry entry{};
    std::optional<SubmissionEntry> compare;
  };
  /// A command or completion that a fault keeps back.
  struct Held {
    QueueId sq;
    Command command;
    std::optional<CompletionEntry> completion;  ///< executed: only this is to be posted
    std::optional<Clock::time_point> due;
    std::optional<Faults::RuleId> serial;  ///< it begins when those before it that the rule delays have ended
    std::vector<std::byte> fetched;        ///< a write's data, if any of it has left the host
    std::size_t missing = 0;               ///< bytes at its end that have not
  };
  struct Delay {
    std::chrono::microseconds time;
    std::optional<Faults::RuleId> serial;
  };
  using HeldMap = std::map<Faults::HeldId, Held>;

  // Life of the controller (engine.cc).
  void handle_requests();
  void enable(const Registers::Control& control);
  void disable();
  void drop_everything();
  void set_fatal(const char* why);
  [[nodiscard]] bool stopped() const;

  // Doorbells and service of queues (engine.cc).
  void doorbell(unsigned index, std::uint32_t value);
  void tail_doorbell(SubmissionQueue& sq, std::uint32_t value);
  void head_doorbell(CompletionQueue& cq, std::uint32_t value);
  void bad_doorbell(AsyncEvent event);
  void activate(SubmissionQueue& sq);
  void serve(SubmissionQueue& sq);
  void take(SubmissionQueue& sq, const SubmissionEntry& entry);
  void admit(SubmissionQueue& sq, const Command& command);
  void execute(SubmissionQueue& sq, const Command& command, std::span<const std::byte> fetched = {});
  void hold_write(SubmissionQueue& sq, const Command& command, FaultRule::Action action);
  bool fetch(SubmissionQueue& sq, const SubmissionEntry& entry, std::span<std::byte> data, std::size_t from,
             std::size_t to);
  void execute_fused(SubmissionQueue& sq, const Command& command);
  void fail(SubmissionQueue& sq, const Command& command, Status status, Status compare_status);
  void report(const SubmissionQueue& sq, const SubmissionEntry& entry, Status& status);

  // Completions (completion.cc).
  void complete(SubmissionQueue& sq, const SubmissionEntry& entry, Status status, std::uint64_t result);
  void post(const SubmissionQueue& sq, CompletionEntry completion);
  void write_completion(CompletionQueue& cq, CompletionEntry completion);
  void signal();

  // Held commands (completion.cc).
  void hold(SubmissionQueue& sq, const Command& command, std::optional<CompletionEntry> completion,
            std::optional<Delay> delay, std::vector<std::byte> fetched = {}, std::size_t missing = 0);
  [[nodiscard]] Clock::time_point serial_end(Faults::RuleId rule) const;
  Held drop_held(HeldMap::iterator it);
  void resume(Held held);
  void resume_due();
  void deliver_events();

  // The admin commands that are the engine's own (queue_admin.cc). nullopt: completes later.
  [[nodiscard]] std::optional<Status> admin(EngineContext& context);
  std::optional<Status> create_sq(EngineContext& context);
  std::optional<Status> create_cq(EngineContext& context);
  std::optional<Status> delete_sq(EngineContext& context);
  std::optional<Status> delete_cq(EngineContext& context);
  std::optional<Status> abort(EngineContext& context);
  std::optional<Status> event_request(EngineContext& context);
  std::optional<Status> set_features(EngineContext& context);
  std::optional<Status> get_features(EngineContext& context);
  std::optional<Status> execute_admin(EngineContext& context);
  [[nodiscard]] bool any_io_queue() const;
  SubmissionQueue& add_sq(QueueId id, QueueId cq, pci::BusAddress base, std::uint32_t size);
  void remove_sq(SubmissionQueue& sq);
  [[nodiscard]] SubmissionQueue* find_sq(std::uint32_t id) const;
  [[nodiscard]] CompletionQueue* find_cq(std::uint32_t id) const;

  const EngineConfig config_;
  CommandExecutor& executor_;
  Registers& registers_;
  Doorbells& doorbells_;
  Cmb& cmb_;
  Faults& faults_;
  EngineCounters& counters_;
  Dma dma_;
  AsyncEvents events_;
  AdminLog admin_log_;

  std::atomic<std::uint32_t> requests_{0};
  std::atomic<bool> paused_{false};

  // The worker's, all of it.
  bool enabled_ = false;  // CC.EN was seen set and the admin queue exists, or enabling failed
  bool running_ = false;  // commands are processed
  bool shut_down_ = false;
  std::uint32_t page_size_ = 4096;
  std::uint32_t control_ = 0;  // CC as it was when the controller was enabled
  std::vector<std::unique_ptr<SubmissionQueue>> sqs_;
  std::vector<std::unique_ptr<CompletionQueue>> cqs_;
  std::vector<SubmissionQueue*> active_;   // to serve in this round
  std::vector<SubmissionQueue*> serving_;  // being served
  std::vector<CompletionQueue*> signals_;
  std::vector<std::uint16_t> event_requests_;  // cids of outstanding Asynchronous Event Requests
  HeldMap held_;
  std::set<std::pair<Clock::time_point, Faults::HeldId>> due_;
  EngineContext context_;
  EngineContext fused_context_;
  std::uint64_t moved_ = 0;
  // Features of the engine.
  std::uint32_t allocated_sqs_ = 0;
  std::uint32_t allocated_cqs_ = 0;
  std::uint32_t coalescing_ = 0;
  std::vector<bool> coalescing_off_;
};

}  // namespace smartio::nvme
