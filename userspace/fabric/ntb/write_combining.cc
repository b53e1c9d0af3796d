// SPDX-License-Identifier: GPL-2.0
#include "fabric/ntb/write_combining.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace smartio::ntb {

namespace {

constexpr std::uint64_t kChunk = 8;               // the most that a torn line has in one write
constexpr unsigned kEarly = 16;                   // one of kEarly stores evicts some buffer, full or not
constexpr unsigned kWhole = 2;                    // one of kWhole full lines stays in one piece
constexpr unsigned kPause = 8;                    // one of kPause writes is followed by a pause
constexpr std::chrono::microseconds kPaused{30};  // a reader on the peer can see the gap

constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15;  // seeds that are near each other give other choices

}  // namespace

WriteCombining::WriteCombining(Sink sink, std::uint64_t seed)
    : sink_(std::move(sink)), random_(static_cast<std::minstd_rand::result_type>((seed * kSpread) >> 33U)) {
  lines_.reserve(kBuffers);
  clock_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

bool WriteCombining::one_in(unsigned of) { return below(of) == 0; }

// Not std::uniform_int_distribution, whose choices differ from library to library. The low bits of random_ are poor.
std::size_t WriteCombining::below(std::size_t count) { return (random_() >> 8U) % count; }

void WriteCombining::store(unsigned window, pci::Store store) {
  const std::scoped_lock lock(mutex_);
  counts_.stores++;
  const bool was_empty = lines_.empty();
  const std::uint64_t left = kLine - store.offset % kLine;
  if (store.size > left) {
    put(window, {store.offset, static_cast<std::uint32_t>(left), store.data});
    store = {store.offset + left, static_cast<std::uint32_t>(store.size - left), store.data >> (8 * left)};
  }
  put(window, store);
  if (one_in(kEarly)) evict_one();
  if (was_empty && !lines_.empty()) wake_.notify_one();
}

void WriteCombining::put(unsigned window, const pci::Store& store) {
  const std::uint64_t begin = store.offset / kLine * kLine;
  auto line = std::ranges::find_if(lines_, [&](const Line& l) { return l.window == window && l.begin == begin; });
  if (line == lines_.end()) {
    if (lines_.size() == kBuffers) evict_one();
    lines_.push_back({.window = window, .begin = begin, .bytes = {}, .valid = 0, .since = Clock::now()});
    line = lines_.end() - 1;
  }
  const std::uint64_t at = store.offset - begin;
  std::memcpy(line->bytes.data() + at, &store.data, store.size);
  line->valid |= ((1ULL << store.size) - 1) << at;
}

/// The writes that a line becomes. A run of bytes that were stored, within 8 bytes, is one.
void WriteCombining::split(const Line& line, std::vector<Group>& groups) {
  Group all{.window = line.window, .writes = {}};
  for (std::uint64_t chunk = 0; chunk < kLine; chunk += kChunk) {
    for (std::uint64_t at = chunk; at < chunk + kChunk;) {
      if ((line.valid >> at & 1) == 0) {
        at++;
        continue;
      }
      pci::Store write{.offset = line.begin + at, .size = 0, .data = 0};
      for (const std::uint64_t first = at; at < chunk + kChunk && (line.valid >> at & 1) != 0; at++, write.size++) {
        write.data |= std::to_integer<std::uint64_t>(line.bytes[at]) << (8 * (at - first));
      }
      all.writes.push_back(write);
    }
  }
  counts_.evicted++;
  if (all.writes.size() == 1 || (line.valid == ~0ULL && one_in(kWhole))) {
    groups.push_back(std::move(all));
    return;
  }
  counts_.torn++;
  for (const auto& write : all.writes) groups.push_back({.window = line.window, .writes = {write}});
}

void WriteCombining::evict(const std::vector<Line>& lines) {
  std::vector<Group> groups;
  for (const auto& line : lines) split(line, groups);
  for (std::size_t left = groups.size(); left > 1; left--) std::swap(groups[left - 1], groups[below(left)]);
  for (std::size_t i = 0; i < groups.size(); i++) {
    sink_(groups[i].window, groups[i].writes);
    if (i + 1 < groups.size() && one_in(kPause)) std::this_thread::sleep_for(kPaused);
  }
}

void WriteCombining::evict_one() {
  const std::size_t which = below(lines_.size());
  std::swap(lines_[which], lines_.back());
  const Line line = lines_.back();
  lines_.pop_back();
  evict({line});
}

void WriteCombining::fence() {
  const std::scoped_lock lock(mutex_);
  if (lines_.empty()) return;
  counts_.fences++;
  evict(std::exchange(lines_, {}));
}

void WriteCombining::forget() {
  const std::scoped_lock lock(mutex_);
  lines_.clear();
}

WriteCombining::Counts WriteCombining::counts() const {
  const std::scoped_lock lock(mutex_);
  return counts_;
}

void WriteCombining::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (lines_.empty()) {
      wake_.wait(lock, stop, [this] { return !lines_.empty(); });
      continue;
    }
    const auto oldest = std::ranges::min(lines_, {}, &Line::since).since;
    if (Clock::now() < oldest + kLongest) {
      wake_.wait_until(lock, stop, oldest + kLongest, [] { return false; });
      continue;
    }
    const auto held = std::ranges::partition(lines_, [&](const Line& line) { return line.since > oldest; });
    const std::vector<Line> due(held.begin(), held.end());
    lines_.erase(held.begin(), held.end());
    counts_.late += due.size();
    evict(due);
  }
}

}  // namespace smartio::ntb
