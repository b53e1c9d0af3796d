// SPDX-License-Identifier: GPL-2.0
// The drivers' headers, which are C.
#pragma once

#include <cstddef>

extern "C" {
#include "messages.h"
#include "wire.h"
}

/// As in ring.c of ntb_smartio: the owner of a message's type decides which check it gets.
inline bool payload_ok(const wire_message& message, const void* payload) {
  if (message.type == WIRE_REPLY || message.type == WIRE_APERTURE) return wire_payload_ok(&message);
  return messages_payload_ok(&message, payload);
}
