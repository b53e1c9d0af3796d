// SPDX-License-Identifier: GPL-2.0
// udp_load send ADDRESS PORT BYTES COUNT RATE DELAY
//    After DELAY seconds, sends COUNT packets with BYTES bytes of payload, RATE a second. With a RATE of 0 each waits
//    only for room in the socket's buffer, which the card's driver makes.
// udp_load receive PORT COUNT SECONDS
//    Receives packets until it has COUNT, or none for SECONDS. Prints how many.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "tests/guest/programs.h"

namespace {

using smartio::UniqueFd;

constexpr std::size_t kLargest = 65507;

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

sockaddr_in address_of(const std::string& address, const std::string& port) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(std::stoul(port)));
  if (::inet_pton(AF_INET, address.c_str(), &to.sin_addr) != 1) throw std::runtime_error("no address: " + address);
  return to;
}

UniqueFd udp_socket() {
  UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) fail("socket");
  return socket;
}

void send(std::span<char*> words) {
  using Clock = std::chrono::steady_clock;
  const sockaddr_in to = address_of(words[0], words[1]);
  const std::vector<std::byte> payload(std::stoul(words[2]), std::byte{0x5a});
  const auto count = std::stoul(words[3]);
  const double rate = std::stod(words[4]);
  const UniqueFd socket = udp_socket();
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0) fail("connect");
  std::this_thread::sleep_for(std::chrono::duration<double>(std::stod(words[5])));
  const auto begin = Clock::now();
  for (unsigned long n = 0; n < count; ++n) {
    if (rate > 0) std::this_thread::sleep_until(begin + std::chrono::duration<double>(static_cast<double>(n) / rate));
    // The answer to an earlier packet, as no socket has the port yet.
    while (::send(socket.get(), payload.data(), payload.size(), 0) < 0)
      if (errno != ECONNREFUSED) fail("send");
  }
}

void receive(std::span<char*> words) {
  const sockaddr_in from = address_of("0.0.0.0", words[0]);
  const auto count = std::stoul(words[1]);
  const UniqueFd socket = udp_socket();
  const timeval patience{.tv_sec = std::stol(words[2]), .tv_usec = 0};
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) != 0) fail("SO_RCVTIMEO");
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&from), sizeof(from)) != 0) fail("bind");
  std::array<std::byte, kLargest> payload{};
  unsigned long got = 0;
  for (; got < count; ++got) {
    if (::recv(socket.get(), payload.data(), payload.size(), 0) >= 0) continue;
    if (errno == EAGAIN) break;
    fail("recv");
  }
  fmt::print("{}\n", got);
}

}  // namespace

int udp_load_main(int argc, char** argv) {
  const std::span<char*> words(argv, static_cast<std::size_t>(argc));
  try {
    if (words.size() == 8 && std::string(words[1]) == "send") {
      send(words.subspan(2));
    } else if (words.size() == 5 && std::string(words[1]) == "receive") {
      receive(words.subspan(2));
    } else {
      throw std::runtime_error("udp_load send ADDRESS PORT BYTES COUNT RATE DELAY | receive PORT COUNT SECONDS");
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "udp_load: {}\n", error.what());
    return 1;
  }
  return 0;
}
