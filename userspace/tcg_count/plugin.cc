// SPDX-License-Identifier: GPL-2.0
// smartio-tcg-count: a plugin of QEMU's TCG. Each instruction that a vCPU runs adds one to a counter of that vCPU, that
// of its translated block (block_table.h says which). A block does not add the number of its instructions at once. QEMU
// leaves a block at any access to a device's registers that is not its last instruction, and continues with another
// block. The instructions behind eight such stores would count eight times. A unix socket gives the counts at any
// moment:
//
//   -plugin smartio-tcg-count.so,socket=PATH
//
//   mode     {"user":[...],"kernel":[...]}    instructions since the host started, one number for each vCPU
//   blocks   {"user":N,"other":N,"copied":B,"kernel":[[ADDRESS,N,ENTRIES]]}    of all vCPUs together, kernel code by 16
//            bytes of address; ENTRIES: how often a block that begins at just that address was run, for the address of
//            a function how often it was called; copied: bytes that string moves of the kernel have stored
//
// A repeated string instruction is one.
#include <array>
#include <cstddef>
#include <cstdio>
#include <format>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/line_server.h"
#include "tcg_count/block_table.h"
#include "tcg_count/qemu_plugin_api.h"
#include "tcg_count/string_move.h"

namespace {

using namespace smartio::tcg_count;

/// A vCPU's counts for one counter of the block table.
struct Counter {
  std::uint64_t instructions;
  std::uint64_t
      entries;  ///< of blocks that begin at the very address; of BlockTable::kUser: bytes that the kernel copied
};

// 2 MiB for each of the 16 vCPUs that QEMU makes room for; a booted host with all our load uses about a third.
constexpr std::size_t kCounters = 128 * 1024;

/// There is one for each QEMU, from the plugin's installation to QEMU's end.
class Plugin {
 public:
  explicit Plugin(int cpus) : cpus_(cpus), score_(qemu_plugin_scoreboard_new(kCounters * sizeof(Counter))) {}

  void translated(qemu_plugin_tb* block) {
    const std::uint64_t address = qemu_plugin_tb_vaddr(block);
    const std::size_t counter = table_.counter_of(address);
    const bool kernel = counter != BlockTable::kUser;
    if (kernel && address % BlockTable::kGranule == 0 && counter != BlockTable::kOverflow) {
      qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(block, QEMU_PLUGIN_INLINE_ADD_U64, entries_at(counter), 1);
    }
    count_each(block, counter, kernel);
  }

  smartio::Result<void> serve(const std::string& socket) {
    auto server =
        smartio::LineServer::start(socket, [this](std::string_view line) { return answer(line); }, answer(""));
    if (!server) return std::unexpected(server.error());
    server_ = std::move(*server);
    return {};
  }
  void stop() { server_.reset(); }

 private:
  [[nodiscard]] qemu_plugin_u64 at(std::size_t counter) const { return {score_, counter * sizeof(Counter)}; }
  [[nodiscard]] qemu_plugin_u64 entries_at(std::size_t counter) const {
    return {score_, counter * sizeof(Counter) + offsetof(Counter, entries)};
  }
  [[nodiscard]] qemu_plugin_u64 copied() const { return entries_at(BlockTable::kUser); }

  /// Its instructions, and the bytes that those of them copy which copy.
  void count_each(qemu_plugin_tb* block, std::size_t counter, bool copies) const {
    const std::size_t count = qemu_plugin_tb_n_insns(block);
    for (std::size_t i = 0; i < count; ++i) {
      qemu_plugin_insn* const instruction = qemu_plugin_tb_get_insn(block, i);
      qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(instruction, QEMU_PLUGIN_INLINE_ADD_U64, at(counter), 1);
      if (!copies) continue;
      std::array<std::uint8_t, 15> bytes{};
      const std::size_t length = qemu_plugin_insn_data(instruction, bytes.data(), bytes.size());
      if (const std::size_t step = string_move_bytes(std::span(bytes).first(length)); step > 0) {
        qemu_plugin_register_vcpu_mem_inline_per_vcpu(instruction, QEMU_PLUGIN_MEM_W, QEMU_PLUGIN_INLINE_ADD_U64,
                                                      copied(), step);
      }
    }
  }

