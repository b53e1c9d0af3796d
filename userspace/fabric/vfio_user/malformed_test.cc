// SPDX-License-Identifier: GPL-2.0
// Each malformed message of a guest ends its connection, and no other.
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <functional>
#include <string>
#include <vector>

#include "base/eventually.h"
#include "fabric/pci/test_memory.h"
#include "fabric/vfio_user/fixture.h"

namespace smartio::vfio_user {
namespace {

struct Case {
  std::string name;
  std::vector<std::byte> bytes;
  std::size_t fds = 0;
  bool negotiate = true;
};

template <typename... Parts>
std::vector<std::byte> message(Command command, const Parts&... parts) {
  Header header{1, static_cast<std::uint16_t>(command),
                static_cast<std::uint32_t>(sizeof(Header) + (std::size_t{0} + ... + sizeof(Parts))), 0, 0};
  std::vector<std::byte> bytes;
  const auto add = [&](std::span<const std::byte> part) { bytes.insert(bytes.end(), part.begin(), part.end()); };
  add(pci::bytes_of(header));
  (add(pci::bytes_of(parts)), ...);
  return bytes;
}

std::vector<std::byte> with(std::vector<std::byte> bytes, std::size_t offset, std::uint32_t value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(value));
  return bytes;
}

std::vector<std::byte> version(const std::string& text, std::uint16_t major = 0) {
  auto bytes = message(Command::version, Version{major, 0});
  for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
  return with(bytes, 4, static_cast<std::uint32_t>(bytes.size()));
}

const RegionAccess kAccess{0, 0, 4};
const WriteMultiStore kStore{0, 0, 8, 0};
const IrqSet kIrqs16{sizeof(IrqSet), kIrqDataEventfd | kIrqActionTrigger, kIrqMsix, 0, 2};

std::vector<Case> cases() {
  std::vector<Case> all = {
      {"SizeBelowTheHeader", with(message(Command::device_reset), 4, 15)},
      {"SizeZero", with(message(Command::device_reset), 4, 0)},
      {"SizeHuge", with(message(Command::device_reset), 4, ~0U)},
      {"SizeOneTooLarge", with(message(Command::device_reset), 4, kMaxMessage + 1)},
      {"TypeUnknown", with(message(Command::device_reset), 8, 2)},
      {"CommandZero", message(static_cast<Command>(0))},
      {"CommandUnknown", message(static_cast<Command>(16))},
      {"CommandHuge", message(static_cast<Command>(0xffff))},
      {"DmaReadFromAClient", message(Command::dma_read, DmaAccess{0, 8})},
      {"DmaWriteFromAClient", message(Command::dma_write, DmaAccess{0, 8}, std::uint64_t{0})},
      {"VersionTwice", version(std::string("{}\0", 3))},
      {"BeforeVersion", message(Command::device_get_info, DeviceInfo{16, 0, 0, 0}), 0, false},
      {"VersionShort", message(Command::version, std::uint16_t{0}), 0, false},
      {"VersionMajor", version("", 1), 0, false},
      {"VersionTextUnended", version("{}"), 0, false},
      {"VersionNotJson", version(std::string("{]\0", 3)), 0, false},
      {"VersionNotAnObject", version(std::string("[]\0", 3)), 0, false},
      {"VersionCapabilitiesNotAnObject", version(std::string("{\"capabilities\":1}\0", 19)), 0, false},
      {"VersionTransferNotANumber", version(std::string("{\"capabilities\":{\"max_data_xfer_size\":\"x\"}}\0", 44)), 0,
       false},
      {"VersionTransferTiny", version(std::string("{\"capabilities\":{\"max_data_xfer_size\":0}}\0", 42)), 0, false},
      {"VersionDeeplyNested", version(std::string(4000, '[') + '\0'), 0, false},
      {"VersionTooLong", version(std::string(5000, ' ') + '\0'), 0, false},
      {"VersionWithDescriptor", version(std::string("{}\0", 3)), 1, false},
      {"DmaMapShort", message(Command::dma_map, std::uint64_t{0})},
      {"DmaMapLong", message(Command::dma_map, DmaMap{32, 3, 0, 0, 4096}, std::uint64_t{0})},
      {"DmaMapTwoDescriptors", message(Command::dma_map, DmaMap{32, 3, 0, 0, 4096}), 2},
      {"DmaUnmapShort", message(Command::dma_unmap, std::uint64_t{0})},
      {"DmaUnmapDescriptor", message(Command::dma_unmap, DmaUnmap{24, 0, 0, 4096}), 1},
      {"InfoShort", message(Command::device_get_info, std::uint64_t{0})},
      {"RegionInfoShort", message(Command::device_get_region_info, std::uint64_t{0})},
      {"IrqInfoShort", message(Command::device_get_irq_info, std::uint64_t{0})},
      {"SetIrqsShort", message(Command::device_set_irqs, std::uint64_t{0})},
      {"SetIrqsNoData", message(Command::device_set_irqs, IrqSet{20, kIrqActionTrigger, 2, 0, 0})},
      {"SetIrqsTwoData", message(Command::device_set_irqs, IrqSet{20, 0x23, 2, 0, 0})},
      {"SetIrqsNoAction", message(Command::device_set_irqs, IrqSet{20, kIrqDataNone, 2, 0, 0})},
      {"SetIrqsTwoActions", message(Command::device_set_irqs, IrqSet{20, 0x31, 2, 0, 0})},
      {"SetIrqsUnknownFlag", message(Command::device_set_irqs, IrqSet{20, 0x61, 2, 0, 0})},
      {"SetIrqsTooFewDescriptors", message(Command::device_set_irqs, kIrqs16), 1},
      {"SetIrqsTooManyDescriptors", message(Command::device_set_irqs, kIrqs16), 3},
      {"SetIrqsDescriptorsForNothing", message(Command::device_set_irqs, IrqSet{20, 0x21, 2, 0, 1}), 1},
      {"SetIrqsManyTooManyDescriptors", message(Command::device_set_irqs, kIrqs16), 17},
      {"ReadShort", message(Command::region_read, std::uint64_t{0})},
      {"ReadWithData", message(Command::region_read, kAccess, std::uint32_t{0})},
      {"ReadWithDescriptor", message(Command::region_read, kAccess), 1},
      {"WriteShort", message(Command::region_write, std::uint64_t{0})},
      {"WriteWithoutData", message(Command::region_write, kAccess)},
      {"WriteWithLessData", message(Command::region_write, kAccess, std::uint16_t{0})},
      {"WriteWithMoreData", message(Command::region_write, kAccess, std::uint64_t{0})},
      {"WriteCountHuge", message(Command::region_write, RegionAccess{0, 0, ~0U}, std::uint64_t{0})},
      {"MultiShort", message(Command::region_write_multi, std::uint32_t{0})},
      {"MultiFewerThanSaid", message(Command::region_write_multi, WriteMulti{2}, kStore)},
      {"MultiMoreThanSaid", message(Command::region_write_multi, WriteMulti{1}, kStore, kStore)},
      {"MultiCountWraps", message(Command::region_write_multi, WriteMulti{1ULL << 61}, kStore)},
      {"MultiStoreOfNothing", message(Command::region_write_multi, WriteMulti{1}, WriteMultiStore{0, 0, 0, 0})},
      {"MultiStoreOfNine", message(Command::region_write_multi, WriteMulti{1}, WriteMultiStore{0, 0, 9, 0})},
      {"ResetWithBody", message(Command::device_reset, std::uint64_t{0})},
      {"ReplyToNothingAsked", with(message(Command::device_get_info, DeviceInfo{16, 0, 0, 0}), 8, kFlagReply)},
      {"ReplyWithDescriptor", with(message(Command::dma_write, DmaAccess{0, 8}), 8, kFlagReply), 1},
  };
  return all;
}

class Malformed : public testing::TestWithParam<Case> {};

TEST_P(Malformed, EndsThatConnectionAndLeavesNothingBehind) {
  Served served;
  const UniqueFd fd = pci::new_eventfd();
  const auto open_files = [] {
    std::ptrdiff_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
    return count;
  };
  const auto before = open_files();
  {
    auto client = Client::connect(served.path());
    ASSERT_TRUE(client);
    if (GetParam().negotiate) {
      ASSERT_TRUE(client->version());
    }
    const std::vector<int> fds(GetParam().fds, fd.get());
    ASSERT_TRUE(client->send_raw(GetParam().bytes, fds));
    EXPECT_TRUE(client->closed_within(std::chrono::seconds(10)));
  }
  EXPECT_TRUE(eventually([&] { return open_files() == before; })) << open_files() << " instead of " << before;
  Client next = served.client();
  EXPECT_TRUE(next.info()) << "the server lives";
}

INSTANTIATE_TEST_SUITE_P(Messages, Malformed, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace smartio::vfio_user
