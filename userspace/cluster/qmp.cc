// SPDX-License-Identifier: GPL-2.0
#include "cluster/qmp.h"

#include <fmt/format.h>

namespace smartio::cluster {

using nlohmann::json;

Result<Qmp> Qmp::open(const StateFolder& folder, std::string_view host, Deadline deadline) {
  auto lock = FileLock::take(folder.host_file(host, "qmp.lock"), deadline);
  if (!lock) return std::unexpected(lock.error());
  auto stream = Stream::connect(folder.host_file(host, "qmp.sock"));
  if (!stream) return std::unexpected(stream.error());
  Qmp qmp(std::move(*lock), std::move(*stream));
  if (auto greeting = qmp.message(deadline); !greeting) return std::unexpected(greeting.error());
  if (auto ready = qmp.call("qmp_capabilities", deadline); !ready) return std::unexpected(ready.error());
  return qmp;
}

Result<json> Qmp::message(Deadline deadline) {
  const auto line = stream_.read_to('\n', deadline);
  if (!line) return fail(fmt::format("QMP: {}", line.error().message));
  json message = json::parse(*line, nullptr, false);
  if (!message.is_object()) return fail("QMP: QEMU sent an invalid message");
  return message;
}

Result<json> Qmp::call(std::string_view command, Deadline deadline, const json& arguments) {
  const json request = {{"execute", command}, {"arguments", arguments}};
  if (auto sent = stream_.send(request.dump() + "\n", deadline); !sent) {
    return std::unexpected(sent.error());
  }
  for (;;) {
    auto answer = message(deadline);
    if (!answer) return answer;
    if (answer->contains("return")) return std::move((*answer)["return"]);
    if (answer->contains("error")) return fail(fmt::format("QMP: {}: {}", command, (*answer)["error"].dump()));
  }
}

Result<void> Qmp::wait_event(std::string_view event, Deadline deadline) {
  for (;;) {
    const auto seen = message(deadline);
    if (!seen) return std::unexpected(seen.error());
    if (seen->value("event", "") == event) return {};
  }
}

}  // namespace smartio::cluster
