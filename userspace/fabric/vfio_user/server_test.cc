// SPDX-License-Identifier: GPL-2.0
#include "fabric/vfio_user/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <vector>

#include "fabric/pci/test_memory.h"
#include "fabric/vfio_user/fixture.h"

namespace smartio::vfio_user {
namespace {

using pci::bytes_of;
using pci::Count;
using pci::signals;
using testing::HasSubstr;

class Serving : public testing::Test {
 protected:
  Served served_;
  Client client_ = served_.client();
};

TEST_F(Serving, SaysWhatTheDeviceIs) {
  const auto info = client_.info();
  ASSERT_TRUE(info);
  EXPECT_EQ(std::uint32_t{info->regions}, 9U);
  EXPECT_EQ(std::uint32_t{info->irqs}, 5U);
  EXPECT_EQ(std::uint32_t{info->flags}, 3U);
  const auto window = client_.region_info(2);
  ASSERT_TRUE(window);
  EXPECT_EQ(std::uint64_t{window->size}, 1ULL << 32);
  EXPECT_EQ(std::uint32_t{window->flags}, 3U) << "no mmap: QEMU would stop posting writes";
  EXPECT_EQ(std::uint64_t{client_.region_info(kConfigRegion)->size}, 4096U);
  EXPECT_EQ(std::uint64_t{client_.region_info(3)->size}, 0U) << "the upper half of BAR2";
  EXPECT_FALSE(client_.region_info(9));
  EXPECT_EQ(std::uint32_t{client_.irq_info(kIrqMsix)->count}, 64U);
  EXPECT_EQ(std::uint32_t{client_.irq_info(0)->count}, 0U);
  EXPECT_FALSE(client_.irq_info(5));
  EXPECT_EQ(served_.function().connects(), 1);
}

TEST_F(Serving, ReadsAndWritesRegions) {
  ASSERT_TRUE(client_.store<std::uint32_t>(0, 0x20, 0xabcd));
  EXPECT_EQ(client_.load<std::uint32_t>(0, 0x20), 0xabcdU);
  EXPECT_EQ(client_.load<std::uint32_t>(kConfigRegion, 0), 0xcafe1234U);
  std::vector<std::byte> large(0x2000, std::byte{0x3c});
  ASSERT_TRUE(client_.region_write(0, 0x1000, large));
  std::vector<std::byte> back(large.size());
  ASSERT_TRUE(client_.region_read(0, 0x1000, back));
  EXPECT_EQ(back, large);
}

TEST_F(Serving, AccessesBesideARegionAreErrorsAndNoMore) {
  EXPECT_FALSE(client_.load<std::uint32_t>(0, 0x4000));
  EXPECT_EQ(client_.last_error(), EINVAL);
  EXPECT_FALSE(client_.load<std::uint32_t>(0, 0x3ffe));
  EXPECT_FALSE(client_.load<std::uint32_t>(0, ~0ULL - 1));
  EXPECT_FALSE(client_.load<std::uint32_t>(1, 0));
  EXPECT_FALSE(client_.load<std::uint32_t>(100, 0));
  EXPECT_FALSE(client_.store<std::uint32_t>(0, 0x4000, 1));
  EXPECT_FALSE(client_.store<std::uint32_t>(2, (1ULL << 32) - 2, 1));
  EXPECT_FALSE(client_.region_read(0, 0, {}));
  EXPECT_TRUE(client_.load<std::uint32_t>(0, 0x3ffc));
}

TEST_F(Serving, PostedStoresArriveInOrderBeforeTheNextRead) {
  for (std::uint64_t i = 1; i <= 1000; ++i) ASSERT_TRUE(client_.post(0, 0x40, bytes_of(i)));
  EXPECT_EQ(client_.load<std::uint64_t>(0, 0x40), 1000U);
  std::vector<WriteMultiStore> stores;
  for (std::uint64_t i = 0; i < 200; ++i) stores.push_back({0x100 + i % 4 * 8, 0, 8, i});
  stores.push_back({0x104, 0, 4, 0xffffffff00000007});
  stores.push_back({0x3c, kConfigRegion, 1, 0x0b});
  stores.push_back({0x4000, 0, 8, 1});
  ASSERT_TRUE(client_.post_many(stores));
  EXPECT_EQ(client_.load<std::uint64_t>(0, 0x108), 197U);
  EXPECT_EQ(client_.load<std::uint64_t>(0, 0x100), 0x7000000c4U);
  EXPECT_EQ(client_.load<std::uint8_t>(kConfigRegion, 0x3c), 0x0b);
  EXPECT_EQ(client_.load<std::uint64_t>(0, 0x110), 198U);
}

TEST_F(Serving, WriteMultiAnswersIfAsked) {
  const std::array<std::uint64_t, 4> good = {1, 0x10, std::uint64_t{4} << 32, 5};
  EXPECT_TRUE(client_.call(Command::region_write_multi, std::as_bytes(std::span(good))));
  const std::array<std::uint64_t, 4> beside = {1, 0x4000, std::uint64_t{4} << 32, 5};
  EXPECT_FALSE(client_.call(Command::region_write_multi, std::as_bytes(std::span(beside))));
  EXPECT_EQ(client_.last_error(), EINVAL);
  EXPECT_EQ(client_.load<std::uint32_t>(0, 0x10), 5U);
}

TEST_F(Serving, InterruptsReachTheGuestWhateverQemuDoesWithTheVectors) {
  std::vector<UniqueFd> owned;
  std::vector<int> fds;
  for (int i = 0; i < 16; ++i) {
    owned.push_back(pci::new_eventfd());
    fds.push_back(owned.back().get());
  }
  ASSERT_TRUE(client_.set_irqs(8, fds));
  served_.endpoint().interrupt(10);
  EXPECT_EQ(signals(owned[2]), 1U);
  ASSERT_TRUE(client_.irqs_off());
  served_.endpoint().interrupt(10);
  EXPECT_EQ(signals(owned[2]), 0U);
  ASSERT_TRUE(client_.set_irqs(8, fds));
  EXPECT_EQ(signals(owned[2]), 1U) << "kept while there was no eventfd";
  const UniqueFd moved = pci::new_eventfd();
  const std::array<int, 1> one = {moved.get()};
  ASSERT_TRUE(client_.set_irqs(10, one));
  served_.endpoint().interrupt(10);
  EXPECT_EQ(signals(moved), 1U);
  EXPECT_EQ(signals(owned[2]), 0U);
  EXPECT_FALSE(client_.set_irqs(50, fds)) << "beyond the table";
}

TEST_F(Serving, VectorsCanBeTakenAwayOrTriggered) {
  const UniqueFd fd = pci::new_eventfd();
  const std::array<int, 1> fds = {fd.get()};
  ASSERT_TRUE(client_.set_irqs(3, fds));
  const auto set = [&](std::uint32_t flags, std::uint32_t index, std::uint32_t start, std::uint32_t count) {
    const IrqSet body{sizeof(IrqSet), flags, index, start, count};
    return client_.call(Command::device_set_irqs, bytes_of(body)).has_value() ? 0 : client_.last_error();
  };
  EXPECT_EQ(set(kIrqDataNone | kIrqActionTrigger, kIrqMsix, 3, 1), 0);
  EXPECT_EQ(signals(fd), 1U);
  EXPECT_EQ(set(kIrqDataEventfd | kIrqActionTrigger, kIrqMsix, 3, 1), 0);
  EXPECT_EQ(served_.endpoint().vectors().assigned(), 0U);
  EXPECT_EQ(set(kIrqDataNone | kIrqActionTrigger, 0, 0, 0), 0) << "INTx off: nothing to do";
  EXPECT_EQ(set(kIrqDataNone | kIrqActionMask, kIrqMsix, 0, 1), EOPNOTSUPP);
  EXPECT_EQ(set(kIrqDataBool | kIrqActionTrigger, kIrqMsix, 0, 1), EOPNOTSUPP);
  EXPECT_EQ(set(kIrqDataNone | kIrqActionTrigger, 0, 0, 1), EINVAL);
  EXPECT_EQ(set(kIrqDataNone | kIrqActionTrigger, 9, 0, 0), EINVAL);
  EXPECT_EQ(set(kIrqDataNone | kIrqActionTrigger, kIrqMsix, 64, 1), EINVAL);
  EXPECT_EQ(set(kIrqDataNone | kIrqActionTrigger, kIrqMsix, 1, ~0U), EINVAL);
}

TEST_F(Serving, WhatIsNotOfferedIsRefusedProperly) {
  const RegionIoFds asked{sizeof(RegionIoFds), 0, 0, 0};
  EXPECT_FALSE(client_.call(Command::device_get_region_io_fds, bytes_of(asked)));
  EXPECT_EQ(client_.last_error(), EOPNOTSUPP);
  EXPECT_FALSE(client_.call(Command::dirty_pages, {}));
  EXPECT_EQ(client_.last_error(), EOPNOTSUPP);
  const DeviceInfo small{8, 0, 0, 0};
  EXPECT_FALSE(client_.call(Command::device_get_info, bytes_of(small)));
  EXPECT_TRUE(client_.info());
}

TEST_F(Serving, ResetsTheFunction) {
  ASSERT_TRUE(client_.reset());
  EXPECT_EQ(served_.function().last_reset(), pci::ResetCause::function);
  EXPECT_FALSE(served_.endpoint().bus_master());
}

TEST_F(Serving, TheNextGuestFindsAFreshDevice) {
  const pci::TestMemory memory(1 << 16);
  ASSERT_TRUE(client_.dma_map({0}, 1 << 16, memory.raw_fd(), 0));
  served_.replace(client_, false);
  EXPECT_EQ(served_.function().disconnects(), 1);
  EXPECT_EQ(served_.function().last_reset(), pci::ResetCause::disconnect);
  EXPECT_EQ(served_.endpoint().memory().ranges(), 0U);
  EXPECT_EQ(client_.load<std::uint16_t>(kConfigRegion, 4), 0U);
}

TEST_F(Serving, ASecondGuestAtOnceIsRefusedAndTheFirstLives) {
  auto second = Client::connect(served_.path());
  ASSERT_TRUE(second);
  EXPECT_TRUE(second->closed_within(std::chrono::seconds(5)));
  EXPECT_TRUE(client_.info());
}

TEST_F(Serving, GuestsComeAndGoAndLeaveNoDescriptor) {
  const auto open_files = [] {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
    return count;
  };
  const pci::TestMemory memory(1 << 16);
  const UniqueFd irq = pci::new_eventfd();
  const std::array<int, 1> fds = {irq.get()};
  const std::size_t before = open_files();
  for (int i = 0; i < 20; ++i) {
    served_.replace(client_);
    ASSERT_TRUE(client_.dma_map({0}, 1 << 16, memory.raw_fd(), 0));
    ASSERT_TRUE(client_.set_irqs(0, fds));
    // The last words of a guest that dies in the middle of them.
    const Header half{1, static_cast<std::uint16_t>(Command::dma_map), sizeof(Header) + sizeof(DmaMap), 0, 0};
    ASSERT_TRUE(client_.send_raw(bytes_of(half), fds));
  }
  served_.replace(client_);
  EXPECT_EQ(open_files(), before);
}

TEST_F(Serving, AServerThatStopsLeavesNoSocket) {
  served_.stop();
  EXPECT_FALSE(std::filesystem::exists(served_.path()));
  EXPECT_FALSE(client_.info());
  EXPECT_EQ(served_.function().disconnects(), 1);
}

TEST(Starting, RefusesPathsThatAreNone) {
  pci::MemoryFiles files;
  pci::Waits waits;
  pci::FakeFunction function;
  pci::Host host("h", false, files, waits);
  auto& endpoint = host.add("dev", function);
  const auto too_long = Server::start(endpoint, std::string(200, 'x'));
  ASSERT_FALSE(too_long);
  EXPECT_THAT(too_long.error().message, HasSubstr("107"));
  EXPECT_FALSE(Server::start(endpoint, ""));
  EXPECT_FALSE(Server::start(endpoint, "/nowhere/at/all.sock"));
  const auto file = std::filesystem::temp_directory_path() / ("smartio-file-" + std::to_string(::getpid()));
  const UniqueFd made(::open(file.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  EXPECT_FALSE(Server::start(endpoint, file)) << "only a socket is replaced";
  EXPECT_TRUE(std::filesystem::exists(file));
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace smartio::vfio_user
