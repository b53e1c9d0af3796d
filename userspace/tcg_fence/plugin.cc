// SPDX-License-Identifier: GPL-2.0
// smartio-tcg-fence: a plugin of QEMU's TCG. Before each SFENCE or MFENCE of a CPU it stores to the fence register of
// each NTB of the host. That store takes the path of the CPU's own stores to the NTB. So it arrives behind those before
// the fence, and ahead of those after it.
//
//   -plugin smartio-tcg-fence.so,page=FILE
//
// FILE is the page by which smartio-fabric says where these registers are: 128 bus addresses of 64 bits, 0 for none.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "tcg_count/qemu_plugin_api.h"
#include "tcg_fence/fence.h"

namespace {

constexpr std::size_t kEntries = 128;

// Never unmapped: CPUs may run until the process ends.
const std::array<std::atomic<std::uint64_t>, kEntries>* page = nullptr;

void fence(unsigned int /*cpu*/, void* /*userdata*/) {
  for (const auto& entry : *page) {
    const std::uint64_t address = entry.load(std::memory_order_relaxed);
    if (address == 0) continue;
    std::array<std::uint8_t, 4> nothing{};
    qemu_plugin_bytes bytes{.data = nothing.data(), .len = nothing.size()};
    qemu_plugin_write_memory_hwaddr(address, &bytes);
  }
}

void translated(qemu_plugin_tb* block, void* /*userdata*/) {
  const std::size_t count = qemu_plugin_tb_n_insns(block);
  for (std::size_t i = 0; i < count; ++i) {
    qemu_plugin_insn* const instruction = qemu_plugin_tb_get_insn(block, i);
    std::array<std::uint8_t, 15> bytes{};
    const std::size_t length = qemu_plugin_insn_data(instruction, bytes.data(), bytes.size());
    if (!smartio::tcg_fence::is_fence(std::span(bytes).first(length))) continue;
    qemu_plugin_register_vcpu_insn_exec_cb(instruction, fence, QEMU_PLUGIN_CB_NO_REGS, nullptr);
  }
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int qemu_plugin_version = 7;

__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* /*info*/,
                                                               int argc, char** argv) {
  std::string file;
  for (int i = 0; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!argument.starts_with("page=")) {
      std::fprintf(stderr, "smartio-tcg-fence: %s: there is only page=FILE\n", argv[i]);
      return -1;
    }
    file = argument.substr(argument.find('=') + 1);
  }
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  void* const memory = fd < 0 ? MAP_FAILED : ::mmap(nullptr, sizeof(*page), PROT_READ, MAP_SHARED, fd, 0);
  if (fd >= 0) ::close(fd);
  if (memory == MAP_FAILED) {
    std::fprintf(stderr, "smartio-tcg-fence: page=%s: can't be mapped: %s\n", file.c_str(), std::strerror(errno));
    return -1;
  }
  page = static_cast<const std::array<std::atomic<std::uint64_t>, kEntries>*>(memory);
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated, nullptr);
  return 0;
}

}  // extern "C"
