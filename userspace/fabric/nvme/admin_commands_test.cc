// SPDX-License-Identifier: GPL-2.0
// Each admin command of the command set, and each status it can end with.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <string>

#include "fabric/nvme/fake_command.h"
#include "fabric/nvme/firmware.h"
#include "fabric/nvme/health.h"
#include "fabric/nvme/spec_identify.h"
#include "fabric/nvme/spec_log.h"

namespace smartio::nvme {
namespace {

using test::admin_entry;
using test::FakeCommand;
using test::io_entry;
using test::pattern;
using test::TestDrive;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint32_t raw(LogId id) { return static_cast<std::uint32_t>(id); }

class AdminCommands : public testing::Test {
 protected:
  TestDrive drive;

  Status identify(std::uint32_t cns, std::uint32_t nsid = 0, std::uint32_t cdw11 = 0) {
    return drive.admin(admin_entry(AdminOpcode::identify, nsid, cns, cdw11));
  }
  Status format(std::uint32_t nsid, std::uint32_t cdw10) {
    return drive.admin(admin_entry(AdminOpcode::format_nvm, nsid, cdw10));
  }
  Status sanitize(std::uint32_t cdw10) { return drive.admin(admin_entry(AdminOpcode::sanitize, 0, cdw10)); }
  Status self_test(std::uint32_t nsid, std::uint32_t code) {
    return drive.admin(admin_entry(AdminOpcode::device_self_test, nsid, code));
  }
  Status download(std::string image, std::uint32_t offset_dwords = 0) {
    image.resize((image.size() + 3) & ~3ULL, ' ');
    FakeCommand command(admin_entry(AdminOpcode::firmware_download, 0, static_cast<std::uint32_t>(image.size() / 4 - 1),
                                    offset_dwords));
    const auto bytes = std::as_bytes(std::span(image));
    command.host.assign(bytes.begin(), bytes.end());
    return drive.admin(command);
  }
  Status commit(unsigned action, unsigned slot) {
    return drive.admin(admin_entry(AdminOpcode::firmware_commit, 0, slot | action << 3U));
  }
  std::string revision() {
    const auto id = drive.identify<IdentifyController>(1);
    return {id.fr, sizeof(id.fr)};
  }
};

TEST_F(AdminCommands, IdentifyController) {
  const auto id = drive.identify<IdentifyController>(1);
  EXPECT_EQ(std::string(id.sn, 5), "disk-");
  EXPECT_EQ(std::string(id.mn, 40), "smartio fabric drive                    ");
  EXPECT_EQ(std::string(id.fr, 8), "1.0     ");
  EXPECT_EQ(id.ver, kVersion);
  EXPECT_EQ(id.cntrltype, 1);
  EXPECT_EQ(id.mdts, 8);
  EXPECT_EQ(id.sqes, 0x66);
  EXPECT_EQ(id.cqes, 0x44);
  EXPECT_EQ(id.nn, 64U);
  EXPECT_EQ(id.cmic, 0);
  EXPECT_EQ(id.vwc, 0x7);
  EXPECT_EQ(id.fuses, 1);
  EXPECT_EQ(id.oacs, oacs::kFormat | oacs::kFirmware | oacs::kSelfTest);
  EXPECT_EQ(id.sgls, 0x10001U);
  EXPECT_EQ(id.awupf, 255) << "1 MiB of 4096 byte blocks, 0's based";
  EXPECT_EQ(id.tnvmcap[0], 2U << 20U);
  const std::string nqn(id.subnqn);
  EXPECT_TRUE(nqn.starts_with("nqn.2014-08.org.nvmexpress:uuid:")) << nqn;
  EXPECT_EQ(nqn.size(), 68U);
}

TEST_F(AdminCommands, IdentifyControllerSaysWhatIsMissing) {
  DriveConfig config = TestDrive::small();
  config.cache = 0;
  config.sgl = false;
  config.mdts = 99;
  TestDrive plain(config);
  const auto id = plain.identify<IdentifyController>(1);
  EXPECT_EQ(id.vwc & 1, 0);
  EXPECT_EQ(id.sgls, 0U);
  EXPECT_EQ(id.mdts, DriveConfig::kMaxMdts);
}

TEST_F(AdminCommands, ASharedDriveSaysSo) {
  EXPECT_EQ(drive.identify<IdentifyNamespace>(0, 1).nmic, 0);
  DriveConfig config = TestDrive::small();
  config.shared = true;
  TestDrive shared(config);
  EXPECT_EQ(shared.identify<IdentifyController>(1).cmic, 2);
  EXPECT_EQ(shared.identify<IdentifyNamespace>(0, 1).nmic, 1);
}

TEST_F(AdminCommands, NamesAreStableAndUnique) {
  const auto names = [](const std::string& host, const std::string& name) {
    DriveConfig config = TestDrive::small();
    config.host = host;
    config.name = name;
    TestDrive made(config);
    const auto id = made.identify<IdentifyController>(1);
    return std::string(id.sn, sizeof(id.sn)) + id.subnqn;
  };
  const std::string a = names("lender", "disk");
  EXPECT_EQ(a, names("lender", "disk"));
  EXPECT_EQ((std::set{a, names("lender", "disk1"), names("borrower", "disk"), names("lender", "a very long name 1"),
                      names("lender", "a very long name 2")}
                 .size()),
            5U);
}

TEST_F(AdminCommands, IdentifyNamespace) {
  const auto one = drive.identify<IdentifyNamespace>(0, 1);
  EXPECT_EQ(one.nsze, 2048U);
  EXPECT_EQ(one.ncap, 2048U);
  EXPECT_EQ(one.flbas, 0);
  EXPECT_EQ(one.nlbaf, 1);
  EXPECT_EQ(one.lbaf[0].lbads, 9);
  EXPECT_EQ(one.lbaf[1].lbads, 12);
  EXPECT_EQ(one.dlfeat, 0x9);
  const auto two = drive.identify<IdentifyNamespace>(0, 2);
  EXPECT_EQ(two.nsze, 256U);
  EXPECT_EQ(two.flbas, 1);
  EXPECT_NE(one.nguid, two.nguid);
  EXPECT_NE(one.eui64, two.eui64);
}

TEST_F(AdminCommands, IdentifyOfAnInactiveNamespaceIsZero) {
  FakeCommand command(admin_entry(AdminOpcode::identify, 3, 0));
  EXPECT_TRUE(drive.admin(command).ok());
  EXPECT_EQ(command.host, std::vector<std::byte>(4096));
  for (const std::uint32_t nsid : {0U, 65U, kNsidAll}) {
    EXPECT_EQ(identify(0, nsid), status::kInvalidNamespaceOrFormat) << nsid;
  }
}

TEST_F(AdminCommands, ActiveNamespaceList) {
  using List = std::array<std::uint32_t, 1024>;
  List all{};
  all[0] = 1;
  all[1] = 2;
  EXPECT_EQ(drive.identify<List>(2, 0), all);
  List rest{};
  rest[0] = 2;
  EXPECT_EQ(drive.identify<List>(2, 1), rest);
  EXPECT_EQ(drive.identify<List>(2, 2), List{});
  EXPECT_EQ(identify(2, kNsidAll), status::kInvalidNamespaceOrFormat);
  EXPECT_EQ(identify(2, kNsidAll - 1), status::kInvalidNamespaceOrFormat);
  EXPECT_TRUE(identify(2, kNsidAll - 2).ok());
  EXPECT_EQ(drive.identify<List>(7, 0), all) << "the same by command set";
}

TEST_F(AdminCommands, NamespaceDescriptors) {
  const auto list = drive.identify<std::array<std::uint8_t, 4096>>(3, 1);
  const auto id = drive.identify<IdentifyNamespace>(0, 1);
  EXPECT_EQ(list[0], 1);
  EXPECT_EQ(list[1], 8);
  EXPECT_TRUE(std::equal(id.eui64.begin(), id.eui64.end(), list.begin() + 4));
  EXPECT_EQ(list[12], 2);
  EXPECT_EQ(list[13], 16);
  EXPECT_TRUE(std::equal(id.nguid.begin(), id.nguid.end(), list.begin() + 16));
  EXPECT_EQ(list[32], 3);
  EXPECT_EQ(list[33], 16);
  EXPECT_EQ(list[52], 0) << "the end";
  EXPECT_EQ(identify(3, 0), status::kInvalidNamespaceOrFormat);
  EXPECT_EQ(identify(3, 5), status::kInvalidField);
}

TEST_F(AdminCommands, CommandSetSpecificIdentify) {
  EXPECT_TRUE(identify(6).ok());
  EXPECT_TRUE(identify(5, 1).ok());
  EXPECT_EQ(identify(5, 0), status::kInvalidNamespaceOrFormat);
  EXPECT_EQ(identify(6, 0, 1U << 24U), status::kInvalidField) << "key value";
  EXPECT_EQ(identify(5, 1, 2U << 24U), status::kInvalidField) << "zoned";
  EXPECT_EQ(identify(7, 0, 2U << 24U), status::kInvalidField);
  EXPECT_EQ(drive.identify<IdentifyNamespaceIndependent>(8, 1).nstat, 1);
  EXPECT_EQ(drive.identify<IdentifyNamespaceIndependent>(8, 9).nstat, 0);
  EXPECT_EQ(identify(8, 0), status::kInvalidNamespaceOrFormat);
}

TEST_F(AdminCommands, OtherIdentifyStructuresAreRefused) {
  for (const std::uint32_t cns : {0x04U, 0x09U, 0x10U, 0x11U, 0x12U, 0x13U, 0x14U, 0x15U, 0x16U, 0xFFU}) {
    const Status ended = identify(cns, 1);
    EXPECT_EQ(ended, status::kInvalidField) << cns;
    EXPECT_TRUE(ended.dnr);
  }
}

TEST_F(AdminCommands, IdentifyPassesOnWhatIsWrongWithTheDataPointer) {
  FakeCommand command(admin_entry(AdminOpcode::identify, 0, 1));
  command.map_status = status::kPrpOffsetInvalid;
  EXPECT_EQ(drive.admin(command), status::kPrpOffsetInvalid);
}

TEST_F(AdminCommands, UnknownOpcodesAreRefusedAndLogged) {
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    static const std::set<unsigned> known{0x02, 0x06, 0x09, 0x0A, 0x10, 0x11, 0x14, 0x80, 0x84};
    if (known.contains(opcode)) continue;
    SubmissionEntry e{};
    e.opcode = static_cast<std::uint8_t>(opcode);
    EXPECT_EQ(drive.admin(e), status::kInvalidOpcode) << opcode;
  }
  EXPECT_EQ(drive.log<SmartLog>(LogId::smart_health).error_log_entries[0], 247U);
}

TEST_F(AdminCommands, ErrorLogHasTheFailuresNewestFirst) {
  EXPECT_FALSE(drive.io(io_entry(IoOpcode::read, 1, 5000, 1)).ok());
  EXPECT_FALSE(drive.io(io_entry(IoOpcode::read, 50, 0, 1)).ok());
  drive.commands.record_error({.sq_id = 3, .cid = 99, .status = status::kInvalidQueueIdentifier, .location = 40});
  const auto log = drive.log<std::array<ErrorLogEntry, 64>>(LogId::error_information);
  EXPECT_EQ(log[0].error_count, 3U);
  EXPECT_EQ(log[0].sqid, 3);
  EXPECT_EQ(log[0].cid, 99);
  EXPECT_EQ(log[0].status, status::kInvalidQueueIdentifier.word(false));
  EXPECT_EQ(log[0].location, 40);
  EXPECT_EQ(log[1].sqid, 7);
  EXPECT_EQ(log[1].cid, 0x4321);
  EXPECT_EQ(log[1].nsid, 50U);
  EXPECT_EQ(log[1].location, 4) << "the NSID's byte";
  EXPECT_EQ(log[2].status, status::kLbaOutOfRange.word(false));
  EXPECT_EQ(log[2].location, 40);
  EXPECT_EQ(log[3].error_count, 0U);
  for (unsigned i = 0; i < 100; ++i) EXPECT_FALSE(drive.io(io_entry(IoOpcode::read, 50, 0, 1)).ok());
  const auto full = drive.log<std::array<ErrorLogEntry, 64>>(LogId::error_information);
  EXPECT_EQ(full[0].error_count, 103U);
  EXPECT_EQ(full[63].error_count, 40U);
}

TEST_F(AdminCommands, SmartCounts) {
  EXPECT_TRUE(drive.write(0, pattern(1024 * 512, 1)).ok());
  EXPECT_EQ(drive.read(0, 1).size(), 512U);
  auto log = drive.log<SmartLog>(LogId::smart_health);
  EXPECT_EQ(log.data_units_written[0], 2U) << "524288 bytes are more than one unit of 512000";
  EXPECT_EQ(log.data_units_read[0], 1U);
  EXPECT_EQ(log.host_write_commands[0], 1U);
  EXPECT_EQ(log.host_read_commands[0], 1U);
  EXPECT_EQ(log.power_cycles[0], 1U);
  EXPECT_EQ(+log.temperature, 310);
  EXPECT_EQ(+log.sensors[0], 310);
  EXPECT_EQ(log.available_spare, 100);
  EXPECT_EQ(log.critical_warning, 0);
  drive.commands.power_cut();
  drive.commands.shutdown();
  drive.commands.power_cut();
  log = drive.log<SmartLog>(LogId::smart_health);
  EXPECT_EQ(log.power_cycles[0], 3U);
  EXPECT_EQ(log.unsafe_shutdowns[0], 1U);
}

TEST_F(AdminCommands, LogPagesAreReadInPieces) {
  const auto whole = drive.log<EffectsLog>(LogId::commands_and_effects);
  SubmissionEntry e = admin_entry(AdminOpcode::get_log_page, 0, raw(LogId::commands_and_effects) | 63U << 16U);
  e.cdw12 = 1024;
  FakeCommand command(e);
  EXPECT_TRUE(drive.admin(command).ok());
  ASSERT_EQ(command.host.size(), 256U);
  EXPECT_EQ(std::memcmp(command.host.data(), whole.io, 256), 0);
  e.cdw12 = 1026;
  EXPECT_EQ(drive.admin(e), status::kInvalidField) << "offsets are multiples of 4";
  e.cdw12 = 4100;
  EXPECT_EQ(drive.admin(e), status::kInvalidField) << "beyond the end";
  e.cdw12 = 0;
  e.cdw13 = 1;
  EXPECT_EQ(drive.admin(e), status::kInvalidField) << "the offset has 64 bits";
}

TEST_F(AdminCommands, ALogIsZeroBeyondItsEnd) {
  FakeCommand command(admin_entry(AdminOpcode::get_log_page, 0, raw(LogId::smart_health) | 1023U << 16U));
  EXPECT_TRUE(drive.admin(command).ok());
  ASSERT_EQ(command.host.size(), 4096U);
  EXPECT_TRUE(std::ranges::all_of(std::span(command.host).subspan(512), [](std::byte b) { return b == std::byte{0}; }));
}

TEST_F(AdminCommands, LogPagesThatCannotBe) {
  for (const std::uint32_t id : {0x00U, 0x07U, 0x08U, 0x0DU, 0x70U, 0x80U, 0xC0U, 0xFFU}) {
    EXPECT_EQ(drive.admin(admin_entry(AdminOpcode::get_log_page, 0, id)), status::kInvalidLogPage) << id;
  }
  EXPECT_EQ(drive.admin(admin_entry(AdminOpcode::get_log_page, 1, raw(LogId::smart_health))), status::kInvalidField)
      << "SMART is the controller's";
  EXPECT_EQ(drive.admin(admin_entry(AdminOpcode::get_log_page, 0, raw(LogId::smart_health) | 0xFFFF0000U, 0xFFFF)),
            status::kInvalidField)
      << "16 GiB";
  SubmissionEntry e = admin_entry(AdminOpcode::get_log_page, 0, raw(LogId::commands_and_effects));
  e.cdw14 = 2U << 24U;
  EXPECT_EQ(drive.admin(e), status::kInvalidField) << "effects of another command set";
}

TEST_F(AdminCommands, EffectsLogAgreesWithWhatIsCarriedOut) {
  const auto log = drive.log<EffectsLog>(LogId::commands_and_effects);
  const std::set<unsigned> engine{0x00, 0x01, 0x04, 0x05, 0x08, 0x0C};
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    SubmissionEntry e{};
    e.opcode = static_cast<std::uint8_t>(opcode);
    e.nsid = 1;
    if (!engine.contains(opcode)) {
      EXPECT_EQ((log.admin[opcode] & 1) != 0, !(drive.admin(e) == status::kInvalidOpcode)) << opcode;
    }
    EXPECT_EQ((log.io[opcode] & 1) != 0, !(drive.io(e) == status::kInvalidOpcode)) << opcode;
  }
  EXPECT_EQ(log.io[0x01], effects::kSupported | effects::kContentChange);
  EXPECT_EQ(log.admin[0x80], effects::kSupported | effects::kContentChange | effects::kNamespaceCapabilityChange |
                                 effects::kExclusiveInNamespace);
}

