// SPDX-License-Identifier: GPL-2.0
// Identify data structures of the NVM Express Base Specification 1.4c, section 5.15.2. They have the fields of the NVM
// Command Set Specification 1.0 (Copy, command set specific Identify) that later controllers report in the same place.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace smartio::nvme {

inline constexpr std::size_t kIdentifyBytes = 4096;

/// Controller or Namespace Structure (CNS), figure 244.
enum class Cns : std::uint8_t {
  identify_namespace = 0x00,
  identify_controller = 0x01,
  active_namespaces = 0x02,
  namespace_descriptors = 0x03,
  csi_namespace = 0x05,
  csi_controller = 0x06,
  csi_active_namespaces = 0x07,
  namespace_independent = 0x08,
  allocated_namespaces = 0x10,
  allocated_namespace = 0x11,
  attached_controllers = 0x12,
  controllers = 0x13,
};

/// Power State Descriptor (figure 248).
struct [[gnu::packed]] PowerState {
  std::uint16_t max_power;  ///< in 0.01 W, as bit 24 (MXPS) is 0
  std::uint8_t reserved2[2];
  std::uint32_t entry_latency;  ///< µs
  std::uint32_t exit_latency;   ///< µs
  std::uint8_t reserved12[20];
};
static_assert(sizeof(PowerState) == 32);

/// Identify Controller (CNS 01h, figure 247).
struct [[gnu::packed]] IdentifyController {
  std::uint16_t vid;
  std::uint16_t ssvid;
  char sn[20];
  char mn[40];
  char fr[8];
  std::uint8_t rab;
  std::uint8_t ieee[3];
  std::uint8_t cmic;
  std::uint8_t mdts;
  std::uint16_t cntlid;
  std::uint32_t ver;
  std::uint32_t rtd3r;
  std::uint32_t rtd3e;
  std::uint32_t oaes;
  std::uint32_t ctratt;
  std::uint16_t rrls;
  std::uint8_t reserved102[9];
  std::uint8_t cntrltype;
  std::uint8_t fguid[16];
  std::uint16_t crdt[3];
  std::uint8_t reserved134[122];
  std::uint16_t oacs;
  std::uint8_t acl;
  std::uint8_t aerl;
  std::uint8_t frmw;
  std::uint8_t lpa;
  std::uint8_t elpe;
  std::uint8_t npss;
  std::uint8_t avscc;
  std::uint8_t apsta;
  std::uint16_t wctemp;
  std::uint16_t cctemp;
  std::uint16_t mtfa;
  std::uint32_t hmpre;
  std::uint32_t hmmin;
  std::uint64_t tnvmcap[2];
  std::uint64_t unvmcap[2];
  std::uint32_t rpmbs;
  std::uint16_t edstt;
  std::uint8_t dsto;
  std::uint8_t fwug;
  std::uint16_t kas;
  std::uint16_t hctma;
  std::uint16_t mntmt;
  std::uint16_t mxtmt;
  std::uint32_t sanicap;
  std::uint32_t hmminds;
  std::uint16_t hmmaxd;
  std::uint16_t nsetidmax;
  std::uint16_t endgidmax;
  std::uint8_t anatt;
  std::uint8_t anacap;
  std::uint32_t anagrpmax;
  std::uint32_t nanagrpid;
  std::uint32_t pels;
  std::uint8_t reserved356[156];
  std::uint8_t sqes;
  std::uint8_t cqes;
  std::uint16_t maxcmd;
  std::uint32_t nn;
  std::uint16_t oncs;
  std::uint16_t fuses;
  std::uint8_t fna;
  std::uint8_t vwc;
  std::uint16_t awun;
  std::uint16_t awupf;
  std::uint8_t nvscc;
  std::uint8_t nwpc;
  std::uint16_t acwu;
  std::uint16_t ocfs;  ///< Optional Copy Formats Supported
  std::uint32_t sgls;
  std::uint32_t mnan;
  std::uint8_t reserved544[224];
  char subnqn[256];
  std::uint8_t reserved1024[1024];
  PowerState psd[32];
  std::uint8_t vendor[1024];
};
static_assert(sizeof(IdentifyController) == kIdentifyBytes);
static_assert(offsetof(IdentifyController, cntlid) == 78);
static_assert(offsetof(IdentifyController, cntrltype) == 111);
static_assert(offsetof(IdentifyController, oacs) == 256);
static_assert(offsetof(IdentifyController, tnvmcap) == 280);
static_assert(offsetof(IdentifyController, sanicap) == 328);
static_assert(offsetof(IdentifyController, sqes) == 512);
static_assert(offsetof(IdentifyController, oncs) == 520);
static_assert(offsetof(IdentifyController, sgls) == 536);
static_assert(offsetof(IdentifyController, subnqn) == 768);
static_assert(offsetof(IdentifyController, psd) == 2048);

/// Optional Admin Command Support bits (figure 247, bytes 257:256).
namespace oacs {
inline constexpr std::uint16_t kFormat = 1U << 1U;
inline constexpr std::uint16_t kFirmware = 1U << 2U;
inline constexpr std::uint16_t kNamespaceManagement = 1U << 3U;
inline constexpr std::uint16_t kSelfTest = 1U << 4U;
}  // namespace oacs

