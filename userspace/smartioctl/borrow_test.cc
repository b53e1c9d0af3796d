// SPDX-License-Identifier: GPL-2.0
#include "smartioctl/borrow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "smartioctl/fake_sysfs.h"

namespace smartio::ctl {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

/// A host that is offered functions; the module hot-adds them at once.
class Offered : public FakeSysfs {
 public:
  explicit Offered(const ScratchFolder& root) : FakeSysfs(root) {}

  void offer(const std::string& path, const std::string& host, const std::string& pci, const std::string& link,
             const std::string& service = "pci") const {
    const std::string at = "bus/smartio/devices/" + path;
    put(at + "/service", service + "\n");
    put(at + "/host_name", host + "\n");
    put(at + "/pci", pci + "\n");
    put(at + "/link", link + "\n");
    put(at + "/state", "ready\n");
    put(at + "/borrowed", "0\n");
    put(at + "/function", "\n");
  }

  std::error_code write(const std::string& relative, std::string_view value) override {
    writes.emplace_back(relative, value);
    if (borrow_error != 0) return {borrow_error, std::generic_category()};
    if (!held_by_user.empty() && relative.contains(held_by_user)) return {EINPROGRESS, std::generic_category()};
    const std::string at = std::filesystem::path(relative).parent_path();
    if (relative.starts_with("bus/pci/")) {
      if (relative.ends_with("/unbind")) set_driver("");
      if (relative == "bus/pci/drivers_probe" && vfio_takes) set_driver("vfio-pci");
      return {};
    }
    put(relative, std::string(value) + "\n");
    put(at + "/function", value == "1" && comes ? std::string(kHere) + "\n" : "\n");
    return {};
  }

  /// The driver that the function has here, or none.
  void set_driver(const std::string& name) const {
    const auto at = path(std::string("bus/pci/devices/") + kHere + "/driver");
    std::filesystem::create_directories(at.parent_path());
    std::filesystem::remove(at);
    if (!name.empty()) std::filesystem::create_directory_symlink("../../drivers/" + name, at);
  }
  [[nodiscard]] std::string driver() const { return link(std::string("bus/pci/devices/") + kHere + "/driver"); }

  static constexpr const char* kHere = "1000:00:00.0";
  bool vfio_takes = true;
  int borrow_error = 0;
  std::string held_by_user;  ///< a path whose function has a user that doesn't let go
  bool comes = true;
};

class BorrowTest : public testing::Test {
 protected:
  BorrowTest() {
    sysfs.offer("a-nic-ntb0", "lender", "0000:03:00.0", "ntb0");
    options.patience = std::chrono::milliseconds(20);
  }
  std::string borrowed(const std::string& path) const {
    return sysfs.text("bus/smartio/devices/" + path + "/borrowed");
  }

  ScratchFolder root;
  ScratchFolder proc;
  Offered sysfs{root};
  FakeKernel kernel;
  FakeDiskUse use{sysfs, proc.path(), "/nowhere"};
  std::vector<std::string> reports;
  FunctionBorrower borrower{sysfs, kernel, use, [this](const std::string& line) { reports.push_back(line); }};
  FunctionBorrower::Options options;
};

TEST_F(BorrowTest, ByEachOfItsNames) {
  for (const char* name :
       {"lender:0000:03:00.0", "lender/03:00.0", "lender:03:00.0", "03:00.0", "0000:03:00.0", "a-nic-ntb0"}) {
    ASSERT_TRUE(borrower.borrow(name, options)) << name;
    EXPECT_EQ(borrowed("a-nic-ntb0"), "1") << name;
    ASSERT_TRUE(borrower.give_back(name, options)) << name;
    EXPECT_EQ(borrowed("a-nic-ntb0"), "0") << name;
  }
  EXPECT_THAT(kernel.loaded, testing::ElementsAre("smartio_pci"));
  EXPECT_THAT(reports,
              Contains(HasSubstr("0000:03:00.0 of lender over ntb0 is here as 1000:00:00.0, without a driver")));
}

TEST_F(BorrowTest, ReturnedByItsAddressHere) {
  ASSERT_TRUE(borrower.borrow("03:00.0", options));
  ASSERT_TRUE(borrower.give_back(Offered::kHere, options));
  EXPECT_EQ(borrowed("a-nic-ntb0"), "0");
}

TEST_F(BorrowTest, TwiceIsNoFailure) {
  ASSERT_TRUE(borrower.borrow("03:00.0", options));
  sysfs.writes.clear();
  ASSERT_TRUE(borrower.borrow("03:00.0", options));
  EXPECT_THAT(sysfs.writes, IsEmpty());
  EXPECT_THAT(reports, Contains(HasSubstr("borrowed already, as 1000:00:00.0")));
}

TEST_F(BorrowTest, AnAddressOfTwoLendersNeedsTheHost) {
  sysfs.offer("b-nic-ntb1", "other", "0000:03:00.0", "ntb1");
  const auto done = borrower.borrow("03:00.0", options);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().status, Exit::kUsage);
  EXPECT_THAT(done.error().message, AllOf(HasSubstr("lender:0000:03:00.0"), HasSubstr("other:0000:03:00.0")));
  ASSERT_TRUE(borrower.borrow("other:03:00.0", options));
  EXPECT_EQ(borrowed("b-nic-ntb1"), "1");
}

