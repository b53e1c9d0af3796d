// SPDX-License-Identifier: GPL-2.0
// Identify (section 5.15).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string_view>

#include "fabric/nvme/copy_limits.h"
#include "fabric/nvme/drive_state.h"
#include "fabric/nvme/spec_identify.h"

namespace smartio::nvme {
namespace {

constexpr std::string_view kModel = "smartio fabric drive";

// Most blocks that a write is atomic for, 0's based: all that fits one command, at the larger block size, as these
// fields hold for both (AWUN, AWUPF, ACWU).
std::uint16_t atomic_blocks(const DriveConfig& config) {
  return static_cast<std::uint16_t>(std::min<std::uint64_t>(config.max_transfer() / 4096, 65536) - 1);
}

template <std::size_t N>
void ascii(char (&field)[N], std::string_view text) {
  std::memset(field, ' ', N);
  std::memcpy(field, text.data(), std::min(text.size(), N));
}

template <typename T>
Status send(ActiveCommand& x, const T& structure) {
  static_assert(sizeof(T) == kIdentifyBytes);
  return x.send(std::as_bytes(std::span(&structure, 1)));
}

Status identify_controller(ActiveCommand& x) {
  const DriveConfig& config = x.drive.config;
  IdentifyController id{};
  id.vid = config.pci_vendor;
  id.ssvid = config.pci_subsystem_vendor;
  ascii(id.sn, x.drive.serial);
  ascii(id.mn, kModel);
  ascii(id.fr, x.drive.firmware.revision());
  id.rab = 3;
  std::ranges::reverse_copy(kOui, id.ieee);
  if (config.shared) id.cmic = 1U << 1U;  // two or more controllers
  id.mdts = static_cast<std::uint8_t>(config.effective_mdts());
  id.ver = kVersion;
  id.rtd3r = 1000000;
  id.rtd3e = 1000000;
  id.oaes = 1U << 8U;  // Namespace Attribute notices
  id.cntrltype = 1;    // I/O controller
  id.oacs = oacs::kFormat | oacs::kFirmware | oacs::kSelfTest;
  id.acl = kAbortLimit - 1;
  id.aerl = kAsyncEventLimit - 1;
  id.frmw = static_cast<std::uint8_t>(1U | Firmware::kSlots << 1U | 1U << 4U);  // slot 1 read only, no reset needed
  id.lpa = 1U << 1U | 1U << 2U;                                                 // effects log, log page offset
  id.elpe = static_cast<std::uint8_t>(ErrorLog::kEntries - 1);
  id.wctemp = Health::kWarningTemperature;
  id.cctemp = Health::kCriticalTemperature;
  id.tnvmcap[0] = x.drive.capacity();
  id.edstt = 1;
  id.dsto = 1;                       // one self-test at a time in the subsystem
  id.fwug = 0xFF;                    // no restriction on pieces of firmware images
  id.sanicap = 1U << 0U | 1U << 1U;  // crypto erase, block erase
  id.sqes = 0x66;
  id.cqes = 0x44;
  id.nn = kMaxNamespaces;
  id.oncs = oncs::kCompare | oncs::kWriteUncorrectable | oncs::kDatasetManagement | oncs::kWriteZeroes |
            oncs::kSaveFeatures | oncs::kTimestamp | oncs::kVerify | oncs::kCopy;
  id.fuses = 1;
  id.fna = 1U << 2U;  // crypto erase as part of a format; a format is for one namespace
  id.vwc = static_cast<std::uint8_t>((config.cache != 0 ? 1U : 0U) | 3U << 1U);  // Flush takes all namespaces
  id.awun = id.awupf = id.acwu = atomic_blocks(config);
  id.ocfs = 1;
  if (config.sgl) id.sgls = 1U | 1U << 16U;  // any alignment, bit buckets
  static_assert(sizeof(id.subnqn) == 256);
  x.drive.subnqn.copy(id.subnqn, sizeof(id.subnqn) - 1);
  id.psd[0].max_power = 900;  // 9 W
  return send(x, id);
}

void describe(const Namespace& ns, const DriveConfig& config, IdentifyNamespace& id) {
  const Store& store = ns.store;
  id.nsze = id.ncap = id.nuse = store.blocks();
  id.nsfeat = 1U << 3U;  // NGUID and EUI64 are never used again
  id.nlbaf = static_cast<std::uint8_t>(kLbaFormats.size() - 1);
  id.flbas = store.block_size() == 512 ? 0 : 1;
  id.dlfeat = 1U | 1U << 3U;              // deallocated blocks read as zeroes; Write Zeroes can deallocate
  if (config.shared) id.nmic = 1U << 0U;  // two or more controllers may have it attached
  id.nvmcap[0] = store.bytes();
  const CopyLimits limits(config, store.block_size());
  id.mssrl = limits.range_blocks;
  id.mcl = limits.total_blocks;
  id.msrc = CopyLimits::kRanges - 1;
  id.nguid = ns.identity.nguid;
  id.eui64 = ns.identity.eui64;
  for (std::size_t i = 0; i < kLbaFormats.size(); ++i) {
    id.lbaf[i] = {.metadata_size = 0, .lbads = static_cast<std::uint8_t>(std::countr_zero(kLbaFormats[i])), .rp = 0};
  }
}

Status check_nsid(ActiveCommand& x) {
  if (x.entry.nsid == 0 || x.entry.nsid > kMaxNamespaces) {
    return x.refuse(status::kInvalidNamespaceOrFormat, at::kNsid);
  }
  return status::kSuccess;
}

Status identify_namespace(ActiveCommand& x) {
  if (const Status checked = check_nsid(x); !checked.ok()) return checked;
  IdentifyNamespace id{};  // all zero for a valid NSID that is not in use
  if (const Namespace* ns = x.drive.find(x.entry.nsid)) describe(*ns, x.drive.config, id);
  return send(x, id);
}

Status active_namespaces(ActiveCommand& x) {
  // NSIDs greater than this, in ascending order; FFFFFFFEh and above leave none to list.
  if (x.entry.nsid >= kNsidAll - 1) return x.refuse(status::kInvalidNamespaceOrFormat, at::kNsid);
  std::array<std::uint32_t, 1024> list{};
  std::size_t count = 0;
  for (auto it = x.drive.namespaces.upper_bound(x.entry.nsid); it != x.drive.namespaces.end(); ++it) {
    list[count++] = it->first;
  }
  return send(x, list);
}

Status namespace_descriptors(ActiveCommand& x) {
  const Namespace* ns = x.find_namespace();
  if (ns == nullptr) return x.failure();
  std::array<std::uint8_t, kIdentifyBytes> list{};
  std::size_t at = 0;
  const auto add = [&](std::uint8_t type, std::span<const std::uint8_t> value) {
    const NamespaceDescriptor header{.type = type, .length = static_cast<std::uint8_t>(value.size()), .reserved = {}};
    std::memcpy(list.data() + at, &header, sizeof(header));
    std::memcpy(list.data() + at + sizeof(header), value.data(), value.size());
    at += sizeof(header) + value.size();
  };
  add(1, ns->identity.eui64);
  add(2, ns->identity.nguid);
  add(3, ns->identity.uuid);
  return send(x, list);
}

// The command set specific structures (base specification 2.0) are asked for by drivers of 1.4 controllers too. There
// is one command set, NVM.
Status check_csi(ActiveCommand& x) {
  if (x.entry.cdw11 >> 24U != 0) return x.refuse(status::kInvalidField, at::kDword11);
  return status::kSuccess;
}

Status csi_controller(ActiveCommand& x) {
  if (const Status checked = check_csi(x); !checked.ok()) return checked;
  return send(x, IdentifyControllerNvm{});  // no limits of their own for the commands without data
}

Status csi_namespace(ActiveCommand& x) {
  if (const Status checked = check_csi(x); !checked.ok()) return checked;
  if (const Status checked = check_nsid(x); !checked.ok()) return checked;
  return send(x, std::array<std::uint8_t, kIdentifyBytes>{});  // no protection information, no storage tags
}

Status csi_active_namespaces(ActiveCommand& x) {
  if (const Status checked = check_csi(x); !checked.ok()) return checked;
  return active_namespaces(x);
}

Status namespace_independent(ActiveCommand& x) {
  if (const Status checked = check_nsid(x); !checked.ok()) return checked;
  IdentifyNamespaceIndependent id{};
  if (x.drive.find(x.entry.nsid) != nullptr) {
    id.nsfeat = 1U << 3U;
    if (x.drive.config.shared) id.nmic = 1U << 0U;
    id.nstat = 1;
  }
  return send(x, id);
}

}  // namespace

Status identify(ActiveCommand& x) {
  switch (static_cast<Cns>(x.entry.cdw10 & 0xFFU)) {
    case Cns::identify_namespace:
      return identify_namespace(x);
    case Cns::identify_controller:
      return identify_controller(x);
    case Cns::active_namespaces:
      return active_namespaces(x);
    case Cns::namespace_descriptors:
      return namespace_descriptors(x);
    case Cns::csi_namespace:
      return csi_namespace(x);
    case Cns::csi_controller:
      return csi_controller(x);
    case Cns::csi_active_namespaces:
      return csi_active_namespaces(x);
    case Cns::namespace_independent:
      return namespace_independent(x);
    case Cns::allocated_namespaces:
    case Cns::allocated_namespace:
    case Cns::attached_controllers:
    case Cns::controllers:
      break;  // with Namespace Management only
  }
  return x.refuse(status::kInvalidField, at::kDword10);
}

}  // namespace smartio::nvme
