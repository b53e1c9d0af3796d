// SPDX-License-Identifier: GPL-2.0
// In place of the layers of the core that the tests leave out: the consumer, borrowers' joints, the local transport,
// attributes.
#include "tests/drivers/smartio/driver.h"

extern "C" {
#define private private_member
#define export export_member
#include "path.h"
#include "sysfs.h"
#undef private
#undef export

const struct attribute_group* smartio_host_class_groups[] = {nullptr};
const struct attribute_group* smartio_host_groups[] = {nullptr};
const struct attribute_group* smartio_export_class_groups[] = {nullptr};
const struct attribute_group* smartio_export_groups[] = {nullptr};
const struct attribute_group* smartio_path_groups[] = {nullptr};

int smartio_bus_init(const struct attribute_group** /*groups*/) { return 0; }
void smartio_bus_exit(void) {}
int path_irqs_init(void) { return 0; }
void path_irqs_exit(void) {}
void local_init(void) {}
void local_exit(void) {}
int remote_paths_init(struct smartio_link* /*link*/) { return 0; }
void remote_paths_exit(struct smartio_link* /*link*/) {}
int remote_paths_host(struct smartio_link* /*link*/, const uuid_t* /*host*/) { return 0; }
void remote_paths_lost(struct smartio_link* /*link*/) {}
bool remote_paths_write(struct smartio_link* /*link*/, bool /*forget*/) { return false; }
bool remote_paths_unstopped(struct smartio_link* /*link*/) { return false; }
bool remote_paths_message(struct smartio_link* /*link*/, const struct wire_message* /*message*/,
                          const void* /*payload*/) {
  return true;
}
}
