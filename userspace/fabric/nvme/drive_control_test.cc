// SPDX-License-Identifier: GPL-2.0
#include "fabric/nvme/drive_control.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "fabric/pci/host.h"
#include "fabric/pci/memory_file.h"

namespace smartio::nvme {
namespace {

using nlohmann::json;

class DriveControl : public ::testing::Test {
 protected:
  DriveControl() : endpoint_(host_.add("drive0", drive_.controller())) {
    add_commands(commands_, {{.name = "drive0", .drive = &drive_, .endpoint = &endpoint_}});
  }

  static DriveConfig config() {
    DriveConfig config;
    config.name = "drive0";
    config.host = "lender";
    config.namespaces = {{.size = 1 << 20, .block_size = 512}, {.size = 2 << 20, .block_size = 4096}};
    return config;
  }

  json run(std::string_view line) { return commands_.run("drive drive0 " + std::string(line)); }
  json good(std::string_view line) {
    const json answer = run(line);
    EXPECT_EQ(answer.value("ok", false), true) << line << ": " << answer;
    return answer;
  }
  void refused(std::string_view line, std::string_view why) {
    const json answer = run(line);
    EXPECT_EQ(answer.value("ok", true), false) << line << ": " << answer;
    EXPECT_NE(answer.value("error", "").find(why), std::string::npos) << line << ": " << answer;
  }

  void write32(std::uint64_t offset, std::uint32_t value) {
    drive_.controller().bar_write(Controller::kRegisterBar, offset, std::as_bytes(std::span(&value, 1)), {});
  }

  pci::MemoryFiles files_;
  pci::Waits waits_;
  pci::Host host_{"lender", false, files_, waits_};
  Drive drive_{config()};
  pci::Endpoint& endpoint_;
  control::Commands commands_;
};

TEST_F(DriveControl, ListsDrivesWithTheirNamespaces) {
  const json drives = commands_.run("drive list").at("drives");
  ASSERT_EQ(drives.size(), 1U);
  EXPECT_EQ(drives[0].at("name"), "drive0");
  EXPECT_EQ(drives[0].at("host"), "lender");
  EXPECT_EQ(drives[0].at("present"), true);
  EXPECT_EQ(drives[0].at("ready"), false);
  ASSERT_EQ(drives[0].at("namespaces").size(), 2U);
  EXPECT_EQ(drives[0].at("namespaces")[1].at("size"), 2 << 20);
  EXPECT_EQ(drives[0].at("namespaces")[1].at("block_size"), 4096);
}

TEST_F(DriveControl, RefusesAnUnknownDriveAndNamesTheOthers) {
  const json answer = commands_.run("drive nosuch status");
  EXPECT_EQ(answer.at("ok"), false);
  EXPECT_NE(answer.at("error").get<std::string>().find("drive0"), std::string::npos);
}

TEST_F(DriveControl, AddsFaultsWithFiltersAndTakesThemAway) {
  const auto delay = good("fault delay read 1ms..20ms queue=3 nsid=1 count=7").at("id");
  const auto fail = good("fault fail write 0x281").at("id");
  const json rules = good("faults").at("rules");
  ASSERT_EQ(rules.size(), 2U);
  EXPECT_EQ(rules[0].at("id"), delay);
  EXPECT_EQ(rules[0].at("action"), "delay");
  EXPECT_EQ(rules[0].at("commands"), "read");
  EXPECT_EQ(rules[0].at("queue"), 3);
  EXPECT_EQ(rules[0].at("nsid"), 1);
  EXPECT_EQ(rules[0].at("left"), 7);
  EXPECT_EQ(rules[0].at("us"), json({1000, 20000}));
  EXPECT_EQ(rules[1].at("status"), "0x281");

  good("unfault " + delay.dump());
  refused("unfault " + delay.dump(), "no fault");
  ASSERT_EQ(good("faults").at("rules").size(), 1U);
  EXPECT_EQ(good("faults").at("rules")[0].at("id"), fail);
  good("unfault all");
  EXPECT_TRUE(good("faults").at("rules").empty());
}

TEST_F(DriveControl, SaysWhatIsWrongWithAFault) {
  refused("fault explode read", "there are: delay, serial, hold");
  refused("fault delay sometimes 1ms", "there are: any, read");
  refused("fault delay read", "needs a time");
  refused("fault serial any queue=0", "queue=0");
  refused("fault delay read soon", "soon");
  refused("fault delay read 20ms..1ms", "longer");
  refused("fault fail any", "needs a status");
  refused("fault fail any 0", "succeeds");
  refused("fault fail any 0x10000", "");
  refused("fault hold any colour=red", "expected queue=N");
  refused("fault hold any queue=65536", "");
  refused("release 5", "nothing kept back");
  EXPECT_TRUE(good("faults").at("rules").empty());
  EXPECT_EQ(good("release all").at("released"), 0);
}

TEST_F(DriveControl, ChangesNamespaces) {
  EXPECT_EQ(good("namespace add 4M 512").at("nsid"), 3);
  good("namespace resize 1 8M");
  good("namespace remove 2");
  const json namespaces = good("status").at("namespaces");
  ASSERT_EQ(namespaces.size(), 2U);
  EXPECT_EQ(namespaces[0].at("size"), 8 << 20);
  EXPECT_EQ(namespaces[1].at("nsid"), 3);
  refused("namespace add 4M 777", "");
  refused("namespace remove 9", "");
  refused("namespace resize 1 lots", "lots");
}

TEST_F(DriveControl, MediaErrorsAndHealthTakeGoodValuesOnly) {
  good("media-error read 1 0 8");
  good("media-error both 2 4 1");
  good("media-error clear");
  refused("media-error read 1 0 0", "1 or more");
  refused("media-error read one 0 1", "one");
  good("temperature 350");
  refused("temperature 70000", "");
  good("critical-warning 0x4");
  refused("critical-warning 256", "");
}

TEST_F(DriveControl, RemovesTheDriveAndPutsItBack) {
  good("remove");
  EXPECT_EQ(good("status").at("present"), false);
  good("insert");
  EXPECT_EQ(good("status").at("present"), true);
}

TEST_F(DriveControl, FatalStatusStandsUntilPowerIsCut) {
  // Enabled as a driver does it: AQA, ASQ, ACQ, then CC (NVMe 1.4, section 3.1).
  write32(0x24, 0x001F001F);
  write32(0x28, 0x10000);
  write32(0x30, 0x20000);
  write32(0x14, 0x00460001);
  while (drive_.controller().process_once()) {
  }
  EXPECT_EQ(good("status").at("ready"), true);
  good("fatal");
  while (drive_.controller().process_once()) {
  }
  EXPECT_EQ(good("status").at("fatal"), true);
  EXPECT_EQ(good("counters").at("fatal"), 1);
  good("power-cut");
  while (drive_.controller().process_once()) {
  }
  EXPECT_EQ(good("status").at("fatal"), false);
}

TEST_F(DriveControl, CountersStartAtZero) {
  const json counters = good("counters");
  for (const char* name : {"completions", "errors", "interrupts", "held", "bytes_read", "bytes_written", "lost_blocks"})
    EXPECT_EQ(counters.at(name), 0) << name;
  EXPECT_TRUE(counters.at("commands").empty());
  EXPECT_EQ(counters.at("fua_writes"), 0);
  EXPECT_TRUE(good("admin-log").at("admin_commands").empty());
}

}  // namespace
}  // namespace smartio::nvme
