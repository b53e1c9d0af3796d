// SPDX-License-Identifier: GPL-2.0
#include "smartioctl/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smartioctl/fake_cluster.h"

namespace smartio::ctl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(View, WithoutTheModule) {
  const ScratchFolder root;
  const Sysfs sysfs(root.path());
  const auto view = read_view(sysfs, Choices(root.path() / "lend.d"));
  ASSERT_FALSE(view);
  EXPECT_THAT(view.error().message, HasSubstr("modprobe ntb_smartio"));
}

TEST(View, TwoLinksToOneHost) {
  const ScratchFolder root;
  put_lender(root);
  root.put("class/smartio_host/bbbb/links", "ntb0\nntb1\n");
  const Sysfs sysfs(root.path());
  const View view = read_view(sysfs, Choices(root.path() / "lend.d")).value();
  ASSERT_EQ(view.hosts.size(), 2U);
  EXPECT_THAT(view.hosts[1].links, ElementsAre("ntb0", "ntb1"));
}

TEST(View, Lender) {
  const ScratchFolder root;
  put_lender(root);
  root.put("bus/pci/devices/0000:01:00.0/queue_pairs_total", "32\n");
  const Sysfs sysfs(root.path());
  const View view = read_view(sysfs, Choices(root.path() / "lend.d")).value();
  ASSERT_EQ(view.hosts.size(), 2U);
  EXPECT_EQ(view.hosts[0].name, "lender");
  EXPECT_TRUE(view.hosts[0].self);
  EXPECT_THAT(view.hosts[1].links, ElementsAre("ntb0"));
  ASSERT_EQ(view.links.size(), 1U);
  EXPECT_EQ(view.links[0].peer_name, "borrower");
  EXPECT_EQ(view.links[0].generation, 3U);
  EXPECT_EQ(view.links[0].windows.items.size(), 2U);
  ASSERT_EQ(view.exports.size(), 1U);
  EXPECT_EQ(view.exports[0].serial, "S1");
  EXPECT_EQ(view.exports[0].queue_pairs, "32");
  EXPECT_EQ(view.exports[0].borrowers.items.size(), 2U);
  EXPECT_EQ(view.exports[0].holdings.items.size(), 3U);
  ASSERT_EQ(view.paths.size(), 1U);
  EXPECT_THAT(view.paths[0].disks, ElementsAre("nvme1n1"));
  EXPECT_THAT(problems_of(view), IsEmpty());
}

TEST(View, WhoMayBorrow) {
  const ScratchFolder root;
  put_lender(root);
  const Sysfs sysfs(root.path());
  const auto allowed = [&] {
    return to_json(read_view(sysfs, Choices(root.path() / "lend.d")).value())["exports"][0]["allowed"];
  };
  EXPECT_EQ(allowed(), "any");
  root.put("class/smartio_export/allow", "0000:01:00.0 bbbb,cccc\n");  // of the class: no export
  root.put("class/smartio_export/0000:01:00.0/allowed", "bbbb,cccc\n");
  EXPECT_EQ(allowed(), nlohmann::json({"bbbb", "cccc"}));
  root.put("class/smartio_export/0000:01:00.0/allowed", "none\n");
  EXPECT_EQ(allowed(), nlohmann::json::array());
}

TEST(View, Json) {
  const ScratchFolder root;
  put_lender(root);
  const Sysfs sysfs(root.path());
  const auto json = to_json(read_view(sysfs, Choices(root.path() / "lend.d")).value());
  EXPECT_EQ(json["hosts"][1]["fenced"], false);
  EXPECT_EQ(json["links"][0]["windows"][0]["size"], 0x100000000);
  EXPECT_EQ(json["links"][0]["reason"], nullptr);
  EXPECT_EQ(json["exports"][0]["holdings"][0]["irq"], 1);
  EXPECT_EQ(json["exports"][0]["holdings"][2]["irq"], nullptr);
  EXPECT_EQ(json["paths"][0]["state"], "open");
  EXPECT_EQ(json["paths"][0]["namespaces"][0]["nsid"], 7);
  EXPECT_EQ(json["paths"][0]["namespaces"][0]["name"], "S_1-ns7");
  EXPECT_TRUE(json["problems"].empty());
}

TEST(View, Problems) {
  const ScratchFolder root;
  put_lender(root);
  root.put("class/smartio_link/ntb0/state", "down\n");
  root.put("class/smartio_link/ntb0/reason", "cable out\n");
  root.put("class/smartio_host/bbbb/fenced", "1\n");
  root.put("lend.d/0000:09:00.0.conf", "vendor = \"0x1\"\ndevice = \"0x2\"\n");
  const Sysfs sysfs(root.path());
  EXPECT_THAT(problems_of(read_view(sysfs, Choices(root.path() / "lend.d")).value()),
              ElementsAre(HasSubstr("link ntb0 to borrower is down: cable out"), HasSubstr("unfence borrower"),
                          HasSubstr("0000:09:00.0 was chosen")));
}

