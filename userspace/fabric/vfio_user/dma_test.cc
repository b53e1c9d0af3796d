// SPDX-License-Identifier: GPL-2.0
// A device's DMA through its guest's memory and its guest's QEMU, while guests unmap, stall and die.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <future>
#include <thread>
#include <vector>

#include "base/eventually.h"
#include "fabric/pci/test_memory.h"
#include "fabric/vfio_user/fixture.h"
#include "fabric/vfio_user/outbox.h"

namespace smartio::vfio_user {
namespace {

using namespace std::chrono_literals;
using pci::BusAddress;
using pci::bytes_of;
using pci::Count;
using pci::Delivery;
using pci::writable_bytes_of;

constexpr pci::Transaction kMayWait{pci::AccessKind::data, 0, true};

class Dma : public testing::Test {
 protected:
  explicit Dma(Server::Options options = {}) : served_("dev", false, options) {}
  Served served_;
  Client client_ = served_.client();
};

class ShortDeadline : public Dma {
 protected:
  ShortDeadline() : Dma({.read_deadline = 50ms}) {}
};

TEST_F(Dma, GoesStraightIntoMappedMemory) {
  const pci::TestMemory memory(1 << 20);
  ASSERT_TRUE(client_.dma_map({0x100000}, 1 << 19, memory.raw_fd(), 1 << 19));
  const std::uint64_t value = 0x1234;
  EXPECT_EQ(served_.endpoint().write({0x100008}, bytes_of(value), {}).delivery, Delivery::memory);
  EXPECT_EQ(std::memcmp(memory.bytes().data() + (1 << 19) + 8, &value, 8), 0);
  EXPECT_TRUE(client_.dma_unmap({0x100000}, 1 << 19));
  EXPECT_EQ(served_.endpoint().write({0x100008}, bytes_of(value), {}).delivery, Delivery::qemu);
}

TEST_F(Dma, MapErrorsAreAnsweredAndTheConnectionLives) {
  const pci::TestMemory memory(1 << 16);
  EXPECT_FALSE(client_.dma_map({0}, 0, memory.raw_fd(), 0));
  EXPECT_EQ(client_.last_error(), EINVAL);
  EXPECT_FALSE(client_.dma_map({0}, 1 << 17, memory.raw_fd(), 0));
  EXPECT_FALSE(client_.dma_map({0}, 4096, -1, 0, kDmaMapRead | kDmaMapMmap));
  EXPECT_EQ(client_.last_error(), EINVAL);
  EXPECT_FALSE(client_.dma_map({0}, 4096, memory.raw_fd(), 0, 0x10));
  EXPECT_TRUE(client_.dma_map({0}, 4096, memory.raw_fd(), 0));
  EXPECT_FALSE(client_.dma_map({0}, 4096, memory.raw_fd(), 0));
  EXPECT_EQ(client_.last_error(), EEXIST);
  EXPECT_TRUE(client_.dma_map({4096}, 4096, -1, 0)) << "memory that only QEMU reaches";
  EXPECT_TRUE(client_.dma_map({8192}, 4096, memory.raw_fd(), 0, kDmaMapRead | kDmaMapFileIo));
  EXPECT_FALSE(client_.dma_unmap({0}, 4096, 1)) << "no dirty pages";
  EXPECT_TRUE(client_.dma_unmap({0}, 0, kDmaUnmapAll));
  EXPECT_EQ(served_.endpoint().memory().ranges(), 0U);
}

TEST_F(Dma, ATruncatedFileDoesNotKillTheProcess) {
  const pci::TestMemory memory(1 << 16, false);
  ASSERT_TRUE(client_.dma_map({0}, 1 << 16, memory.raw_fd(), 0));
  ASSERT_EQ(::ftruncate(memory.raw_fd(), 0), 0);
  const std::uint64_t value = 1;
  EXPECT_EQ(served_.endpoint().write({0x8000}, bytes_of(value), {}).delivery, Delivery::qemu);
}

TEST_F(Dma, WritesReachQemuInOrder) {
  std::vector<std::uint64_t> seen;
  client_.set_dma_handler({.read = {}, .write = [&](BusAddress address, std::span<const std::byte> data) {
                             seen.push_back(address.value + data.size());
                             return true;
                           }});
  for (std::uint64_t i = 0; i < 100; ++i) {
    const std::uint32_t value = 0;
    EXPECT_EQ(served_.endpoint().write({0xfee00000 + i * 16}, bytes_of(value), {}).delivery, Delivery::qemu);
  }
  while (seen.size() < 100) ASSERT_TRUE(client_.serve(5s).value_or(false));
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(seen[i], 0xfee00004 + i * 16);
  EXPECT_EQ(served_.endpoint().counters().get(Count::dma_refused_by_qemu), 0U);
}

TEST_F(Dma, AnInterruptStaysBehindTheWritesBeforeIt) {
  const std::array<int, 1> fds{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  const UniqueFd vector(fds[0]);
  ASSERT_TRUE(client_.set_irqs(0, fds));
  client_.set_dma_handler({.read = {}, .write = [&](BusAddress, std::span<const std::byte>) {
                             EXPECT_EQ(pci::signals(vector), 0U);
                             return true;
                           }});
  const std::uint64_t completion = 0;
  served_.endpoint().write({0xd0000000}, bytes_of(completion), {});
  served_.endpoint().write({0xd0000008}, bytes_of(completion), {});
  served_.endpoint().interrupt(0);
  EXPECT_EQ(pci::signals(vector), 0U);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(client_.serve(5s).value_or(false));
  EXPECT_TRUE(eventually([&] { return pci::signals(vector) == 1; }));
  served_.endpoint().interrupt(0);  // nothing before it
  EXPECT_EQ(pci::signals(vector), 1U);
}

TEST_F(Dma, NothingOvertakesALargeWrite) {
  const std::array<int, 1> fds{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  const UniqueFd vector(fds[0]);
  ASSERT_TRUE(client_.set_irqs(0, fds));
  client_.set_dma_handler({.read = {}, .write = [](BusAddress, std::span<const std::byte>) { return true; }});
  const std::vector<std::byte> page(4096);
  served_.endpoint().write({0xd0000000}, page, {});
  served_.endpoint().interrupt(0);
  auto settled = std::async(std::launch::async, [&] { served_.endpoint().settle(); });
  EXPECT_EQ(settled.wait_for(50ms), std::future_status::timeout);
  EXPECT_EQ(pci::signals(vector), 0U);
  ASSERT_TRUE(client_.serve(5s).value_or(false));
  settled.get();
  EXPECT_TRUE(eventually([&] { return pci::signals(vector) == 1; }));
  served_.endpoint().settle();  // nothing is left
}

TEST_F(Dma, ARefusedWriteIsCounted) {
  client_.set_dma_handler({});
  const std::uint32_t value = 0;
  served_.endpoint().write({0xd0000000}, bytes_of(value), {});
  ASSERT_TRUE(client_.serve(5s).value_or(false));
  EXPECT_TRUE(eventually([&] { return served_.endpoint().counters().get(Count::dma_refused_by_qemu) == 1; }));
}

TEST_F(Dma, ReadsWaitForQemu) {
  client_.set_dma_handler({.read =
                               [](BusAddress address, std::span<std::byte> data) {
                                 for (std::size_t i = 0; i < data.size(); ++i) {
                                   data[i] = static_cast<std::byte>(((address.value + i) >> 12) + 1);
                                 }
                                 return true;
                               },
                           .write = {}});
  std::vector<std::byte> data((64U << 10) + 5);
  auto device =
      std::async(std::launch::async, [&] { return served_.endpoint().read({0x1000000}, data, kMayWait).delivery; });
  for (int i = 0; i < 129; ++i) ASSERT_TRUE(client_.serve(5s).value_or(false)) << "in pieces of at most 512 bytes";
  EXPECT_EQ(device.get(), Delivery::qemu);
  for (std::size_t i = 0; i < data.size(); ++i) {
    ASSERT_EQ(data[i], static_cast<std::byte>(((0x1000000 + i) >> 12) + 1)) << i;
  }
}

TEST_F(Dma, AReadStaysBehindTheWritesBeforeIt) {
  bool written = false;
  client_.set_dma_handler({.read =
                               [&](BusAddress, std::span<std::byte> data) {
                                 std::ranges::fill(data, std::byte{0x22});
                                 return written;
                               },
                           .write =
                               [&](BusAddress, std::span<const std::byte>) {
                                 // QEMU takes requests in while it carries one out
                                 EXPECT_FALSE(client_.serve(100ms).value_or(true));
                                 return written = true;
                               }});
  const std::uint32_t command = 0;
  served_.endpoint().write({0xd0000014}, bytes_of(command), {});
  std::uint32_t status = 0;
  auto device = std::async(std::launch::async, [&] {
    return served_.endpoint().read({0xd000001c}, writable_bytes_of(status), kMayWait).delivery;
  });
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(client_.serve(5s).value_or(false));
  EXPECT_EQ(device.get(), Delivery::qemu);
  EXPECT_EQ(status, 0x22222222U);
}

TEST_F(ShortDeadline, AReadBehindAWriteThatNobodyAnswersEnds) {
  const std::uint32_t command = 0;
  served_.endpoint().write({0xd0000014}, bytes_of(command), {});
  std::uint32_t status = 0;
  EXPECT_EQ(served_.endpoint().read({0xd000001c}, writable_bytes_of(status), kMayWait).delivery, Delivery::unclaimed);
  EXPECT_EQ(status, ~0U);
}

TEST_F(Dma, AGuestsRequestsAreAnsweredWhileADeviceWaits) {
  std::uint32_t value = 0;
  auto device = std::async(std::launch::async, [&] {
    return served_.endpoint().read({0xd0000000}, writable_bytes_of(value), kMayWait).delivery;
  });
  client_.set_dma_handler({.read =
                               [](BusAddress, std::span<std::byte> data) {
                                 std::ranges::fill(data, std::byte{0x11});
                                 return true;
                               },
                           .write = {}});
  while (device.wait_for(0s) != std::future_status::ready) ASSERT_TRUE(client_.info());
  EXPECT_EQ(device.get(), Delivery::qemu);
  EXPECT_EQ(value, 0x11111111U);
}

TEST_F(Dma, ARefusedReadIsAllOnes) {
  std::uint32_t value = 0;
  auto device = std::async(std::launch::async, [&] {
    return served_.endpoint().read({0xd0000000}, writable_bytes_of(value), kMayWait).delivery;
  });
  ASSERT_TRUE(client_.serve(5s).value_or(false));
  EXPECT_EQ(device.get(), Delivery::unclaimed);
  EXPECT_EQ(value, ~0U);
}

TEST_F(ShortDeadline, AReadThatNobodyAnswersEnds) {
  std::uint32_t value = 0;
  EXPECT_EQ(served_.endpoint().read({0xd0000000}, writable_bytes_of(value), kMayWait).delivery, Delivery::unclaimed);
  EXPECT_EQ(value, ~0U);
  // The late answer does no harm.
  client_.set_dma_handler({.read = [](BusAddress, std::span<std::byte>) { return true; }, .write = {}});
  ASSERT_TRUE(client_.serve(5s).value_or(false));
  EXPECT_TRUE(client_.info());
}

TEST_F(Dma, AReadEndsAtOnceWhenTheGuestDies) {
  std::uint32_t value = 0;
  const auto begin = std::chrono::steady_clock::now();
  auto device = std::async(std::launch::async, [&] {
    return served_.endpoint().read({0xd0000000}, writable_bytes_of(value), kMayWait).delivery;
  });
  std::array<std::byte, 16> peeked;
  ASSERT_GT(::recv(client_.socket(), peeked.data(), peeked.size(), MSG_PEEK), 0) << "the request is out";
  served_.replace(client_);
  EXPECT_EQ(device.get(), Delivery::unclaimed);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 4s) << "not by its deadline of 5 s";
}

// PCIe base 2.4.1: a completion does not pass the posted writes before it.
TEST_F(Dma, AReplyStaysBehindTheStoresBeforeIt) {
  std::uint32_t value = 0;
  std::atomic<bool> answered{false};
  auto device = std::async(std::launch::async, [&] {
    const auto delivery = served_.endpoint().read({0xd0000000}, writable_bytes_of(value), kMayWait).delivery;
    answered = true;
    return delivery;
  });
  Header request;
  ASSERT_EQ(::recv(client_.socket(), &request, sizeof(request), MSG_WAITALL), 16);
  std::atomic<bool> overtaken{false};
  served_.function().before_stores([&] { overtaken = eventually([&] { return answered.load(); }, 200ms); });
  // in one burst: the server collects the store, and finds the reply behind it
  struct [[gnu::packed]] {
    Header store;
    RegionAccess where;
    std::uint32_t stored;
    Header reply;
    DmaAccess access;
    std::uint32_t data;
  } burst{{1, static_cast<std::uint16_t>(Command::region_write), 36, kFlagNoReply, 0},
          {0x100, 0, 4},
          0x77,
          {request.id, request.command, 36, kFlagReply, 0},
          {0xd0000000, 4},
          0x11};
  ASSERT_TRUE(client_.send_raw(bytes_of(burst)));
  EXPECT_EQ(device.get(), Delivery::qemu);
  EXPECT_EQ(value, 0x11U);
  EXPECT_TRUE(eventually([&] { return served_.function().writes() == 1; }));
  EXPECT_FALSE(overtaken);
}

TEST_F(Dma, AReplyOfTheWrongSizeEndsTheConnection) {
  std::uint32_t value = 0;
  auto device = std::async(std::launch::async, [&] {
    return served_.endpoint().read({0xd0000000}, writable_bytes_of(value), kMayWait).delivery;
  });
  Header request;
  ASSERT_EQ(::recv(client_.socket(), &request, sizeof(request), MSG_WAITALL), 16);
  struct [[gnu::packed]] {
    Header header;
    DmaAccess access;
    std::uint64_t data;
  } reply{{request.id, request.command, 40, kFlagReply, 0}, {0xd0000000, 8}, 0};
  ASSERT_TRUE(client_.send_raw(bytes_of(reply)));
  EXPECT_TRUE(client_.closed_within(5s));
  EXPECT_EQ(device.get(), Delivery::unclaimed);
}

TEST_F(Dma, AGuestThatReadsNothingHoldsNobodyUpAndCostsNoMoreThanItsQueue) {
  const std::vector<std::byte> data(4096);
  std::uint64_t taken = 0;
  while (served_.endpoint().write({0xd0000000}, data, {}).delivery == Delivery::qemu) {
    ASSERT_LT(++taken, 10000U) << "the queue has no limit";
  }
  EXPECT_GT(taken * 4096, Outbox::kMaxQueued / 2);
  // All that was taken arrives, in whole messages, once the guest reads again.
  std::uint64_t arrived = 0;
  client_.set_dma_handler({.read = {}, .write = [&](BusAddress, std::span<const std::byte> got) {
                             arrived += got.size() == 4096 ? 1 : 0;
                             return true;
                           }});
  while (arrived < taken) ASSERT_TRUE(client_.serve(5s).value_or(false));
  EXPECT_TRUE(client_.info());
}

TEST_F(Dma, AGuestThatLeavesItsRepliesLyingIsNotReadFrom) {
  const RegionAccess access{0, 0, 0x4000};
  struct [[gnu::packed]] {
    Header header;
    RegionAccess access;
  } request{{1, static_cast<std::uint16_t>(Command::region_read), 32, 0, 0}, access};
  client_.set_deadline(500ms);
  bool stopped = false;
  for (int i = 0; i < 20000 && !stopped; ++i) stopped = !client_.send_raw(bytes_of(request));
  EXPECT_TRUE(stopped);
  served_.replace(client_);
  EXPECT_TRUE(client_.info());
}

TEST_F(Dma, UnmapIsAnsweredOnlyWhenCopiesHaveEnded) {
  const pci::TestMemory memory(1 << 17);
  const std::vector<std::byte> expected(memory.bytes().size(), std::byte{0xaa});
  std::atomic<std::uint64_t> copies{0};
  std::vector<std::jthread> devices;
  for (std::uint64_t i = 0; i < 2; ++i) {
    devices.emplace_back([&, i](const std::stop_token& stop) {
      const std::vector<std::byte> data(64 << 10, static_cast<std::byte>(i + 1));
      while (!stop.stop_requested()) {
        if (served_.endpoint().write({i << 16}, data, {}).delivery == Delivery::memory) ++copies;
      }
    });
  }
  client_.set_dma_handler({.read = {}, .write = [](BusAddress, std::span<const std::byte>) { return true; }});
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(client_.dma_map({0}, 1 << 17, memory.raw_fd(), 0));
    const std::uint64_t before = copies;
    while (copies < before + 4) std::this_thread::yield();
    ASSERT_TRUE(client_.dma_unmap({0}, 1 << 17));
    // From here on the memory is the guest's alone: its writes stay.
    std::memset(memory.bytes().data(), 0xaa, expected.size());
    ASSERT_TRUE(client_.info());
    ASSERT_EQ(std::memcmp(memory.bytes().data(), expected.data(), expected.size()), 0);
  }
}

TEST_F(Dma, InterruptsAndDmaGoOnWhileGuestsComeAndGo) {
  std::jthread device([&](const std::stop_token& stop) {
    std::array<std::byte, 64> data{};
    while (!stop.stop_requested()) {
      served_.endpoint().write({0xfee00000}, std::span(data).first(4), {});
      served_.endpoint().write({0}, data, {});
      served_.endpoint().read({0xd0000000}, data, kMayWait);
      served_.endpoint().interrupt(0);
    }
  });
  const pci::TestMemory memory(4096);
  for (int i = 0; i < 20; ++i) {
    served_.replace(client_);
    const UniqueFd irq = pci::new_eventfd();
    const std::array<int, 1> fds = {irq.get()};
    client_.set_dma_handler({.read = [](BusAddress, std::span<std::byte>) { return true; },
                             .write = [](BusAddress, std::span<const std::byte>) { return true; }});
    ASSERT_TRUE(client_.dma_map({0}, 4096, memory.raw_fd(), 0));
    ASSERT_TRUE(client_.set_irqs(0, fds));
    while (pci::signals(irq) == 0) ASSERT_TRUE(client_.serve(5s).has_value());
  }
  device.request_stop();
  while (client_.serve(100ms).value_or(false)) {
  }
  served_.replace(client_);  // ends every wait of the device
}

/// Two hosts whose windows lead to each other, at an address that only their QEMUs know.
class Loads : public testing::Test {
 protected:
  static constexpr std::uint64_t kRegister = 0xd0000000;
  static constexpr std::uint32_t kWindow = 2;
  explicit Loads(std::chrono::milliseconds patience = pci::Waits::kPatience)
      : waits_(std::make_shared<pci::Waits>(patience)) {
    near_.function().open_window(far_.endpoint(), {kRegister});
    far_.function().open_window(near_.endpoint(), {kRegister});
  }
  std::shared_ptr<pci::Waits> waits_;
  Served near_{"near", false, {}, waits_};
  Served far_{"far", false, {}, waits_};
  Client near_client_ = near_.client();
  Client far_client_ = far_.client();
};

class LoadsInAHurry : public Loads {
 protected:
  LoadsInAHurry() : Loads(100ms) {}
};

Client::DmaHandler answering(std::function<std::uint64_t(std::uint64_t)> answer) {
  return {.read =
              [answer = std::move(answer)](BusAddress address, std::span<std::byte> data) {
                const std::uint64_t value = answer(address.value);
                std::memcpy(data.data(), &value, std::min(data.size(), sizeof(value)));
                return true;
              },
          .write = {}};
}

TEST_F(Loads, WaitForTheOtherHostsQemu) {
  far_client_.set_dma_handler(answering([](std::uint64_t address) { return address + 1; }));
  auto load = std::async(std::launch::async, [&] { return near_client_.load<std::uint64_t>(kWindow, 0x40); });
  ASSERT_TRUE(far_client_.serve(5s).value_or(false));
  EXPECT_EQ(load.get().value(), kRegister + 0x41);
}

TEST_F(Loads, NeverInACircle) {
  std::atomic<bool> near_asked{false};
  near_client_.set_dma_handler(answering([&](std::uint64_t address) {
    near_asked = true;
    return address;
  }));
  far_client_.set_dma_handler(answering([&](std::uint64_t) -> std::uint64_t {
    return far_client_.load<std::uint64_t>(kWindow, 0).value() == ~0ULL ? 0x11 : 0x22;
  }));
  const auto begin = std::chrono::steady_clock::now();
  auto load = std::async(std::launch::async, [&] { return near_client_.load<std::uint64_t>(kWindow, 0); });
  ASSERT_TRUE(far_client_.serve(5s).value_or(false));
  EXPECT_EQ(load.get().value(), 0x11U) << "far's own load gave all ones";
  EXPECT_FALSE(near_asked);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, pci::Waits::kPatience) << "by no time-out";
  EXPECT_EQ(near_.endpoint().counters().get(Count::loads_in_circle), 1U);
}

TEST_F(Loads, BothAtOnceEndSoon) {
  std::atomic<unsigned> answered{0};
  const auto many = [&](Client& client) {
    client.set_dma_handler(answering([](std::uint64_t address) { return address; }));
    std::uint64_t failed = 0;
    for (unsigned i = 0; i < 300; ++i) {
      const auto value = client.load<std::uint64_t>(kWindow, i);
      if (value && *value == kRegister + i) {
        ++answered;
      } else if (!value || *value != ~0ULL) {
        ++failed;
      }
    }
    return failed;
  };
  const auto begin = std::chrono::steady_clock::now();
  std::atomic<bool> done{false};
  auto near = std::async(std::launch::async, [&] {
    const auto failed = many(near_client_);
    while (!done) near_client_.serve(10ms).value_or(false);
    return failed;
  });
  EXPECT_EQ(many(far_client_), 0U);
  done = true;
  // near may still load: its reads of far are answered by now or refused.
  while (near.wait_for(0s) != std::future_status::ready) far_client_.serve(10ms).value_or(false);
  EXPECT_EQ(near.get(), 0U);
  EXPECT_GT(answered, 0U);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 30s) << "no load came to its deadline";
}

TEST_F(LoadsInAHurry, EndWithAllOnesInTime) {
  const auto begin = std::chrono::steady_clock::now();
  const auto value = near_client_.load<std::uint64_t>(kWindow, 0);  // far does not answer
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(value.value(), ~0ULL);
  EXPECT_GE(took, 100ms);
  EXPECT_LT(took, 2s);
  far_client_.set_dma_handler(answering([](std::uint64_t) { return 7; }));
  ASSERT_TRUE(far_client_.serve(5s).value_or(false)) << "the late answer harms nobody";
  auto load = std::async(std::launch::async, [&] { return near_client_.load<std::uint64_t>(kWindow, 0); });
  ASSERT_TRUE(far_client_.serve(5s).value_or(false));
  EXPECT_EQ(load.get().value(), 7U);
}

TEST_F(Loads, EndWithTheOtherHost) {
  auto load = std::async(std::launch::async, [&] { return near_client_.load<std::uint64_t>(kWindow, 0); });
  EXPECT_TRUE(eventually([&] { return waits_->waits(near_.host(), far_.host()); })) << "near waits for far";
  far_.replace(far_client_);
  EXPECT_EQ(load.get().value(), ~0ULL);
}

}  // namespace
}  // namespace smartio::vfio_user