TEST_F(AdminCommands, RetainedLogsDoNotClearTheirEvent) {
  drive.log<SmartLog>(LogId::smart_health, true);
  EXPECT_THAT(drive.logs_read, IsEmpty());
  drive.log<SmartLog>(LogId::smart_health);
  EXPECT_THAT(drive.logs_read, ElementsAre(LogId::smart_health));
}

TEST_F(AdminCommands, FeaturesHaveDefaultsAndAreSet) {
  struct Case {
    FeatureId id;
    std::uint32_t initial;
    std::uint32_t good;
    std::uint32_t bad;
  };
  for (const Case& c :
       {Case{FeatureId::arbitration, 7, 0x01020304 & 0xFFFFFF07, 0x8}, Case{FeatureId::power_management, 0, 0, 1},
        Case{FeatureId::error_recovery, 0, 100, 1U << 16U}, Case{FeatureId::volatile_write_cache, 1, 0, 2},
        Case{FeatureId::write_atomicity, 0, 1, 2}, Case{FeatureId::async_event_configuration, 0, 0x11F, 0x200},
        Case{FeatureId::software_progress_marker, 0, 5, 0x100}}) {
    SCOPED_TRACE(static_cast<int>(c.id));
    EXPECT_EQ(drive.feature(c.id), c.initial);
    EXPECT_EQ(drive.set_feature(c.id, c.bad), status::kInvalidField);
    EXPECT_TRUE(drive.set_feature(c.id, c.good).ok());
    EXPECT_EQ(drive.feature(c.id), c.good);
    EXPECT_EQ(drive.feature(c.id, 1), c.initial) << "the default";
    EXPECT_EQ(drive.feature(c.id, 2), c.initial) << "nothing saved";
    EXPECT_EQ(drive.feature(c.id, 3) & 6U, 4U) << "changeable, not for a namespace";
    EXPECT_EQ(drive.set_feature(c.id, c.good, false, 1), status::kFeatureNotNamespaceSpecific);
    EXPECT_EQ(drive.set_feature(c.id, c.good, false, 100), status::kInvalidNamespaceOrFormat);
    EXPECT_TRUE(drive.set_feature(c.id, c.good, false, kNsidAll).ok());
    drive.commands.controller_reset();
    EXPECT_EQ(drive.feature(c.id), c.initial) << "a reset sets it back";
  }
}

