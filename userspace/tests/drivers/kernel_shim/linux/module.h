/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/types.h>

struct module {
  int users;
  bool going;
};

static inline bool try_module_get(struct module* module) {
  if (module && module->going) return false;
  if (module) module->users++;
  return true;
}

static inline void module_put(struct module* module) {
  if (module) module->users--;
}

/* Tests load and unload the module, and set its parameters. */
int shim_module_init(void);
void shim_module_exit(void);

#define module_init(function) \
  int shim_module_init(void) { return function(); }
#define module_exit(function) \
  void shim_module_exit(void) { function(); }
#define module_param(name, type, mode) __typeof__(name)* shim_param_##name = &(name)
#define MODULE_PARM_DESC(name, text)
#define MODULE_SOFTDEP(text)
#define MODULE_DESCRIPTION(text)
#define MODULE_LICENSE(text)
