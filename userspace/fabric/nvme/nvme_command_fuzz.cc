// SPDX-License-Identifier: GPL-2.0
// libFuzzer: a hostile driver. The input is a stream of register stores, doorbells, submission queue entries, memory
// contents, resets and faults. A whole drive with little memory behind it takes them.
#include <array>
#include <cstring>

#include "fabric/nvme/drive.h"
#include "fabric/nvme/test_host.h"

namespace smartio::nvme {
namespace {

/// Reads the input; zeroes after its end.
class Input {
 public:
  explicit Input(std::span<const std::byte> bytes) : rest_(bytes) {}
  [[nodiscard]] bool empty() const { return rest_.empty(); }
  template <typename T>
  T take() {
    T value{};
    const std::size_t count = std::min(sizeof(T), rest_.size());
    std::memcpy(&value, rest_.data(), count);
    rest_ = rest_.subspan(count);
    return value;
  }

 private:
  std::span<const std::byte> rest_;
};

constexpr std::uint64_t kMemory = 256 << 10;

// Rounds that one step may make: work must be bounded, and the rest continues with the next step.
void run(Controller& controller) {
  for (int round = 0; round < 16 && controller.process_once(); ++round) {
  }
}

// Addresses mostly where there is memory, sometimes anywhere.
void tame(SubmissionEntry& entry, std::uint8_t how) {
  if ((how & 1) != 0) entry.prp1 &= kMemory - 1;
  if ((how & 2) != 0) entry.prp2 &= kMemory - 1;
  if ((how & 4) != 0) entry.prp1 &= ~std::uint64_t{0xFFF};
  if ((how & 8) != 0) entry.prp2 &= ~std::uint64_t{0xFFF};
  if ((how & 16) != 0) entry.nsid = 1;
  if ((how & 32) != 0) entry.opcode &= 0x0F;
  if ((how & 64) != 0) entry.cdw10 &= 0xFF;
  if ((how & 128) != 0) {
    entry.cdw11 = 0;
    entry.cdw12 &= 0x3F;
  }
}

void step(Input& input, Controller& controller, TestHost& host, HostMemory& memory) {
  switch (input.take<std::uint8_t>() % 10) {
    case 0: {  // any store to BAR0
      const std::uint64_t offset = input.take<std::uint16_t>() % 0x2000U;
      const auto value = input.take<std::uint64_t>();
      const auto size = input.take<std::uint8_t>() % 8 + 1U;
      controller.bar_write(0, offset, std::as_bytes(std::span(&value, 1)).first(size), {});
      break;
    }
    case 1: {  // any load
      std::array<std::byte, 64> data{};
      controller.bar_read(input.take<std::uint8_t>() % 4, input.take<std::uint16_t>(),
                          std::span(data).first(input.take<std::uint8_t>() % 64 + 1), {});
      break;
    }
    case 2:
      host.enable();
      host.create_pair(1, 8);
      break;
    case 3:
    case 4:
    case 5: {  // a command
      const unsigned queue = input.take<std::uint8_t>() % 2;
      const auto how = input.take<std::uint8_t>();
      auto entry = input.take<SubmissionEntry>();
      tame(entry, how);
      if (queue == 1 && !host.io.contains(1)) break;
      if (host.ring_of(queue).sq_size == 0) break;
      host.submit(queue, entry);
      run(controller);
      for (int seen = 0; seen < 4 && host.poll(queue); ++seen) {
      }
      break;
    }
    case 6: {  // memory: PRP lists, SGLs, ranges
      const auto at = input.take<std::uint32_t>() % (kMemory / 16) * 16;
      const auto data = input.take<std::array<std::byte, 16>>();
      std::ranges::copy(data, memory.at(at, 16).begin());
      break;
    }
    case 7: {
      const auto offset = reg::kDoorbells + input.take<std::uint8_t>() % 10 * 4U;
      host.write32(offset, input.take<std::uint16_t>());
      break;
    }
    case 8: {
      FaultRule rule;
      rule.action = static_cast<FaultRule::Action>(input.take<std::uint8_t>() % 8);
      rule.count = input.take<std::uint8_t>() % 4 + 1U;
      rule.filter.queue = static_cast<std::uint16_t>(input.take<std::uint8_t>() % 2);
      controller.faults().add(rule);
      if (rule.count == 1) controller.faults().release_all();
      break;
    }
    default:
      switch (input.take<std::uint8_t>() % 5) {
        case 0:
          controller.reset(pci::ResetCause::function);
          break;
        case 1:
          controller.power_cut();
          break;
        case 2:
          controller.set_fatal();
          break;
        case 3: {
          const auto data = input.take<std::uint64_t>();
          controller.bar_write(2, input.take<std::uint16_t>() & 0x1FFF, std::as_bytes(std::span(&data, 1)), {});
          break;
        }
        default:
          controller.pause((input.take<std::uint8_t>() & 1) != 0);
      }
  }
  run(controller);
}

}  // namespace
}  // namespace smartio::nvme

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace smartio::nvme;
  DriveConfig config;
  config.queue_pairs = 3;
  config.cmb = 8192;
  config.cache = 64 << 10;
  config.namespaces = {{.size = 128 << 10, .block_size = 512}};
  Drive drive(config);
  HostMemory memory(kMemory);
  drive.controller().bind(memory);
  TestHost host(drive.controller(), memory);
  Input input(std::as_bytes(std::span(data, size)));
  // From a useful state unless the input says otherwise.
  if ((input.take<std::uint8_t>() & 7) != 0) {
    host.enable();
    host.create_pair(1, 8);
  }
  for (int steps = 0; steps < 200 && !input.empty(); ++steps) step(input, drive.controller(), host, memory);
  return 0;
}
