// SPDX-License-Identifier: GPL-2.0
#include "base/base64.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace smartio {
namespace {

TEST(Base64, ReadsAndWritesTheExamplesOfTheRfc) {
  const std::vector<std::pair<std::string, std::string>> examples = {{"", ""},
                                                                     {"f", "Zg=="},
                                                                     {"fo", "Zm8="},
                                                                     {"foo", "Zm9v"},
                                                                     {"foob", "Zm9vYg=="},
                                                                     {"fooba", "Zm9vYmE="},
                                                                     {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, coded] : examples) {
    EXPECT_EQ(base64_encode(plain), coded);
    EXPECT_EQ(base64_decode(coded).value(), plain);
  }
  for (const char* wrong : {"Z", "Zg=", "Z===", "Zg==Zg==", "Zm9%", "=Zm9"})
    EXPECT_FALSE(base64_decode(wrong)) << wrong;
}

}  // namespace
}  // namespace smartio