TEST_F(BorrowTest, OfTwoLinksTheOneThatIsUp) {
  sysfs.put("bus/smartio/devices/a-nic-ntb0/state", "lost\n");
  sysfs.offer("a-nic-ntb1", "lender", "0000:03:00.0", "ntb1");
  ASSERT_TRUE(borrower.borrow("03:00.0", options));
  EXPECT_EQ(borrowed("a-nic-ntb1"), "1");
  EXPECT_EQ(borrowed("a-nic-ntb0"), "0");
}

TEST_F(BorrowTest, NeitherADriveNorOnesOwn) {
  sysfs.offer("a-drive-ntb0", "lender", "0000:01:00.0", "ntb0", "nvme");
  sysfs.offer("self-nic-local", "borrower", "0000:04:00.0", "local");
  for (const char* name : {"01:00.0", "04:00.0", "nonsense", "lender:09:00.0", "elsewhere:03:00.0", ""}) {
    const auto done = borrower.borrow(name, options);
    ASSERT_FALSE(done) << name;
    EXPECT_THAT(done.error().message, HasSubstr("there are lender:0000:03:00.0")) << name;
  }
}

TEST_F(BorrowTest, WhatTheKernelAnswers) {
  sysfs.borrow_error = EBUSY;
  auto done = borrower.borrow("03:00.0", options);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().status, Exit::kInUse);
  EXPECT_THAT(done.error().message, HasSubstr("another host has borrowed it"));
  for (const auto& [error, text] : {std::pair{ENOLINK, "link is down"},
                                    {ENOSPC, "fit into no window"},
                                    {EPERM, "lender does not allow this host"},
                                    {EACCES, "root"}}) {
    sysfs.borrow_error = error;
    done = borrower.borrow("03:00.0", options);
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().message, HasSubstr(text));
  }
}

TEST_F(BorrowTest, AFunctionThatDoesNotCome) {
  sysfs.comes = false;
  const auto done = borrower.borrow("03:00.0", options);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("did not appear within"));
}

TEST_F(BorrowTest, ForAVirtualMachineVfioHasIt) {
  options.for_vm = true;
  sysfs.put("bus/smartio/devices/a-nic-ntb0/addresses", "own\n");
  sysfs.set_driver("e1000e");
  ASSERT_TRUE(borrower.borrow("lender:03:00.0", options));
  EXPECT_EQ(sysfs.driver(), "vfio-pci");
  EXPECT_THAT(sysfs.writes, Contains(std::pair<std::string, std::string>("bus/pci/devices/1000:00:00.0/driver/unbind",
                                                                         "1000:00:00.0")));
  EXPECT_THAT(reports, Contains("QEMU: -device vfio-pci,host=1000:00:00.0"));
  EXPECT_THAT(reports, Contains(HasSubstr("<address domain='0x1000' bus='0x00' slot='0x00' function='0x0'/>")));
  // Again, for one that is here.
  reports.clear();
  ASSERT_TRUE(borrower.borrow("lender:03:00.0", options));
  EXPECT_THAT(reports, Contains("QEMU: -device vfio-pci,host=1000:00:00.0"));
}

TEST_F(BorrowTest, ForAVirtualMachineAsOneJsonObject) {
  options.for_vm = options.json = true;
  sysfs.put("bus/smartio/devices/a-nic-ntb0/addresses", "own\n");
  ASSERT_TRUE(borrower.borrow("03:00.0", options));
  const auto expected = nlohmann::json::parse(R"({"export": "lender:0000:03:00.0", "link": "ntb0",
    "address": "1000:00:00.0", "driver": "vfio-pci", "qemu": ["-device", "vfio-pci,host=1000:00:00.0"],
    "libvirt": "<hostdev mode='subsystem' type='pci' managed='no'><source><address domain='0x1000' bus='0x00' slot='0x00' function='0x0'/></source></hostdev>"})");
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(nlohmann::json::parse(reports[0]), expected);
  // Again, for one that is here.
  ASSERT_TRUE(borrower.borrow("03:00.0", options));
  ASSERT_EQ(reports.size(), 2U);
  EXPECT_EQ(nlohmann::json::parse(reports[1]), expected);
}

