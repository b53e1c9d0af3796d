/* SPDX-License-Identifier: GPL-2.0 */
/* As the kernel formats, %pUb included. */
#pragma once

void shim_log(const char* format, ...);
int shim_snprintf(char* text, unsigned long size, const char* format, ...);

#ifndef pr_fmt
#define pr_fmt(format) format
#endif
#define pr_info(format, ...) shim_log(pr_fmt(format), ##__VA_ARGS__)
#define pr_notice pr_info
#define pr_warn pr_info
#define pr_err pr_info
#define pr_info_ratelimited pr_info
#define pr_notice_ratelimited pr_info
#define pr_warn_ratelimited pr_info
#ifndef __cplusplus
#define snprintf shim_snprintf
#endif
#define WARN_ON_ONCE(condition)                             \
  ({                                                        \
    bool shim_warned = (condition);                         \
                                                            \
    if (shim_warned) shim_log("WARNING: %s\n", #condition); \
    shim_warned;                                            \
  })
