// SPDX-License-Identifier: GPL-2.0
#include "base/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>

#include "base/scratch_folder.h"

namespace smartio {
namespace {

auto entries(const ScratchFolder& folder) {
  return std::distance(std::filesystem::directory_iterator(folder.path()), std::filesystem::directory_iterator());
}

TEST(Files, AreReplacedAsAWhole) {
  const ScratchFolder folder;
  for (const auto* text : {"first\n", "second\n"}) {
    ASSERT_TRUE(write_file(folder / "file", text));
    EXPECT_EQ(read_file(folder / "file").value(), text);
    ASSERT_TRUE(write_file_durably(folder / "file", text));
    EXPECT_EQ(read_file(folder / "file").value(), text);
  }
  EXPECT_EQ(entries(folder), 1);
}

TEST(Files, AFailureLeavesNoPartBehind) {
  const ScratchFolder folder;
  folder.put("file/in_the_way", "");
  for (const auto& written : {write_file(folder / "file", "x"), write_file_durably(folder / "file", "x")}) {
    ASSERT_FALSE(written);
    EXPECT_THAT(written.error().message, testing::HasSubstr("can't be written: Is a directory"));
  }
  EXPECT_EQ(entries(folder), 1);
}

TEST(Files, AFolderThatIsNotThereIsNamed) {
  const ScratchFolder folder;
  EXPECT_THAT(write_file(folder / "no" / "file", "x").error().message, testing::HasSubstr("No such file or directory"));
  EXPECT_FALSE(read_file(folder / "no"));
}

}  // namespace
}  // namespace smartio
