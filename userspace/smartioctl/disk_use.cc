// SPDX-License-Identifier: GPL-2.0
#include "smartioctl/disk_use.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "base/files.h"
#include "base/numbers.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "smartioctl/text.h"

namespace smartio::ctl {

namespace {

/// mountinfo and swaps write a blank as \040.
std::string unescaped(std::string_view text) {
  std::string result;
  const auto octal = [](char c) { return c >= '0' && c <= '7'; };
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\' && at + 3 < text.size() && octal(text[at + 1]) && octal(text[at + 2]) && octal(text[at + 3])) {
      result += static_cast<char>((text[at + 1] - '0') * 64 + (text[at + 2] - '0') * 8 + (text[at + 3] - '0'));
      at += 3;
    } else {
      result += text[at];
    }
  }
  return result;
}

}  // namespace

std::vector<Mount> parse_mounts(std::string_view mountinfo) {
  std::vector<Mount> mounts;
  for (const std::string_view line : lines_of(mountinfo)) {
    // 36 35 98:0 /root /mount/point options [optional…] - type source options
    const auto words = words_of(line);
    const auto dash = std::ranges::find(words, "-");
    if (words.size() < 5 || words.end() - dash < 3) continue;
    mounts.push_back({.device = std::string(words[2]), .source = unescaped(*(dash + 2)), .point = unescaped(words[4])});
  }
  return mounts;
}

std::vector<std::string> parse_swaps(std::string_view swaps) {
  std::vector<std::string> devices;
  bool head = true;
  for (const std::string_view line : lines_of(swaps)) {
    const auto words = words_of(line);
    if (!head && !words.empty()) devices.push_back(unescaped(words[0]));
    head = false;
  }
  return devices;
}

bool DiskUse::claimed(const std::filesystem::path& node) const {
  const UniqueFd fd(::open(node.c_str(), O_RDONLY | O_EXCL | O_NONBLOCK | O_CLOEXEC));
  return !fd && errno == EBUSY;
}

std::vector<std::string> DiskUse::of(const std::string& disk) const {
  std::vector<std::string> uses;
  const std::vector<Mount> mounts = parse_mounts(read_file(proc_ / "self/mountinfo").value_or(""));
  const std::vector<std::string> swaps = parse_swaps(read_file(proc_ / "swaps").value_or(""));
  const std::string folder = "class/block/" + disk;
  std::vector<std::string> parts = {disk};
  for (const std::string& name : sysfs_.list(folder)) {
    if (sysfs_.exists(folder + "/" + name + "/partition")) parts.push_back(name);
  }
  for (const std::string& part : parts) {
    const std::string at = "class/block/" + part;
    const std::string device = sysfs_.text(at + "/dev");
    const std::string node = "/dev/" + part;
    for (const Mount& mount : mounts) {
      if (mount.source == node || (!device.empty() && mount.device == device)) {
        uses.push_back(fmt::format("{} is mounted on {}", part, printable(mount.point)));
      }
    }
    if (std::ranges::find(swaps, node) != swaps.end()) uses.push_back(fmt::format("{} is swap space", part));
    for (const std::string& holder : sysfs_.list(at + "/holders")) {
      uses.push_back(fmt::format("{} is part of {}", part, holder));
    }
  }
  if (uses.empty() && claimed(dev_ / disk)) {
    uses.push_back(fmt::format("{} is held by something that this mount namespace does not show", disk));
  }
  return uses;
}

std::vector<std::string> DiskUse::openers(const std::string& node) const {
  std::vector<std::string> found;
  std::error_code error;
  // A process may end while it is looked at.
  for (std::filesystem::directory_iterator process(proc_, error), end; !error && process != end;
       process.increment(error)) {
    const std::string number = process->path().filename();
    if (!parse_number(number)) continue;
    std::error_code gone;
    for (std::filesystem::directory_iterator fd(process->path() / "fd", gone); !gone && fd != end; fd.increment(gone)) {
      std::error_code unreadable;
      if (std::filesystem::read_symlink(fd->path(), unreadable) != node) continue;
      const std::string name(trimmed(read_file(process->path() / "comm").value_or("")));
      found.push_back(fmt::format("process {} ({}) has {} open", number, printable(name), node));
      break;
    }
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace smartio::ctl
