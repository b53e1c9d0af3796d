// SPDX-License-Identifier: GPL-2.0
#include "tests/drivers/kernel_shim/shim.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>

extern "C" {
#include <linux/bitmap.h>
#include <linux/completion.h>
#include <linux/device.h>
#include <linux/dmi.h>
#include <linux/irq.h>
#include <linux/kref.h>
#include <linux/mm.h>
#include <linux/msi.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/random.h>
#include <linux/spinlock.h>
#include <linux/sysfs.h>
#include <linux/uuid.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
long shim_strscpy(char* to, const char* from, size_t size);
char* strim(char* text);
}

namespace shim {

std::function<void()> meanwhile;
int allocations = -1;
std::string log;

namespace {

int spinlocks = 0;
int mutexes = 0;

/// No wait that ends takes that long.
constexpr unsigned long kForever = 2UL * 3600 * HZ;

constexpr unsigned long kLongBits = 8 * sizeof(unsigned long);

void may_sleep() { shim_assert(!spinlocks, "somebody sleeps with a spinlock"); }

std::string uuid_text(const uuid_t& uuid) {
  std::string text;
  for (int i = 0; i < 16; i++) {
    char byte[3];
    std::snprintf(byte, sizeof(byte), "%02x", uuid.b[i]);
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += byte;
  }
  return text;
}

// As the kernel's: %pUb is a UUID. Numbers of 64 bits are `long` or `long long`; u64 is one of them.
std::string format_text(const char* format, va_list arguments) {
  std::string text;
  for (const char* at = format; *at; at++) {
    if (*at != '%') {
      text += *at;
      continue;
    }
    if (!std::strncmp(at, "%pUb", 4)) {
      text += uuid_text(*va_arg(arguments, const uuid_t*));
      at += 3;
      continue;
    }
    const bool alternate = at[1] == '#';
    at += alternate;
    int longs = 0;
    while (at[1] == 'l') at++, longs++;
    char number[32];
    switch (*++at) {
      case 's':
        text += va_arg(arguments, const char*);
        break;
      case 'd':
        std::snprintf(number, sizeof(number), "%ld", longs ? va_arg(arguments, long) : va_arg(arguments, int));
        text += number;
        break;
      case 'u':
      case 'x': {
        const unsigned long value = longs ? va_arg(arguments, unsigned long) : va_arg(arguments, unsigned int);
        std::snprintf(number, sizeof(number), *at == 'u' ? "%lu" : alternate ? "%#lx" : "%lx", value);
        text += number;
        break;
      }
      case '%':
        text += '%';
        break;
      default:
        shim_assert(false, "a format that the shim doesn't know");
    }
  }
  return text;
}

}  // namespace

int locks() { return spinlocks + mutexes; }

}  // namespace shim

