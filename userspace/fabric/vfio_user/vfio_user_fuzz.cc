// SPDX-License-Identifier: GPL-2.0
// Bytes from a hostile guest to a server's connection, cut into messages often enough to get past the header.
#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "fabric/pci/fake_function.h"
#include "fabric/pci/host.h"
#include "fabric/pci/test_memory.h"
#include "fabric/vfio_user/client.h"
#include "fabric/vfio_user/connection.h"
#include "fabric/vfio_user/descriptors.h"

namespace {

using namespace smartio;
using namespace smartio::vfio_user;

/// Takes values off the input; zeroes when it is used up.
class Input {
 public:
  explicit Input(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  template <typename T>
  T take() {
    T value{};
    const std::size_t size = std::min(sizeof(value), bytes_.size());
    if (size > 0) std::memcpy(&value, bytes_.data(), size);
    bytes_ = bytes_.subspan(size);
    return value;
  }
  std::vector<std::byte> take(std::size_t size) {
    size = std::min(size, bytes_.size());
    std::vector<std::byte> result(size);
    if (size > 0) std::memcpy(result.data(), bytes_.data(), size);
    bytes_ = bytes_.subspan(size);
    return result;
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  spdlog::set_level(spdlog::level::off);
  static const pci::TestMemory memory(1 << 16);
  static const pci::TestMemory loose(1 << 16, false);
  static const UniqueFd irq(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  const std::array<int, 4> known = {memory.raw_fd(), irq.get(), loose.raw_fd(), memory.raw_fd()};

  pci::MemoryFiles files;
  pci::Waits waits;
  pci::FakeFunction function;
  pci::Host host("h", false, files, waits);
  pci::Endpoint& endpoint = host.add("dev", function);
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return 0;
  UniqueFd guest(ends[0]);
  Connection connection(endpoint, UniqueFd(ends[1]), std::make_shared<Wakeup>(), std::chrono::milliseconds(1));

  Input input({data, size});
  if (input.take<std::uint8_t>() % 8 != 0) {  // most inputs start where QEMU would
    const Header header{0, 1, sizeof(Header) + sizeof(Version), 0, 0};
    const Version version{0, 0};
    std::vector<std::byte> bytes(header.size);
    std::memcpy(bytes.data(), &header, sizeof(header));
    std::memcpy(bytes.data() + sizeof(header), &version, sizeof(version));
    send_with_fds(guest.get(), bytes, {});
  }
  std::array<std::byte, 65536> dropped;
  bool alive = true;
  while (alive && !input.empty()) {
    const auto how = input.take<std::uint8_t>();
    const std::size_t fds = how & 3;
    const auto body = input.take(input.take<std::uint8_t>());
    std::vector<std::byte> bytes;
    if ((how & 0x80) == 0) {  // a header that fits the body
      const Header header{input.take<std::uint16_t>(), static_cast<std::uint16_t>(how >> 2 & 0x1f),
                          static_cast<std::uint32_t>(sizeof(Header) + body.size()),
                          input.take<std::uint8_t>() & std::uint32_t{0x33}, 0};
      bytes.resize(sizeof(header));
      std::memcpy(bytes.data(), &header, sizeof(header));
    }
    bytes.insert(bytes.end(), body.begin(), body.end());
    if (!bytes.empty()) send_with_fds(guest.get(), bytes, std::span(known).first(fds));
    const auto received = connection.receive();
    alive = received && *received && connection.send();
    while (::recv(guest.get(), dropped.data(), dropped.size(), MSG_DONTWAIT) > 0) {
    }
    // The device is active meanwhile, as far as the guest allows it.
    if ((how & 0x40) != 0) {
      std::array<std::byte, 100> dma{};
      const pci::BusAddress address{input.take<std::uint64_t>()};
      endpoint.write(address, dma, {});
      endpoint.read(address, dma, {});
      endpoint.interrupt(how);
    }
  }
  return 0;
}
