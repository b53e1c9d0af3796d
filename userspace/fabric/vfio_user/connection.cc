// SPDX-License-Identifier: GPL-2.0
#include "fabric/vfio_user/connection.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>

namespace smartio::vfio_user {
namespace {

constexpr int kFillsAtOnce = 16;         // then the thread polls again
constexpr std::size_t kMaxBatch = 4096;  // stores handed over together
constexpr std::size_t kAny = kMaxMessage - sizeof(Header);

/// The largest transfer that the client's VERSION text allows.
Result<std::uint32_t> max_transfer(std::span<const std::byte> text) {
  if (text.empty()) return kMaxTransfer;
  if (text.back() != std::byte{0}) return fail("VERSION with text that does not end");
  const char* begin = reinterpret_cast<const char*>(text.data());
  const auto json = nlohmann::json::parse(begin, begin + text.size() - 1, nullptr, false);
  if (!json.is_object()) return fail("VERSION with text that is not a JSON object");
  const auto capabilities = json.find("capabilities");
  if (capabilities == json.end()) return kMaxTransfer;
  if (!capabilities->is_object()) return fail("VERSION with capabilities that are not an object");
  const auto size = capabilities->find("max_data_xfer_size");
  if (size == capabilities->end()) return kMaxTransfer;
  if (!size->is_number_unsigned() || size->get<std::uint64_t>() < 64) {
    return fail("VERSION with a max_data_xfer_size that is no number or below 64");
  }
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(size->get<std::uint64_t>(), kMaxTransfer));
}

}  // namespace

Connection::Connection(pci::Endpoint& endpoint, UniqueFd socket, std::shared_ptr<const Wakeup> wake,
                       std::chrono::milliseconds read_deadline)
    : endpoint_(endpoint),
      outbox_(std::make_shared<Outbox>(std::move(socket), std::move(wake))),
      dma_(std::make_shared<DmaRequests>(outbox_, read_deadline, [&endpoint] { endpoint.refused_by_qemu(); })) {
  const auto& bars = endpoint.description().bars;
  for (std::size_t bar = 0; bar < kBars; ++bar) region_sizes_[bar] = bars[bar].size;
  region_sizes_[kConfigRegion] = pci::ConfigSpace::kSize;
  dma_->set_thread(std::this_thread::get_id());
}

Connection::~Connection() {
  dma_->close();  // first: a thread that waits for this guest holds the function up
  endpoint_.detach();
}

Result<bool> Connection::receive() {
  for (int i = 0; i < kFillsAtOnce && wants_input(); ++i) {
    const auto filled = reader_.fill(socket());
    if (!filled) return std::unexpected(filled.error());
    if (*filled == MessageReader::Fill::closed) return false;
    if (*filled == MessageReader::Fill::nothing) return true;
    std::uint64_t messages = 0;
    while (true) {
      auto message = reader_.next();
      if (!message) {
        flush_stores();
        return std::unexpected(message.error());
      }
      if (!*message) break;
      ++messages;
      if (auto handled = handle(**message); !handled) {
        flush_stores();
        return std::unexpected(handled.error());
      }
    }
    flush_stores();
    endpoint_.counters().add(pci::Count::messages, messages);
    // poll() would say so if there were more: to ask the socket first takes each message a system call.
    if (!reader_.filled_up()) return true;
  }
  return true;
}

const Connection::Rule* Connection::rule(Command command) {
  static const std::array<Rule, 16> rules = {{
      {},
      {&Connection::version, sizeof(Version), sizeof(Version) + kMaxVersionText, 0},
      {&Connection::dma_map, sizeof(DmaMap), sizeof(DmaMap), 1},
      {&Connection::dma_unmap, sizeof(DmaUnmap), sizeof(DmaUnmap), 0},
      {&Connection::get_info, sizeof(DeviceInfo), sizeof(DeviceInfo), 0},
      {&Connection::get_region_info, sizeof(RegionInfo), sizeof(RegionInfo), 0},
      {&Connection::get_region_io_fds, sizeof(RegionIoFds), sizeof(RegionIoFds), 0},
      {&Connection::get_irq_info, sizeof(IrqInfo), sizeof(IrqInfo), 0},
      {&Connection::set_irqs, sizeof(IrqSet), sizeof(IrqSet) + 2048, kMaxFds},
      {&Connection::region_read, sizeof(RegionAccess), sizeof(RegionAccess), 0},
      {&Connection::region_write, sizeof(RegionAccess), kAny, 0},
      {},
      {},
      {&Connection::device_reset, 0, 0, 0},
      {&Connection::dirty_pages, 0, kAny, 0},
      {&Connection::region_write_multi, sizeof(WriteMulti), sizeof(WriteMulti) + kMaxStores * sizeof(WriteMultiStore),
       0},
  }};
  const auto index = static_cast<std::size_t>(command);
  return index < rules.size() && rules[index].handle != nullptr ? &rules[index] : nullptr;
}

