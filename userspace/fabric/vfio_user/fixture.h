// SPDX-License-Identifier: GPL-2.0
// For tests, benchmarks and fuzzers only: a served fake function.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <string>

#include "fabric/pci/fake_function.h"
#include "fabric/pci/host.h"
#include "fabric/vfio_user/client.h"
#include "fabric/vfio_user/server.h"

namespace smartio::vfio_user {

/// One host with one served endpoint.
class Served {
 public:
  /// `waits` is shared by hosts that reach each other.
  explicit Served(std::string name = "dev", bool iommu = false, Server::Options options = {},
                  std::shared_ptr<pci::Waits> waits = std::make_shared<pci::Waits>())
      : waits_(std::move(waits)),
        host_("h", iommu, files_, *waits_),
        endpoint_(host_.add(name, function_)),
        path_(std::filesystem::temp_directory_path() / ("smartio-" + std::to_string(::getpid()) + "-" + name)) {
    auto server = Server::start(endpoint_, path_, options);
    if (!server) throw std::runtime_error(server.error().message);
    server_ = std::move(*server);
  }

  /// A client that has negotiated and, if `started`, switched memory space and bus mastering on.
  Client client(bool started = true) {
    auto client = Client::open(path_);
    if (!client) throw std::runtime_error(client.error().message);
    if (started && !client->store<std::uint16_t>(kConfigRegion, 4, 6)) throw std::runtime_error("command register");
    return std::move(*client);
  }

  /// The guest behind `client` dies and the next one comes.
  void replace(Client& client, bool started = true) {
    {
      const Client gone = std::move(client);
    }
    client = this->client(started);
  }

  pci::FakeFunction& function() { return function_; }
  pci::Endpoint& endpoint() { return endpoint_; }
  pci::Host& host() { return host_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  void stop() { server_.reset(); }

 private:
  pci::MemoryFiles files_;
  std::shared_ptr<pci::Waits> waits_;
  pci::FakeFunction function_;
  pci::Host host_;
  pci::Endpoint& endpoint_;
  std::filesystem::path path_;
  std::unique_ptr<Server> server_;
};

}  // namespace smartio::vfio_user
