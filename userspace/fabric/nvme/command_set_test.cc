// SPDX-License-Identifier: GPL-2.0
// Changes to a drive from outside its queues: events, namespaces, configuration, and all of it at once.
#include "fabric/nvme/command_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

#include "base/scratch_folder.h"
#include "fabric/nvme/fake_command.h"
#include "fabric/nvme/spec_identify.h"
#include "fabric/nvme/spec_log.h"

namespace smartio::nvme {
namespace {

using test::FakeCommand;
using test::io_entry;
using test::pattern;
using test::TestDrive;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint32_t kNamespaceNotices = 1U << 8U;

class Drive : public testing::Test {
 protected:
  TestDrive drive;

  void enable(std::uint32_t events) {
    ASSERT_TRUE(drive.set_feature(FeatureId::async_event_configuration, events).ok());
  }
  std::vector<std::uint32_t> changed(bool retain = false) {
    const auto log = drive.log<ChangedNamespaceLog>(LogId::changed_namespaces, retain);
    std::vector<std::uint32_t> list;
    for (const std::uint32_t nsid : log.nsid) {
      if (nsid != 0) list.push_back(nsid);
    }
    return list;
  }
};

TEST(StatusField, IsLaidOutAsInACompletion) {
  constexpr Status kStatus{.sct = 2, .sc = 0x81, .dnr = true, .more = true};
  EXPECT_EQ(kStatus.field(), 0x6281);
  EXPECT_EQ(kStatus.word(true), 0xC503);
  EXPECT_EQ(Status::from_field(0x6281), kStatus);
  EXPECT_TRUE(Status::from_field(0x4002).dnr);
  EXPECT_FALSE(Status::from_field(0x0002).dnr);
  EXPECT_TRUE(Status{}.ok());
}

TEST(AsyncEventResult, IsLaidOutAsInDword0) {
  EXPECT_EQ(event::kNamespaceAttributeChanged.result(), 0x00040002U);
  EXPECT_EQ(event::kTemperature.result(), 0x00020101U);
  EXPECT_EQ(event::kSanitizeCompleted.result(), 0x00810106U);
}

TEST_F(Drive, WarningsRaiseEnabledEventsOnce) {
  drive.commands.set_temperature(350);
  EXPECT_THAT(drive.events, IsEmpty()) << "not enabled";
  enable(0xFF);
  EXPECT_THAT(drive.events, ElementsAre(event::kTemperature)) << "enabled while the warning stands";
  drive.commands.set_temperature(351);
  EXPECT_EQ(drive.events.size(), 1U) << "no news";
  drive.commands.set_temperature(300);
  drive.commands.set_temperature(343);
  EXPECT_EQ(drive.events.size(), 2U) << "a threshold is crossed where it is reached";
  EXPECT_EQ(drive.log<SmartLog>(LogId::smart_health).critical_warning, critical::kTemperature);
  enable(0xFF);
  EXPECT_EQ(drive.events.size(), 2U) << "enabled already";
}

TEST_F(Drive, EachWarningHasItsEventAndItsBit) {
  enable(critical::kReliability | critical::kSpare);
  drive.commands.set_critical_warning(critical::kReadOnly);
  EXPECT_THAT(drive.events, IsEmpty());
  drive.commands.set_critical_warning(critical::kReadOnly | critical::kReliability);
  EXPECT_THAT(drive.events, ElementsAre(event::kReliability));
  drive.commands.set_wear(5, 97);
  EXPECT_THAT(drive.events, ElementsAre(event::kReliability, event::kSpare));
  const auto log = drive.log<SmartLog>(LogId::smart_health);
  EXPECT_EQ(log.critical_warning, critical::kReadOnly | critical::kReliability | critical::kSpare);
  EXPECT_EQ(log.available_spare, 5);
  EXPECT_EQ(log.percentage_used, 97);
}

TEST_F(Drive, AThresholdThatIsMovedRaisesItsEvent) {
  enable(0xFF);
  EXPECT_TRUE(drive.set_feature(FeatureId::temperature_threshold, 305).ok());
  EXPECT_THAT(drive.events, ElementsAre(event::kTemperature));
}

TEST_F(Drive, NamespacesComeGoAndChangeTheirSize) {
  enable(kNamespaceNotices);
  EXPECT_TRUE(drive.write(0, pattern(512, 1)).ok());
  EXPECT_TRUE(drive.commands.resize_namespace(1, 4 << 20).has_value());
  EXPECT_THAT(drive.events, ElementsAre(event::kNamespaceAttributeChanged));
  EXPECT_EQ(drive.identify<IdentifyNamespace>(0, 1).nsze, 8192U);
  EXPECT_EQ(drive.read(0), pattern(512, 1));
  EXPECT_EQ(drive.read(8191), std::vector<std::byte>(512));

  const auto added = drive.commands.add_namespace({.size = 1 << 20, .block_size = 4096});
  ASSERT_TRUE(added.has_value());
  EXPECT_EQ(*added, 3U);
  EXPECT_EQ(drive.identify<IdentifyNamespace>(0, 3).nsze, 256U);

  EXPECT_TRUE(drive.commands.remove_namespace(2).has_value());
  EXPECT_EQ(drive.io(io_entry(IoOpcode::read, 2, 0, 1)), status::kInvalidField);
  EXPECT_EQ(drive.events.size(), 3U);
  EXPECT_THAT(changed(true), ElementsAre(1, 2, 3));
  EXPECT_THAT(changed(), ElementsAre(1, 2, 3)) << "retained";
  EXPECT_THAT(changed(), IsEmpty());
  EXPECT_EQ(drive.logs_read.size(), 2U);
}

TEST_F(Drive, ANewNamespaceIsNotTheOldOne) {
  EXPECT_TRUE(drive.write(0, pattern(4096, 1), 0, 2).ok());
  const auto before = drive.identify<IdentifyNamespace>(0, 2);
  EXPECT_TRUE(drive.commands.remove_namespace(2).has_value());
  EXPECT_EQ(drive.commands.add_namespace({.size = 1 << 20, .block_size = 4096}).value_or(0), 2U);
  const auto after = drive.identify<IdentifyNamespace>(0, 2);
  EXPECT_NE(before.nguid, after.nguid);
  EXPECT_NE(before.eui64, after.eui64);
  EXPECT_EQ(drive.read(0, 1, 2), std::vector<std::byte>(4096));
}

TEST_F(Drive, WithoutNoticesTheListIsKeptAllTheSame) {
  EXPECT_TRUE(drive.commands.resize_namespace(1, 2 << 20).has_value());
  EXPECT_THAT(drive.events, IsEmpty());
  EXPECT_THAT(changed(), ElementsAre(1));
}

TEST_F(Drive, AChangeWhileTheListIsReadStaysInIt) {
  EXPECT_TRUE(drive.commands.resize_namespace(1, 2 << 20).has_value());
  class Slow : public FakeCommand {
   public:
    using FakeCommand::FakeCommand;
    std::function<void()> during_write;
    Status write_host(std::uint64_t offset, std::span<const std::byte> from) override {
      during_write();
      return FakeCommand::write_host(offset, from);
    }
  };
  Slow command(test::admin_entry(AdminOpcode::get_log_page, 0, 4U | 1023U << 16U));
  command.during_write = [&] { EXPECT_TRUE(drive.commands.resize_namespace(2, 2 << 20).has_value()); };
  EXPECT_TRUE(drive.admin(command).ok());
  EXPECT_EQ(command.as<ChangedNamespaceLog>().nsid[0], 1U);
  EXPECT_EQ(command.as<ChangedNamespaceLog>().nsid[1], 0U);
  EXPECT_THAT(changed(), testing::Contains(2U));
}

TEST_F(Drive, NamespaceChangesThatCannotBe) {
  EXPECT_THAT(drive.commands.resize_namespace(9, 1 << 20).error().message, HasSubstr("no namespace 9"));
  EXPECT_THAT(drive.commands.resize_namespace(2, 512).error().message, HasSubstr("block size 4096"));
  EXPECT_FALSE(drive.commands.resize_namespace(1, 0).has_value());
  EXPECT_THAT(drive.commands.resize_namespace(1, 1ULL << 60U).error().message, HasSubstr("no space"));
  EXPECT_EQ(drive.identify<IdentifyNamespace>(0, 1).nsze, 2048U) << "as before";
  EXPECT_FALSE(drive.commands.remove_namespace(9).has_value());
  EXPECT_FALSE(drive.commands.add_namespace({.size = 1000, .block_size = 512}).has_value());
  EXPECT_FALSE(drive.commands.add_namespace({.size = 0, .block_size = 512}).has_value());
  EXPECT_FALSE(drive.commands.add_namespace({.size = 1024, .block_size = 1024}).has_value());
  EXPECT_FALSE(drive.commands.add_namespace({.size = 1ULL << 60U, .block_size = 512}).has_value());
  for (unsigned i = 2; i < 64; ++i) {
    EXPECT_TRUE(drive.commands.add_namespace({.size = 512, .block_size = 512}).has_value());
  }
  EXPECT_FALSE(drive.commands.add_namespace({.size = 512, .block_size = 512}).has_value()) << "a 65th";
  EXPECT_EQ(drive.io(io_entry(IoOpcode::read, 64, 0, 1)), status::kSuccess);
}

TEST_F(Drive, APowerCutForgetsSettingsAndEvents) {
  enable(0x1FF);
  EXPECT_TRUE(drive.commands.resize_namespace(1, 2 << 20).has_value());
  drive.commands.power_cut();
  EXPECT_EQ(drive.feature(FeatureId::async_event_configuration), 0U);
  EXPECT_THAT(changed(), IsEmpty());
}

TEST(DriveSetUp, RefusesWhatCannotBe) {
  const auto message = [](DriveConfig config) -> std::string {
    try {
      const CommandSet made(std::move(config));
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  };
  DriveConfig config = TestDrive::small();
  config.namespaces = {{1000, 512}};
  EXPECT_THAT(message(config), HasSubstr("multiple of its block size"));
  config.namespaces = {{4096, 1024}};
  EXPECT_THAT(message(config), HasSubstr("512 and 4096"));
  config.namespaces.assign(65, {4096, 512});
  EXPECT_THAT(message(config), HasSubstr("64 namespaces"));
  config.namespaces = {{4096, 512}};
  config.backing = "/nowhere/at/all";
  EXPECT_THAT(message(config), HasSubstr("/nowhere/at/all"));
}

TEST(DriveSetUp, TakesATopologysDrive) {
  topology::Drive drive;
  drive.name = "d";
  drive.host = "h";
  drive.backing = "d.img";
  drive.queue_pairs = 5;
  drive.cache = 7;
  drive.mdts = 3;
  drive.sgl = false;
  drive.shared = true;
  drive.namespaces = {{.size = 1 << 20, .block_size = 4096}};
  const DriveConfig config = DriveConfig::from(drive, "/state");
  EXPECT_EQ(config.backing, "/state/d.img");
  EXPECT_EQ(config.queue_pairs, 5U);
  EXPECT_EQ(config.cache, 7U);
  EXPECT_FALSE(config.sgl);
  EXPECT_TRUE(config.shared);
  EXPECT_EQ(config.max_transfer(), 32768U);
  ASSERT_EQ(config.namespaces.size(), 1U);
  EXPECT_EQ(config.namespaces[0].block_size, 4096U);
  drive.backing = "/abs.img";
  EXPECT_EQ(DriveConfig::from(drive, "/state").backing, "/abs.img");
  drive.backing.clear();
  EXPECT_TRUE(DriveConfig::from(drive, "/state").backing.empty());
}

TEST(DriveSetUp, FilesKeepWhatWasWritten) {
  const ScratchFolder folder;
  DriveConfig config = TestDrive::small();
  config.backing = folder / "disk";
  {
    TestDrive drive(config);
    EXPECT_TRUE(drive.write(3, pattern(512, 1)).ok());
    EXPECT_TRUE(drive.write(4, pattern(4096, 2), 0, 2).ok());
    EXPECT_TRUE(drive.write(9, pattern(512, 3)).ok());
    drive.commands.clear_media_errors();
    EXPECT_EQ(drive.read(3), pattern(512, 1));
  }
  {
    TestDrive drive(config);
    EXPECT_EQ(drive.read(3), pattern(512, 1));
    EXPECT_EQ(drive.read(4, 1, 2), pattern(4096, 2));
    EXPECT_TRUE(drive.write(3, pattern(512, 9)).ok());
    drive.commands.power_cut();
    EXPECT_EQ(drive.read(3), pattern(512, 1));
    EXPECT_TRUE(drive.commands.remove_namespace(2).has_value());
    EXPECT_TRUE(drive.commands.add_namespace({.size = 1 << 20, .block_size = 4096}).has_value());
    EXPECT_EQ(drive.read(4, 1, 2), std::vector<std::byte>(4096)) << "a new namespace is empty";
  }
  EXPECT_TRUE(std::filesystem::exists(folder / "disk"));
  EXPECT_TRUE(std::filesystem::exists(folder / "disk.ns2"));
}

// One worker, and all calls of the control socket, at the same time: for the sanitizers. Each status that the worker
// sees must be one that these calls can cause. Each block that it reads must be one that was written.
TEST(DriveThreads, ControlCallsAndCommandsAtOnce) {
  DriveConfig config = TestDrive::small();
  config.cache = 64 << 10;
  CommandSet commands(config);
  std::atomic<unsigned> events{0};
  commands.set_event_sink([&](AsyncEvent) { ++events; });
  std::atomic<bool> done{false};
  std::atomic<unsigned> reads{0};
  std::jthread control([&] {
    // On a fast build 2,000 calls may be over before the first command, and before the first event is asked for.
    for (unsigned i = 0; i < 2000 || reads < 100 || events == 0; ++i) {
      switch (i % 10) {
        case 0:
          commands.power_cut();
          break;
        case 1:
          EXPECT_TRUE(commands.resize_namespace(1, (1 + i % 3) << 20).has_value());
          break;
        case 2:
          commands.add_media_error({.nsid = 1, .lba = i % 64, .blocks = 2, .clear_on_rewrite = i % 20 == 2});
          break;
        case 3:
          commands.clear_media_errors();
          break;
        case 4:
          commands.set_temperature(static_cast<std::uint16_t>(300 + i % 90));
          break;
        case 5:
          if (auto added = commands.add_namespace({.size = 4096, .block_size = 512})) {
            EXPECT_TRUE(commands.remove_namespace(*added).has_value());
          }
          break;
        case 6:
          commands.controller_reset();
          break;
        case 7:
          commands.shutdown();
          break;
        case 8:
          commands.record_error({.status = status::kInternalError});
          break;
        default:
          (void)commands.counters();
          break;
      }
    }
    done = true;
  });
  for (unsigned i = 0; !done; ++i) {
    const std::uint64_t lba = i % 64;
    FakeCommand write(io_entry(IoOpcode::write, 1, lba, 2));
    write.host.assign(1024, static_cast<std::byte>(lba + 1));
    const Status written = commands.execute_io(write);
    EXPECT_TRUE(written.ok() || written == status::kAbortedPowerLoss || written == status::kNamespaceNotReady)
        << written.field();
    FakeCommand read(io_entry(IoOpcode::read, 1, lba, 1));
    const Status seen = commands.execute_io(read);
    if (seen.ok()) {
      ++reads;
      // Written by this command, by that of the block before, or never.
      const auto value = std::to_integer<unsigned>(read.host[100]);
      EXPECT_TRUE(value == 0 || value == lba + 1 || value == lba) << value << " in block " << lba;
    } else {
      EXPECT_TRUE(seen == status::kUnrecoveredReadError || seen == status::kAbortedPowerLoss ||
                  seen == status::kNamespaceNotReady)
          << seen.field();
    }
    FakeCommand enable(test::admin_entry(AdminOpcode::set_features, 0, 0x0B, 0x1FF));
    (void)commands.execute_admin(enable);
  }
  EXPECT_GT(events, 0U);
  EXPECT_GT(commands.counters().read_commands, 99U);
}

}  // namespace
}  // namespace smartio::nvme