TEST(View, NamespacesByNsid) {
  const ScratchFolder root;
  const std::string at = "device/nvme/nvme3/";
  root.put(at + "serial", "A/B\n");
  for (const auto& [disk, nsid] : {std::pair("nvme0c3n1", "10\n"), {"nvme0c3n2", "2\n"}, {"nvme0c3n3", "?\n"}}) {
    root.put(at + disk + "/nsid", nsid);
  }
  const Sysfs sysfs(root.path());
  const auto namespaces = namespaces_of(sysfs, "device");
  ASSERT_EQ(namespaces.size(), 2U);
  EXPECT_EQ(namespaces[0].name(), "A_B-ns2");
  EXPECT_EQ(namespaces[1].disk, "nvme0n1");
  EXPECT_EQ(namespaces[1].nsid, 10U);
  EXPECT_EQ(namespaces[1].eui64, "");
}

TEST(View, DisksOfAController) {
  const ScratchFolder root;
  root.put("device/nvme/nvme3/nvme3n1/size", "1");
  root.put("device/nvme/nvme3/nvme0c3n2/size", "1");
  for (const char* other : {"nvme3n1x", "nvme3", "nvme3cn1", "hwmon1", "ng3n1", "nvme3c1", "n1"}) {
    root.put(std::string("device/nvme/nvme3/") + other + "/size", "1");
  }
  const Sysfs sysfs(root.path());
  EXPECT_THAT(disks_of(sysfs, "device"), ElementsAre("nvme0n2", "nvme3n1"));
  EXPECT_THAT(disks_of(sysfs, "elsewhere"), IsEmpty());
}

TEST(View, AFunctionThatWasBorrowed) {
  const ScratchFolder root;
  put_borrower_of_function(root);
  const Sysfs sysfs(root.path());
  const View view = read_view(sysfs, Choices(root.path() / "lend.d")).value();
  ASSERT_EQ(view.paths.size(), 2U);
  EXPECT_EQ(view.paths[0].function, "1000:00:00.0");
  EXPECT_EQ(view.paths[0].function_driver, "e1000e");
  EXPECT_THAT(view.paths[0].interfaces, ElementsAre("eth1"));
  EXPECT_THAT(view.paths[0].disks, IsEmpty());
  const auto json = to_json(view);
  EXPECT_EQ(json["paths"][0]["function"], "1000:00:00.0");
  EXPECT_EQ(json["paths"][0]["interfaces"][0], "eth1");
  EXPECT_EQ(json["paths"][1]["function"], nullptr);
  EXPECT_THAT(problems_of(view), IsEmpty()) << "its lender's own path needs no driver";
}

TEST(View, VirtualFunctionsThatAreLent) {
  const ScratchFolder root;
  const ScratchFolder etc;
  FakeSysfs sysfs(root);
  sysfs.add_sriov_nic("0000:05:00.0", 7);
  sysfs.write("bus/pci/devices/0000:05:00.0/sriov_drivers_autoprobe", "0");
  sysfs.write("bus/pci/devices/0000:05:00.0/sriov_numvfs", "2");
  std::filesystem::create_directory_symlink("../0000:05:00.0", sysfs.path("bus/pci/devices/0000:05:10.0/physfn"));
  sysfs.write("bus/pci/drivers/smartio_pci_stub/bind", "0000:05:10.0");
  const Choices choices(etc.path());
  ASSERT_TRUE(choices.keep(
      {.pci = "0000:05:00.0", .vendor = "1", .device = "2", .serial = "", .model = "", .as = "pci", .vfs = 1}));
  auto view = read_view(sysfs, choices);
  ASSERT_TRUE(view);
  ASSERT_EQ(view->exports.size(), 1U);
  EXPECT_EQ(to_json(*view)["exports"][0]["physical_function"], "0000:05:00.0");
  EXPECT_THAT(problems_of(*view), testing::Not(testing::Contains(testing::HasSubstr("chosen"))));
  ASSERT_TRUE(choices.keep(
      {.pci = "0000:05:00.0", .vendor = "1", .device = "2", .serial = "", .model = "", .as = "pci", .vfs = 2}));
  view = read_view(sysfs, choices);
  EXPECT_THAT(problems_of(*view), testing::Contains(testing::HasSubstr("chosen to be lent, and 1 are")));
}

}  // namespace
}  // namespace smartio::ctl
