// SPDX-License-Identifier: GPL-2.0
#include "fence_smartio/agent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "smartioctl/fake_sysfs.h"

namespace smartio::fence_agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class AgentTest : public testing::Test {
 protected:
  AgentTest() {
    for (const auto& [uuid, name, self] :
         {std::tuple{"1111", "borrower1", "1\n"}, std::tuple{"aaaa", "lender", "0\n"}}) {
      const std::string at = std::string("class/smartio_host/") + uuid;
      sysfs.put(at + "/name", name);
      sysfs.put(at + "/self", self);
      sysfs.put(at + "/fenced", "0\n");
    }
    sysfs.put("class/smartio_host/1111/hosts", "1111 linked borrower1\naaaa linked lender\n");
    know("aaaa linked lender\n1111 linked borrower1\nbbbb fenced borrower2\n");
    sysfs.put("bus/smartio/devices/lender-0000.01.00.0-ntb0/host", "aaaa\n");
  }
  void know(const std::string& hosts) { sysfs.put("class/smartio_host/aaaa/hosts", hosts); }
  Status act(const std::string& action, const std::string& plug) {
    Options options;
    options.action = action;
    options.plug = plug;
    return run(options, sysfs, out, [&](const std::string& line) { log.push_back(line); });
  }
  ScratchFolder root;
  ctl::FakeSysfs sysfs{root};
  std::ostringstream out;
  std::vector<std::string> log;
};

TEST_F(AgentTest, WhatDlmControldWrites) {
  std::istringstream in("lender=lender\nnode=2\nport=borrower2\nfail_time=1700000000\n");
  Options options;
  read_lines(in, options);
  EXPECT_EQ(options.action, "off");
  EXPECT_EQ(options.plug, "borrower2");
  EXPECT_EQ(options.lender, "lender");
}

TEST_F(AgentTest, WhatPacemakerWrites) {
  std::istringstream in("# a comment\naction=status\nnodename=borrower2\nverbose=1\ncrm_feature_set=3\nnonsense\n");
  Options options;
  read_lines(in, options);
  EXPECT_EQ(options.action, "status");
  EXPECT_TRUE(options.verbose);
  EXPECT_EQ(run(options, sysfs, out, [](const std::string&) {}), Status::kOff);
  EXPECT_EQ(out.str(), "Status: OFF\n");
}

TEST_F(AgentTest, OffAndOn) {
  EXPECT_EQ(act("off", "borrower2"), Status::kOk);
  EXPECT_EQ(act("on", "borrower2"), Status::kOk);
  EXPECT_THAT(sysfs.writes, ElementsAre(Pair("class/smartio_host/aaaa/fence", "bbbb"),
                                        Pair("class/smartio_host/aaaa/unfence", "bbbb")));
}

TEST_F(AgentTest, OnForThisHostItself) {
  EXPECT_EQ(act("on", "borrower1"), Status::kOk);
  EXPECT_THAT(sysfs.writes, ElementsAre(Pair("class/smartio_host/rejoin", "1")));
}

TEST_F(AgentTest, ALenderThatIsAwayIsNoSuccess) {
  know("");
  for (const char* action : {"off", "on", "status", "monitor", "list"}) {
    EXPECT_EQ(act(action, "borrower2"), Status::kFailed) << action;
  }
  EXPECT_THAT(sysfs.writes, IsEmpty());
  EXPECT_THAT(log.front(), HasSubstr("lender can't be asked"));
}

TEST_F(AgentTest, WhatTheKernelRefusesIsNoSuccess) {
  sysfs.answer = {ETIMEDOUT, std::generic_category()};
  EXPECT_EQ(act("off", "borrower2"), Status::kFailed);
}

TEST_F(AgentTest, NoHostAndNoAction) {
  EXPECT_EQ(act("off", ""), Status::kFailed);
  EXPECT_EQ(act("reboot", "borrower2"), Status::kFailed);
  EXPECT_THAT(sysfs.writes, IsEmpty());
}

TEST_F(AgentTest, ListAndMonitor) {
  EXPECT_EQ(act("list", ""), Status::kOk);
  EXPECT_EQ(out.str(), "borrower1,1111\nlender,aaaa\nborrower2,bbbb\n");
  EXPECT_EQ(act("monitor", ""), Status::kOk);
}

TEST_F(AgentTest, Metadata) {
  EXPECT_EQ(act("metadata", ""), Status::kOk);
  EXPECT_THAT(out.str(), HasSubstr("<action name=\"on\" on_target=\"1\" automatic=\"1\" />"));
  EXPECT_THAT(out.str(), HasSubstr("<parameter name=\"plug\" unique=\"0\" required=\"0\" obsoletes=\"port\">"));
  EXPECT_THAT(out.str(), HasSubstr("<content type=\"string\" default=\"off\" />"));
}

}  // namespace
}  // namespace smartio::fence_agent
