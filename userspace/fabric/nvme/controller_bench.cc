// SPDX-License-Identifier: GPL-2.0
// 4 KiB reads through the whole drive, RAM backing, without threads or a guest: the benchmark is host and worker in
// turn. Host work (writing entries and doorbells, taking completions) is part of the time.
#include <benchmark/benchmark.h>

#include "fabric/nvme/drive.h"
#include "fabric/nvme/test_host.h"

namespace smartio::nvme {
namespace {

constexpr unsigned kDepth = 32;
constexpr std::uint64_t kBlocks = (64ULL << 20) / 512;

struct Setup {
  explicit Setup(unsigned queues) : drive(config(queues)), host(drive.controller(), memory) {
    drive.controller().bind(memory);
    host.enable();
    for (unsigned queue = 1; queue <= queues; ++queue) {
      if (!host.create_pair(queue, 2 * kDepth)) throw std::runtime_error("a queue pair could not be made");
    }
    // Blocks that were never written would all be one page of zeroes.
    for (unsigned commands = 0; commands < kBlocks / 8; commands += kDepth) {
      submit(1, IoOpcode::write);
      host.run();
      take(1);
    }
  }
  static DriveConfig config(unsigned queues) {
    DriveConfig config;
    config.queue_pairs = queues;
    config.namespaces = {{.size = kBlocks * 512, .block_size = 512}};
    return config;
  }
  /// A queue's worth of commands, one doorbell.
  void submit(unsigned queue, IoOpcode opcode) {
    for (unsigned index = 0; index < kDepth; ++index) {
      lba = (lba + 8) % kBlocks;
      const std::uint64_t data = TestHost::kData + (lba % 1024) * 512;
      host.submit(queue, host.io_entry(opcode, lba, 8, data), index == kDepth - 1);
    }
  }
  std::int64_t take(unsigned queue) {
    std::int64_t count = 0;
    while (const auto done = host.poll(queue, false)) {
      if (done->status >> 1 != 0) throw std::runtime_error("a command failed");
      ++count;
    }
    host.cq_doorbell(queue, host.ring_of(queue).head);
    return count;
  }

  Drive drive;
  HostMemory memory{TestHost::kMemory};
  TestHost host;
  std::uint64_t lba = 0;
};

/// All of the queues are busy.
void BM_Read4K(benchmark::State& state) {
  const auto queues = static_cast<unsigned>(state.range(0));
  Setup setup(queues);
  std::int64_t commands = 0;
  for (auto _ : state) {
    for (unsigned queue = 1; queue <= queues; ++queue) setup.submit(queue, IoOpcode::read);
    setup.host.run();
    for (unsigned queue = 1; queue <= queues; ++queue) commands += setup.take(queue);
  }
  state.SetItemsProcessed(commands);
}
BENCHMARK(BM_Read4K)->RangeMultiplier(2)->Range(1, 64);

/// One queue is busy, the others are idle: they must cost nothing.
void BM_Read4KIdleQueues(benchmark::State& state) {
  Setup setup(static_cast<unsigned>(state.range(0)));
  std::int64_t commands = 0;
  for (auto _ : state) {
    setup.submit(1, IoOpcode::read);
    setup.host.run();
    commands += setup.take(1);
  }
  state.SetItemsProcessed(commands);
}
BENCHMARK(BM_Read4KIdleQueues)->Arg(1)->Arg(64);

/// One command at a time: the cost of a doorbell, a fetch, a completion and an interrupt.
void BM_Read4KDepth1(benchmark::State& state) {
  Setup setup(1);
  std::int64_t commands = 0;
  for (auto _ : state) {
    setup.lba = (setup.lba + 8) % kBlocks;
    setup.host.submit(1, setup.host.io_entry(IoOpcode::read, setup.lba));
    setup.host.run();
    commands += setup.take(1);
  }
  state.SetItemsProcessed(commands);
}
BENCHMARK(BM_Read4KDepth1);

void BM_Write4K(benchmark::State& state) {
  Setup setup(1);
  std::int64_t commands = 0;
  for (auto _ : state) {
    setup.submit(1, IoOpcode::write);
    setup.host.run();
    commands += setup.take(1);
  }
  state.SetItemsProcessed(commands);
}
BENCHMARK(BM_Write4K);

}  // namespace
}  // namespace smartio::nvme
