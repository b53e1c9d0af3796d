// SPDX-License-Identifier: GPL-2.0
// How fast a guest's stores to a window drain: in the model alone, and from a guest's socket to the peer's memory.
// A guest can queue 6 to 7 million a second by measurement; the target is 10 million.
#include <benchmark/benchmark.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <utility>
#include <vector>

#include "base/scratch_folder.h"
#include "fabric/ntb/amd.h"
#include "fabric/ntb/cable.h"
#include "fabric/pci/host.h"
#include "fabric/pci/test_memory.h"
#include "fabric/vfio_user/client.h"
#include "fabric/vfio_user/server.h"

namespace {

// Guests that come and go are no part of the figures.
const bool quiet = (spdlog::set_level(spdlog::level::warn), true);

using namespace smartio;

constexpr std::size_t kStores = 200;  // what QEMU puts into one message at most
constexpr std::size_t kMemory = 16 << 20;

/// Two hosts joined by a cable, each with a client in QEMU's place; host b has memory and has opened its window.
struct Pair {
  Pair() {
    for (const auto side : {ntb::Side::primary, ntb::Side::secondary}) {
      auto& host = side == ntb::Side::primary ? host_a : host_b;
      auto& endpoint = host.add("ntb0", cable.function(side));
      const auto socket = folder / (host.name() + ".sock");
      servers.push_back(checked(vfio_user::Server::start(endpoint, socket)));
      clients.push_back(checked(vfio_user::Client::open(socket)));
      checked(
          clients.back().store<std::uint16_t>(vfio_user::kConfigRegion, 4, 6));  // Command: memory space, bus master
    }
    checked(b().dma_map({0}, kMemory, memory.raw_fd(), 0));
    checked(b().store<std::uint64_t>(0, ntb::amd::reg::PEER_VIEW + ntb::amd::reg::BAR23XLAT, 0));
    checked(b().store<std::uint64_t>(0, ntb::amd::reg::PEER_VIEW + ntb::amd::reg::BAR23LMT, kMemory));
  }
  ~Pair() {
    clients.clear();
    servers.clear();
  }
  vfio_user::Client& a() { return clients[0]; }
  vfio_user::Client& b() { return clients[1]; }

  ScratchFolder folder;
  pci::TestMemory memory{kMemory};
  ntb::Cable cable{{.name = "ab", .windows = {kMemory, 1 << 16}}};
  pci::MemoryFiles files;
  pci::Waits waits;
  pci::Host host_a{"a", false, files, waits};
  pci::Host host_b{"b", false, files, waits};
  std::vector<std::unique_ptr<vfio_user::Server>> servers;
  std::vector<vfio_user::Client> clients;
};

void window_stores_in_process(benchmark::State& state) {
  Pair pair;
  std::vector<pci::Store> stores;
  for (std::size_t i = 0; i < kStores; i++) stores.push_back({8 * i, 8, i});
  for (auto _ : state) pair.cable.function(ntb::Side::primary).bar_write_many(2, stores, {});
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kStores));
}
BENCHMARK(window_stores_in_process);

void window_stores_from_a_guest(benchmark::State& state) {
  Pair pair;
  std::vector<vfio_user::WriteMultiStore> stores;
  for (std::uint64_t i = 0; i < kStores; i++) stores.push_back({8 * i, 2, 8, i});
  for (auto _ : state) checked(pair.a().post_many(stores));
  // A read behind them: when it is answered, all stores in the socket have been drained.
  checked(pair.a().load<std::uint32_t>(0, ntb::amd::reg::SIDEINFO));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kStores));
}
BENCHMARK(window_stores_from_a_guest)->MinTime(2)->UseRealTime();

void device_write_4k(benchmark::State& state) {
  Pair pair;
  const std::vector<std::byte> page(4096);
  for (auto _ : state) {
    const auto outcome = pair.cable.function(ntb::Side::primary).bar_write(2, 0, page, {.kind = pci::AccessKind::data});
    if (outcome.delivery != pci::Delivery::memory) throw std::runtime_error("the window does not lead to memory");
  }
  state.SetBytesProcessed(state.iterations() * 4096);
}
BENCHMARK(device_write_4k);

void register_read_round_trip(benchmark::State& state) {
  Pair pair;
  for (auto _ : state) benchmark::DoNotOptimize(checked(pair.a().load<std::uint32_t>(0, ntb::amd::reg::DBSTAT)));
}
BENCHMARK(register_read_round_trip)->UseRealTime();

}  // namespace
