// SPDX-License-Identifier: GPL-2.0
#include "fabric/nvme/drive_control.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <memory>
#include <optional>
#include <ranges>
#include <utility>

#include "fabric/control/values.h"
#include "fabric/pci/host.h"

namespace smartio::nvme {

namespace {

using control::Words;
using nlohmann::json;
using Drives = std::vector<ControlledDrive>;
using Action = FaultRule::Action;
using Class = FaultFilter::Opcode;

template <typename Opcode>
using Names = std::span<const std::pair<Opcode, std::string_view>>;

constexpr auto kAdminNames = std::to_array<std::pair<AdminOpcode, std::string_view>>({
    {AdminOpcode::delete_io_sq, "delete-io-sq"},
    {AdminOpcode::create_io_sq, "create-io-sq"},
    {AdminOpcode::get_log_page, "get-log-page"},
    {AdminOpcode::delete_io_cq, "delete-io-cq"},
    {AdminOpcode::create_io_cq, "create-io-cq"},
    {AdminOpcode::identify, "identify"},
    {AdminOpcode::abort, "abort"},
    {AdminOpcode::set_features, "set-features"},
    {AdminOpcode::get_features, "get-features"},
    {AdminOpcode::async_event_request, "async-event-request"},
    {AdminOpcode::namespace_management, "namespace-management"},
    {AdminOpcode::firmware_commit, "firmware-commit"},
    {AdminOpcode::firmware_download, "firmware-download"},
    {AdminOpcode::device_self_test, "device-self-test"},
    {AdminOpcode::namespace_attachment, "namespace-attachment"},
    {AdminOpcode::keep_alive, "keep-alive"},
    {AdminOpcode::format_nvm, "format-nvm"},
    {AdminOpcode::security_send, "security-send"},
    {AdminOpcode::security_receive, "security-receive"},
    {AdminOpcode::sanitize, "sanitize"},
});
constexpr auto kIoNames = std::to_array<std::pair<IoOpcode, std::string_view>>({
    {IoOpcode::flush, "flush"},
    {IoOpcode::write, "write"},
    {IoOpcode::read, "read"},
    {IoOpcode::write_uncorrectable, "write-uncorrectable"},
    {IoOpcode::compare, "compare"},
    {IoOpcode::write_zeroes, "write-zeroes"},
    {IoOpcode::dataset_management, "dataset-management"},
    {IoOpcode::verify, "verify"},
    {IoOpcode::copy, "copy"},
});
constexpr auto kActionNames = std::to_array<std::pair<Action, std::string_view>>({
    {Action::delay, "delay"},
    {Action::serial, "serial"},
    {Action::hold, "hold"},
    {Action::hold_data, "hold-data"},
    {Action::hold_commit, "hold-commit"},
    {Action::fail, "fail"},
    {Action::delay_completion, "delay-completion"},
    {Action::hold_completion, "hold-completion"},
    {Action::drop_completion, "drop"},
    {Action::duplicate_completion, "duplicate"},
});
constexpr auto kClassNames = std::to_array<std::pair<Class, std::string_view>>({
    {Class::any, "any"},
    {Class::read, "read"},
    {Class::write, "write"},
    {Class::flush, "flush"},
});

template <typename Value, std::size_t count>
std::string_view name_of(const std::array<std::pair<Value, std::string_view>, count>& names, Value value) {
  const auto* found = std::ranges::find(names, value, &std::pair<Value, std::string_view>::first);
  return found == names.end() ? std::string_view() : found->second;
}

template <typename Value, std::size_t count>
std::optional<Value> value_of(const std::array<std::pair<Value, std::string_view>, count>& names,
                              std::string_view name) {
  const auto* found = std::ranges::find(names, name, &std::pair<Value, std::string_view>::second);
  return found == names.end() ? std::nullopt : std::optional(found->first);
}

/// Opcodes that were seen, by name, or by number where the specification has none.
template <typename Opcode, std::size_t count>
json opcodes_json(const std::array<std::uint64_t, 256>& seen,
                  const std::array<std::pair<Opcode, std::string_view>, count>& names) {
  auto all = json::object();
  for (unsigned opcode = 0; opcode < seen.size(); ++opcode) {
    if (seen[opcode] == 0) continue;
    const auto name = name_of(names, static_cast<Opcode>(opcode));
    all[name.empty() ? fmt::format("{:#04x}", opcode) : std::string(name)] = seen[opcode];
  }
  return all;
}

json counters_json(const ControlledDrive& entry) {
  const EngineSnapshot engine = entry.drive->controller().counters();
  const DriveCounters media = entry.drive->commands().counters();
  return {{"commands", opcodes_json(engine.io_opcodes, kIoNames)},
          {"admin_commands", opcodes_json(engine.admin_opcodes, kAdminNames)},
          {"completions", engine.completions},
          {"errors", engine.errors},
          {"interrupts", engine.interrupts},
          {"fetches", engine.fetches},
          {"doorbells", engine.doorbells},
          {"invalid_doorbells", engine.invalid_doorbells},
          {"held", engine.held},
          {"delayed", engine.delayed},
          {"failed", engine.failed},
          {"dropped", engine.dropped},
          {"duplicated", engine.duplicated},
          {"aborted", engine.aborted},
          {"discarded", engine.discarded},
          {"waited_for_room", engine.full},
          {"resets", engine.controller_resets},
          {"fatal", engine.fatal},
          {"bytes_read", media.bytes_read},
          {"bytes_written", media.bytes_written},
          {"fua_writes", media.fua_writes},
          {"blocks_deallocated", media.blocks_deallocated},
          {"media_errors", media.media_errors},
          {"dirty_blocks", media.dirty_blocks},
          {"lost_blocks", media.lost_blocks}};
}

json admin_log_json(const ControlledDrive& entry) {
  auto all = json::array();
  for (const auto& [number, command, ended_before, ended] : entry.drive->controller().admin_log())
    all.push_back({{"number", number},
                   {"opcode", command.opcode},
                   {"nsid", command.nsid},
                   {"cdw10", command.cdw10},
                   {"cdw11", command.cdw11},
                   {"ended_before", ended_before},
                   {"ended", ended}});
  return {{"admin_commands", all}};
}

json status_json(const ControlledDrive& entry) {
  const auto status = entry.drive->controller().status();
  auto namespaces = json::array();
  for (const auto& space : entry.drive->commands().namespaces())
    namespaces.push_back({{"nsid", space.nsid}, {"size", space.size}, {"block_size", space.block_size}});
  return {{"name", entry.name},
          {"host", entry.endpoint->host().name()},
          {"present", entry.endpoint->present()},
          {"attached", entry.endpoint->attached()},
          {"ready", (status & csts::kReady) != 0},
          {"fatal", (status & csts::kFatal) != 0},
          {"namespaces", namespaces}};
}

json rule_json(const Faults::Active& active) {
  const FaultRule& rule = active.rule;
  json out{{"id", active.id},
           {"action", name_of(kActionNames, rule.action)},
           {"commands", name_of(kClassNames, rule.filter.opcode)},
           {"hits", active.hits}};
  if (rule.filter.nsid != 0) out["nsid"] = rule.filter.nsid;
  if (rule.filter.queue) out["queue"] = *rule.filter.queue;
  if (rule.count != 0) out["left"] = rule.count;
  if (rule.max.count() != 0) out["us"] = {rule.min.count(), rule.max.count()};
  if (rule.action == Action::fail) out["status"] = fmt::format("{:#x}", rule.status.field());
  return out;
}

json faults_json(Faults& faults) {
  auto rules = json::array();
  for (const auto& active : faults.rules()) rules.push_back(rule_json(active));
  auto held = json::array();
  for (const auto& one : faults.held())
    held.push_back({{"id", one.id},
                    {"what", one.completion ? "completion" : "command"},
                    {"timed", one.timed},
                    {"released", one.released},
                    {"queue", one.queue},
                    {"cid", one.cid},
                    {"opcode", one.opcode},
                    {"nsid", one.nsid},
                    {"lba", one.lba}});
  return {{"rules", rules}, {"held", held}};
}

/// "5ms" or "1ms..20ms".
Result<void> parse_range(std::string_view word, FaultRule& rule) {
  using std::chrono::duration_cast;
  using std::chrono::microseconds;
  const auto dots = word.find("..");
  const auto min = control::duration_of(word.substr(0, dots));
  if (!min) return std::unexpected(min.error());
  rule.min = rule.max = duration_cast<microseconds>(*min);
  if (dots == std::string_view::npos) return {};
  const auto max = control::duration_of(word.substr(dots + 2));
  if (!max) return std::unexpected(max.error());
  if (*max < *min) return fail(fmt::format("'{}': the second time is to be the longer one", word));
  rule.max = duration_cast<microseconds>(*max);
  return {};
}

/// queue=N nsid=N count=N seed=N, in any order.
Result<void> parse_options(Words words, FaultRule& rule) {
  for (const auto word : words) {
    const auto equals = word.find('=');
    const auto key = word.substr(0, equals);
    if (equals == std::string_view::npos || (key != "queue" && key != "nsid" && key != "count"))
      return fail(fmt::format("'{}': expected queue=N, nsid=N or count=N", word));
    const std::uint64_t most = key == "queue" ? 0xFFFF : key == "nsid" ? 0xFFFFFFFF : UINT64_MAX;
    const auto number = control::number_of(word.substr(equals + 1), most);
    if (!number) return std::unexpected(number.error());
    if (key == "queue")
      rule.filter.queue = static_cast<std::uint16_t>(*number);
    else if (key == "nsid")
      rule.filter.nsid = static_cast<std::uint32_t>(*number);
    else
      rule.count = *number;
  }
  return {};
}

/// `drive NAME fault ACTION CLASS [VALUE] [OPTIONS…]`
Result<FaultRule> parse_rule(Words words) {
  FaultRule rule;
  const auto action = value_of(kActionNames, words[3]);
  if (!action)
    return fail(
        fmt::format("'{}' is no fault; there are: {}", words[3], fmt::join(kActionNames | std::views::values, ", ")));
  rule.action = *action;
  const auto opcode = value_of(kClassNames, words[4]);
  if (!opcode)
    return fail(fmt::format("'{}' is no class of commands; there are: {}", words[4],
                            fmt::join(kClassNames | std::views::values, ", ")));
  rule.filter.opcode = *opcode;
  auto rest = words.subspan(5);
  const bool timed = *action == Action::delay || *action == Action::serial || *action == Action::delay_completion;
  if (timed || *action == Action::fail) {
    if (rest.empty())
      return fail(timed ? "a delay needs a time: 5ms, or 1ms..20ms" : "fail needs a status: 0x281 is a read error");
    if (timed) {
      if (auto range = parse_range(rest[0], rule); !range) return std::unexpected(range.error());
    } else {
      const auto field = control::number_of(rest[0], 0x7FFF);
      if (!field) return std::unexpected(field.error());
      rule.status = Status::from_field(static_cast<std::uint16_t>(*field));
      if (rule.status.ok()) return fail("a command that fails with status 0 succeeds: give another status");
    }
    rest = rest.subspan(1);
  }
  if (auto options = parse_options(rest, rule); !options) return std::unexpected(options.error());
  return rule;
}

/// `drive NAME media-error read|write|both NSID LBA BLOCKS`
Result<MediaError> parse_media_error(Words words) {
  std::array<std::uint64_t, 3> numbers{};
  for (std::size_t at = 0; at < numbers.size(); ++at) {
    const auto number = control::number_of(words[4 + at], at == 0 ? 0xFFFFFFFE : UINT64_MAX);
    if (!number) return std::unexpected(number.error());
    numbers[at] = *number;
  }
  if (numbers[2] == 0) return fail("a media error of 0 blocks is none: give 1 or more");
  return MediaError{.nsid = static_cast<std::uint32_t>(numbers[0]),
                    .lba = numbers[1],
                    .blocks = numbers[2],
                    .on_read = words[3] != "write",
                    .on_write = words[3] != "read"};
}

/// Registers a command whose second word names a drive.
class Registry {
 public:
  Registry(control::Commands& commands, std::vector<ControlledDrive> drives)
      : commands_(commands), drives_(std::make_shared<const Drives>(std::move(drives))) {}

