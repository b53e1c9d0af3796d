// SPDX-License-Identifier: GPL-2.0
// Reservations: any sequence of commands of a few hosts, and any file they were kept in, leave a state that makes
// sense.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "tests/drivers/smartio_nvme/driver.h"

namespace {

void require(bool held) {
  if (!held) std::abort();
}

using Host = std::array<u8, RESV_HOST_BYTES>;

void check_state(const resv_ns& ns) {
  require(ns.count <= RESV_REGISTRANTS_MAX);
  require(ns.type <= RESV_EXCLUSIVE_ACCESS_ALL_REGS);
  if (ns.type != RESV_NONE) require(ns.count > 0 && ns.holder < ns.count);
  bool held = false;
  for (unsigned i = 0; i < ns.count; ++i) {
    require(resv_find(&ns, ns.registrants[i].host) == static_cast<int>(i));  // no host twice
    if (!resv_holds(&ns, i)) continue;
    held = true;
    require(resv_access(&ns, ns.registrants[i].host) == 0);
  }
  require(held == (ns.type != RESV_NONE));
  auto other = std::make_unique<resv_ns>();
  std::vector<std::uint8_t> bytes(resv_packed_size(&ns));
  resv_pack(&ns, bytes.data());
  require(resv_unpack(bytes.data(), bytes.size(), other.get()) == bytes.size());
  require(other->count == ns.count && other->type == ns.type && other->generation == ns.generation);
  require(std::memcmp(other->registrants, ns.registrants, ns.count * sizeof(ns.registrants[0])) == 0);
}

/// Eight bytes of input are a command.
void run_commands(const std::uint8_t* data, std::size_t size) {
  auto ns = std::make_unique<resv_ns>();
  auto outcome = std::make_unique<resv_outcome>();
  for (; size >= 8; data += 8, size -= 8) {
    constexpr std::array<u8, 4> kOpcodes{nvme_cmd_resv_register, nvme_cmd_resv_acquire, nvme_cmd_resv_release,
                                         nvme_cmd_resv_register};
    nvme_command cmd{};
    cmd.common.opcode = kOpcodes[data[0] % kOpcodes.size()];
    cmd.common.cdw10 =
        static_cast<u32>(data[1] & 0xF) | static_cast<u32>(data[2]) << 8U | static_cast<u32>(data[3]) << 24U;
    const std::array<u64, 2> keys{data[4], data[5]};
    const Host host{data[6], data[7]};
    resv_command command{};
    if (resv_parse(&cmd, keys.data(), sizeof(keys), &command) != 0) continue;
    const resv_ns before = *ns;
    const u16 status = resv_execute(ns.get(), host.data(), &command, outcome.get());
    require(outcome->count <= RESV_REGISTRANTS_MAX);
    for (unsigned i = 0; i < outcome->count; ++i)
      require(std::memcmp(outcome->notices[i].host, host.data(), host.size()) != 0);
    if (status != 0 || !outcome->changed) require(std::memcmp(&before, ns.get(), sizeof(before)) == 0);
    check_state(*ns);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  run_commands(data, size);
  const std::vector<std::uint8_t> file(data, data + size);  // so that a byte too far is noticed
  auto ns = std::make_unique<resv_ns>();
  if (const std::size_t used = resv_unpack(file.data(), file.size(), ns.get()); used != 0) {
    require(used <= file.size() && ns->count <= RESV_REGISTRANTS_MAX);
    const Host host{1};
    require(resv_access(ns.get(), host.data()) <= (RESV_NO_READ | RESV_NO_WRITE));
  }
  return 0;
}
