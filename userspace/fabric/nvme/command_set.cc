// SPDX-License-Identifier: GPL-2.0
#include "fabric/nvme/command_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "fabric/nvme/drive_state.h"

namespace smartio::nvme {
namespace {

constexpr std::size_t at_opcode(AdminOpcode opcode) { return static_cast<std::size_t>(opcode); }
constexpr std::size_t at_opcode(IoOpcode opcode) { return static_cast<std::size_t>(opcode); }

OpcodeTable make_admin_table() {
  OpcodeTable table{};
  static constexpr std::uint32_t kPlain = effects::kSupported;
  static constexpr std::uint32_t kErases = effects::kSupported | effects::kContentChange;
  // The queue engine's.
  for (const AdminOpcode opcode : {AdminOpcode::delete_io_sq, AdminOpcode::create_io_sq, AdminOpcode::delete_io_cq,
                                   AdminOpcode::create_io_cq, AdminOpcode::abort, AdminOpcode::async_event_request}) {
    table[at_opcode(opcode)] = {nullptr, kPlain};
  }
  table[at_opcode(AdminOpcode::get_log_page)] = {get_log_page, kPlain};
  table[at_opcode(AdminOpcode::identify)] = {identify, kPlain};
  table[at_opcode(AdminOpcode::set_features)] = {set_features, kPlain};
  table[at_opcode(AdminOpcode::get_features)] = {get_features, kPlain};
  table[at_opcode(AdminOpcode::firmware_commit)] = {firmware_commit, kPlain | effects::kControllerCapabilityChange};
  table[at_opcode(AdminOpcode::firmware_download)] = {firmware_download, kPlain};
  table[at_opcode(AdminOpcode::device_self_test)] = {device_self_test, kPlain};
  table[at_opcode(AdminOpcode::format_nvm)] = {
      format_nvm, kErases | effects::kNamespaceCapabilityChange | effects::kExclusiveInNamespace};
  table[at_opcode(AdminOpcode::sanitize)] = {sanitize, kErases | effects::kExclusive};
  return table;
}

OpcodeTable make_io_table() {
  OpcodeTable table{};
  static constexpr std::uint32_t kPlain = effects::kSupported;
  static constexpr std::uint32_t kChanges = effects::kSupported | effects::kContentChange;
  table[at_opcode(IoOpcode::flush)] = {io_flush, kPlain};
  table[at_opcode(IoOpcode::write)] = {io_write, kChanges};
  table[at_opcode(IoOpcode::read)] = {io_read, kPlain};
  table[at_opcode(IoOpcode::write_uncorrectable)] = {io_write_uncorrectable, kChanges};
  table[at_opcode(IoOpcode::compare)] = {io_compare, kPlain};
  table[at_opcode(IoOpcode::write_zeroes)] = {io_write_zeroes, kChanges};
  table[at_opcode(IoOpcode::dataset_management)] = {io_dataset_management, kChanges};
  table[at_opcode(IoOpcode::verify)] = {io_verify, kPlain};
  table[at_opcode(IoOpcode::copy)] = {io_copy, kChanges};
  return table;
}

Status dispatch(ActiveCommand& x, const OpcodeTable& table) {
  const Opcode& opcode = table[x.entry.opcode];
  return x.finish(opcode.handler == nullptr ? x.refuse(status::kInvalidOpcode, at::kOpcode) : opcode.handler(x));
}

}  // namespace

const OpcodeTable& admin_opcodes() {
  static const OpcodeTable table = make_admin_table();
  return table;
}

const OpcodeTable& io_opcodes() {
  static const OpcodeTable table = make_io_table();
  return table;
}

CommandSet::CommandSet(DriveConfig config) : state_(std::make_unique<DriveState>(std::move(config))) {}
CommandSet::~CommandSet() = default;

const DriveConfig& CommandSet::config() const { return state_->config; }

Status CommandSet::execute_admin(CommandContext& command) {
  ActiveCommand x(*state_, command);
  ++state_->counters.admin_commands;
  return dispatch(x, admin_opcodes());
}

Status CommandSet::execute_io(CommandContext& command) {
  ActiveCommand x(*state_, command);
  return dispatch(x, io_opcodes());
}

Status CommandSet::execute_fused(CommandContext& compare, CommandContext& write, Status& compare_status) {
  return io_fused(compare, write, *state_, compare_status);
}

std::size_t CommandSet::write_bytes(const SubmissionEntry& entry) const {
  if (entry.opcode != static_cast<std::uint8_t>(IoOpcode::write)) return 0;
  const std::lock_guard lock(state_->mutex);
  const Namespace* ns = state_->find(entry.nsid);
  if (ns == nullptr) return 0;
  const std::uint64_t blocks = (entry.cdw12 & 0xFFFFU) + std::uint64_t{1};
  if (!ns->store.in_range(std::uint64_t{entry.cdw11} << 32U | entry.cdw10, blocks)) return 0;
  const std::size_t bytes = blocks * ns->store.block_size();
  return bytes > state_->config.max_transfer() ? 0 : bytes;
}

void CommandSet::controller_reset() {
  const std::lock_guard lock(state_->mutex);
  state_->reset_controller();
}

void CommandSet::shutdown() {
  const std::lock_guard lock(state_->mutex);
  state_->cache.flush(nullptr);
  state_->health.count_shutdown();
}

void CommandSet::power_cut() {
  const std::lock_guard lock(state_->mutex);
  state_->counters.lost_blocks += state_->cache.power_cut();
  state_->health.count_power_cycle();
  state_->changed_namespaces.clear();
  state_->reset_controller();
}

void CommandSet::record_error(const EngineError& error) {
  const std::lock_guard lock(state_->mutex);
  ++state_->counters.failed_commands;
  ErrorLogEntry entry{};
  entry.sqid = error.sq_id;
  entry.cid = error.cid;
  entry.status = error.status.word(false);
  entry.location = error.location;
  entry.nsid = error.nsid;
  state_->errors.add(entry);
}

void CommandSet::set_event_sink(std::function<void(AsyncEvent)> sink) {
  const std::lock_guard lock(state_->mutex);
  state_->event_sink = std::move(sink);
}

void CommandSet::set_log_read_sink(std::function<void(LogId)> sink) {
  const std::lock_guard lock(state_->mutex);
  state_->log_read_sink = std::move(sink);
}

void CommandSet::add_media_error(const MediaError& error) {
  const std::lock_guard lock(state_->mutex);
  Namespace* ns = state_->find(error.nsid);
  if (ns == nullptr || error.lba >= ns->store.blocks()) return;
  const std::uint64_t blocks = std::min(error.blocks, ns->store.blocks() - error.lba);
  if (error.on_read && error.clear_on_rewrite && !error.on_write) {
    ns->store.mark_unreadable(error.lba, blocks);
  } else {
    ns->store.add_fault({error.lba, blocks, error.on_read, error.on_write});
  }
}

void CommandSet::clear_media_errors() {
  const std::lock_guard lock(state_->mutex);
  for (const auto& [nsid, ns] : state_->namespaces) ns->store.clear_faults();
}

void CommandSet::set_critical_warning(std::uint8_t bits) {
  std::unique_lock lock(state_->mutex);
  const std::uint8_t before = state_->health.critical_warning();
  state_->health.set_injected_warning(bits);
  state_->raise_warnings(before);
  unlock_and_notify(*state_, lock);
}

void CommandSet::set_temperature(std::uint16_t kelvin) {
  std::unique_lock lock(state_->mutex);
  const std::uint8_t before = state_->health.critical_warning();
  state_->health.set_temperature(kelvin);
  state_->raise_warnings(before);
  unlock_and_notify(*state_, lock);
}

void CommandSet::set_wear(std::uint8_t spare, std::uint8_t used) {
  std::unique_lock lock(state_->mutex);
  const std::uint8_t before = state_->health.critical_warning();
  state_->health.set_wear(spare, used);
  state_->raise_warnings(before);
  unlock_and_notify(*state_, lock);
}

Result<void> CommandSet::resize_namespace(std::uint32_t nsid, std::uint64_t bytes) {
  std::unique_lock lock(state_->mutex);
  Namespace* ns = state_->find(nsid);
  if (ns == nullptr) return fail(fmt::format("drive {} has no namespace {}", state_->config.name, nsid));
  if (bytes == 0 || bytes % ns->store.block_size() != 0) {
    return fail(fmt::format("{} bytes are not a multiple of the block size {} of namespace {}", bytes,
                            ns->store.block_size(), nsid));
  }
  if (!ns->store.resize(bytes)) {
    return fail(fmt::format("namespace {} could not be made {} bytes large: no space for it", nsid, bytes));
  }
  state_->note_change(nsid);
  unlock_and_notify(*state_, lock);
  return {};
}

Result<std::uint32_t> CommandSet::add_namespace(const NamespaceConfig& config) {
  std::unique_lock lock(state_->mutex);
  std::uint32_t nsid = 1;
  while (state_->find(nsid) != nullptr) ++nsid;
  if (auto made = state_->attach(nsid, config, true); !made) return std::unexpected(made.error());
  state_->note_change(nsid);
  unlock_and_notify(*state_, lock);
  return nsid;
}

Result<void> CommandSet::remove_namespace(std::uint32_t nsid) {
  std::unique_lock lock(state_->mutex);
  if (state_->namespaces.erase(nsid) == 0) {
    return fail(fmt::format("drive {} has no namespace {}", state_->config.name, nsid));
  }
  state_->note_change(nsid);
  unlock_and_notify(*state_, lock);
  return {};
}

DriveCounters CommandSet::counters() const {
  const std::lock_guard lock(state_->mutex);
  DriveCounters counters = state_->counters;
  counters.dirty_blocks = state_->cache.dirty_blocks();
  return counters;
}

std::vector<NamespaceStatus> CommandSet::namespaces() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<NamespaceStatus> all;
  for (const auto& [nsid, space] : state_->namespaces)
    all.push_back({.nsid = nsid, .size = space->store.bytes(), .block_size = space->store.block_size()});
  return all;
}

}  // namespace smartio::nvme