Connection::Handled Connection::handle(Message& message) {
  const auto command = static_cast<Command>(message.header.command);
  if ((message.header.flags & kFlagTypeMask) == kFlagReply) {
    if (!message.fds.empty()) return fail("a reply with descriptors");
    flush_stores();  // a completion does not pass posted writes (PCIe base 2.4.1)
    return dma_->reply(message);
  }
  const Rule* const rule = Connection::rule(command);
  if (rule == nullptr)
    return fail(fmt::format("command {}, which a client does not send", std::uint16_t{message.header.command}));
  if (message.body.size() < rule->min_body || message.body.size() > rule->max_body) {
    return fail(fmt::format("{} with a body of {} bytes", name(command), message.body.size()));
  }
  if (message.fds.size() > rule->max_fds) {
    return fail(fmt::format("{} with {} descriptors", name(command), message.fds.size()));
  }
  if (!negotiated_ && command != Command::version) return fail(fmt::format("{} before VERSION", name(command)));
  if (command != Command::region_write && command != Command::region_write_multi) flush_stores();
  return (this->*rule->handle)(message);
}

Connection::Handled Connection::version(Message& message) {
  if (negotiated_) return fail("a second VERSION");
  const auto version = peek<Version>(message.body);
  if (version.major != kMajor) {
    reply_error(message, EINVAL);
    return fail(fmt::format("VERSION {}.{}; we speak {}.{}", std::uint16_t{version.major}, std::uint16_t{version.minor},
                            kMajor, kMinor));
  }
  const auto transfer = max_transfer(message.body.subspan(sizeof(Version)));
  if (!transfer) return std::unexpected(transfer.error());
  dma_->set_max_transfer(*transfer);
  negotiated_ = true;
  endpoint_.attach(dma_);

  const nlohmann::json json = {{"capabilities",
                                {{"max_msg_fds", kMaxFds},
                                 {"max_data_xfer_size", kMaxTransfer},
                                 {"max_dma_maps", pci::MemoryMap::kMaxRanges},
                                 {"pgsizes", 4096},
                                 {"write_multiple", true}}}};
  const std::string text = json.dump();
  const Version ours{kMajor, kMinor};
  reply(message, std::as_bytes(std::span(&ours, 1)), std::as_bytes(std::span(text.c_str(), text.size() + 1)));
  return {};
}

Connection::Handled Connection::dma_map(Message& message) {
  const auto map = peek<DmaMap>(message.body);
  endpoint_.counters().add(pci::Count::dma_maps);
  constexpr std::uint32_t known = kDmaMapRead | kDmaMapWrite | kDmaMapMmap | kDmaMapFileIo;
  if ((map.flags & ~known) != 0 || ((map.flags & (kDmaMapMmap | kDmaMapFileIo)) != 0 && message.fds.empty())) {
    reply_error(message, EINVAL);
    return {};
  }
  // File I/O is not done here; such a range is reached through the client.
  UniqueFd fd;
  if (!message.fds.empty() && (map.flags & kDmaMapFileIo) == 0) fd = std::move(message.fds[0]);
  std::string unsafe;
  const auto mapped =
      endpoint_.memory().map({map.address}, map.size, {(map.flags & kDmaMapRead) != 0, (map.flags & kDmaMapWrite) != 0},
                             map.offset, std::move(fd), &unsafe);
  if (!unsafe.empty() && !std::exchange(unsafe_memory_logged_, true)) {
    spdlog::warn("{}: guest memory is reached by messages, slowly: {}", endpoint_.full_name(), unsafe);
  }
  if (!mapped) {
    spdlog::warn("{}: {}", endpoint_.full_name(), mapped.error().message);
    reply_error(message, mapped.error().number);
    return {};
  }
  reply(message);
  return {};
}

Connection::Handled Connection::dma_unmap(Message& message) {
  const auto unmap = peek<DmaUnmap>(message.body);
  endpoint_.counters().add(pci::Count::dma_unmaps);
  if ((unmap.flags & ~kDmaUnmapAll) != 0) {
    reply_error(message, EINVAL);
    return {};
  }
  if ((unmap.flags & kDmaUnmapAll) != 0) {
    endpoint_.memory().clear();
  } else {
    endpoint_.memory().unmap({unmap.address}, unmap.size);
  }
  reply_with(message, unmap);
  return {};
}