TEST_F(BorrowTest, AsOneJsonObject) {
  options.json = true;
  ASSERT_TRUE(borrower.borrow("03:00.0", options));
  sysfs.set_driver("e1000e");
  ASSERT_TRUE(borrower.borrow("03:00.0", options));
  sysfs.put("bus/smartio/devices/a-nic-ntb0/function", "\n");
  ASSERT_TRUE(borrower.borrow("03:00.0", options));
  ASSERT_EQ(reports.size(), 3U);
  EXPECT_EQ(nlohmann::json::parse(reports[0]), nlohmann::json::parse(R"({"export": "lender:0000:03:00.0",
    "link": "ntb0", "address": "1000:00:00.0", "driver": null})"));
  EXPECT_EQ(nlohmann::json::parse(reports[1]).at("driver"), "e1000e");
  EXPECT_EQ(nlohmann::json::parse(reports[2]).at("address"), nullptr);
}

TEST_F(BorrowTest, ForAVirtualMachineItNeedsAddressesOfItsOwn) {
  options.for_vm = true;
  for (const char* addresses : {"window\n", "\n"}) {
    sysfs.put("bus/smartio/devices/a-nic-ntb0/addresses", addresses);
    const auto done = borrower.borrow("lender:03:00.0", options);
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().message, HasSubstr("lender gives it no address space of its own"));
    EXPECT_EQ(borrowed("a-nic-ntb0"), "0");
  }
}

TEST_F(BorrowTest, ForAVirtualMachineVfioHasToTakeIt) {
  options.for_vm = true;
  sysfs.put("bus/smartio/devices/a-nic-ntb0/addresses", "own\n");
  sysfs.vfio_takes = false;
  const auto done = borrower.borrow("lender:03:00.0", options);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("vfio-pci does not take 1000:00:00.0"));
  EXPECT_EQ(borrowed("a-nic-ntb0"), "0");
}

TEST_F(BorrowTest, ForAVirtualMachineNothingIsTakenFromWhoHasItAlready) {
  ASSERT_TRUE(borrower.borrow("lender:03:00.0", options));
  options.for_vm = true;
  sysfs.put("bus/smartio/devices/a-nic-ntb0/addresses", "window\n");
  EXPECT_FALSE(borrower.borrow("lender:03:00.0", options));
  EXPECT_EQ(borrowed("a-nic-ntb0"), "1");
  sysfs.put("bus/smartio/devices/a-nic-ntb0/function", "\n");
  const auto done = borrower.borrow("lender:03:00.0", options);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("returns when the link is up and lender allows it"));
}

TEST_F(BorrowTest, NotReturnedFromUnderItsUsers) {
  ASSERT_TRUE(borrower.borrow("03:00.0", options));
  sysfs.put(std::string("bus/pci/devices/") + Offered::kHere + "/net/eth5/address", "");
  sysfs.put("class/net/eth5/flags", "0x1003\n");
  const auto done = borrower.give_back("03:00.0", options);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().status, Exit::kInUse);
  EXPECT_THAT(done.error().message, AllOf(HasSubstr("eth5 is up"), HasSubstr("--force")));
  options.force = true;
  EXPECT_TRUE(borrower.give_back("03:00.0", options));
}

TEST_F(BorrowTest, NotReturnedFromUnderAVirtualMachine) {
  options.for_vm = true;
  sysfs.put("bus/smartio/devices/a-nic-ntb0/addresses", "own\n");
  ASSERT_TRUE(borrower.borrow("03:00.0", options));
  const auto group = sysfs.path(std::string("bus/pci/devices/") + Offered::kHere + "/iommu_group");
  std::filesystem::create_directory_symlink("../../../kernel/iommu_groups/11", group);
  proc.put("42/comm", "qemu\n");
  proc.put("42/fd/0", "");
  std::filesystem::create_symlink("/dev/vfio/11", proc.path() / "42/fd/7");
  auto done = borrower.give_back("03:00.0", options);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().status, Exit::kInUse);
  EXPECT_THAT(done.error().message, HasSubstr("process 42 (qemu) has /dev/vfio/11 open"));
  EXPECT_EQ(borrowed("a-nic-ntb0"), "1");
  // By iommufd it has another file.
  std::filesystem::remove(proc.path() / "42/fd/7");
  sysfs.put(std::string("bus/pci/devices/") + Offered::kHere + "/vfio-dev/vfio3/dev", "");
  std::filesystem::create_symlink("/dev/vfio/devices/vfio3", proc.path() / "42/fd/8");
  EXPECT_FALSE(borrower.give_back("03:00.0", options));
  std::filesystem::remove(proc.path() / "42/fd/8");
  EXPECT_TRUE(borrower.give_back("03:00.0", options));
}

