// SPDX-License-Identifier: GPL-2.0
#include "fabric/nvme/controller.h"

#include <pthread.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace smartio::nvme {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t round_up(std::uint64_t value) { return (value + kPage - 1) & ~(kPage - 1); }

constexpr unsigned doorbell_count(unsigned queue_pairs) { return 2 * (queue_pairs + 1); }

// A controller has to have a queue pair, and its MSI-X table at most 2048 entries.
ControllerConfig checked(ControllerConfig config) {
  config.queue_pairs = std::clamp(config.queue_pairs, 1U, Controller::kMaxQueuePairs);
  config.cmb = round_up(config.cmb);
  return config;
}

// Looks before the worker goes to sleep: a few hundred nanoseconds, in which a busy host rings again.
constexpr int kLooks = 8;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

pci::FunctionDescription Controller::describe(const ControllerConfig& config) {
  const unsigned vectors = config.queue_pairs + 1;
  const std::uint64_t table = reg::kDoorbells + round_up(std::uint64_t{4} * doorbell_count(config.queue_pairs));
  const std::uint64_t pba = table + round_up(std::uint64_t{16} * vectors);
  pci::FunctionDescription description;
  description.vendor = config.vendor;
  description.device = 0x5310;
  description.subsystem_vendor = config.subsystem_vendor;
  description.subsystem = 0x0001;
  description.revision = 1;
  description.class_code = 0x010802;  // mass storage, non-volatile memory, NVM Express
  description.bars[kRegisterBar] = {.size = std::bit_ceil(pba + kPage), .is64 = true, .prefetchable = false};
  if (config.cmb != 0) {
    description.bars[kCmbBar] = {.size = std::bit_ceil(config.cmb), .is64 = true, .prefetchable = true};
  }
  description.msix_vectors = static_cast<std::uint16_t>(vectors);
  description.msix_bar = kRegisterBar;
  description.msix_table_offset = static_cast<std::uint32_t>(table);
  description.msix_pba_offset = static_cast<std::uint32_t>(pba);
  description.serial = config.serial;
  return description;
}

Controller::Controller(ControllerConfig config, CommandExecutor& executor)
    : config_(checked(std::move(config))),
      description_(describe(config_)),
      registers_(config_.cmb, kCmbBar),
      doorbells_(doorbell_count(config_.queue_pairs)),
      cmb_(config_.cmb),
      engine_({.name = config_.name, .queue_pairs = config_.queue_pairs, .sgl = config_.sgl}, executor, registers_,
              doorbells_, cmb_, faults_, counters_) {
  faults_.on_release([this] { doorbells_.wake_for_work(); });
}

Controller::~Controller() { stop(); }

void Controller::bind(pci::Port& port) { engine_.bind(port); }

void Controller::start() {
  if (worker_.joinable()) return;
  worker_ = std::jthread([this](const std::stop_token& token) { work(token); });
  pthread_setname_np(worker_.native_handle(), config_.name.substr(0, 15).c_str());
}

void Controller::stop() {
  if (!worker_.joinable()) return;
  worker_.request_stop();
  doorbells_.wake_for_work();
  worker_.join();
}

void Controller::work(const std::stop_token& stop) {
  int idle = 0;
  while (!stop.stop_requested()) {
    if (engine_.process_once() || doorbells_.rung()) {
      idle = 0;
      continue;
    }
    if (++idle < kLooks) {
      relax();
      continue;
    }
    idle = 0;
    doorbells_.sleep(engine_.deadline());
  }
}

pci::Outcome Controller::bar_read(unsigned bar, std::uint64_t offset, std::span<std::byte> data,
                                  pci::Transaction transaction) {
  if (bar == kCmbBar) {
    const bool known = transaction.kind != pci::AccessKind::message;
    cmb_.read(offset, data);
    return {pci::Delivery::endpoint, known ? transaction.kind : cmb_.kind(offset)};
  }
  std::ranges::fill(data, std::byte{0});
  if (bar == kRegisterBar && offset < reg::kDoorbells)  // doorbells read as 0
    registers_.read(offset, data.first(std::min<std::uint64_t>(data.size(), reg::kDoorbells - offset)));
  return {pci::Delivery::endpoint, pci::AccessKind::control};
}

pci::Outcome Controller::bar_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> data,
                                   pci::Transaction transaction) {
  if (bar == kCmbBar) {
    cmb_.write(offset, data);
    const bool known = transaction.kind != pci::AccessKind::message;
    return {pci::Delivery::endpoint, known ? transaction.kind : cmb_.kind(offset)};
  }
  if (bar != kRegisterBar) return {pci::Delivery::unclaimed, transaction.kind};
  if (offset >= reg::kDoorbells) {
    doorbell_write(offset - reg::kDoorbells, data);
    return {pci::Delivery::endpoint, pci::AccessKind::doorbell};
  }
  register_write(offset, data.first(std::min<std::uint64_t>(data.size(), reg::kDoorbells - offset)));
  return {pci::Delivery::endpoint, pci::AccessKind::control};
}

// A doorbell takes whole, aligned dwords and ignores everything else (NVMe 1.4, 3.1).
void Controller::doorbell_write(std::uint64_t offset, std::span<const std::byte> data) {
  if (offset % 4 != 0) return;
  for (; data.size() >= 4; data = data.subspan(4), offset += 4) {
    const std::uint64_t index = offset / 4;
    if (index >= doorbells_.count()) return;
    std::uint32_t value = 0;
    std::memcpy(&value, data.data(), 4);
    // Only 16 bits count; the rest is reserved.
    doorbells_.ring(static_cast<unsigned>(index), value & 0xFFFF);
  }
}

void Controller::register_write(std::uint64_t offset, std::span<const std::byte> data) {
  const std::uint32_t actions = registers_.write(offset, data);
  if (actions == Registers::kNothing) return;
  if ((actions & Registers::kCmbSpace) != 0) cmb_.set_space(registers_.cmb_space());
  if ((actions & Registers::kSubsystemReset) != 0) {
    registers_.power_on(true);
    cmb_.set_space(0);
    engine_.request(Engine::kReset);
    return;
  }
  std::uint32_t requests = 0;
  if ((actions & Registers::kControl) != 0) requests |= Engine::kControl;
  if ((actions & Registers::kDisable) != 0) requests |= Engine::kDisable;
  if (requests == 0) return;
  used_ = true;
  engine_.request(requests);
}

void Controller::reset(pci::ResetCause cause) {
  if (cause == pci::ResetCause::power_on && used_) return power_cut();
  registers_.power_on(false);
  cmb_.set_space(0);
  engine_.request(Engine::kReset);
}

void Controller::power_cut() {
  registers_.power_on(false);
  cmb_.reset();
  used_ = false;
  engine_.request(Engine::kPowerCut);
}

void Controller::set_fatal() {
  registers_.set_status(0, csts::kFatal);
  engine_.request(Engine::kFatal);
}

}  // namespace smartio::nvme
