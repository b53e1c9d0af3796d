// SPDX-License-Identifier: GPL-2.0
// Bytes of a control connection: through the line reader, the patterns and the value parsers.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/line_reader.h"
#include "fabric/control/commands.h"
#include "fabric/control/values.h"

namespace {

using namespace smartio;
using namespace smartio::control;

Commands& commands() {
  static Commands made;
  static const bool filled = [] {
    made.add("link list", "", [](Words) -> Result<nlohmann::json> { return nlohmann::json::array(); });
    made.add("link NAME up|down", "", [](Words words) -> Result<nlohmann::json> { return std::string(words[1]); });
    made.add("link NAME flap MS", "", [](Words words) -> Result<nlohmann::json> {
      const auto time = duration_of(words[3]);
      if (!time) return std::unexpected(time.error());
      return time->count();
    });
    made.add("size SIZE [NUMBER]", "", [](Words words) -> Result<nlohmann::json> {
      const auto bytes = size_of(words[1]);
      if (!bytes) return std::unexpected(bytes.error());
      if (words.size() == 2) return *bytes;
      const auto most_100 = number_of(words[2], 100);
      if (!most_100) return std::unexpected(most_100.error());
      return *most_100;
    });
    made.add("lan partition HOSTS…", "", [](Words words) -> Result<nlohmann::json> { return words.size(); });
    return true;
  }();
  static_cast<void>(filled);
  return made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  LineReader reader;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::size_t piece = size == 0 ? 1 : 1 + data[0] % 97;
  for (std::size_t at = 0; at < size; at += piece) {
    reader.feed(
        bytes.substr(at, piece),
        [](std::string_view line) {
          if (line.size() > LineReader::kMaxLine) std::abort();
          const auto answer = commands().run(line);
          if (!answer.is_object() || !answer.contains("ok")) std::abort();
          if (answer.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).find('\n') != std::string::npos)
            std::abort();
        },
        [] {});
  }
  return 0;
}