TEST_F(BorrowTest, WhoeverDoesNotLetItGo) {
  ASSERT_TRUE(borrower.borrow("03:00.0", options));
  sysfs.borrow_error = EINPROGRESS;
  auto done = borrower.give_back("03:00.0", options);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().status, Exit::kInUse);
  EXPECT_THAT(done.error().message, HasSubstr("will be returned when its user"));
  sysfs.put("bus/smartio/devices/a-nic-ntb0/borrowed", "0\n");
  done = borrower.borrow("03:00.0", options);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().status, Exit::kInUse);
  EXPECT_THAT(done.error().message, HasSubstr("has not released it yet"));
}

TEST_F(BorrowTest, ReturnedOnEachLinkThatWaitsForIt) {
  // As the module's auto_borrow leaves it: the other link would borrow it again.
  sysfs.offer("a-nic-ntb1", "lender", "0000:03:00.0", "ntb1");
  for (const char* name : {"lender:0000:03:00.0", Offered::kHere, "a-nic-ntb1"}) {
    sysfs.put("bus/smartio/devices/a-nic-ntb0/borrowed", "1\n");
    sysfs.put("bus/smartio/devices/a-nic-ntb1/borrowed", "1\n");
    sysfs.put("bus/smartio/devices/a-nic-ntb1/function", std::string(Offered::kHere) + "\n");
    ASSERT_TRUE(borrower.give_back(name, options)) << name;
    EXPECT_EQ(borrowed("a-nic-ntb0"), "0") << name;
    EXPECT_EQ(borrowed("a-nic-ntb1"), "0") << name;
    EXPECT_THAT(reports.back(), HasSubstr("over ntb1 is returned")) << name;
  }
}

TEST_F(BorrowTest, OneLinkThatDoesNotLetItGoKeepsNoOther) {
  sysfs.offer("a-nic-ntb1", "lender", "0000:03:00.0", "ntb1");
  for (const char* path : {"a-nic-ntb0", "a-nic-ntb1"})
    sysfs.put(std::string("bus/smartio/devices/") + path + "/borrowed", "1\n");
  sysfs.held_by_user = "a-nic-ntb0";
  const auto done = borrower.give_back("03:00.0", options);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().status, Exit::kInUse);
  EXPECT_THAT(done.error().message, HasSubstr("over ntb0 will be returned when its user"));
  EXPECT_EQ(borrowed("a-nic-ntb1"), "0");
}

TEST_F(BorrowTest, NotThatOfAnotherLenderOfTheSameName) {
  sysfs.put("bus/smartio/devices/a-nic-ntb0/host", "u-1\n");
  sysfs.offer("b-nic-ntb1", "lender", "0000:03:00.0", "ntb1");
  sysfs.put("bus/smartio/devices/b-nic-ntb1/host", "u-2\n");
  for (const char* path : {"a-nic-ntb0", "b-nic-ntb1"})
    sysfs.put(std::string("bus/smartio/devices/") + path + "/borrowed", "1\n");
  ASSERT_TRUE(borrower.give_back("a-nic-ntb0", options));
  EXPECT_EQ(borrowed("a-nic-ntb0"), "0");
  EXPECT_EQ(borrowed("b-nic-ntb1"), "1");
}

TEST_F(BorrowTest, ForAVirtualMachineThisHostNeedsAnIommu) {
  options.for_vm = true;
  sysfs.put("bus/smartio/devices/a-nic-ntb0/addresses", "flat\n");
  const auto done = borrower.borrow("03:00.0", options);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("this host's IOMMU is off"));
  EXPECT_EQ(borrowed("a-nic-ntb0"), "0");
}

TEST_F(BorrowTest, WhatIsNotBorrowedCannotBeReturned) {
  const auto done = borrower.give_back("03:00.0", options);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("is not borrowed"));
}

}  // namespace
}  // namespace smartio::ctl
