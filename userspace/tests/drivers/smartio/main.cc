// SPDX-License-Identifier: GPL-2.0
// Runs each test in a process of its own: a module's variables are as when it is loaded, and each test is searched for
// leaks.
#include <fnmatch.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const std::string filter = testing::GTEST_FLAG(filter);
  if (testing::GTEST_FLAG(list_tests)) return RUN_ALL_TESTS();
  std::vector<std::string> names;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); i++) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); j++)
      names.push_back(std::string(suite.name()) + "." + suite.GetTestInfo(j)->name());
  }
  int failed = 0;
  for (const std::string& name : names) {
    if (fnmatch(filter.c_str(), name.c_str(), 0)) continue;
    std::fflush(nullptr);
    const pid_t child = fork();
    if (!child) {
      testing::GTEST_FLAG(filter) = name;
      return RUN_ALL_TESTS();
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status) {
      std::printf("FAILED %s: status %#x\n", name.c_str(), status);
      failed++;
    }
  }
  std::printf("%zu tests, %d failed\n", names.size(), failed);
  return failed || names.empty();
}
