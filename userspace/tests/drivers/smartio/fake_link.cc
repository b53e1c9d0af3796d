// SPDX-License-Identifier: GPL-2.0
#include "tests/drivers/smartio/fake_link.h"

#include <cstdlib>

#include "tests/drivers/kernel_shim/shim.h"

namespace {

FakeLink& of(smartio_link* link) { return *static_cast<FakeLink*>(link); }

smartio_transport transport;

Sent copy(const wire_message* message, const void* payload) {
  return {*message, payload ? std::string(static_cast<const char*>(payload), message->length) : std::string()};
}

void free_page(page* page) {
  std::free(page->memory);
  delete page;
}

void release(smartio_link* link) { of(link).released = true; }

int send(smartio_link* link, u32 generation, const wire_message* message, const void* payload) {
  if (link->state != SMARTIO_LINK_UP || link->generation != generation) return -ENOLINK;
  of(link).sent.push_back(copy(message, payload));
  return 0;
}

int call(smartio_link* link, const wire_message* message, const void* payload, void* reply, size_t* size,
         unsigned int /*timeout_ms*/) {
  if (link->state != SMARTIO_LINK_UP) return -ENOLINK;
  of(link).called.push_back(copy(message, payload));
  return of(link).answer ? of(link).answer(*message, reply, size) : 0;
}

void recheck(smartio_link* link) {
  FakeLink& fake = of(link);
  fake.rechecks++;
  shim_assert(!fake.lock.held, "recheck with the link's lock");
  if (fake.client->fenced(&fake.peer.uuid)) {
    if (fake.settling) fake.settling();
    fake.lose(SMARTIO_LINK_REFUSED);
  } else if (fake.state == SMARTIO_LINK_REFUSED) {
    fake.state = SMARTIO_LINK_DOWN;
  }
}

void rejoin(smartio_link* link, bool ask) {
  FakeLink& fake = of(link);
  fake.asks = ask;
  if (ask && fake.answer && !fake.answer({}, nullptr, nullptr)) {
    fake.fenced = false;
    fake.state = SMARTIO_LINK_UP;
  }
}

page* pages_alloc(smartio_link* link, u32 owner, size_t size, dma_addr_t* dma) {
  auto* pages = new page{std::calloc(1, size)};
  *dma = reinterpret_cast<dma_addr_t>(pages->memory);
  of(link).pages.push_back(pages);
  of(link).owners.push_back(owner);
  return pages;
}

void pages_free(smartio_link* link, size_t /*size*/, page* pages, dma_addr_t /*dma*/, const smartio_holder* holder) {
  of(link).pages.remove(pages);
  if (holder)
    of(link).held.push_back({pages, *holder});
  else
    free_page(pages);
}

void pages_forget(smartio_link* link, u32 owner) { of(link).forgotten.push_back(owner); }

int expose(smartio_link* link, const smartio_registers* registers, u64* peer_addr) {
  of(link).exposed++;
  *peer_addr = registers->bus + registers->offset;
  return 0;
}

void conceal(smartio_link* link, const smartio_registers* registers, u64 peer_addr, const smartio_holder* holder) {
  shim_assert(peer_addr == registers->bus + registers->offset, "what is concealed was exposed");
  of(link).exposed--;
  if (holder) of(link).held_addresses.push_back(*holder);
}

void restart(smartio_link* link, const char* /*why*/) { of(link).restarts++; }

bool is_of(const smartio_holder& one, const smartio_holder* holder) {
  return (!holder->owner || holder->owner == one.owner) && (!holder->key || holder->key == one.key);
}

void stopped(smartio_link* link, const smartio_holder* holder) {
  of(link).held_addresses.remove_if([&](const smartio_holder& one) { return is_of(one, holder); });
  of(link).held.remove_if([&](const FakeLink::Held& held) {
    if (!is_of(held.holder, holder)) return false;
    free_page(held.pages);
    return true;
  });
}

int peer_phys(smartio_link* link, u64 addr, u64 size, phys_addr_t* phys) {
  const FakeLink& fake = of(link);
  const bool irqs = addr >= fake.msi_base && addr + size <= fake.msi_base + fake.msi_size;
  if (irqs ? !fake.reaches_irqs : addr + size > FakeLink::kOpen) return -ERANGE;
  *phys = FakeLink::kWindow + addr;
  return 0;
}

int map(smartio_link* link, device* /*dev*/, u64 addr, u64 /*size*/, u64* device_addr) {
  of(link).mapped++;
  *device_addr = addr + (1ULL << 40);
  return 0;
}

int map_memory(smartio_link* link, device* /*dev*/, u64* offset) {
  of(link).mapped++;
  *offset = 1ULL << 40;
  return 0;
}

int map_irq(smartio_link* link, device* dev, u64 addr, u64* device_addr) {
  return map(link, dev, addr, 4, device_addr);
}

void unmap(smartio_link* link, device* /*dev*/) {
  of(link).mapped = 0;
  of(link).unmaps++;
}

const smartio_link_ops operations = [] {
  smartio_link_ops ops{};
  ops.release = release;
  ops.send = send;
  ops.call = call;
  ops.restart = restart;
  ops.recheck = recheck;
  ops.rejoin = rejoin;
  ops.peer_phys = peer_phys;
  ops.pages_alloc = pages_alloc;
  ops.pages_free = pages_free;
  ops.pages_forget = pages_forget;
  ops.expose = expose;
  ops.conceal = conceal;
  ops.stopped = stopped;
  ops.map = map;
  ops.map_memory = map_memory;
  ops.map_irq = map_irq;
  ops.unmap = unmap;
  return ops;
}();

}  // namespace

