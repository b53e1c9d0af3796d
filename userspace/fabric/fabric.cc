// SPDX-License-Identifier: GPL-2.0
#include "fabric/fabric.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "fabric/device_control.h"
#include "fabric/evidence.h"
#include "fabric/lan/lan_control.h"
#include "fabric/ntb/ntb_control.h"
#include "fabric/nvme/drive_control.h"

namespace smartio::fabric {

namespace {

ntb::Family family_of(topology::NtbFamily family) {
  switch (family) {
    case topology::NtbFamily::amd:
      return ntb::Family::amd;
    case topology::NtbFamily::intel_icx:
      return ntb::Family::intel_icx;
    case topology::NtbFamily::intel_spr:
      return ntb::Family::intel_spr;
  }
  std::unreachable();
}

}  // namespace

Result<std::unique_ptr<Fabric>> Fabric::start(const topology::Topology& topology) {
  std::unique_ptr<Fabric> fabric(new Fabric);
  if (auto made = fabric->make_devices(topology); !made) return std::unexpected(made.error());
  fabric->add_commands(topology);
  if (auto listening = fabric->listen(topology); !listening) return std::unexpected(listening.error());
  return fabric;
}

Fabric::~Fabric() {
  // The workers of drives use their hosts' endpoints, and members are destroyed before hosts_: only the order among
  // control, guests and workers is left to say.
  control_.reset();
  servers_.clear();
  for (const auto& drive : drives_) drive->controller().stop();
}

Result<void> Fabric::make_devices(const topology::Topology& topology) {
  for (const auto& host : topology.hosts)
    hosts_[host.name] = std::make_unique<pci::Host>(host.name, host.iommu != topology::Iommu::none, files_, waits_);
  try {
    for (const auto& link : topology.links)
      cables_.push_back(std::make_unique<ntb::Cable>(ntb::Cable::Config{.name = link.name,
                                                                        .windows = link.windows,
                                                                        .secondary_windows = link.secondary_windows,
                                                                        .family = family_of(link.family),
                                                                        .vectors = link.vectors}));
    for (const auto& drive : topology.drives) drives_.push_back(nvme::make_drive(drive, "."));
  } catch (const std::exception& error) {
    return fail(error.what());
  }
  if (auto combined = combine_stores(topology); !combined) return combined;
  for (const auto& endpoint : topology::endpoints(topology)) {
    using Kind = topology::Endpoint::Kind;
    auto& host = *hosts_.at(endpoint.host);
    switch (endpoint.kind) {
      case Kind::ntb_primary:
        host.add(endpoint.name, cables_[endpoint.index]->function(ntb::Side::primary));
        break;
      case Kind::ntb_secondary:
        host.add(endpoint.name, cables_[endpoint.index]->function(ntb::Side::secondary));
        if (topology.links[endpoint.index].surprise_removal)
          cables_[endpoint.index]->follow_plug([ntb = host.find(endpoint.name)](bool in) { ntb->set_present(in); });
        break;
      case Kind::drive:
        host.add(endpoint.name, drives_[endpoint.index]->controller());
        drives_[endpoint.index]->controller().start();
        break;
    }
  }
  return {};
}

/// Of the hosts whose CPUs have write-combining buffers.
Result<void> Fabric::combine_stores(const topology::Topology& topology) {
  std::size_t ntb = 0;
  for (const auto& endpoint : topology::endpoints(topology)) {
    const auto host = std::ranges::find(topology.hosts, endpoint.host, &topology::Host::name);
    if (host->write_combining == 0 || endpoint.kind == topology::Endpoint::Kind::drive) continue;
    auto& page = fences_[host->name];
    if (!page) {
      auto made = ntb::FencePage::create(topology::fence_file(*host));
      if (!made) return std::unexpected(made.error());
      page = std::move(*made);
      ntb = 0;
    }
    const bool primary = endpoint.kind == topology::Endpoint::Kind::ntb_primary;
    cables_[endpoint.index]
        ->function(primary ? ntb::Side::primary : ntb::Side::secondary)
        .combine_stores(host->write_combining, page->entry(ntb++));
  }
  return {};
}

Result<void> Fabric::listen(const topology::Topology& topology) {
  for (const auto& endpoint : topology::endpoints(topology)) {
    auto server = vfio_user::Server::start(*hosts_.at(endpoint.host)->find(endpoint.name), endpoint.socket);
    if (!server) return std::unexpected(server.error());
    servers_.push_back(std::move(*server));
  }
  std::vector<lan::Switch::PortConfig> ports;
  for (const auto& host : topology.hosts) ports.push_back({.name = host.name, .socket = host.name + ".lan.sock"});
  for (const auto& device : topology.devices) {
    if (topology::is_network(device.type))
      ports.push_back({.name = device.host + "." + device.name, .socket = topology::lan_socket(device)});
  }
  auto lan = lan::Switch::start(ports);
  if (!lan) return std::unexpected(lan.error());
  lan_ = std::move(*lan);
  lan::add_commands(commands_, *lan_);
  auto control = control::serve("control.sock", commands_);
  if (!control) return std::unexpected(control.error());
  control_ = std::move(*control);
  return {};
}

void Fabric::add_commands(const topology::Topology& topology) {
  std::vector<pci::Host*> hosts;
  for (const auto& host : topology.hosts) hosts.push_back(hosts_.at(host.name).get());
  std::vector<const ntb::Cable*> cables;
  for (const auto& cable : cables_) cables.push_back(cable.get());
  std::vector<ntb::ControlledLink> links;
  for (std::size_t at = 0; at < cables_.size(); ++at)
    links.push_back({.cable = cables_[at].get(),
                     .primary = topology.links[at].primary,
                     .secondary = topology.links[at].secondary,
                     .surprise_removal = topology.links[at].surprise_removal});
  std::vector<nvme::ControlledDrive> drives;
  for (std::size_t at = 0; at < drives_.size(); ++at) {
    const auto& drive = topology.drives[at];
    drives.push_back(
        {.name = drive.name, .drive = drives_[at].get(), .endpoint = hosts_.at(drive.host)->find(drive.name)});
  }
  add_evidence(commands_, {hosts.begin(), hosts.end()}, {cables.begin(), cables.end()});
  fabric::add_commands(commands_, std::move(hosts));
  ntb::add_commands(commands_, std::move(links));
  nvme::add_commands(commands_, std::move(drives));
}

}  // namespace smartio::fabric
