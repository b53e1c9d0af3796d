// SPDX-License-Identifier: GPL-2.0
#include "fabric/nvme/drive_state.h"

#include <fmt/format.h>

#include <stdexcept>
#include <string_view>
#include <utility>

#include "fabric/nvme/identity.h"

namespace smartio::nvme {

DriveConfig DriveConfig::from(const topology::Drive& drive, const std::filesystem::path& state_folder) {
  DriveConfig config;
  config.name = drive.name;
  config.host = drive.host;
  if (!drive.backing.empty()) {
    config.backing = drive.backing.is_absolute() ? drive.backing : state_folder / drive.backing;
  }
  config.queue_pairs = drive.queue_pairs;
  config.cmb = drive.cmb;
  config.cache = drive.cache;
  config.sgl = drive.sgl;
  config.shared = drive.shared;
  config.mdts = drive.mdts;
  for (const topology::Namespace& ns : drive.namespaces) config.namespaces.push_back({ns.size, ns.block_size});
  return config;
}

DriveState::DriveState(DriveConfig drive_config)
    : config(std::move(drive_config)),
      serial(serial_number(config.host, config.name)),
      subnqn(subsystem_nqn(config.host, config.name)),
      cache(config.cache),
      features(config.cache != 0) {
  for (SelfTestResult& result : self_test.results) result.status = 0xF;
  sanitize.progress = 0xFFFF;
  sanitize.overwrite_seconds = sanitize.overwrite_no_deallocate_seconds = 0xFFFFFFFF;  // not reported
  std::uint32_t nsid = 1;
  for (const NamespaceConfig& ns : config.namespaces) {
    if (auto made = attach(nsid++, ns, false); !made) {
      throw std::runtime_error(fmt::format("drive {}: {}", config.name, made.error().message));
    }
  }
}

Result<void> DriveState::attach(std::uint32_t nsid, const NamespaceConfig& ns, bool fresh) {
  if (nsid == 0 || nsid > kMaxNamespaces) {
    return fail(fmt::format("a drive has at most {} namespaces, {} is one too many", kMaxNamespaces, nsid));
  }
  if (ns.block_size != 512 && ns.block_size != 4096) {
    return fail(fmt::format("namespace {}: block size {} is not supported, 512 and 4096 are", nsid, ns.block_size));
  }
  if (ns.size == 0 || ns.size % ns.block_size != 0) {
    return fail(
        fmt::format("namespace {}: size {} is not a multiple of its block size {}", nsid, ns.size, ns.block_size));
  }
  Result<std::unique_ptr<Media>> media;
  if (config.backing.empty()) {
    media = make_ram_media(ns.size);
  } else {
    std::filesystem::path path = config.backing;
    if (nsid != 1) path += fmt::format(".ns{}", nsid);
    std::error_code ignored;
    if (fresh) std::filesystem::remove(path, ignored);  // of an earlier namespace with this NSID
    media = open_file_media(path, ns.size);
  }
  if (!media) return std::unexpected(media.error());
  const NamespaceIdentity identity = namespace_identity(serial, nsid, incarnations[nsid]);
  try {
    namespaces[nsid] = std::make_unique<Namespace>(nsid, identity, std::move(*media), ns.block_size, cache);
  } catch (const std::bad_alloc&) {
    namespaces.erase(nsid);
    return fail(fmt::format("namespace {}: no address space for its {} bytes", nsid, ns.size));
  }
  ++incarnations[nsid];
  return {};
}

Namespace* DriveState::find(std::uint32_t nsid) {
  const auto found = namespaces.find(nsid);
  return found == namespaces.end() ? nullptr : found->second.get();
}

void DriveState::raise(AsyncEvent event) {
  const std::uint32_t enabled = features.current(FeatureId::async_event_configuration);
  if (event.type == AsyncEventType::notice && event == event::kNamespaceAttributeChanged && (enabled & 1U << 8U) == 0) {
    return;
  }
  events.push_back(event);
}

void DriveState::raise_warnings(std::uint8_t before) {
  // Bits 4:0 of Asynchronous Event Configuration enable the critical warnings of the same bits.
  const auto enabled = features.current(FeatureId::async_event_configuration);
  const std::uint32_t added = health.critical_warning() & ~std::uint32_t{before} & enabled;
  if ((added & critical::kTemperature) != 0) events.push_back(event::kTemperature);
  if ((added & critical::kSpare) != 0) events.push_back(event::kSpare);
  if ((added & ~std::uint32_t{critical::kTemperature | critical::kSpare}) != 0) events.push_back(event::kReliability);
}

void DriveState::note_change(std::uint32_t nsid) {
  ++namespace_changes;
  changed_namespaces.insert(nsid);
  raise(event::kNamespaceAttributeChanged);
}

bool DriveState::cache_enabled() const { return features.current(FeatureId::volatile_write_cache) != 0; }

std::uint64_t DriveState::capacity() const {
  std::uint64_t bytes = 0;
  for (const auto& [nsid, ns] : namespaces) bytes += ns->store.bytes();
  return bytes;
}

void DriveState::reset_controller() {
  ++resets;
  features.reset();
  health.reset_thresholds();
  firmware.reset();
  events.clear();
}

Status ActiveCommand::still_valid() const {
  if (drive.resets != resets_) return status::kAbortedPowerLoss;
  if (drive.namespace_changes != namespace_changes_) return status::kNamespaceNotReady;
  return status::kSuccess;
}

Status ActiveCommand::map(std::uint64_t length) {
  lock_.unlock();
  const Status mapped = command.map_data(length);
  lock_.lock();
  return mapped.ok() ? still_valid() : mapped;
}

Status ActiveCommand::fetch(std::span<std::byte> into) {
  lock_.unlock();
  Status fetched = command.map_data(into.size());
  if (fetched.ok() && !into.empty()) fetched = command.read_host(0, into);
  lock_.lock();
  return fetched.ok() ? still_valid() : fetched;
}

Status ActiveCommand::send(std::span<const std::byte> from) {
  lock_.unlock();
  Status sent = command.map_data(from.size());
  if (sent.ok() && !from.empty()) sent = command.write_host(0, from);
  lock_.lock();
  return sent;
}

Namespace* ActiveCommand::find_namespace() {
  if (entry.nsid == 0 || entry.nsid > kMaxNamespaces) {
    failure_ = refuse(status::kInvalidNamespaceOrFormat, at::kNsid);
    return nullptr;
  }
  Namespace* ns = drive.find(entry.nsid);
  if (ns == nullptr) failure_ = refuse(status::kInvalidField, at::kNsid);  // valid but inactive (section 6.1.5)
  return ns;
}

Status ActiveCommand::refuse(const MediaFault& fault) {
  drive.health.count_media_error();
  ++drive.counters.media_errors;
  lba_ = fault.lba;
  return fault.status;
}

Status ActiveCommand::finish(Status result) {
  if (!result.ok()) {
    ++drive.counters.failed_commands;
    drive.errors.add({.error_count = 0,
                      .sqid = command.sq_id(),
                      .cid = entry.cid,
                      .status = result.word(false),
                      .location = location_,
                      .lba = lba_,
                      .nsid = entry.nsid,
                      .vendor = 0,
                      .trtype = 0,
                      .reserved30 = {},
                      .command_specific = 0,
                      .transport_specific = 0,
                      .reserved42 = {}});
    result.more = true;
  }
  unlock_and_notify(drive, lock_);
  return result;
}

void unlock_and_notify(DriveState& drive, std::unique_lock<std::mutex>& lock) {
  if (drive.events.empty() && drive.logs_read.empty()) {
    lock.unlock();
    return;
  }
  const auto events = std::exchange(drive.events, {});
  const auto logs_read = std::exchange(drive.logs_read, {});
  const auto event_sink = drive.event_sink;
  const auto log_read_sink = drive.log_read_sink;
  lock.unlock();
  if (log_read_sink) {
    for (const LogId log : logs_read) log_read_sink(log);
  }
  if (event_sink) {
    for (const AsyncEvent& event : events) event_sink(event);
  }
}

}  // namespace smartio::nvme