Connection::Handled Connection::get_info(Message& message) {
  if (peek<DeviceInfo>(message.body).argsz < sizeof(DeviceInfo)) {
    reply_error(message, EINVAL);
    return {};
  }
  reply_with(message, DeviceInfo{sizeof(DeviceInfo), kDeviceReset | kDevicePci, kRegions, kIrqs});
  return {};
}

Connection::Handled Connection::get_region_info(Message& message) {
  const auto asked = peek<RegionInfo>(message.body);
  if (asked.argsz < sizeof(RegionInfo) || asked.index >= kRegions) {
    reply_error(message, EINVAL);
    return {};
  }
  // Nothing is offered for mmap: with one such region QEMU would stop posting writes to all of them.
  const std::uint64_t size = region_size(asked.index);
  reply_with(message,
             RegionInfo{sizeof(RegionInfo), size > 0 ? kRegionRead | kRegionWrite : 0U, asked.index, 0, size, 0});
  return {};
}

Connection::Handled Connection::get_region_io_fds(Message& message) {
  reply_error(message, EOPNOTSUPP);  // optional, and only of use with KVM
  return {};
}

Connection::Handled Connection::get_irq_info(Message& message) {
  const auto asked = peek<IrqInfo>(message.body);
  if (asked.argsz < sizeof(IrqInfo) || asked.index >= kIrqs) {
    reply_error(message, EINVAL);
    return {};
  }
  const bool msix = asked.index == kIrqMsix;
  reply_with(message, IrqInfo{sizeof(IrqInfo), msix ? kIrqEventfd | kIrqNoResize : 0U, asked.index,
                              msix ? endpoint_.vectors().size() : 0U});
  return {};
}

Connection::Handled Connection::set_irqs(Message& message) {
  const auto set = peek<IrqSet>(message.body);
  const std::uint32_t data = set.flags & (kIrqDataNone | kIrqDataBool | kIrqDataEventfd);
  const std::uint32_t action = set.flags & (kIrqActionMask | kIrqActionUnmask | kIrqActionTrigger);
  const bool with_fds = data == kIrqDataEventfd;
  if (std::popcount(data) != 1 || std::popcount(action) != 1 || (set.flags & ~(data | action)) != 0) {
    return fail(fmt::format("DEVICE_SET_IRQS with flags {:#x}", std::uint32_t{set.flags}));
  }
  if (!message.fds.empty() && (!with_fds || message.fds.size() != set.count)) {
    return fail(fmt::format("DEVICE_SET_IRQS for {} vectors with {} descriptors", std::uint32_t{set.count},
                            message.fds.size()));
  }
  pci::VectorTable& vectors = endpoint_.vectors();
  const std::uint32_t available = set.index == kIrqMsix ? vectors.size() : 0;
  if (set.index >= kIrqs || set.start > available || set.count > available - set.start) {
    reply_error(message, EINVAL);
    return {};
  }
  if (action != kIrqActionTrigger || data == kIrqDataBool) {
    reply_error(message, EOPNOTSUPP);  // as DEVICE_GET_IRQ_INFO says
    return {};
  }
  if (set.count == 0) {
    if (set.index == kIrqMsix) vectors.remove_all();
  } else if (!with_fds) {
    // The client asks for an interrupt to itself.
    for (std::uint32_t i = 0; i < set.count; ++i) vectors.signal(set.start + i);
  } else if (message.fds.empty()) {
    vectors.remove(set.start, set.count);
  } else {
    for (const UniqueFd& fd : message.fds) {
      if (!pci::prepare_eventfd(fd.get())) return fail("DEVICE_SET_IRQS with a descriptor that is no eventfd");
    }
    const unsigned sent = vectors.assign(set.start, message.fds);
    endpoint_.counters().add(pci::Count::interrupts_sent, sent);
  }
  reply(message);
  return {};
}

std::uint64_t Connection::region_size(std::uint32_t region) const {
  return region < kRegions ? region_sizes_[region] : 0;
}

bool Connection::inside(std::uint32_t region, std::uint64_t offset, std::uint64_t count) const {
  const std::uint64_t size = region_size(region);
  return offset < size && count <= size - offset;
}

