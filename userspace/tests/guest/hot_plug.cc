// SPDX-License-Identifier: GPL-2.0
// hot_plug DEVICE…: does for these PCI devices (0000:03:00.0) what native hot-plug does, for the fabric takes a device
// out of its slot without a word from the slot: a device whose configuration space reads all ones, or has been reset
// since, is removed; its bus is scanned until there is one again. Says both on standard output, a line each. Ends by a
// signal.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/guest/file.h"
#include "tests/guest/programs.h"

namespace {

constexpr std::chrono::milliseconds kLook{20};
constexpr unsigned kRescan = 10;  // looks for one scan of the bus

class Slot {
 public:
  explicit Slot(std::string device)
      : device_("/sys/bus/pci/devices/" + device),
        rescan_(fmt::format("/sys/class/pci_bus/{}/rescan", device.substr(0, device.rfind(':')))),
        name_(std::move(device)) {
    if (!std::filesystem::exists(device_)) throw std::runtime_error(name_ + ": there is no such device");
  }

  void look() {
    if (!there_) {
      // The kernel logs some lines each time.
      if (++looks_ % kRescan != 0) return;
      order(rescan_);
      if (!std::filesystem::exists(device_)) return;
      there_ = true;
      say("is back");
    } else if (is_gone()) {
      say("is gone");
      order(device_ / "remove");
      there_ = false;
      say("is removed");
    }
  }

 private:
  /// The device is out of its slot, or was: its driver has enabled it, and it is not enabled. QEMU keeps the BARs.
  [[nodiscard]] bool is_gone() const {
    const smartio::UniqueFd config = smartio::open_file(device_ / "config", O_RDONLY);
    std::array<std::uint32_t, 2> words{};
    if (::pread(config.get(), words.data(), sizeof(words), 0) != static_cast<ssize_t>(sizeof(words))) return true;
    constexpr std::uint32_t kMemorySpace = 2;  // of the command register
    return words[0] == ~0U || ((words[1] & kMemorySpace) == 0 && std::filesystem::exists(device_ / "driver"));
  }
  static void order(const std::filesystem::path& file) {
    const smartio::UniqueFd fd = smartio::open_file(file, O_WRONLY);
    constexpr std::string_view kYes = "1";
    if (::write(fd.get(), kYes.data(), kYes.size()) < 0) {
      throw std::system_error(errno, std::generic_category(), file.string());
    }
  }
  void say(std::string_view what) const {
    fmt::print("{} {}\n", name_, what);
    std::fflush(stdout);
  }

  std::filesystem::path device_;
  std::filesystem::path rescan_;
  std::string name_;
  bool there_ = true;
  unsigned looks_ = 0;
};

}  // namespace

int hot_plug_main(int argc, char** argv) {
  try {
    std::vector<Slot> slots;
    for (char* const word : std::span(argv, static_cast<std::size_t>(argc)).subspan(1)) slots.emplace_back(word);
    if (slots.empty()) throw std::runtime_error("hot_plug DEVICE…");
    for (;;) {
      for (Slot& slot : slots) slot.look();
      std::this_thread::sleep_for(kLook);
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
