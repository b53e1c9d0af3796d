// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "fabric/nvme/cmb.h"
#include "fabric/nvme/counters.h"
#include "fabric/nvme/doorbells.h"
#include "fabric/nvme/engine.h"
#include "fabric/nvme/executor.h"
#include "fabric/nvme/faults.h"
#include "fabric/nvme/registers.h"
#include "fabric/pci/function.h"

namespace smartio::nvme {

/// The properties of a controller.
struct ControllerConfig {
  std::string name = "nvme0";  ///< for log lines and the worker thread's name
  unsigned queue_pairs = 32;   ///< I/O queue pairs; MSI-X has one vector more
  std::uint64_t cmb = 0;       ///< bytes of controller memory buffer (rounded up to 4 KiB), 0: none
  bool sgl = true;
  std::uint16_t vendor = 0x1AF4;
  std::uint16_t subsystem_vendor = 0x1AF4;
  std::uint64_t serial = 0;  ///< PCIe device serial number, 0: none
};

/// An NVMe 1.4 controller as a PCI function: registers, doorbells and MSI-X in BAR0, the controller memory buffer, if
/// there is one, in BAR2. Stores to BARs only notify the worker, the one thread that touches queues and host memory.
/// Loads are answered from registers. Everything public may be called from any thread, except where the worker is said
/// to be a thread of the caller's.
class Controller final : public pci::Function {
 public:
  static constexpr unsigned kRegisterBar = 0;
  static constexpr unsigned kCmbBar = 2;
  static constexpr unsigned kMaxQueuePairs = 1023;

  /// `executor` outlives the controller.
  Controller(ControllerConfig config, CommandExecutor& executor);
  ~Controller() override;
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  /// Starts the worker. After bind(). Without it the caller is the worker and calls process_once().
  void start();
  /// Ends the worker after the command it is at. Before the port goes.
  void stop();

  // pci::Function
  [[nodiscard]] const pci::FunctionDescription& description() const override { return description_; }
  void bind(pci::Port& port) override;
  pci::Outcome bar_read(unsigned bar, std::uint64_t offset, std::span<std::byte> data,
                        pci::Transaction transaction) override;
  pci::Outcome bar_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> data,
                         pci::Transaction transaction) override;
  /// power_on cuts the power if the drive had been in use: a removed drive loses its cache.
  void reset(pci::ResetCause cause) override;

  /// An asynchronous event for the host, and the read of its log page, which admits the next one of its sort.
  void raise(AsyncEvent event) { engine_.raise(event); }
  void log_read(LogId log) { engine_.log_read(log); }

  // The control socket's.
  [[nodiscard]] Faults& faults() { return faults_; }
  /// CSTS.CFS: nothing is processed any more until the host resets the controller.
  void set_fatal();
  /// CSTS.PP: commands wait until it is cleared, as during a firmware activation.
  void pause(bool paused) { engine_.pause(paused); }
  /// Power is lost and returns at once: unflushed data, queues and registers are lost.
  void power_cut();
  [[nodiscard]] EngineSnapshot counters() const { return snapshot(counters_); }
  [[nodiscard]] std::vector<AdminLog::Entry> admin_log() const { return engine_.admin_log().entries(); }
  /// CSTS as the host would read it.
  [[nodiscard]] std::uint32_t status() const { return registers_.status(); }

  /// The worker's round, see Engine::process_once(). Only while there is no worker.
  bool process_once() { return engine_.process_once(); }
  [[nodiscard]] Engine& engine() { return engine_; }

 private:
  void work(const std::stop_token& stop);
  void doorbell_write(std::uint64_t offset, std::span<const std::byte> data);
  void register_write(std::uint64_t offset, std::span<const std::byte> data);
  [[nodiscard]] static pci::FunctionDescription describe(const ControllerConfig& config);

  const ControllerConfig config_;
  const pci::FunctionDescription description_;
  Registers registers_;
  Doorbells doorbells_;
  Cmb cmb_;
  Faults faults_;
  EngineCounters counters_;
  Engine engine_;
  std::atomic<bool> used_{false};  // enabled since the power came on
  std::jthread worker_;            // last: ends before the members that it works on
};

}  // namespace smartio::nvme
