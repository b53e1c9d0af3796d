// SPDX-License-Identifier: GPL-2.0
// The cost of the path from a guest to a device, in a native client. region_access must have a median of at most 15 us,
// posted_window_writes must reach 10 M/s.
#include <benchmark/benchmark.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "fabric/pci/test_memory.h"
#include "fabric/vfio_user/fixture.h"

namespace smartio::vfio_user {
namespace {

void region_access(benchmark::State& state) {
  spdlog::set_level(spdlog::level::warn);
  Served served("bench");
  Client client = served.client();
  std::vector<double> times;
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    if (!client.load<std::uint32_t>(0, 0x10)) return state.SkipWithError("no answer");
    times.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
  }
  std::ranges::sort(times);
  state.counters["median_us"] = times[times.size() / 2];
  state.counters["p99_us"] = times[times.size() * 99 / 100];
}
BENCHMARK(region_access)->UseRealTime();

/// Stores to a window that leads into another host's memory, 200 in a message as QEMU sends them.
void posted_window_writes(benchmark::State& state) {
  spdlog::set_level(spdlog::level::warn);
  Served near("near");
  Served far("far");
  Client client = near.client();
  Client other = far.client();
  const pci::TestMemory memory(16 << 20);
  if (!other.dma_map({0}, 16 << 20, memory.raw_fd(), 0)) return state.SkipWithError("no memory");
  near.function().open_window(far.endpoint(), {0});
  std::vector<WriteMultiStore> stores(200);
  std::uint64_t next = 0;
  for (auto _ : state) {
    for (int message = 0; message < 500; ++message) {
      for (auto& store : stores) {
        store = {next % (16 << 20), 2, 8, next};
        next += 8;
      }
      if (!client.post_many(stores)) return state.SkipWithError("not taken");
    }
    if (!client.load<std::uint32_t>(0, 0)) return state.SkipWithError("no answer");  // behind all of them
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(next / 8));
}
BENCHMARK(posted_window_writes)->UseRealTime()->Unit(benchmark::kMillisecond);

/// The same without the socket: the cost of routing and memory.
void write_many(benchmark::State& state) {
  spdlog::set_level(spdlog::level::warn);
  Served far("many");
  Client other = far.client();
  const pci::TestMemory memory(1 << 20);
  if (!other.dma_map({0}, 1 << 20, memory.raw_fd(), 0)) return state.SkipWithError("no memory");
  std::vector<pci::BusStore> stores(200);
  std::vector<pci::Outcome> outcomes(200);
  for (std::size_t i = 0; i < stores.size(); ++i) stores[i] = {{i * 8}, 8, i};
  for (auto _ : state) far.endpoint().write_many(stores, {}, outcomes);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(stores.size()));
}
BENCHMARK(write_many);

}  // namespace
}  // namespace smartio::vfio_user