  [[nodiscard]] std::shared_ptr<const Drives> drives() const { return drives_; }

  template <typename Handle>
  void add(std::string_view pattern, std::string help, Handle handle) {
    commands_.add(pattern, std::move(help), [drives = drives_, handle](Words words) -> Result<json> {
      for (const auto& entry : *drives)
        if (entry.name == words[1]) return handle(entry, words);
      return fail(
          fmt::format("no such drive; there are: {}",
                      fmt::join(*drives | std::views::transform([](const auto& entry) { return entry.name; }), ", ")));
    });
  }

 private:
  control::Commands& commands_;
  std::shared_ptr<const Drives> drives_;
};

void add_fault_commands(Registry& registry) {
  registry.add("drive NAME faults", "the faults of a drive, and its held commands and completions",
               [](const ControlledDrive& entry, Words) -> Result<json> {
                 return faults_json(entry.drive->controller().faults());
               });
  registry.add("drive NAME fault ACTION CLASS [OPTIONS…]",
               "delay MIN[..MAX], serial MIN[..MAX] (one command at a time), hold, hold-data (a write with half of its "
               "data fetched), hold-commit (with all of it), fail STATUS, delay-completion MIN[..MAX], "
               "hold-completion, drop or duplicate (completions) for any, read, write or flush commands; "
               "options queue=N nsid=N count=N; gives an id",
               [](const ControlledDrive& entry, Words words) -> Result<json> {
                 return parse_rule(words).transform(
                     [&](const FaultRule& rule) { return json{{"id", entry.drive->controller().faults().add(rule)}}; });
               });
  registry.add("drive NAME unfault ID|all", "removes a fault, or all of them; held commands and completions stay held",
               [](const ControlledDrive& entry, Words words) -> Result<json> {
                 auto& faults = entry.drive->controller().faults();
                 if (words[3] == "all") {
                   faults.clear();
                   return json();
                 }
                 const auto id = control::number_of(words[3]);
                 if (!id) return std::unexpected(id.error());
                 if (!faults.remove(*id))
                   return fail(fmt::format("no fault {} on this drive: see `drive … faults`", *id));
                 return json();
               });
  registry.add("drive NAME release ID|all", "releases a held or delayed command or completion",
               [](const ControlledDrive& entry, Words words) -> Result<json> {
                 auto& faults = entry.drive->controller().faults();
                 if (words[3] == "all") return json{{"released", faults.release_all()}};
                 const auto id = control::number_of(words[3]);
                 if (!id) return std::unexpected(id.error());
                 if (!faults.release(*id))
                   return fail(fmt::format("nothing kept back has id {}: see `drive … faults`", *id));
                 return json{{"released", 1}};
               });
}

void add_media_commands(Registry& registry) {
  registry.add("drive NAME media-error read|write|both NSID LBA BLOCKS",
               "blocks that fail from now on; a successful write of a block that fails only reads mends it",
               [](const ControlledDrive& entry, Words words) -> Result<json> {
                 return parse_media_error(words).transform([&](const MediaError& error) {
                   entry.drive->commands().add_media_error(error);
                   return json();
                 });
               });
  registry.add("drive NAME media-error clear", "no block fails any more",
               [](const ControlledDrive& entry, Words) -> Result<json> {
                 entry.drive->commands().clear_media_errors();
                 return json();
               });
  registry.add("drive NAME temperature KELVIN", "SMART's composite temperature; crossing a threshold raises an event",
               [](const ControlledDrive& entry, Words words) -> Result<json> {
                 return control::number_of(words[3], 0xFFFF).transform([&](std::uint64_t kelvin) {
                   entry.drive->commands().set_temperature(static_cast<std::uint16_t>(kelvin));
                   return json();
                 });
               });
  registry.add("drive NAME critical-warning BITS", "SMART's critical warning bits; new ones raise an event",
               [](const ControlledDrive& entry, Words words) -> Result<json> {
                 return control::number_of(words[3], 0xFF).transform([&](std::uint64_t bits) {
                   entry.drive->commands().set_critical_warning(static_cast<std::uint8_t>(bits));
                   return json();
                 });
               });
  registry.add("drive NAME namespace add SIZE BLOCK", "a new namespace, of 512- or 4096-byte blocks; gives its NSID",
               [](const ControlledDrive& entry, Words words) -> Result<json> {
                 const auto size = control::size_of(words[4]);
                 if (!size) return std::unexpected(size.error());
                 const auto block = control::number_of(words[5], 4096);
                 if (!block) return std::unexpected(block.error());
                 return entry.drive->commands()
                     .add_namespace({.size = *size, .block_size = static_cast<std::uint32_t>(*block)})
                     .transform([](std::uint32_t nsid) { return json{{"nsid", nsid}}; });
               });
  registry.add(
      "drive NAME namespace resize NSID SIZE", "another size for a namespace; an event informs the host",
      [](const ControlledDrive& entry, Words words) -> Result<json> {
        const auto nsid = control::number_of(words[4], 0xFFFFFFFE);
        if (!nsid) return std::unexpected(nsid.error());
        const auto size = control::size_of(words[5]);
        if (!size) return std::unexpected(size.error());
        return entry.drive->commands().resize_namespace(static_cast<std::uint32_t>(*nsid), *size).transform([] {
          return json();
        });
      });
  registry.add("drive NAME namespace remove NSID", "removes a namespace; an event informs the host",
               [](const ControlledDrive& entry, Words words) -> Result<json> {
                 const auto nsid = control::number_of(words[4], 0xFFFFFFFE);
                 if (!nsid) return std::unexpected(nsid.error());
                 return entry.drive->commands().remove_namespace(static_cast<std::uint32_t>(*nsid)).transform([] {
                   return json();
                 });
               });
}

void add_state_commands(Registry& registry) {
  registry.add("drive NAME status", "whether a drive is in its slot, ready or failed, and its namespaces",
               [](const ControlledDrive& entry, Words) -> Result<json> { return status_json(entry); });
  registry.add("drive NAME counters", "commands by opcode, completions, interrupts and errors, since the start",
               [](const ControlledDrive& entry, Words) -> Result<json> { return counters_json(entry); });
  registry.add("drive NAME admin-log",
               "the last 1024 admin commands that the drive fetched, oldest first, and in which order they ended",
               [](const ControlledDrive& entry, Words) -> Result<json> { return admin_log_json(entry); });
  registry.add("drive NAME fatal", "controller fatal status (CSTS.CFS): nothing works until the host resets it",
               [](const ControlledDrive& entry, Words) -> Result<json> {
                 entry.drive->controller().set_fatal();
                 return json();
               });
  registry.add("drive NAME pause|resume", "CSTS.PP: commands wait until resume, as during a firmware activation",
               [](const ControlledDrive& entry, Words words) -> Result<json> {
                 entry.drive->controller().pause(words[2] == "pause");
                 return json();
               });
  registry.add("drive NAME power-cut",
               "power lost and back at once: unflushed data is lost, and so are queues and registers",
               [](const ControlledDrive& entry, Words) -> Result<json> {
                 entry.drive->controller().power_cut();
                 return json();
               });
  registry.add("drive NAME remove|insert", "surprise removal: the slot reads as all ones; or puts the drive back",
               [](const ControlledDrive& entry, Words words) -> Result<json> {
                 entry.endpoint->set_present(words[2] == "insert");
                 return json();
               });
}

}  // namespace

void add_commands(control::Commands& commands, std::vector<ControlledDrive> drives) {
  Registry registry(commands, std::move(drives));
  commands.add("drive list", "every drive with its state", [drives = registry.drives()](Words) -> Result<json> {
    auto all = json::array();
    for (const auto& entry : *drives) all.push_back(status_json(entry));
    return json{{"drives", all}};
  });
  add_state_commands(registry);
  add_fault_commands(registry);
  add_media_commands(registry);
}

}  // namespace smartio::nvme