TEST_F(AdminCommands, SavedFeaturesOutliveReset) {
  EXPECT_EQ(drive.feature(FeatureId::volatile_write_cache, 3), 5U) << "saveable and changeable";
  EXPECT_TRUE(drive.set_feature(FeatureId::volatile_write_cache, 0, true).ok());
  EXPECT_TRUE(drive.set_feature(FeatureId::volatile_write_cache, 1).ok());
  EXPECT_EQ(drive.feature(FeatureId::volatile_write_cache, 2), 0U);
  drive.commands.power_cut();
  EXPECT_EQ(drive.feature(FeatureId::volatile_write_cache), 0U);
  EXPECT_EQ(drive.feature(FeatureId::error_recovery, 3), 4U);
  EXPECT_EQ(drive.set_feature(FeatureId::error_recovery, 1, true), status::kFeatureNotSaveable);
  EXPECT_EQ(drive.feature(FeatureId::error_recovery), 0U) << "and it was not set either";
}

TEST_F(AdminCommands, UnknownFeaturesAreRefused) {
  for (const unsigned id : {0x00U, 0x03U, 0x0CU, 0x0DU, 0x0FU, 0x10U, 0x11U, 0x16U, 0x81U, 0xC0U, 0xFFU}) {
    EXPECT_EQ(drive.set_feature(static_cast<FeatureId>(id), 0), status::kInvalidField) << id;
    for (unsigned select = 0; select < 4; ++select) {
      EXPECT_EQ(drive.admin(admin_entry(AdminOpcode::get_features, 0, id | select << 8U)), status::kInvalidField) << id;
    }
  }
  EXPECT_EQ(drive.admin(admin_entry(AdminOpcode::get_features, 0, 6U | 4U << 8U)), status::kInvalidField) << "select 4";
}