FakeLink::FakeLink(const std::string& its_name) : smartio_link{} {
  ops = &operations;
  smartio_link::transport = &::transport;
  msi_base = 0xFEE00000;
  msi_size = 0x100000;
  its_name.copy(name, sizeof(name) - 1);
  shim_assert(!smartio_link_init(this), "a link was not set up");
  smartio_link_register(this);
}

FakeLink::~FakeLink() {
  lose();
  smartio_link_unregister(this);
  smartio_link_put(this);
  shim_assert(released, "somebody has a reference to a link that went");
  for (const Held& each : held) free_page(each.pages);
}

int FakeLink::join(const smartio_identity& who) {
  const int ret = client->admit(this, &who);
  if (ret) {
    state = SMARTIO_LINK_REFUSED;
    return ret;
  }
  peer = who;
  known = true;
  generation++;
  state = SMARTIO_LINK_UP;
  client->up(this);
  return 0;
}

void FakeLink::lose(smartio_link_state next) {
  const bool was_up = state == SMARTIO_LINK_UP;
  state = next;
  if (!was_up) return;
  client->lost(this);
  held_addresses.clear();
}

int FakeLink::ask(const wire_message& header, const void* payload, std::optional<u32> in) {
  char room[4096] = {};
  size_t size = sizeof(room);
  if (!client->valid(&header, payload)) return -EBADMSG;
  const int locks = shim::locks();
  const int ret = client->request(this, in.value_or(generation), &header, payload, room, &size);
  shim_assert(size <= sizeof(room), "a reply is longer than its room");
  shim_assert(shim::locks() == locks, "a request leaves a lock");
  reply.assign(room, ret ? 0 : size);
  return ret;
}

int FakeLink::order(const std::string& host, bool fenced_then, unsigned int timeout_ms, std::optional<u32> in) {
  wire_message header{};
  wire_fence fence{};
  header.type = WIRE_FENCE;
  header.length = sizeof(fence);
  header.timeout_ms = timeout_ms;
  fence.fenced = fenced_then;
  host.copy(fence.host, sizeof(fence.host) - 1);
  return ask(header, &fence, in);
}

std::vector<Sent> FakeLink::sent_of(u16 type) const {
  std::vector<Sent> result;
  for (const Sent& each : sent)
    if (each.message.type == type) result.push_back(each);
  return result;
}