extern "C" {

void shim_assert(bool holds, const char* text) {
  if (holds) return;
  std::fprintf(stderr, "kernel shim: %s\n", text);
  std::abort();
}

// ---- locks ----

void spin_lock(spinlock_t* lock) {
  shim_assert(!lock->held, "somebody waits for a spinlock that is held");
  lock->held = true;
  shim::spinlocks++;
}

void spin_unlock(spinlock_t* lock) {
  shim_assert(lock->held, "somebody releases a spinlock that isn't held");
  lock->held = false;
  shim::spinlocks--;
}

void mutex_lock(struct mutex* mutex) {
  shim::may_sleep();
  shim_assert(mutex_trylock(mutex), "somebody waits for a mutex that is held");
}

bool mutex_trylock(struct mutex* mutex) {
  if (mutex->held) return false;
  shim::mutexes++;
  return mutex->held = true;
}

void mutex_unlock(struct mutex* mutex) {
  shim_assert(mutex->held, "somebody releases a mutex that isn't held");
  mutex->held = false;
  shim::mutexes--;
}

// ---- time, and who waits for it ----

unsigned long jiffies = 1000;

static struct list_head queued = LIST_HEAD_INIT(queued);
static struct list_head delayed = LIST_HEAD_INIT(delayed);

static void run(struct work_struct* work) {
  list_del(&work->entry);
  work->queued = false;
  work->run(work);
}

unsigned long shim_pause(unsigned long ticks) {
  static unsigned long begin = jiffies;

  shim::may_sleep();
  jiffies += ticks;
  shim_assert(jiffies - begin < shim::kForever, "somebody waits for ever");
  struct delayed_work *at, *next;
  list_for_each_entry_safe(at, next, &delayed, work.entry) {
    if (time_before(jiffies, at->due)) continue;
    list_del(&at->work.entry);
    list_add_tail(&at->work.entry, &queued);
  }
  if (!list_empty(&queued)) run(list_entry(queued.next, struct work_struct, entry));
  if (shim::meanwhile) {
    const std::function<void()> once = std::exchange(shim::meanwhile, nullptr);
    once();
    if (!shim::meanwhile) shim::meanwhile = once;
  }
  return ticks;
}

unsigned long wait_for_completion_timeout(struct completion* completion, unsigned long ticks) {
  return (unsigned long)wait_event_timeout(*completion, completion->done, (long)ticks);
}

struct workqueue_struct {
  int unused;
};

struct workqueue_struct* alloc_workqueue(const char* /*name*/, unsigned int /*flags*/, int /*max_active*/) {
  return (struct workqueue_struct*)shim_alloc(1, sizeof(struct workqueue_struct), GFP_KERNEL);
}

void destroy_workqueue(struct workqueue_struct* queue) {
  while (!list_empty(&queued)) run(list_entry(queued.next, struct work_struct, entry));
  shim_free(queue);
}

bool queue_work(struct workqueue_struct* /*queue*/, struct work_struct* work) {
  if (work->queued) return false;
  list_add_tail(&work->entry, &queued);
  return work->queued = true;
}

bool queue_delayed_work(struct workqueue_struct* /*queue*/, struct delayed_work* work, unsigned long ticks) {
  if (work->work.queued) return false;
  work->due = jiffies + ticks;
  list_add_tail(&work->work.entry, &delayed);
  return work->work.queued = true;
}

bool cancel_work_sync(struct work_struct* work) {
  shim::may_sleep();
  if (!work->queued) return false;
  list_del(&work->entry);
  work->queued = false;
  return true;
}

bool cancel_delayed_work_sync(struct delayed_work* work) { return cancel_work_sync(&work->work); }

bool flush_work(struct work_struct* work) {
  shim::may_sleep();
  if (!work->queued) return false;
  run(work);
  return true;
}

int blocking_notifier_chain_register(struct blocking_notifier_head* head, struct notifier_block* notifier) {
  struct notifier_block** last = &head->first;
  while (*last) last = &(*last)->next;
  notifier->next = nullptr;
  *last = notifier;
  return 0;
}

int blocking_notifier_chain_unregister(struct blocking_notifier_head* head, struct notifier_block* notifier) {
  for (struct notifier_block** at = &head->first; *at; at = &(*at)->next) {
    if (*at != notifier) continue;
    *at = notifier->next;
    return 0;
  }
  return -ENOENT;
}

int blocking_notifier_call_chain(struct blocking_notifier_head* head, unsigned long event, void* data) {
  int result = NOTIFY_DONE;
  shim::may_sleep();
  for (struct notifier_block* at = head->first; at && !(result & NOTIFY_STOP_MASK); at = at->next)
    result = at->notifier_call(at, event, data);
  return result;
}

// ---- memory ----

void* shim_alloc(size_t count, size_t size, gfp_t gfp) {
  shim::may_sleep();
  if (shim::allocations >= 0 && !(gfp & __GFP_NOFAIL) && !shim::allocations--) {
    shim::allocations = 0;
    return nullptr;
  }
  return std::calloc(count, size);
}

void shim_free(const void* memory) { std::free(const_cast<void*>(memory)); }

struct page* shim_pages_alloc(size_t size, gfp_t gfp) {
  auto* pages = (struct page*)shim_alloc(1, sizeof(struct page) + size, gfp);
  if (pages) pages->memory = pages + 1;
  return pages;
}

void kref_init(struct kref* kref) { kref->references = 1; }

void kref_get(struct kref* kref) { shim_assert(kref->references++, "somebody gets a reference to what is released"); }

int kref_put(struct kref* kref, void (*release)(struct kref* kref)) {
  shim_assert(kref->references, "somebody puts a reference that isn't there");
  if (--kref->references) return 0;
  release(kref);
  return 1;
}

unsigned long* bitmap_zalloc(unsigned int bits, gfp_t gfp) {
  return (unsigned long*)shim_alloc((bits + shim::kLongBits - 1) / shim::kLongBits, sizeof(unsigned long), gfp);
}

void bitmap_free(const unsigned long* bitmap) { shim_free(bitmap); }

unsigned long shim_find_bit(const unsigned long* bitmap, unsigned long bits, unsigned long from, bool set) {
  for (; from < bits; from++)
    if ((bitmap[from / shim::kLongBits] >> from % shim::kLongBits & 1) == set) return from;
  return bits;
}

bool __test_and_clear_bit(unsigned long bit, unsigned long* bitmap) {
  const unsigned long mask = 1UL << bit % shim::kLongBits;
  const bool was = bitmap[bit / shim::kLongBits] & mask;
  bitmap[bit / shim::kLongBits] &= ~mask;
  return was;
}

void __set_bit(unsigned long bit, unsigned long* bitmap) {
  bitmap[bit / shim::kLongBits] |= 1UL << bit % shim::kLongBits;
}

using Entries = std::map<unsigned long, void*>;

void xa_init_flags(struct xarray* array, unsigned int flags) {
  shim_assert(flags == XA_FLAGS_ALLOC1, "an xarray that the shim doesn't know");
  array->entries = new Entries;
}

void xa_destroy(struct xarray* array) { delete (Entries*)array->entries; }

int xa_alloc(struct xarray* array, u32* index, void* entry, struct xa_limit limit, gfp_t gfp) {
  void* memory = shim_alloc(1, 1, gfp);
  auto& entries = *(Entries*)array->entries;
  u32 free = 1;
  if (!memory) return -ENOMEM;
  shim_free(memory);
  while (entries.contains(free)) free++;
  if (free > limit.max) return -EBUSY;
  entries[*index = free] = entry;
  return 0;
}

void* xa_load(struct xarray* array, unsigned long index) {
  auto& entries = *(Entries*)array->entries;
  const auto at = entries.find(index);
  return at == entries.end() ? nullptr : at->second;
}

void* xa_erase(struct xarray* array, unsigned long index) {
  void* entry = xa_load(array, index);
  ((Entries*)array->entries)->erase(index);
  return entry;
}

void* shim_xa_from(struct xarray* array, unsigned long* index) {
  auto& entries = *(Entries*)array->entries;
  const auto at = entries.lower_bound(*index);
  if (at == entries.end()) return nullptr;
  *index = at->first;
  return at->second;
}

// ---- text ----

void shim_log(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  shim::log += shim::format_text(format, arguments);
  va_end(arguments);
}

static int put(char* to, size_t size, const char* format, va_list arguments) {
  const std::string text = shim::format_text(format, arguments);
  std::snprintf(to, size, "%s", text.c_str());
  return (int)text.size();
}

int shim_snprintf(char* text, unsigned long size, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int length = put(text, size, format, arguments);
  va_end(arguments);
  return length;
}

int sysfs_emit_at(char* buffer, int at, const char* format, ...) {
  va_list arguments;
  if (at < 0 || at >= (int)PAGE_SIZE) return 0;
  va_start(arguments, format);
  const int length = put(buffer + at, PAGE_SIZE - (size_t)at, format, arguments);
  va_end(arguments);
  return length < (int)PAGE_SIZE - at ? length : (int)PAGE_SIZE - at - 1;
}

long shim_strscpy(char* to, const char* from, size_t size) {
  const size_t length = strnlen(from, size);
  if (!size) return -E2BIG;
  std::memcpy(to, from, length < size ? length : size - 1);
  to[length < size ? length : size - 1] = '\0';
  return length < size ? (long)length : -E2BIG;
}

char* strim(char* text) {
  size_t length = std::strlen(text);
  while (length && std::isspace((unsigned char)text[length - 1])) text[--length] = '\0';
  while (std::isspace((unsigned char)*text)) text++;
  return text;
}

bool uuid_is_null(const uuid_t* uuid) {
  const uuid_t null = {};
  return uuid_equal(uuid, &null);
}

int uuid_parse(const char* text, uuid_t* uuid) {
  uuid_t parsed = {};
  const char* at = text;
  for (int i = 0; i < 16; i++) {
    if ((i == 4 || i == 6 || i == 8 || i == 10) && *at++ != '-') return -EINVAL;
    if (!std::isxdigit((unsigned char)at[0]) || !std::isxdigit((unsigned char)at[1])) return -EINVAL;
    const char byte[] = {at[0], at[1], '\0'};
    parsed.b[i] = (u8)std::strtoul(byte, nullptr, 16);
    at += 2;
  }
  *uuid = parsed;
  return 0;
}

u32 get_random_u32(void) { return (u32)std::rand(); }
u64 get_random_u64(void) { return (u64)get_random_u32() << 32 | get_random_u32(); }

void uuid_gen(uuid_t* uuid) {
  for (u8& byte : uuid->b) byte = (u8)std::rand();
}

// ---- devices ----

const char* shim_product_uuid = "00000000-0000-4000-8000-000000000001";

struct device* shim_device_create(int* siblings, const char* format, ...) {
  auto* dev = (struct device*)shim_alloc(1, sizeof(struct device), GFP_KERNEL);
  va_list arguments;
  if (!dev) return (struct device*)ERR_PTR(-ENOMEM);
  va_start(arguments, format);
  put(dev->name, sizeof(dev->name), format, arguments);
  va_end(arguments);
  dev->siblings = siblings;
  ++*siblings;
  return dev;
}

void device_unregister(struct device* dev) {
  shim::may_sleep();
  --*dev->siblings;
  shim_free(dev);
}

static struct irq_data irqs[64];

struct irq_data* irq_get_irq_data(unsigned int irq) { return &irqs[irq]; }

void get_cached_msi_msg(unsigned int irq, struct msi_msg* message) { *message = irqs[irq].message; }

void pci_write_msi_msg(unsigned int irq, struct msi_msg* message) { irqs[irq].message = *message; }

}  // extern "C"