TEST_F(AdminCommands, WithoutACacheItsFeatureIsNotThere) {
  DriveConfig config = TestDrive::small();
  config.cache = 0;
  TestDrive plain(config);
  EXPECT_EQ(plain.set_feature(FeatureId::volatile_write_cache, 1), status::kInvalidField);
  EXPECT_EQ(plain.feature(FeatureId::volatile_write_cache), ~0ULL);
}

TEST_F(AdminCommands, TemperatureThresholds) {
  const auto over = [](unsigned sensor, std::uint32_t kelvin) { return kelvin | sensor << 16U; };
  const auto under = [](unsigned sensor, std::uint32_t kelvin) { return kelvin | sensor << 16U | 1U << 20U; };
  EXPECT_EQ(drive.feature(FeatureId::temperature_threshold), Health::kWarningTemperature);
  EXPECT_EQ(drive.feature(FeatureId::temperature_threshold, 0, under(0, 0)), 0U);
  EXPECT_EQ(drive.feature(FeatureId::temperature_threshold, 0, over(1, 0)), 0xFFFFU);
  EXPECT_EQ(drive.feature(FeatureId::temperature_threshold, 3), 4U);
  EXPECT_TRUE(drive.set_feature(FeatureId::temperature_threshold, over(0, 300)).ok());
  EXPECT_EQ(drive.feature(FeatureId::temperature_threshold), 300U);
  EXPECT_EQ(drive.feature(FeatureId::temperature_threshold, 1), Health::kWarningTemperature);
  EXPECT_EQ(drive.log<SmartLog>(LogId::smart_health).critical_warning, critical::kTemperature) << "310 K is over 300";
  EXPECT_TRUE(drive.set_feature(FeatureId::temperature_threshold, over(0xF, 400)).ok());
  EXPECT_EQ(drive.feature(FeatureId::temperature_threshold, 0, over(1, 0)), 400U);
  EXPECT_EQ(drive.log<SmartLog>(LogId::smart_health).critical_warning, 0);
  EXPECT_TRUE(drive.set_feature(FeatureId::temperature_threshold, under(1, 320)).ok());
  EXPECT_EQ(drive.log<SmartLog>(LogId::smart_health).critical_warning, critical::kTemperature) << "310 K is under 320";
  EXPECT_EQ(drive.set_feature(FeatureId::temperature_threshold, over(2, 300)), status::kInvalidField);
  EXPECT_EQ(drive.set_feature(FeatureId::temperature_threshold, 2U << 20U), status::kInvalidField);
  EXPECT_EQ(drive.feature(FeatureId::temperature_threshold, 0, over(0xF, 0)), ~0ULL);
  EXPECT_EQ(drive.set_feature(FeatureId::temperature_threshold, 300, true), status::kFeatureNotSaveable);
  drive.commands.controller_reset();
  EXPECT_EQ(drive.feature(FeatureId::temperature_threshold), Health::kWarningTemperature);
}

