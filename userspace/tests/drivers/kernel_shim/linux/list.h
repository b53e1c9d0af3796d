/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include <linux/compiler.h>
#include <linux/container_of.h>
#include <linux/types.h>

struct list_head {
  struct list_head *next, *prev;
};

#define LIST_HEAD_INIT(name) {&(name), &(name)}
#define LIST_HEAD(name) struct list_head name = LIST_HEAD_INIT(name)

static inline void INIT_LIST_HEAD(struct list_head* list) { list->next = list->prev = list; }

static inline bool list_empty(const struct list_head* list) { return list->next == list; }

static inline void list_add_tail(struct list_head* entry, struct list_head* list) {
  entry->next = list;
  entry->prev = list->prev;
  list->prev->next = entry;
  list->prev = entry;
}

/* A later use of the entry finds a null pointer. */
static inline void list_del(struct list_head* entry) {
  entry->prev->next = entry->next;
  entry->next->prev = entry->prev;
  entry->next = entry->prev = NULL;
}

static inline void list_del_init(struct list_head* entry) {
  list_del(entry);
  INIT_LIST_HEAD(entry);
}

#define list_entry(pointer, type, member) container_of(pointer, type, member)
#define list_for_each_entry(at, list, member)                                         \
  for (at = list_entry((list)->next, __typeof__(*at), member); &at->member != (list); \
       at = list_entry(at->member.next, __typeof__(*at), member))
#define list_for_each_entry_safe(at, following, list, member)           \
  for (at = list_entry((list)->next, __typeof__(*at), member),          \
      following = list_entry(at->member.next, __typeof__(*at), member); \
       &at->member != (list); at = following, following = list_entry(following->member.next, __typeof__(*at), member))
