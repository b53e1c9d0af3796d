// SPDX-License-Identifier: GPL-2.0
// The life of a controller, its doorbells, and how commands are fetched and carried out.
#include "fabric/nvme/engine.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>

namespace smartio::nvme {
namespace {

// The requests that stop the running command.
constexpr std::uint32_t kStops = Engine::kDisable | Engine::kReset | Engine::kPowerCut | Engine::kFatal;

constexpr unsigned kSqEntryBits = 6;  // CC.IOSQES: 64 bytes
constexpr unsigned kCqEntryBits = 4;  // CC.IOCQES: 16 bytes

// Why a controller with these registers can't be enabled; nullptr if it can.
const char* refuse(const Registers::Control& control) {
  const std::uint64_t page = std::uint64_t{4096} << cc::mps(control.cc);
  if (cc::css(control.cc) != 0) return "CC.CSS is not the NVM command set";
  if (cc::mps(control.cc) > kMaxMps) return "CC.MPS is above CAP.MPSMAX";
  if (cc::ams(control.cc) != 0) return "CC.AMS is not round robin";
  // A host that makes no I/O queues (yet) leaves 0 there.
  if (cc::iosqes(control.cc) != 0 && cc::iosqes(control.cc) != kSqEntryBits) return "CC.IOSQES is not 6";
  if (cc::iocqes(control.cc) != 0 && cc::iocqes(control.cc) != kCqEntryBits) return "CC.IOCQES is not 4";
  if ((control.aqa & 0xFFF) == 0 || (control.aqa >> 16 & 0xFFF) == 0) return "AQA names a queue of one entry";
  if ((control.asq & (page - 1)) != 0) return "ASQ is not aligned to a memory page";
  if ((control.acq & (page - 1)) != 0) return "ACQ is not aligned to a memory page";
  return nullptr;
}

}  // namespace

Engine::Engine(const EngineConfig& config, CommandExecutor& executor, Registers& registers, Doorbells& doorbells,
               Cmb& cmb, Faults& faults, EngineCounters& counters)
    : config_(config),
      executor_(executor),
      registers_(registers),
      doorbells_(doorbells),
      cmb_(cmb),
      faults_(faults),
      counters_(counters),
      dma_(cmb),
      sqs_(config.queue_pairs + 1),
      cqs_(config.queue_pairs + 1),
      context_(dma_, [this] { return stopped(); }),
      fused_context_(dma_, [this] { return stopped(); }),
      allocated_sqs_(config.queue_pairs),
      allocated_cqs_(config.queue_pairs),
      coalescing_off_(config.queue_pairs + 1) {}

void Engine::request(std::uint32_t requests) {
  requests_.fetch_or(requests);
  doorbells_.wake_for_work();
}

void Engine::raise(AsyncEvent event) {
  events_.raise(event);
  doorbells_.wake_for_work();
}

void Engine::pause(bool paused) {
  paused_ = paused;
  registers_.set_status(csts::kPaused, paused ? csts::kPaused : 0);
  doorbells_.wake_for_work();
}

bool Engine::stopped() const { return (requests_.load(std::memory_order_acquire) & kStops) != 0; }

unsigned Engine::submission_queues() const {
  return static_cast<unsigned>(std::ranges::count_if(sqs_, [](const auto& sq) { return sq != nullptr; }));
}

unsigned Engine::completion_queues() const {
  return static_cast<unsigned>(std::ranges::count_if(cqs_, [](const auto& cq) { return cq != nullptr; }));
}

bool Engine::process_once() {
  if (requests_.load(std::memory_order_relaxed) != 0) handle_requests();
  doorbells_.take([this](unsigned index, std::uint32_t value) {
    if (running_) doorbell(index, value);
  });
  if (!running_ || paused_.load(std::memory_order_relaxed)) return requests_.load() != 0;

  if (!held_.empty()) resume_due();
  if (!event_requests_.empty()) deliver_events();
  serving_.swap(active_);
  for (SubmissionQueue*& sq : serving_) {
    // An admin command served before may have deleted the queue.
    if (sq == nullptr) continue;
    sq->active = false;
    SubmissionQueue& queue = *sq;
    sq = nullptr;
    serve(queue);
    if (!running_ || stopped()) break;
  }
  serving_.clear();
  if (!stopped()) {
    // The event that a command of this round raised need not wait for the next.
    if (running_ && !event_requests_.empty()) deliver_events();
    signal();
  }
  return !active_.empty() || requests_.load() != 0;
}

void Engine::handle_requests() {
  const std::uint32_t requests = requests_.exchange(0);
  // A controller that is not ready any more writes nothing.
  if ((requests & (kReset | kPowerCut | kDisable)) != 0) dma_.port().settle();
  if ((requests & (kReset | kPowerCut)) != 0) {
    drop_everything();
    if ((requests & kPowerCut) != 0) {
      executor_.power_cut();
    } else {
      executor_.controller_reset();
    }
    counters_.controller_resets.add();
    registers_.set_status(csts::kReady | csts::kFatal | csts::kShutdownMask, 0);
  } else if ((requests & kDisable) != 0) {
    disable();
  }
  if ((requests & kFatal) != 0 && (requests & (kDisable | kReset | kPowerCut)) == 0) {
    drop_everything();
    enabled_ = (registers_.control().cc & cc::kEnable) != 0;  // it takes a reset to enable it again
    counters_.fatal.add();
  }
  const Registers::Control control = registers_.control();
  if ((control.cc & cc::kEnable) != 0 && !enabled_) enable(control);
  if (cc::shn(control.cc) != 0 && !shut_down_) {
    drop_everything();
    enabled_ = (control.cc & cc::kEnable) != 0;
    shut_down_ = true;
    dma_.port().settle();
    executor_.shutdown();
    registers_.set_status(csts::kShutdownMask, csts::kShutdownComplete);
  }
}

void Engine::enable(const Registers::Control& control) {
  enabled_ = true;
  if ((registers_.status() & csts::kFatal) != 0) return;
  if (const char* why = refuse(control)) {
    set_fatal(why);
    return;
  }
  control_ = control.cc;
  page_size_ = 4096U << cc::mps(control.cc);
  doorbells_.clear_all();
  auto cq = std::make_unique<CompletionQueue>();
  cq->base = {control.acq};
  cq->size = (control.aqa >> 16 & 0xFFF) + 1;
  cq->interrupts = true;
  cqs_[0] = std::move(cq);
  add_sq(QueueId{0}, QueueId{0}, {control.asq}, (control.aqa & 0xFFF) + 1);
  running_ = true;
  registers_.set_status(0, csts::kReady);
}

void Engine::disable() {
  drop_everything();
  executor_.controller_reset();
  counters_.controller_resets.add();
  registers_.controller_reset(true);
}

// Queues, held commands, events and features: the state after a reset. Nothing of it reaches the host.
void Engine::drop_everything() {
  running_ = false;
  enabled_ = false;
  shut_down_ = false;
  for (auto& sq : sqs_) {
    if (sq) remove_sq(*sq);
  }
  for (auto& cq : cqs_) cq.reset();
  active_.clear();
  std::ranges::fill(serving_, nullptr);
  signals_.clear();
  event_requests_.clear();
  events_.clear();
  counters_.discarded.add(held_.size());
  while (!held_.empty()) drop_held(held_.begin());
  doorbells_.clear_all();
  paused_ = false;
  registers_.set_status(csts::kPaused, 0);
  allocated_sqs_ = config_.queue_pairs;
  allocated_cqs_ = config_.queue_pairs;
  coalescing_ = 0;
  coalescing_off_.assign(coalescing_off_.size(), false);
}

void Engine::set_fatal(const char* why) {
  running_ = false;
  counters_.fatal.add();
  if (counters_.fatal.value() <= kLoggedFatals)
    spdlog::warn("drive {}: controller fatal status: {}", config_.name, why);
  registers_.set_status(0, csts::kFatal);
}

void Engine::doorbell(unsigned index, std::uint32_t value) {
  counters_.doorbells.add();
  const std::uint32_t id = index / 2;
  if (index % 2 == 0) {
    if (SubmissionQueue* sq = find_sq(id)) return tail_doorbell(*sq, value);
  } else {
    if (CompletionQueue* cq = find_cq(id)) return head_doorbell(*cq, value);
  }
  bad_doorbell(event::kInvalidDoorbellRegister);
}

void Engine::tail_doorbell(SubmissionQueue& sq, std::uint32_t value) {
  // The tail only goes forward, and never past the entries that were not fetched yet.
  if (value >= sq.size || sq.available() + ring_distance(sq.tail, value, sq.size) >= sq.size) {
    return bad_doorbell(event::kInvalidDoorbellValue);
  }
  sq.tail = value;
  if (sq.available() != 0) activate(sq);
}

void Engine::head_doorbell(CompletionQueue& cq, std::uint32_t value) {
  if (value >= cq.size || ring_distance(cq.head, value, cq.size) > cq.used()) {
    return bad_doorbell(event::kInvalidDoorbellValue);
  }
  cq.head = value;
  while (!cq.pending.empty() && cq.used() < cq.size - 1) {
    const CompletionEntry completion = cq.pending.front();
    cq.pending.pop_front();
    write_completion(cq, completion);
  }
  if (!cq.stalled || cq.room() == 0) return;
  cq.stalled = false;
  for (const QueueId id : cq.submission_queues) {
    SubmissionQueue* sq = find_sq(id.value);
    if (sq != nullptr && sq->available() != 0) activate(*sq);
  }
}

void Engine::bad_doorbell(AsyncEvent event) {
  counters_.invalid_doorbells.add();
  executor_.record_error(EngineError{.status = status::kInvalidField});
  events_.raise(event);
}

void Engine::activate(SubmissionQueue& sq) {
  if (sq.active) return;
  sq.active = true;
  active_.push_back(&sq);
}

// Fetches and carries out a burst. One DMA reads the entries of a burst, and then they count as consumed. So the engine
// takes no more than the completion queue has room for.
void Engine::serve(SubmissionQueue& sq) {
  CompletionQueue& cq = *find_cq(sq.cq.value);
  const std::uint32_t room = cq.room();
  if (room == 0) {
    cq.stalled = true;  // the head doorbell serves us again
    return;
  }
  if (sq.held >= sq.size) return;  // resume() serves us again
  const std::uint32_t count =
      std::min({sq.available(), sq.size - sq.head, kBurst, room, static_cast<std::uint32_t>(sq.size - sq.held)});
  if (count == 0) return;
  std::array<SubmissionEntry, kBurst> entries;
  const auto batch = std::span(entries).first(count);
  counters_.fetches.add();
  if (!dma_.read(sq.base + std::uint64_t{sq.head} * sizeof(SubmissionEntry), std::as_writable_bytes(batch),
                 pci::AccessKind::command)) {
    if (!stopped()) set_fatal("the bus refused the fetch of a submission queue entry");
    return;
  }
  sq.head = (sq.head + count) % sq.size;
  for (const SubmissionEntry& entry : batch) {
    take(sq, entry);
    if (!running_ || stopped()) return;
    if (moved_ >= kSignalBytes) {
      moved_ = 0;
      signal();
    }
  }
  moved_ = 0;
  // Both halves of a pair are made visible by one doorbell: if there is nothing behind the first, it came alone.
  if (sq.fused_first && sq.available() == 0) {
    const SubmissionEntry first = *sq.fused_first;
    sq.fused_first.reset();
    complete(sq, first, status::kAbortedMissingFused, 0);
  }
  if (sq.available() != 0) activate(sq);
}

// Puts the two halves of fused pairs together.
void Engine::take(SubmissionQueue& sq, const SubmissionEntry& entry) {
  const bool is_admin = sq.id.value == 0;
  (is_admin ? counters_.admin_opcodes : counters_.io_opcodes)[entry.opcode].add();
  if (is_admin) admin_log_.add(entry);
  const unsigned fuse = entry.fuse();
  if (fuse == static_cast<unsigned>(Fuse::second) && sq.fused_first) {
    const Command pair{entry, *sq.fused_first};
    sq.fused_first.reset();
    return admit(sq, pair);
  }
  if (sq.fused_first) {
    const SubmissionEntry first = *sq.fused_first;
    sq.fused_first.reset();
    complete(sq, first, status::kAbortedMissingFused, 0);
  }
  if (fuse == static_cast<unsigned>(Fuse::none)) return admit(sq, Command{entry, std::nullopt});
  if (sq.id.value == 0 || fuse == 3) {
    Status refused = status::kInvalidField;
    report(sq, entry, refused);
    return complete(sq, entry, refused, 0);
  }
  if (fuse == static_cast<unsigned>(Fuse::first)) {
    sq.fused_first = entry;
    return;
  }
  complete(sq, entry, status::kAbortedMissingFused, 0);
}

void Engine::admit(SubmissionQueue& sq, const Command& command) {
  const bool event_request =
      sq.id.value == 0 && command.entry.opcode == static_cast<std::uint8_t>(AdminOpcode::async_event_request);
  if (faults_.armed() && !event_request) {
    if (const auto verdict = faults_.judge(sq.id.value, command.entry, true)) {
      switch (verdict->action) {
        case FaultRule::Action::hold:
          counters_.held.add();
          return hold(sq, command, std::nullopt, std::nullopt);
        case FaultRule::Action::hold_data:
        case FaultRule::Action::hold_commit:
          counters_.held.add();
          return hold_write(sq, command, verdict->action);
        case FaultRule::Action::delay:
          counters_.delayed.add();
          return hold(sq, command, std::nullopt, Delay{verdict->delay, std::nullopt});
        case FaultRule::Action::serial:
          counters_.delayed.add();
          return hold(sq, command, std::nullopt, Delay{verdict->delay, verdict->rule});
        default:
          counters_.failed.add();
          return fail(sq, command, verdict->status, verdict->status);
      }
    }
  }
  execute(sq, command);
}

void Engine::fail(SubmissionQueue& sq, const Command& command, Status status, Status compare_status) {
  if (command.compare) complete(sq, *command.compare, compare_status, 0);
  complete(sq, command.entry, status, 0);
}

// As a drive that is in the middle of fetching a write's data; or one that has all of it and is busy with others: then
// nothing of the host is needed any more.
void Engine::hold_write(SubmissionQueue& sq, const Command& command, FaultRule::Action action) {
  std::vector<std::byte> data;
  if (sq.id.value != 0 && !command.compare) data.resize(executor_.write_bytes(command.entry));
  const std::size_t now = action == FaultRule::Action::hold_data ? data.size() / 2 : data.size();
  if (!data.empty() && !fetch(sq, command.entry, data, 0, now)) return;
  const std::size_t missing = data.size() - now;
  hold(sq, command, std::nullopt, std::nullopt, std::move(data), missing);
}

// Fetches bytes [from, to) of a write's data. False if the bus refused them, and the command has its completion, or if
// the controller stops.
bool Engine::fetch(SubmissionQueue& sq, const SubmissionEntry& entry, std::span<std::byte> data, std::size_t from,
                   std::size_t to) {
  context_.begin(sq.id, entry, {.page_size = page_size_, .sgl = config_.sgl});
  Status fetched = context_.map_data(data.size());
  if (fetched.ok()) fetched = context_.read_host(from, data.subspan(from, to - from));
  moved_ += context_.moved();
  if (stopped()) return false;
  if (fetched.ok()) return true;
  report(sq, entry, fetched);
  complete(sq, entry, fetched, 0);
  return false;
}

void Engine::execute(SubmissionQueue& sq, const Command& command, std::span<const std::byte> fetched) {
  if (command.compare) return execute_fused(sq, command);
  const bool is_admin = sq.id.value == 0;
  // Admin commands over PCIe use PRPs only (NVMe 1.4, 4.2).
  context_.begin(sq.id, command.entry, {.page_size = page_size_, .sgl = config_.sgl && !is_admin});
  context_.use(fetched);
  const std::optional<Status> status = is_admin ? admin(context_) : executor_.execute_io(context_);
  moved_ += context_.moved();
  if (stopped() || !running_) return;
  if (status) complete(sq, command.entry, *status, context_.result());
}

void Engine::execute_fused(SubmissionQueue& sq, const Command& command) {
  const SubmissionEntry& compare = *command.compare;
  if (compare.opcode != static_cast<std::uint8_t>(IoOpcode::compare) ||
      command.entry.opcode != static_cast<std::uint8_t>(IoOpcode::write)) {
    Status refused = status::kInvalidField;  // the one pair there is (Identify Controller FUSES)
    report(sq, compare, refused);
    return fail(sq, command, refused, refused);
  }
  const DataMap::Options options{.page_size = page_size_, .sgl = config_.sgl};
  fused_context_.begin(sq.id, compare, options);
  context_.begin(sq.id, command.entry, options);
  Status compare_status;
  const Status write_status = executor_.execute_fused(fused_context_, context_, compare_status);
  moved_ += context_.moved() + fused_context_.moved();
  if (stopped()) return;
  complete(sq, compare, compare_status, fused_context_.result());
  complete(sq, command.entry, write_status, context_.result());
}

// Commands that the engine itself refuses are in the Error Information log as well.
void Engine::report(const SubmissionQueue& sq, const SubmissionEntry& entry, Status& status) {
  if (status.ok()) return;
  status.more = true;
  executor_.record_error(
      EngineError{.sq_id = sq.id.value, .cid = entry.cid, .status = status, .location = 0xFFFF, .nsid = entry.nsid});
}

}  // namespace smartio::nvme