TEST_F(AdminCommands, TimestampRuns) {
  const auto read = [&](std::uint32_t select) {
    FakeCommand command(admin_entry(AdminOpcode::get_features, 0, 0x0EU | select << 8U));
    EXPECT_TRUE(drive.admin(command).ok());
    return command.as<std::uint64_t>();
  };
  EXPECT_EQ(read(0) >> 48U, 0U) << "not set by a host";
  FakeCommand command(admin_entry(AdminOpcode::set_features, 0, 0x0E));
  const std::uint64_t now = 1'700'000'000'000;
  command.host.resize(8);
  std::memcpy(command.host.data(), &now, 8);
  EXPECT_TRUE(drive.admin(command).ok());
  EXPECT_EQ(read(0) >> 48U, 2U) << "set by a host";
  EXPECT_GE(read(0) & 0xFFFFFFFFFFFF, now);
  EXPECT_LT(read(0) & 0xFFFFFFFFFFFF, now + 600'000);
  EXPECT_EQ(read(1), 0U);
  EXPECT_EQ(drive.feature(FeatureId::timestamp, 3), 4U);
  command.read_status = status::kDataTransferError;
  EXPECT_EQ(drive.admin(command), status::kDataTransferError);
  EXPECT_EQ(drive.set_feature(FeatureId::timestamp, 0, true), status::kFeatureNotSaveable);
}

TEST_F(AdminCommands, FormatErasesAndChangesTheBlockSize) {
  EXPECT_TRUE(drive.write(0, pattern(512, 1)).ok());
  EXPECT_TRUE(drive.write(0, pattern(4096, 2), 0, 2).ok());
  EXPECT_TRUE(format(1, 1).ok());
  const auto id = drive.identify<IdentifyNamespace>(0, 1);
  EXPECT_EQ(id.nsze, 256U);
  EXPECT_EQ(id.flbas, 1);
  EXPECT_EQ(drive.read(0), std::vector<std::byte>(4096));
  EXPECT_EQ(drive.read(0, 1, 2), pattern(4096, 2)) << "the other one is as it was";
  EXPECT_EQ(drive.io(io_entry(IoOpcode::read, 1, 256, 1)), status::kLbaOutOfRange);
  EXPECT_TRUE(format(kNsidAll, 0).ok());
  EXPECT_EQ(drive.identify<IdentifyNamespace>(0, 2).nsze, 2048U);
  EXPECT_EQ(drive.read(0, 1, 2), std::vector<std::byte>(512));
}

TEST_F(AdminCommands, FormatRefuses) {
  EXPECT_TRUE(drive.write(0, pattern(512, 1)).ok());
  EXPECT_EQ(format(1, 2), status::kInvalidFormat) << "no such LBA format";
  EXPECT_EQ(format(1, 1U << 5U), status::kInvalidFormat) << "protection information";
  EXPECT_EQ(format(1, 1U << 4U), status::kInvalidFormat) << "metadata";
  EXPECT_EQ(format(1, 3U << 9U), status::kInvalidField) << "reserved secure erase";
  EXPECT_EQ(format(0, 0), status::kInvalidNamespaceOrFormat);
  EXPECT_EQ(format(9, 0), status::kInvalidField);
  EXPECT_EQ(drive.read(0), pattern(512, 1));
  for (const std::uint32_t secure_erase : {1U, 2U}) {
    EXPECT_TRUE(drive.write(0, pattern(512, 1)).ok());
    EXPECT_TRUE(format(1, secure_erase << 9U).ok());
    EXPECT_EQ(drive.read(0), std::vector<std::byte>(512));
  }
}

TEST_F(AdminCommands, SanitizeErasesEverything) {
  EXPECT_EQ(drive.log<SanitizeLog>(LogId::sanitize_status).status, 0);
  EXPECT_EQ(drive.log<SanitizeLog>(LogId::sanitize_status).progress, 0xFFFF);
  for (const std::uint32_t action : {2U, 4U}) {
    EXPECT_TRUE(drive.write(0, pattern(512, 1)).ok());
    EXPECT_TRUE(drive.write(0, pattern(4096, 2), 0, 2).ok());
    drive.events.clear();
    EXPECT_TRUE(sanitize(action).ok());
    EXPECT_THAT(drive.events, ElementsAre(event::kSanitizeCompleted));
    EXPECT_EQ(drive.read(0), std::vector<std::byte>(512));
    EXPECT_EQ(drive.read(0, 1, 2), std::vector<std::byte>(4096));
    const auto log = drive.log<SanitizeLog>(LogId::sanitize_status);
    EXPECT_EQ(log.status, 0x101);
    EXPECT_EQ(log.progress, 0xFFFF);
    EXPECT_EQ(log.cdw10, action);
  }
  EXPECT_TRUE(sanitize(1).ok()) << "there is no failure mode to leave";
  for (const std::uint32_t action : {0U, 3U, 5U, 7U}) EXPECT_EQ(sanitize(action), status::kInvalidField) << action;
}

TEST_F(AdminCommands, FirmwareIsActivatedByReset) {
  const std::string image = "SMARTIO FIRMWARE2.5-beta and the rest of it";
  EXPECT_TRUE(download(image).ok());
  EXPECT_TRUE(commit(1, 2).ok());
  EXPECT_EQ(revision(), "1.0     ");
  auto log = drive.log<FirmwareSlotLog>(LogId::firmware_slot);
  EXPECT_EQ(log.afi, 0x21);
  EXPECT_EQ(std::string(log.revision[0], 8), "1.0     ");
  EXPECT_EQ(std::string(log.revision[1], 8), "2.5-beta");
  EXPECT_EQ(log.revision[2][0], 0);
  drive.commands.controller_reset();
  EXPECT_EQ(revision(), "2.5-beta");
  EXPECT_EQ(drive.log<FirmwareSlotLog>(LogId::firmware_slot).afi, 0x02);
  EXPECT_TRUE(commit(2, 1).ok());
  drive.commands.power_cut();
  EXPECT_EQ(revision(), "1.0     ");
  EXPECT_TRUE(commit(3, 2).ok()) << "at once, an image that is there";
  EXPECT_EQ(revision(), "2.5-beta");
}

TEST_F(AdminCommands, FirmwareInPiecesAndWithoutReset) {
  EXPECT_TRUE(download("SMARTIO FIRMWARE").ok());
  EXPECT_TRUE(download("3.0 beta", 4).ok());
  EXPECT_TRUE(commit(0, 0).ok()) << "the controller chooses the slot";
  EXPECT_EQ(drive.log<FirmwareSlotLog>(LogId::firmware_slot).afi, 1) << "nothing activated";
  EXPECT_EQ(std::string(drive.log<FirmwareSlotLog>(LogId::firmware_slot).revision[1], 8), "3.0 beta");
  EXPECT_TRUE(download("SMARTIO FIRMWARE4.0 rc 1").ok());
  EXPECT_TRUE(commit(3, 3).ok());
  EXPECT_EQ(revision(), "4.0 rc 1");
}

TEST_F(AdminCommands, FirmwareRefuses) {
  EXPECT_EQ(commit(1, 2), status::kInvalidFirmwareImage) << "nothing downloaded";
  EXPECT_EQ(commit(2, 2), status::kInvalidFirmwareSlot) << "an empty slot";
  EXPECT_EQ(commit(3, 3), status::kInvalidFirmwareSlot);
  EXPECT_EQ(commit(2, 0), status::kInvalidFirmwareSlot);
  EXPECT_EQ(commit(1, 4), status::kInvalidFirmwareSlot) << "three slots";
  EXPECT_EQ(commit(6, 2), status::kInvalidField) << "boot partitions";
  EXPECT_TRUE(download("NOT THIS DRIVE'S FIRMWARE").ok());
  EXPECT_EQ(commit(1, 2), status::kInvalidFirmwareImage);
  EXPECT_TRUE(download("SMARTIO FIRMWARE").ok());
  EXPECT_EQ(commit(1, 2), status::kInvalidFirmwareImage) << "no revision";
  EXPECT_TRUE(download("SMARTIO FIRMWARE\x01\x02\x03\x04\x05\x06\x07\x08").ok());
  EXPECT_EQ(commit(1, 2), status::kInvalidFirmwareImage) << "no printable revision";
  EXPECT_TRUE(download("SMARTIO FIRMWARE").ok());
  EXPECT_EQ(download("FIRM", 3), status::kOverlappingRange);
  EXPECT_TRUE(download("8.0 beta", 5).ok());
  EXPECT_EQ(commit(1, 2), status::kInvalidFirmwareImage) << "a hole";
  EXPECT_TRUE(download("SMARTIO FIRMWARE8.0 beta").ok());
  EXPECT_EQ(commit(1, 1), status::kInvalidFirmwareSlot) << "slot 1 is read only";
  EXPECT_EQ(download("x", 0x3FFFFFFF), status::kInvalidField) << "too large an image";
  EXPECT_EQ(drive.admin(admin_entry(AdminOpcode::firmware_download, 0, 0xFFFFFFFF)), status::kInvalidField);
  drive.commands.controller_reset();
  EXPECT_EQ(commit(1, 2), status::kInvalidFirmwareImage) << "a reset forgets what was downloaded";
}

TEST_F(AdminCommands, ManyPiecesOfFirmwareAreBounded) {
  for (std::uint32_t i = 0; i < 1000; ++i) EXPECT_TRUE(download("x", i * 2 + 2).ok());
  EXPECT_EQ(download("SMARTIO FIRMWARE1.2 beta").ok(), true) << "offset 0 starts again";
  EXPECT_TRUE(commit(1, 2).ok());
}

TEST_F(AdminCommands, SelfTestFindsUnreadableBlocks) {
  auto log = drive.log<SelfTestLog>(LogId::device_self_test);
  EXPECT_EQ(log.results[0].status, 0xF) << "no result yet";
  EXPECT_TRUE(self_test(kNsidAll, 1).ok());
  drive.commands.add_media_error({.nsid = 2, .lba = 77, .blocks = 1});
  EXPECT_TRUE(self_test(1, 2).ok());
  EXPECT_TRUE(self_test(kNsidAll, 2).ok());
  EXPECT_TRUE(self_test(0, 1).ok()) << "the controller alone";
  log = drive.log<SelfTestLog>(LogId::device_self_test);
  EXPECT_EQ(log.current_operation, 0);
  EXPECT_EQ(log.results[0].status, 0x10);
  EXPECT_EQ(log.results[1].status, 0x27);
  EXPECT_EQ(log.results[1].nsid, 2U);
  EXPECT_EQ(log.results[1].failing_lba, 77U);
  EXPECT_EQ(log.results[1].sct, 2);
  EXPECT_EQ(log.results[1].sc, 0x81);
  EXPECT_EQ(log.results[2].status, 0x20);
  EXPECT_EQ(log.results[3].status, 0x10);
  EXPECT_EQ(log.results[4].status, 0xF);
  for (unsigned i = 0; i < 30; ++i) EXPECT_TRUE(self_test(0, 2).ok());
  EXPECT_EQ(drive.log<SelfTestLog>(LogId::device_self_test).results[19].status, 0x20);
}

TEST_F(AdminCommands, SelfTestRefuses) {
  EXPECT_EQ(self_test(0, 0), status::kInvalidField);
  EXPECT_EQ(self_test(0, 3), status::kInvalidField);
  EXPECT_EQ(self_test(65, 1), status::kInvalidNamespaceOrFormat);
  EXPECT_EQ(self_test(9, 1), status::kInvalidField);
  EXPECT_TRUE(self_test(0, 0xF).ok()) << "an abort of none";
}

}  // namespace
}  // namespace smartio::nvme
