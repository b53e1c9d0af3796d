// SPDX-License-Identifier: GPL-2.0
#pragma once

// The programs of this folder, one binary in hosts: each copy of the C++ library would take 2 MiB of a small host's
// memory. Arguments and result are those of main().
int blocks_main(int argc, char** argv);
int fragment_main(int argc, char** argv);
int fs_log_main(int argc, char** argv);
int fs_worker_main(int argc, char** argv);
int guest_agent_main(int argc, char** argv);
int hot_plug_main(int argc, char** argv);
int late_read_main(int argc, char** argv);
int nvme_admin_main(int argc, char** argv);
int pr_ioctl_main(int argc, char** argv);
int reboot_now_main(int argc, char** argv);
int register_stores_main(int argc, char** argv);
int stamps_main(int argc, char** argv);
int swapped_main(int argc, char** argv);
int udp_load_main(int argc, char** argv);
int vfio_edu_main(int argc, char** argv);
