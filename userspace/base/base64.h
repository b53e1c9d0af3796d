// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace smartio {

/// RFC 4648 section 4, with padding: how the protocol of the QEMU guest agent carries binary data.
std::string base64_encode(std::string_view bytes);
Result<std::string> base64_decode(std::string_view text);

}  // namespace smartio