  [[nodiscard]] std::string answer(std::string_view line) const {
    // Until then QEMU may still move the counters.
    if (qemu_plugin_num_vcpus() < cpus_) return R"({"error":"the host is just being started"})";
    if (line == "mode") return by_mode();
    if (line == "blocks") return by_block();
    return R"({"error":"there are: mode, blocks"})";
  }

  [[nodiscard]] std::string by_mode() const {
    const std::size_t used = table_.used();
    std::string user;
    std::string kernel;
    for (unsigned cpu = 0; cpu < static_cast<unsigned>(cpus_); ++cpu) {
      std::uint64_t sum = 0;
      for (std::size_t counter = BlockTable::kOverflow; counter < used; ++counter) {
        sum += qemu_plugin_u64_get(at(counter), cpu);
      }
      user += std::format("{}{}", cpu == 0 ? "" : ",", qemu_plugin_u64_get(at(BlockTable::kUser), cpu));
      kernel += std::format("{}{}", cpu == 0 ? "" : ",", sum);
    }
    return std::format(R"({{"user":[{}],"kernel":[{}]}})", user, kernel);
  }

  [[nodiscard]] std::uint64_t of_all_cpus(qemu_plugin_u64 counter) const {
    std::uint64_t sum = 0;
    for (unsigned cpu = 0; cpu < static_cast<unsigned>(cpus_); ++cpu) sum += qemu_plugin_u64_get(counter, cpu);
    return sum;
  }

  [[nodiscard]] std::string by_block() const {
    std::string blocks;
    for (const auto& [address, counter] : table_.kernel()) {
      const std::uint64_t count = of_all_cpus(at(counter));
      if (counter == BlockTable::kOverflow || count == 0) continue;
      std::format_to(std::back_inserter(blocks), "{}[{},{},{}]", blocks.empty() ? "" : ",", address, count,
                     of_all_cpus(entries_at(counter)));
    }
    return std::format(R"({{"user":{},"other":{},"copied":{},"kernel":[{}]}})", of_all_cpus(at(BlockTable::kUser)),
                       of_all_cpus(at(BlockTable::kOverflow)), of_all_cpus(copied()), blocks);
  }

  int cpus_;
  qemu_plugin_scoreboard* score_;  ///< QEMU's, until it ends
  BlockTable table_{kCounters};
  std::unique_ptr<smartio::LineServer> server_;
};

// Never deleted: vCPUs may translate until the process ends.
Plugin* plugin = nullptr;

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int qemu_plugin_version = 7;

__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* info, int argc,
                                                               char** argv) {
  std::string socket;
  for (int i = 0; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!argument.starts_with("socket=")) {
      std::fprintf(stderr, "smartio-tcg-count: %s: there is only socket=PATH\n", argv[i]);
      return -1;
    }
    socket = argument.substr(argument.find('=') + 1);
  }
  if (socket.empty() || !info->system_emulation) {
    std::fprintf(stderr, "smartio-tcg-count: socket=PATH is needed, and a whole machine to count in\n");
    return -1;
  }
  plugin = new Plugin(info->system.smp_vcpus);
  if (const auto serving = plugin->serve(socket); !serving) {
    std::fprintf(stderr, "smartio-tcg-count: %s\n", serving.error().message.c_str());
    return -1;
  }
  qemu_plugin_register_vcpu_tb_trans_cb(id, [](qemu_plugin_tb* block, void*) { plugin->translated(block); }, nullptr);
  qemu_plugin_register_atexit_cb(id, [](void*) { plugin->stop(); }, nullptr);
  return 0;
}

}  // extern "C"