Connection::Handled Connection::region_read(Message& message) {
  const auto access = peek<RegionAccess>(message.body);
  if (access.count == 0 || access.count > kMaxTransfer || !inside(access.region, access.offset, access.count)) {
    reply_error(message, EINVAL);
    return {};
  }
  std::array<std::byte, 8> small;
  std::span<std::byte> data(small);
  if (access.count <= small.size()) {
    data = data.first(access.count);
  } else {
    scratch_.resize(access.count);
    data = scratch_;
  }
  if (access.region == kConfigRegion) {
    endpoint_.config_read(access.offset, data);
  } else {
    endpoint_.bar_read(access.region, access.offset, data);
  }
  reply(message, std::as_bytes(std::span(&access, 1)), data);
  return {};
}

Connection::Handled Connection::region_write(Message& message) {
  const auto access = peek<RegionAccess>(message.body);
  const auto data = message.body.subspan(sizeof(access));
  if (access.count != data.size()) {
    return fail(fmt::format("REGION_WRITE of {} bytes that brings {}", std::uint32_t{access.count}, data.size()));
  }
  if (access.count == 0 || !inside(access.region, access.offset, access.count)) {
    flush_stores();
    reply_error(message, EINVAL);
    return {};
  }
  if (access.region == kConfigRegion) {
    flush_stores();
    endpoint_.config_write(access.offset, data);
  } else if (data.size() <= sizeof(std::uint64_t)) {
    pci::Store store{access.offset, access.count, 0};
    std::memcpy(&store.data, data.data(), data.size());
    add_store(access.region, store);
    if ((message.header.flags & kFlagNoReply) == 0) flush_stores();
  } else {
    flush_stores();
    endpoint_.bar_write(access.region, access.offset, data);
  }
  reply_with(message, access);
  return {};
}

Connection::Handled Connection::region_write_multi(Message& message) {
  const std::uint64_t count = peek<WriteMulti>(message.body).count;
  const auto stores = message.body.subspan(sizeof(WriteMulti));
  if (count > kMaxStores || stores.size() != count * sizeof(WriteMultiStore)) {
    return fail(fmt::format("REGION_WRITE_MULTI of {} stores in {} bytes", count, stores.size()));
  }
  bool refused = false;
  for (std::size_t i = 0; i < count; ++i) {
    const auto wire = peek<WriteMultiStore>(stores, i * sizeof(WriteMultiStore));
    if (wire.count == 0 || wire.count > sizeof(wire.data)) {
      return fail(fmt::format("REGION_WRITE_MULTI with a store of {} bytes", std::uint32_t{wire.count}));
    }
    if (!inside(wire.region, wire.offset, wire.count)) {
      refused = true;
      continue;
    }
    const std::uint64_t data = wire.data & ~0ULL >> (64 - 8 * wire.count);
    if (wire.region == kConfigRegion) {
      flush_stores();
      endpoint_.config_write(wire.offset, std::as_bytes(std::span(&data, 1)).first(wire.count));
    } else {
      add_store(wire.region, {wire.offset, wire.count, data});
    }
  }
  if ((message.header.flags & kFlagNoReply) != 0) return {};
  flush_stores();
  if (refused) {
    reply_error(message, EINVAL);
  } else {
    reply(message);
  }
  return {};
}

void Connection::add_store(std::uint32_t bar, const pci::Store& store) {
  if (bar != stores_bar_ || stores_.size() >= kMaxBatch) flush_stores();
  stores_bar_ = bar;
  stores_.push_back(store);
}

void Connection::flush_stores() {
  if (stores_.empty()) return;
  endpoint_.bar_write_many(stores_bar_, stores_);
  stores_.clear();
}

Connection::Handled Connection::device_reset(Message& message) {
  endpoint_.device_reset();
  reply(message);
  return {};
}

Connection::Handled Connection::dirty_pages(Message& message) {
  reply_error(message, EOPNOTSUPP);  // no migration
  return {};
}

void Connection::reply(const Message& message, std::span<const std::byte> part, std::span<const std::byte> data) {
  if ((message.header.flags & kFlagNoReply) != 0) return;
  const Header header{message.header.id, message.header.command,
                      static_cast<std::uint32_t>(sizeof(Header) + part.size() + data.size()), kFlagReply, 0};
  outbox_->send(header, part, data, Outbox::Kind::reply);
}

void Connection::reply_error(const Message& message, int error) {
  if ((message.header.flags & kFlagNoReply) != 0) return;
  const Header header{message.header.id, message.header.command, sizeof(Header), kFlagReply | kFlagError,
                      static_cast<std::uint32_t>(error)};
  outbox_->send(header, {}, {}, Outbox::Kind::reply);
}

}  // namespace smartio::vfio_user
