// SPDX-License-Identifier: GPL-2.0
// For tests: a command whose data is a vector, and a drive that takes such commands.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "fabric/nvme/command_set.h"

namespace smartio::nvme::test {

class FakeCommand : public CommandContext {
 public:
  FakeCommand() = default;
  explicit FakeCommand(const SubmissionEntry& entry) : entry_(entry) {}

  SubmissionEntry entry_{};
  std::vector<std::byte> host;        ///< the host's buffer; grows with the drive's writes
  Status map_status;                  ///< the result of map_data()
  Status read_status;                 ///< the result of read_host()
  Status write_status;                ///< the result of write_host()
  std::function<void()> during_read;  ///< called while the drive waits for the host's data
  std::optional<std::uint64_t> mapped;
  std::uint64_t result = 0;

  [[nodiscard]] const SubmissionEntry& entry() const override { return entry_; }
  [[nodiscard]] std::uint16_t sq_id() const override { return 7; }
  Status map_data(std::uint64_t length) override {
    mapped = length;
    return map_status;
  }
  Status read_host(std::uint64_t offset, std::span<std::byte> into) override {
    if (during_read) during_read();
    if (!read_status.ok()) return read_status;
    for (std::size_t i = 0; i < into.size(); ++i) into[i] = offset + i < host.size() ? host[offset + i] : std::byte{0};
    return status::kSuccess;
  }
  Status write_host(std::uint64_t offset, std::span<const std::byte> from) override {
    if (!write_status.ok()) return write_status;
    if (host.size() < offset + from.size()) host.resize(offset + from.size());
    std::ranges::copy(from, host.begin() + static_cast<std::ptrdiff_t>(offset));
    return status::kSuccess;
  }
  void set_result(std::uint64_t value) override { result = value; }

  /// The host's buffer as a structure.
  template <typename T>
  [[nodiscard]] T as() const {
    T value{};
    std::memcpy(&value, host.data(), std::min(sizeof(T), host.size()));
    return value;
  }
};

inline std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> data(bytes);
  std::uint32_t x = seed * 2654435761U + 1;
  for (std::byte& b : data) {
    x = x * 1664525U + 1013904223U;
    b = static_cast<std::byte>(x >> 24U);
  }
  return data;
}

inline SubmissionEntry admin_entry(AdminOpcode opcode, std::uint32_t nsid = 0, std::uint32_t cdw10 = 0,
                                   std::uint32_t cdw11 = 0) {
  SubmissionEntry e{};
  e.opcode = static_cast<std::uint8_t>(opcode);
  e.cid = 0x1234;
  e.nsid = nsid;
  e.cdw10 = cdw10;
  e.cdw11 = cdw11;
  return e;
}

inline SubmissionEntry io_entry(IoOpcode opcode, std::uint32_t nsid, std::uint64_t lba, std::uint32_t blocks,
                                std::uint32_t flags = 0) {
  SubmissionEntry e{};
  e.opcode = static_cast<std::uint8_t>(opcode);
  e.cid = 0x4321;
  e.nsid = nsid;
  e.cdw10 = static_cast<std::uint32_t>(lba);
  e.cdw11 = static_cast<std::uint32_t>(lba >> 32U);
  e.cdw12 = (blocks - 1) | flags;
  return e;
}

inline constexpr std::uint32_t kFua = 1U << 30U;

/// A drive, and the commands most tests need.
class TestDrive {
 public:
  explicit TestDrive(DriveConfig config = small()) : commands(std::move(config)) {
    commands.set_event_sink([this](AsyncEvent event) { events.push_back(event); });
    commands.set_log_read_sink([this](LogId log) { logs_read.push_back(log); });
  }

  /// Namespace 1: 2048 blocks of 512; namespace 2: 256 blocks of 4096.
  static DriveConfig small() {
    DriveConfig config;
    config.name = "disk";
    config.host = "lender";
    config.namespaces = {{1 << 20, 512}, {1 << 20, 4096}};
    return config;
  }

  CommandSet commands;
  std::vector<AsyncEvent> events;
  std::vector<LogId> logs_read;

  Status io(const SubmissionEntry& entry) {
    FakeCommand command(entry);
    return commands.execute_io(command);
  }
  Status write(std::uint64_t lba, const std::vector<std::byte>& data, std::uint32_t flags = 0, std::uint32_t nsid = 1) {
    const std::uint32_t block = nsid == 1 ? 512 : 4096;
    FakeCommand command(io_entry(IoOpcode::write, nsid, lba, static_cast<std::uint32_t>(data.size() / block), flags));
    command.host = data;
    return commands.execute_io(command);
  }
  /// The content of `blocks` blocks of namespace 1; empty on an error.
  std::vector<std::byte> read(std::uint64_t lba, std::uint32_t blocks = 1, std::uint32_t nsid = 1) {
    FakeCommand command(io_entry(IoOpcode::read, nsid, lba, blocks));
    return commands.execute_io(command).ok() ? command.host : std::vector<std::byte>{};
  }
  Status flush(std::uint32_t nsid = 1) {
    FakeCommand command(io_entry(IoOpcode::flush, nsid, 0, 1));
    return commands.execute_io(command);
  }
  Status admin(FakeCommand& command) { return commands.execute_admin(command); }
  Status admin(const SubmissionEntry& entry) {
    FakeCommand command(entry);
    return commands.execute_admin(command);
  }
  /// Identify's structure as T. The caller expects the command to succeed, and checks the content.
  template <typename T>
  T identify(std::uint32_t cns, std::uint32_t nsid = 0) {
    FakeCommand command(admin_entry(AdminOpcode::identify, nsid, cns));
    return commands.execute_admin(command).ok() ? command.as<T>() : T{};
  }
  /// A whole log page as T.
  template <typename T>
  T log(LogId id, bool retain = false) {
    static_assert(sizeof(T) % 4 == 0);
    FakeCommand command(admin_entry(AdminOpcode::get_log_page, kNsidAll,
                                    static_cast<std::uint32_t>(id) | (retain ? 1U << 15U : 0U) |
                                        static_cast<std::uint32_t>(sizeof(T) / 4 - 1) << 16U));
    return commands.execute_admin(command).ok() ? command.as<T>() : T{};
  }
  Status set_feature(FeatureId id, std::uint32_t value, bool save = false, std::uint32_t nsid = 0) {
    return admin(
        admin_entry(AdminOpcode::set_features, nsid, static_cast<std::uint32_t>(id) | (save ? 1U << 31U : 0U), value));
  }
  /// A feature's value; all ones on an error.
  std::uint64_t feature(FeatureId id, std::uint32_t select = 0, std::uint32_t cdw11 = 0) {
    FakeCommand command(
        admin_entry(AdminOpcode::get_features, 0, static_cast<std::uint32_t>(id) | select << 8U, cdw11));
    return commands.execute_admin(command).ok() ? command.result : ~0ULL;
  }
};

}  // namespace smartio::nvme::test