/// Optional NVM Command Support bits (figure 247, bytes 521:520).
namespace oncs {
inline constexpr std::uint16_t kCompare = 1U << 0U;
inline constexpr std::uint16_t kWriteUncorrectable = 1U << 1U;
inline constexpr std::uint16_t kDatasetManagement = 1U << 2U;
inline constexpr std::uint16_t kWriteZeroes = 1U << 3U;
inline constexpr std::uint16_t kSaveFeatures = 1U << 4U;
inline constexpr std::uint16_t kTimestamp = 1U << 6U;
inline constexpr std::uint16_t kVerify = 1U << 7U;
inline constexpr std::uint16_t kCopy = 1U << 8U;
}  // namespace oncs

/// LBA Format (figure 246).
struct [[gnu::packed]] LbaFormat {
  std::uint16_t metadata_size;
  std::uint8_t lbads;  ///< LBA data size, power of two
  std::uint8_t rp;
};
static_assert(sizeof(LbaFormat) == 4);

/// Identify Namespace (CNS 00h and 11h, figure 245).
struct [[gnu::packed]] IdentifyNamespace {
  std::uint64_t nsze;
  std::uint64_t ncap;
  std::uint64_t nuse;
  std::uint8_t nsfeat;
  std::uint8_t nlbaf;
  std::uint8_t flbas;
  std::uint8_t mc;
  std::uint8_t dpc;
  std::uint8_t dps;
  std::uint8_t nmic;
  std::uint8_t rescap;
  std::uint8_t fpi;
  std::uint8_t dlfeat;
  std::uint16_t nawun;
  std::uint16_t nawupf;
  std::uint16_t nacwu;
  std::uint16_t nabsn;
  std::uint16_t nabo;
  std::uint16_t nabspf;
  std::uint16_t noiob;
  std::uint64_t nvmcap[2];
  std::uint16_t npwg;
  std::uint16_t npwa;
  std::uint16_t npdg;
  std::uint16_t npda;
  std::uint16_t nows;
  std::uint16_t mssrl;  ///< Maximum Single Source Range Length of Copy, in blocks
  std::uint32_t mcl;    ///< Maximum Copy Length, in blocks
  std::uint8_t msrc;    ///< Maximum Source Range Count, 0's based
  std::uint8_t reserved81[11];
  std::uint32_t anagrpid;
  std::uint8_t reserved96[3];
  std::uint8_t nsattr;
  std::uint16_t nvmsetid;
  std::uint16_t endgid;
  std::array<std::uint8_t, 16> nguid;
  std::array<std::uint8_t, 8> eui64;
  LbaFormat lbaf[16];
  std::uint8_t reserved192[192];
  std::uint8_t vendor[3712];
};
static_assert(sizeof(IdentifyNamespace) == kIdentifyBytes);
static_assert(offsetof(IdentifyNamespace, dlfeat) == 33);
static_assert(offsetof(IdentifyNamespace, nvmcap) == 48);
static_assert(offsetof(IdentifyNamespace, mssrl) == 74);
static_assert(offsetof(IdentifyNamespace, anagrpid) == 92);
static_assert(offsetof(IdentifyNamespace, nguid) == 104);
static_assert(offsetof(IdentifyNamespace, lbaf) == 128);

/// Namespace Identification Descriptor header (CNS 03h, figure 249).
struct [[gnu::packed]] NamespaceDescriptor {
  std::uint8_t type;  ///< 1 EUI64, 2 NGUID, 3 UUID, 4 CSI
  std::uint8_t length;
  std::uint8_t reserved[2];
};
static_assert(sizeof(NamespaceDescriptor) == 4);

/// I/O Command Set Independent Identify Namespace (CNS 08h, base specification 2.0, figure 280).
struct [[gnu::packed]] IdentifyNamespaceIndependent {
  std::uint8_t nsfeat;
  std::uint8_t nmic;
  std::uint8_t rescap;
  std::uint8_t fpi;
  std::uint32_t anagrpid;
  std::uint8_t nsattr;
  std::uint8_t reserved9;
  std::uint16_t nvmsetid;
  std::uint16_t endgid;
  std::uint8_t nstat;  ///< bit 0: ready
  std::uint8_t reserved15[4081];
};
static_assert(sizeof(IdentifyNamespaceIndependent) == kIdentifyBytes);

/// Identify Controller of the NVM command set (CNS 06h, CSI 0, NVM Command Set Specification 1.0, figure 102).
struct [[gnu::packed]] IdentifyControllerNvm {
  std::uint8_t vsl;   ///< Verify Size Limit, 0: none
  std::uint8_t wzsl;  ///< Write Zeroes Size Limit, 0: none
  std::uint8_t wusl;  ///< Write Uncorrectable Size Limit, 0: none
  std::uint8_t dmrl;  ///< Dataset Management Ranges Limit, 0: none
  std::uint32_t dmrsl;
  std::uint64_t dmsl;
  std::uint8_t reserved16[4080];
};
static_assert(sizeof(IdentifyControllerNvm) == kIdentifyBytes);

}  // namespace smartio::nvme
