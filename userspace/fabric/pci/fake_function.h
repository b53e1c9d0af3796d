// SPDX-License-Identifier: GPL-2.0
// For tests, benchmarks and fuzzers only: a function with registers in BAR0 and, in BAR2, a window on to another
// port, as an NTB has one.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <mutex>
#include <vector>

#include "fabric/pci/function.h"

namespace smartio::pci {

class FakeFunction : public Function {
 public:
  static constexpr std::uint64_t kRegisters = 0x4000;
  static constexpr std::uint64_t kWindow = 1ULL << 32;

  explicit FakeFunction(std::uint16_t vectors = 64) {
    description_.vendor = 0x1234;
    description_.device = 0xcafe;
    description_.subsystem_vendor = 0x1af4;
    description_.subsystem = 0x1100;
    description_.revision = 7;
    description_.class_code = 0x088001;
    description_.bars[0] = {kRegisters, false, false};
    description_.bars[2] = {kWindow, true, true};
    description_.msix_vectors = vectors;
    description_.msix_table_offset = 0x2000;
    description_.msix_pba_offset = 0x3000;
    description_.link_speed = 3;
    description_.link_width = 4;
    description_.serial = 0x1122334455667788;
    registers_.resize(kRegisters);
  }

  /// Called before each store to a register takes effect, in the thread that stores.
  void before_stores(std::function<void()> hook) { before_store_ = std::move(hook); }

  /// BAR2 leads to `port` at `base` from now on.
  void open_window(Port& port, BusAddress base) {
    target_ = &port;
    base_ = base;
  }

  [[nodiscard]] const FunctionDescription& description() const override { return description_; }
  void bind(Port& port) override { port_ = &port; }
  [[nodiscard]] Port& port() const { return *port_; }

  Outcome bar_read(unsigned bar, std::uint64_t offset, std::span<std::byte> data, Transaction transaction) override {
    if (bar == 2) {
      std::ranges::fill(data, std::byte{0xff});
      ++transaction.hops;
      if (target_ == nullptr) return {Delivery::unclaimed, transaction.kind};
      return target_->read(base_ + offset, data, transaction);
    }
    const std::scoped_lock lock(mutex_);
    largest_read_ = std::max(largest_read_, data.size());
    std::memcpy(data.data(), &registers_[offset], data.size());
    return {Delivery::endpoint, transaction.kind};
  }

  Outcome bar_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> data,
                    Transaction transaction) override {
    if (bar == 2) {
      ++transaction.hops;
      if (target_ == nullptr) return {Delivery::unclaimed, transaction.kind};
      return target_->write(base_ + offset, data, transaction);
    }
    if (before_store_) before_store_();
    const std::scoped_lock lock(mutex_);
    std::memcpy(&registers_[offset], data.data(), data.size());
    ++writes_;
    return {Delivery::endpoint, AccessKind::control};
  }

  void bar_write_many(unsigned bar, std::span<const Store> stores, Transaction transaction) override {
    if (bar != 2 || target_ == nullptr) return Function::bar_write_many(bar, stores, transaction);
    ++transaction.hops;
    std::vector<BusStore> out;
    out.reserve(stores.size());
    for (const Store& store : stores) out.push_back({base_ + store.offset, store.size, store.data});
    target_->write_many(out, transaction, {});
  }

  void connected() override { ++connects_; }
  void disconnected() override { ++disconnects_; }
  void reset(ResetCause cause) override {
    last_reset_ = cause;
    ++resets_;
  }

  [[nodiscard]] std::uint64_t register_at(std::uint64_t offset) const {
    const std::scoped_lock lock(mutex_);
    std::uint64_t value;
    std::memcpy(&value, &registers_[offset], sizeof(value));
    return value;
  }
  [[nodiscard]] std::size_t largest_read() const {
    const std::scoped_lock lock(mutex_);
    return largest_read_;
  }
  [[nodiscard]] std::uint64_t writes() const {
    const std::scoped_lock lock(mutex_);
    return writes_;
  }
  [[nodiscard]] int connects() const { return connects_; }
  [[nodiscard]] int disconnects() const { return disconnects_; }
  [[nodiscard]] int resets() const { return resets_; }
  [[nodiscard]] ResetCause last_reset() const { return last_reset_; }

 private:
  FunctionDescription description_;
  Port* port_ = nullptr;
  Port* target_ = nullptr;
  BusAddress base_{};
  std::function<void()> before_store_;
  mutable std::mutex mutex_;  // protects registers_, writes_, largest_read_
  std::vector<std::byte> registers_;
  std::uint64_t writes_ = 0;
  std::size_t largest_read_ = 0;
  std::atomic<int> connects_{0};
  std::atomic<int> disconnects_{0};
  std::atomic<int> resets_{0};
  std::atomic<ResetCause> last_reset_{ResetCause::disconnect};
};

}  // namespace smartio::pci
