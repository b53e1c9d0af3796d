// SPDX-License-Identifier: GPL-2.0
#include "cluster/installation.h"

#include <fmt/format.h>

#include <cstdlib>
#include <system_error>

namespace smartio::cluster {

namespace {
constexpr const char* kQemu = "usr/bin/qemu-system-x86_64";
}

Result<Installation> Installation::from_environment() {
  Installation found;
  const char* top = std::getenv("SMARTIO_TOP");
  if (top == nullptr) return fail("SMARTIO_TOP is not set: use scripts/cluster, which sets it");
  found.top = top;
  const char* cache = std::getenv("SMARTIO_CACHE");
  found.cache = cache != nullptr ? std::filesystem::path(cache) : found.top / "build/cache";
  const char* fabric = std::getenv("SMARTIO_FABRIC");
  found.fabric =
      fabric != nullptr ? std::filesystem::path(fabric) : found.top / "build/userspace/fabric/smartio-fabric";
  const char* flavour = std::getenv("SMARTIO_KERNEL");
  if (flavour != nullptr) found.kernel_flavour = flavour;
  const char* server = std::getenv("SMARTIO_SERVER_IMAGE");
  if (server != nullptr) found.server_image = std::filesystem::absolute(server);
  const auto& name = found.kernel_flavour;
  if (!name.empty() && name != "debug" && name != "backports" && name != "debug-backports") {
    return fail(fmt::format(
        "SMARTIO_KERNEL={}: there is \"debug\", \"backports\", \"debug-backports\", or nothing for the stock kernel",
        name));
  }
  return found;
}

std::vector<std::string> Installation::tree_prefix() const {
  std::error_code error;
  const auto inside = std::filesystem::path("/") / kQemu;
  if (std::filesystem::equivalent(inside, cache / "tree" / kQemu, error) && !error) return {};
  return {(top / "scripts/in-tree").string()};
}

Result<void> Installation::check(bool with_fabric) const {
  for (const auto& file : {cache / "tree" / kQemu, kernel(), initrd(), root_image(), kernel_arguments()}) {
    if (!std::filesystem::exists(file))
      return fail(fmt::format("{} is missing: run '{}'", file.string(),
                              kernel_flavour.empty()                ? "make setup"
                              : kernel_flavour == "debug"           ? "scripts/setup --debug-kernel"
                              : kernel_flavour == "debug-backports" ? "scripts/setup --debug-backports"
                                                                    : "scripts/setup --backports"));
  }
  if (with_fabric && !std::filesystem::exists(fabric)) {
    return fail(fmt::format("{} is missing: run 'make build'", fabric.string()));
  }
  return {};
}

Result<void> Installation::check_server() const {
  for (const auto& file : {server_root(), server_initrd()}) {
    if (!std::filesystem::exists(file)) {
      return fail(fmt::format("{} is missing: run 'scripts/setup --packaging'", file.string()));
    }
  }
  return {};
}

Result<void> Installation::check_vms() const {
  if (debug_kernel()) return fail(fmt::format("SMARTIO_KERNEL={}: this kernel has no KVM", kernel_flavour));
  if (!std::filesystem::exists(vm_image())) {
    return fail(fmt::format("{} is missing: run 'scripts/setup --vms'", vm_image().string()));
  }
  return {};
}

}  // namespace smartio::cluster
