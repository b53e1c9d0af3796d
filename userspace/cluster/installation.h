// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace smartio::cluster {

/// Where the things are that a cluster is made of: this checkout, and the cache that scripts/setup filled.
struct Installation {
  std::filesystem::path top;             ///< the checkout
  std::filesystem::path cache;           ///< $SMARTIO_CACHE
  std::filesystem::path fabric;          ///< the program smartio-fabric
  std::string kernel_flavour{};          ///< "" for the stock kernel; others: see scripts/setup
  std::filesystem::path server_image{};  ///< the disk that server hosts begin with; empty: that of `setup --packaging`

  /// From the environment that scripts/cluster sets: SMARTIO_TOP, SMARTIO_CACHE, SMARTIO_FABRIC,
  /// SMARTIO_KERNEL, SMARTIO_SERVER_IMAGE.
  static Result<Installation> from_environment();

  // Uncompressed, so that QEMU starts it at once by its PVH entry. That entry runs code that KASAN instruments before
  // there is a shadow for it. So the debug kernel starts by the ordinary entry.
  [[nodiscard]] std::filesystem::path kernel() const { return guest() / (debug_kernel() ? "vmlinuz" : "vmlinux"); }
  /// Whether hosts have a kernel with KASAN and lockdep: slow, and without what Debian's kernels have besides.
  [[nodiscard]] bool debug_kernel() const { return kernel_flavour.starts_with("debug"); }
  [[nodiscard]] std::filesystem::path initrd() const { return guest() / "initrd"; }
  [[nodiscard]] std::filesystem::path root_image() const { return cache / "guest/root.img"; }
  [[nodiscard]] std::filesystem::path server_root() const {
    return server_image.empty() ? cache / "guest-server/root.img" : server_image;
  }
  [[nodiscard]] std::filesystem::path server_initrd() const { return cache / "guest-server/initrd"; }
  /// The disk image of hosts that run virtual machines.
  [[nodiscard]] std::filesystem::path vm_image() const { return cache / "guest-vm/vm.img"; }
  [[nodiscard]] std::filesystem::path kernel_arguments() const { return guest() / "cmdline"; }
  /// This checkout's own modules and test programs, a cpio archive; there only once something was built.
  [[nodiscard]] std::filesystem::path overlay() const {
    return top / "build" /
           (kernel_flavour.empty() ? "guest-overlay.cpio" : "guest-overlay-" + kernel_flavour + ".cpio");
  }
  /// The plugin that counts guest instructions. Always that of build/userspace: QEMU can't load a sanitizer's one.
  [[nodiscard]] std::filesystem::path counter() const { return top / "build/userspace/tcg_count/smartio-tcg-count.so"; }
  /// The plugin that shows fences to the fabric, from the same place.
  [[nodiscard]] std::filesystem::path fencer() const { return top / "build/userspace/tcg_fence/smartio-tcg-fence.so"; }
  [[nodiscard]] std::filesystem::path run_folder() const { return top / "build/run"; }
  [[nodiscard]] std::filesystem::path topologies() const { return top / "selftests/topologies"; }

  /// The words before a command that has to run inside the tree: none where this process is in it already.
  [[nodiscard]] std::vector<std::string> tree_prefix() const;
  /// An error that names the first missing file and the command that makes it.
  [[nodiscard]] Result<void> check(bool with_fabric) const;
  /// The same for the additional files of server hosts.
  [[nodiscard]] Result<void> check_server() const;
  /// The same for the additional files of hosts that run virtual machines.
  [[nodiscard]] Result<void> check_vms() const;

 private:
  [[nodiscard]] std::filesystem::path guest() const {
    return cache / (kernel_flavour.empty() ? "guest" : "guest-" + kernel_flavour);
  }
};

}  // namespace smartio::cluster
