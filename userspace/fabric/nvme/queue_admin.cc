// SPDX-License-Identifier: GPL-2.0
// The admin commands that the queue engine answers itself: queues, Abort, Asynchronous Event Request, and the three
// features that are about queues and interrupts.
#include <algorithm>
#include <array>

#include "fabric/nvme/engine.h"

namespace smartio::nvme {
namespace {

constexpr std::uint32_t kContiguous = 1U << 0;          // Create I/O SQ and CQ, CDW11.PC
constexpr std::uint32_t kInterruptsEnabled = 1U << 1;   // Create I/O CQ, CDW11.IEN
constexpr std::uint32_t kSave = 1U << 31;               // Set Features, CDW10.SV
constexpr std::uint32_t kCoalescingDisable = 1U << 16;  // Interrupt Vector Configuration, CD
constexpr std::uint32_t kChangeable = 1U << 2;          // Get Features, supported capabilities

// Get Features CDW10.SEL (NVMe 1.4, figure 272).
enum class Select : std::uint8_t { current = 0, defaults = 1, saved = 2, supported = 3 };

std::uint32_t low16(std::uint32_t dword) { return dword & 0xFFFF; }
std::uint32_t high16(std::uint32_t dword) { return dword >> 16; }

}  // namespace

std::optional<Status> Engine::admin(EngineContext& context) {
  struct Own {
    AdminOpcode opcode;
    std::optional<Status> (Engine::*run)(EngineContext&);
  };
  static constexpr std::array kOwn{
      Own{AdminOpcode::delete_io_sq, &Engine::delete_sq},
      Own{AdminOpcode::create_io_sq, &Engine::create_sq},
      Own{AdminOpcode::delete_io_cq, &Engine::delete_cq},
      Own{AdminOpcode::create_io_cq, &Engine::create_cq},
      Own{AdminOpcode::abort, &Engine::abort},
      Own{AdminOpcode::set_features, &Engine::set_features},
      Own{AdminOpcode::get_features, &Engine::get_features},
      Own{AdminOpcode::async_event_request, &Engine::event_request},
  };
  const SubmissionEntry& entry = context.entry();
  const auto own = std::ranges::find(kOwn, static_cast<AdminOpcode>(entry.opcode), &Own::opcode);
  if (own == kOwn.end()) return executor_.execute_admin(context);
  return (this->*own->run)(context);
}

std::optional<Status> Engine::execute_admin(EngineContext& context) { return executor_.execute_admin(context); }

SubmissionQueue* Engine::find_sq(std::uint32_t id) const { return id < sqs_.size() ? sqs_[id].get() : nullptr; }
CompletionQueue* Engine::find_cq(std::uint32_t id) const { return id < cqs_.size() ? cqs_[id].get() : nullptr; }

bool Engine::any_io_queue() const {
  const auto exists = [](const auto& queue) { return queue != nullptr; };
  return std::any_of(sqs_.begin() + 1, sqs_.end(), exists) || std::any_of(cqs_.begin() + 1, cqs_.end(), exists);
}

SubmissionQueue& Engine::add_sq(QueueId id, QueueId cq, pci::BusAddress base, std::uint32_t size) {
  auto queue = std::make_unique<SubmissionQueue>();
  queue->id = id;
  queue->cq = cq;
  queue->base = base;
  queue->size = size;
  const std::uint64_t bytes = std::uint64_t{size} * sizeof(SubmissionEntry);
  queue->cmb_offset = cmb_.find(base, bytes);
  if (queue->cmb_offset) {
    cmb_.mark(*queue->cmb_offset, bytes, pci::AccessKind::command);
  } else {
    queue->tag = dma_.port().tag(base, bytes, pci::AccessKind::command);
  }
  cqs_[cq.value]->submission_queues.push_back(id);
  doorbells_.clear(2U * id.value);
  sqs_[id.value] = std::move(queue);
  return *sqs_[id.value];
}

void Engine::remove_sq(SubmissionQueue& sq) {
  if (sq.cmb_offset) {
    cmb_.mark(*sq.cmb_offset, std::uint64_t{sq.size} * sizeof(SubmissionEntry), pci::AccessKind::message);
  }
  if (sq.tag != 0) dma_.port().untag(sq.tag);
  std::erase(active_, &sq);
  std::ranges::replace(serving_, &sq, static_cast<SubmissionQueue*>(nullptr));
  if (CompletionQueue* cq = find_cq(sq.cq.value)) std::erase(cq->submission_queues, sq.id);
  sqs_[sq.id.value].reset();
}

std::optional<Status> Engine::create_cq(EngineContext& context) {
  const SubmissionEntry& entry = context.entry();
  const std::uint32_t id = low16(entry.cdw10);
  const std::uint32_t size = high16(entry.cdw10) + 1;
  const std::uint32_t vector = high16(entry.cdw11);
  Status status;
  if (id == 0 || id > allocated_cqs_ || find_cq(id) != nullptr) {
    status = status::kInvalidQueueIdentifier;
  } else if (size < 2 || size > kMaxQueueEntries || cc::iocqes(control_) == 0) {
    status = status::kInvalidQueueSize;
  } else if ((entry.cdw11 & kContiguous) == 0) {
    status = status::kInvalidField;  // CAP.CQR
  } else if ((entry.prp1 & (page_size_ - 1)) != 0) {
    status = status::kPrpOffsetInvalid;
  } else if (vector > config_.queue_pairs) {
    status = status::kInvalidInterruptVector;
  }
  if (!status.ok()) {
    report(*sqs_[0], entry, status);
    return status;
  }
  auto cq = std::make_unique<CompletionQueue>();
  cq->id = QueueId{static_cast<std::uint16_t>(id)};
  cq->base = {entry.prp1};
  cq->size = size;
  cq->interrupts = (entry.cdw11 & kInterruptsEnabled) != 0;
  cq->vector = static_cast<std::uint16_t>(vector);
  doorbells_.clear(2U * id + 1);
  cqs_[id] = std::move(cq);
  return status::kSuccess;
}

std::optional<Status> Engine::create_sq(EngineContext& context) {
  const SubmissionEntry& entry = context.entry();
  const std::uint32_t id = low16(entry.cdw10);
  const std::uint32_t size = high16(entry.cdw10) + 1;
  const std::uint32_t cq = high16(entry.cdw11);
  Status status;
  if (id == 0 || id > allocated_sqs_ || find_sq(id) != nullptr || cq == 0) {
    status = status::kInvalidQueueIdentifier;
  } else if (find_cq(cq) == nullptr) {
    status = status::kCompletionQueueInvalid;
  } else if (size < 2 || size > kMaxQueueEntries || cc::iosqes(control_) == 0) {
    status = status::kInvalidQueueSize;
  } else if ((entry.cdw11 & kContiguous) == 0) {
    status = status::kInvalidField;  // CAP.CQR
  } else if ((entry.prp1 & (page_size_ - 1)) != 0) {
    status = status::kPrpOffsetInvalid;
  }
  if (!status.ok()) {
    report(*sqs_[0], entry, status);
    return status;
  }
  add_sq(QueueId{static_cast<std::uint16_t>(id)}, QueueId{static_cast<std::uint16_t>(cq)}, {entry.prp1}, size);
  return status::kSuccess;
}

// When this completes every command of the queue has ended (NVMe 1.4, 5.6). Commands that a fault still keeps back are
// never executed, and nothing of the queue is posted after.
std::optional<Status> Engine::delete_sq(EngineContext& context) {
  const SubmissionEntry& entry = context.entry();
  const std::uint32_t id = low16(entry.cdw10);
  SubmissionQueue* sq = id == 0 ? nullptr : find_sq(id);
  if (sq == nullptr) {
    Status status = status::kInvalidQueueIdentifier;
    report(*sqs_[0], entry, status);
    return status;
  }
  CompletionQueue& cq = *find_cq(sq->cq.value);
  const auto end = [&](const SubmissionEntry& command) {
    counters_.aborted.add();
    counters_.errors.add();
    if (cq.room() == 0) return;  // the deletion's own completion ends it (implicitly)
    post(*sq, CompletionEntry{.result = 0,
                              .sq_head = 0,
                              .sq_id = sq->id.value,
                              .cid = command.cid,
                              .status = status::kAbortedSqDeletion.word(false)});
  };
  for (auto it = held_.begin(); it != held_.end();) {
    const auto next = std::next(it);
    if (it->second.sq == sq->id) {
      const Held held = drop_held(it);
      if (held.completion) {
        counters_.discarded.add();  // it was executed; the deletion's completion ends it
      } else {
        if (held.command.compare) end(*held.command.compare);
        end(held.command.entry);
      }
    }
    it = next;
  }
  std::erase_if(cq.pending, [&](const CompletionEntry& completion) { return completion.sq_id == sq->id.value; });
  remove_sq(*sq);
  return status::kSuccess;
}

std::optional<Status> Engine::delete_cq(EngineContext& context) {
  const SubmissionEntry& entry = context.entry();
  const std::uint32_t id = low16(entry.cdw10);
  CompletionQueue* cq = id == 0 ? nullptr : find_cq(id);
  Status status;
  if (cq == nullptr) {
    status = status::kInvalidQueueIdentifier;
  } else if (!cq->submission_queues.empty()) {
    status = status::kInvalidQueueDeletion;
  }
  if (!status.ok()) {
    report(*sqs_[0], entry, status);
    return status;
  }
  std::erase(signals_, cq);
  cqs_[id].reset();
  return status::kSuccess;
}

// Only a command that waits can be aborted: one that a fault keeps back, or an Asynchronous Event Request.
std::optional<Status> Engine::abort(EngineContext& context) {
  const SubmissionEntry& entry = context.entry();
  const std::uint32_t id = low16(entry.cdw10);
  const auto cid = static_cast<std::uint16_t>(high16(entry.cdw10));
  constexpr std::uint64_t kNotAborted = 1;
  context.set_result(kNotAborted);
  SubmissionQueue* sq = find_sq(id);
  if (sq == nullptr) return status::kSuccess;
  const auto end = [&](const SubmissionEntry& command) {
    counters_.aborted.add();
    complete(*sq, command, status::kAbortRequested, 0);
  };
  if (id == 0) {
    if (const auto request = std::ranges::find(event_requests_, cid); request != event_requests_.end()) {
      SubmissionEntry aborted{};
      aborted.opcode = static_cast<std::uint8_t>(AdminOpcode::async_event_request);
      aborted.cid = cid;
      event_requests_.erase(request);
      end(aborted);
      context.set_result(0);
      return status::kSuccess;
    }
  }
  const auto it = std::ranges::find_if(held_, [&](const auto& item) {
    const Held& held = item.second;
    if (held.sq.value != id || held.completion) return false;
    return held.command.entry.cid == cid || (held.command.compare && held.command.compare->cid == cid);
  });
  if (it == held_.end()) return status::kSuccess;
  const Held held = drop_held(it);
  if (held.command.compare) end(*held.command.compare);
  end(held.command.entry);
  context.set_result(0);
  return status::kSuccess;
}

std::optional<Status> Engine::event_request(EngineContext& context) {
  if (event_requests_.size() >= kEventRequests) {
    Status status = status::kAsyncEventLimitExceeded;
    report(*sqs_[0], context.entry(), status);
    return status;
  }
  event_requests_.push_back(context.entry().cid);
  return std::nullopt;
}

std::optional<Status> Engine::set_features(EngineContext& context) {
  const SubmissionEntry& entry = context.entry();
  const auto feature = static_cast<FeatureId>(entry.cdw10 & 0xFF);
  const bool ours = feature == FeatureId::number_of_queues || feature == FeatureId::interrupt_coalescing ||
                    feature == FeatureId::interrupt_vector_configuration;
  if (!ours) return execute_admin(context);
  Status status;
  if ((entry.cdw10 & kSave) != 0) {
    status = status::kFeatureNotSaveable;
  } else if (entry.nsid != 0 && entry.nsid != kNsidAll) {
    status = status::kFeatureNotNamespaceSpecific;
  } else if (feature == FeatureId::number_of_queues) {
    if (any_io_queue()) {
      status = status::kCommandSequenceError;
    } else if (low16(entry.cdw11) == 0xFFFF || high16(entry.cdw11) == 0xFFFF) {
      status = status::kInvalidField;
    } else {
      allocated_sqs_ = std::min(low16(entry.cdw11) + 1, config_.queue_pairs);
      allocated_cqs_ = std::min(high16(entry.cdw11) + 1, config_.queue_pairs);
      context.set_result((allocated_sqs_ - 1) | (allocated_cqs_ - 1) << 16);
    }
  } else if (feature == FeatureId::interrupt_coalescing) {
    // Stored, and without effect: a controller may interrupt earlier than the host asked for.
    coalescing_ = low16(entry.cdw11);
  } else if (low16(entry.cdw11) > config_.queue_pairs) {
    status = status::kInvalidField;
  } else {
    coalescing_off_[low16(entry.cdw11)] = (entry.cdw11 & kCoalescingDisable) != 0;
  }
  report(*sqs_[0], entry, status);
  return status;
}

std::optional<Status> Engine::get_features(EngineContext& context) {
  const SubmissionEntry& entry = context.entry();
  const auto feature = static_cast<FeatureId>(entry.cdw10 & 0xFF);
  const std::uint32_t select = entry.cdw10 >> 8 & 7;
  const std::uint32_t vector = low16(entry.cdw11);
  std::uint32_t current = 0;
  std::uint32_t defaults = 0;
  switch (feature) {
    case FeatureId::number_of_queues:
      current = (allocated_sqs_ - 1) | (allocated_cqs_ - 1) << 16;
      defaults = (config_.queue_pairs - 1) | (config_.queue_pairs - 1) << 16;
      break;
    case FeatureId::interrupt_coalescing:
      current = coalescing_;
      break;
    case FeatureId::interrupt_vector_configuration:
      if (vector > config_.queue_pairs) {
        Status status = status::kInvalidField;
        report(*sqs_[0], entry, status);
        return status;
      }
      current = vector | (coalescing_off_[vector] ? kCoalescingDisable : 0);
      defaults = vector;
      break;
    default:
      return execute_admin(context);
  }
  switch (select) {
    case static_cast<std::uint32_t>(Select::current):
      context.set_result(current);
      break;
    case static_cast<std::uint32_t>(Select::defaults):
    case static_cast<std::uint32_t>(Select::saved):  // none can be saved
      context.set_result(defaults);
      break;
    case static_cast<std::uint32_t>(Select::supported):
      context.set_result(kChangeable);
      break;
    default: {
      Status status = status::kInvalidField;
      report(*sqs_[0], entry, status);
      return status;
    }
  }
  return status::kSuccess;
}

}  // namespace smartio::nvme
