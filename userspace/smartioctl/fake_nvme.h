// SPDX-License-Identifier: GPL-2.0
// The primary controller "nvme0" of a drive with secondary ones, for unit tests. It refuses the commands that the
// specification lets it refuse (NVM Express Base Specification 2.1, 5.2.6).
#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "smartioctl/nvme_admin.h"

namespace smartio::ctl {

class FakeNvme : public NvmeAdmin {
 public:
  struct Secondary {
    unsigned id;
    unsigned function;
    unsigned queues = 0;
    unsigned interrupts = 0;
    bool online = false;
  };
  struct Resource {
    unsigned total;
    unsigned primary = 0;
    unsigned most = 8;
    unsigned step = 1;
  };

  FakeNvme() : NvmeAdmin("/nowhere") {}
  [[nodiscard]] int send(const std::string& controller, nvme_admin_cmd& command) const override {
    if (controller != "nvme0" || error != 0) return controller != "nvme0" ? -ENOENT : error;
    if (command.opcode == 0x06) return identify_into(command);
    if (command.opcode == 0x1c) return manage(command.cdw10, command.cdw11);
    return kInvalidOpcode;
  }

  std::vector<Secondary> mutable secondary;
  Resource queues{.total = 16};
  Resource interrupts{.total = 16};
  unsigned types = 3;                         ///< CRT
  int error = 0;                              ///< of any command
  int refused = 0;                            ///< of Virtualization Management
  std::vector<std::string> mutable commands;  ///< "ACTION of ID: NUMBER of TYPE"

 private:
  static constexpr int kInvalidOpcode = 0x4001;
  static constexpr int kInvalidController = 0x11f;
  static constexpr int kInvalidState = 0x120;
  static constexpr int kInvalidNumber = 0x121;
  static constexpr int kInvalidResource = 0x122;

  static void put(Page& page, std::size_t at, unsigned value, unsigned bytes) {
    for (unsigned n = 0; n < bytes; ++n) page[at + n] = static_cast<std::uint8_t>(value >> 8 * n);
  }
  [[nodiscard]] unsigned assigned(unsigned type) const {
    unsigned sum = 0;
    for (const Secondary& s : secondary) sum += type == 0 ? s.queues : s.interrupts;
    return sum;
  }
  int identify_into(nvme_admin_cmd& command) const {
    Page page{};
    if (command.cdw10 == 0x14) {
      put(page, 4, types, 1);
      for (unsigned type = 0; type < 2; ++type) {
        const Resource& resource = type == 0 ? queues : interrupts;
        const std::size_t at = type == 0 ? 32 : 64;
        put(page, at, resource.total, 4);
        put(page, at + 4, assigned(type), 4);
        put(page, at + 8, resource.primary, 2);
        put(page, at + 12, resource.most, 2);
        put(page, at + 14, resource.step, 2);
      }
    } else if (command.cdw10 == 0x15) {
      put(page, 0, static_cast<unsigned>(secondary.size()), 1);
      for (std::size_t n = 0; n < secondary.size(); ++n) {
        const std::size_t at = 32 + 32 * n;
        put(page, at, secondary[n].id, 2);
        put(page, at + 4, secondary[n].online ? 1 : 0, 1);
        put(page, at + 8, secondary[n].function, 2);
        put(page, at + 10, secondary[n].queues, 2);
        put(page, at + 12, secondary[n].interrupts, 2);
      }
    } else {
      return kInvalidOpcode;
    }
    std::memcpy(reinterpret_cast<void*>(command.addr), page.data(), page.size());
    return 0;
  }
  int manage(unsigned what, unsigned number) const {
    const unsigned type = what >> 8 & 7;
    const unsigned action = what & 15;
    commands.push_back(action == 9 ? fmt::format("online {}", what >> 16)
                                   : fmt::format("assign {} of {} to {}", number, type, what >> 16));
    if (refused != 0) return refused;
    for (Secondary& s : secondary) {
      if (s.id != what >> 16) continue;
      if (action == 9) {
        if (((types & 1) != 0 && s.queues < 2) || ((types & 2) != 0 && s.interrupts < 1)) return kInvalidState;
        s.online = true;
        return 0;
      }
      if (action != 8) return kInvalidOpcode;
      if ((types >> type & 1) == 0) return kInvalidResource;
      if (s.online) return kInvalidState;
      const Resource& resource = type == 0 ? queues : interrupts;
      unsigned& has = type == 0 ? s.queues : s.interrupts;
      if (number > resource.most || number % resource.step != 0 ||
          assigned(type) - has + number + resource.primary > resource.total) {
        return kInvalidNumber;
      }
      has = number;
      return 0;
    }
    return kInvalidController;
  }
};

}  // namespace smartio::ctl
