// SPDX-License-Identifier: GPL-2.0
// What smartio-tcg-count and smartio-tcg-fence use of QEMU's plugin API, version 7 (QEMU 11.1;
// include/plugins/qemu-plugin.h there, which Debian doesn't package). QEMU's own program has these functions.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

using qemu_plugin_id_t = std::uint64_t;

/// A block of translated guest instructions, valid inside the callback that gets it.
struct qemu_plugin_tb;
/// One of its instructions.
struct qemu_plugin_insn;
/// An array with an element of some bytes for each vCPU.
struct qemu_plugin_scoreboard;

/// One u64 of each vCPU's element.
struct qemu_plugin_u64 {
  qemu_plugin_scoreboard* score;
  std::size_t offset;
};

struct qemu_info_t {
  const char* target_name;
  struct {
    int min;
    int cur;
  } version;
  bool system_emulation;
  struct {
    int smp_vcpus;
    int max_vcpus;
  } system;
};

enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64, QEMU_PLUGIN_INLINE_STORE_U64 };

enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_R = 1, QEMU_PLUGIN_MEM_W, QEMU_PLUGIN_MEM_RW };

int qemu_plugin_num_vcpus();
qemu_plugin_scoreboard* qemu_plugin_scoreboard_new(std::size_t element_size);
std::uint64_t qemu_plugin_u64_get(qemu_plugin_u64 entry, unsigned int vcpu_index);
std::uint64_t qemu_plugin_tb_vaddr(const qemu_plugin_tb* tb);
std::size_t qemu_plugin_tb_n_insns(const qemu_plugin_tb* tb);
void qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(qemu_plugin_tb* tb, qemu_plugin_op op, qemu_plugin_u64 entry,
                                                       std::uint64_t imm);
void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(qemu_plugin_insn* insn, qemu_plugin_op op,
                                                         qemu_plugin_u64 entry, std::uint64_t imm);
qemu_plugin_insn* qemu_plugin_tb_get_insn(const qemu_plugin_tb* tb, std::size_t index);
std::size_t qemu_plugin_insn_data(const qemu_plugin_insn* insn, void* into, std::size_t length);
void qemu_plugin_register_vcpu_mem_inline_per_vcpu(qemu_plugin_insn* insn, qemu_plugin_mem_rw rw, qemu_plugin_op op,
                                                   qemu_plugin_u64 entry, std::uint64_t imm);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, void (*callback)(qemu_plugin_tb* tb, void* userdata),
                                           void* userdata);
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };

void qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_insn* insn,
                                            void (*callback)(unsigned int vcpu_index, void* userdata),
                                            qemu_plugin_cb_flags flags, void* userdata);

/// GByteArray of GLib.
struct qemu_plugin_bytes {
  std::uint8_t* data;
  unsigned int len;
};

/// A write by the calling vCPU at a physical address, to memory or to a device's registers. 0: done.
int qemu_plugin_write_memory_hwaddr(std::uint64_t address, qemu_plugin_bytes* bytes);

void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*callback)(void* userdata), void* userdata);

}  // extern "C"
