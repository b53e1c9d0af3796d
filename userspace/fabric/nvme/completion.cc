// SPDX-License-Identifier: GPL-2.0
// Completions and interrupts, and those that faults keep back.
#include <algorithm>
#include <utility>

#include "fabric/nvme/engine.h"

namespace smartio::nvme {

void Engine::complete(SubmissionQueue& sq, const SubmissionEntry& entry, Status status, std::uint64_t result) {
  if (!status.ok()) counters_.errors.add();
  if (sq.id.value == 0) admin_log_.end(entry.cid);
  const CompletionEntry completion{.result = result,
                                   .sq_head = 0,  // when it is posted
                                   .sq_id = sq.id.value,
                                   .cid = entry.cid,
                                   .status = status.word(false)};
  if (faults_.armed()) {
    if (const auto verdict = faults_.judge(sq.id.value, entry, false)) {
      switch (verdict->action) {
        case FaultRule::Action::hold_completion:
          counters_.held.add();
          return hold(sq, Command{entry, std::nullopt}, completion, std::nullopt);
        case FaultRule::Action::delay_completion:
          counters_.delayed.add();
          return hold(sq, Command{entry, std::nullopt}, completion, Delay{verdict->delay, std::nullopt});
        case FaultRule::Action::drop_completion:
          counters_.dropped.add();
          return;
        default:
          counters_.duplicated.add();
          post(sq, completion);
          break;
      }
    }
  }
  post(sq, completion);
}

void Engine::post(const SubmissionQueue& sq, CompletionEntry completion) {
  CompletionQueue& cq = *find_cq(sq.cq.value);
  completion.sq_head = static_cast<std::uint16_t>(sq.head);
  if (cq.room() == 0) {
    counters_.full.add();
    cq.pending.push_back(completion);
    return;
  }
  write_completion(cq, completion);
}

void Engine::write_completion(CompletionQueue& cq, CompletionEntry completion) {
  completion.status = static_cast<std::uint16_t>((completion.status & ~1U) | (cq.phase ? 1U : 0U));
  const pci::BusAddress address = cq.base + std::uint64_t{cq.tail} * sizeof(CompletionEntry);
  // Two aligned stores of 8 bytes, the phase tag in the second.
  dma_.write(address, std::as_bytes(std::span(&completion, 1)), pci::AccessKind::completion);
  counters_.completions.add();
  if (++cq.tail == cq.size) {
    cq.tail = 0;
    cq.phase = !cq.phase;
  }
  if (cq.interrupts && !cq.signal) {
    cq.signal = true;
    signals_.push_back(&cq);
  }
}

void Engine::signal() {
  for (CompletionQueue* cq : signals_) {
    cq->signal = false;
    counters_.interrupts.add();
    dma_.port().interrupt(cq->vector);
  }
  signals_.clear();
}

void Engine::hold(SubmissionQueue& sq, const Command& command, std::optional<CompletionEntry> completion,
                  std::optional<Delay> delay, std::vector<std::byte> fetched, std::size_t missing) {
  const Faults::HeldId id = faults_.hold(sq.id.value, command.entry, completion.has_value(), delay.has_value());
  Held held{.sq = sq.id,
            .command = command,
            .completion = completion,
            .due = std::nullopt,
            .serial = std::nullopt,
            .fetched = std::move(fetched),
            .missing = missing};
  if (delay) {
    held.due = Clock::now() + delay->time;
    held.serial = delay->serial;
    if (delay->serial) held.due = std::max(*held.due, serial_end(*delay->serial) + delay->time);
    due_.emplace(*held.due, id);
  }
  held_.emplace(id, std::move(held));
  ++sq.held;
}

// When the last command that the rule delays now is due; long ago if there is none.
Engine::Clock::time_point Engine::serial_end(Faults::RuleId rule) const {
  Clock::time_point end;
  for (const auto& [id, held] : held_)
    if (held.serial == rule) end = std::max(end, *held.due);
  return end;
}

// Takes it out of all books; its queue may fetch again.
Engine::Held Engine::drop_held(HeldMap::iterator it) {
  faults_.drop_held(it->first);
  if (it->second.due) due_.erase({*it->second.due, it->first});
  Held held = std::move(it->second);
  held_.erase(it);
  if (SubmissionQueue* sq = find_sq(held.sq.value)) {
    --sq->held;
    if (running_ && sq->available() != 0) activate(*sq);
  }
  return held;
}

void Engine::resume(Held held) {
  SubmissionQueue* sq = find_sq(held.sq.value);  // exists: held commands go with their queue
  if (held.completion) return post(*sq, *held.completion);
  const std::size_t there = held.fetched.size() - held.missing;
  if (held.missing != 0 && !fetch(*sq, held.command.entry, held.fetched, there, held.fetched.size())) return;
  execute(*sq, held.command, held.fetched);
}

void Engine::resume_due() {
  if (faults_.any_released()) {
    for (const Faults::HeldId id : faults_.take_released()) {
      const auto it = held_.find(id);
      if (it == held_.end()) continue;
      resume(drop_held(it));
      if (stopped()) return;
    }
  }
  if (due_.empty()) return;
  const Clock::time_point now = Clock::now();
  while (!due_.empty() && due_.begin()->first <= now) {
    resume(drop_held(held_.find(due_.begin()->second)));
    if (stopped()) return;
  }
}

std::optional<Engine::Clock::time_point> Engine::deadline() const {
  if (due_.empty()) return std::nullopt;
  return due_.begin()->first;
}

void Engine::deliver_events() {
  while (!event_requests_.empty()) {
    const std::optional<AsyncEvent> event = events_.next();
    if (!event) return;
    SubmissionEntry request{};
    request.cid = event_requests_.front();
    request.opcode = static_cast<std::uint8_t>(AdminOpcode::async_event_request);
    event_requests_.erase(event_requests_.begin());
    const CompletionEntry completion{
        .result = event->result(), .sq_head = 0, .sq_id = 0, .cid = request.cid, .status = 0};
    post(*find_sq(0), completion);
  }
}

}  // namespace smartio::nvme
