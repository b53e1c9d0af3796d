// SPDX-License-Identifier: GPL-2.0
// Get Features (section 5.13) and Set Features (section 5.21).
#include <cstring>

#include "fabric/nvme/drive_state.h"

namespace smartio::nvme {
namespace {

constexpr std::uint8_t id_of(FeatureId id) { return static_cast<std::uint8_t>(id); }

bool is_engine_feature(std::uint8_t id) {
  return id == id_of(FeatureId::number_of_queues) || id == id_of(FeatureId::interrupt_coalescing) ||
         id == id_of(FeatureId::interrupt_vector_configuration);
}

constexpr std::uint32_t kChangeable = 1U << 2U;

/// Temperature Threshold (section 5.21.1.4): dword 11 names sensor and kind.
struct ThresholdChoice {
  std::uint16_t kelvin;
  unsigned sensor;  ///< 0 composite, Fh all (Set Features)
  bool under;
};

Status choose_threshold(ActiveCommand& x, bool may_be_all, ThresholdChoice& choice) {
  const std::uint32_t dword = x.entry.cdw11;
  choice = {
      .kelvin = static_cast<std::uint16_t>(dword), .sensor = dword >> 16U & 0xFU, .under = (dword >> 20U & 3U) == 1};
  const bool known = choice.sensor <= Health::kSensors || (may_be_all && choice.sensor == 0xF);
  if (!known || (dword >> 20U & 3U) > 1) return x.refuse(status::kInvalidField, at::kDword11);
  return status::kSuccess;
}

Status set_threshold(ActiveCommand& x, bool save) {
  if (save) return x.refuse(status::kFeatureNotSaveable, at::kDword10);
  ThresholdChoice choice{};
  if (const Status chosen = choose_threshold(x, true, choice); !chosen.ok()) return chosen;
  const std::uint8_t before = x.drive.health.critical_warning();
  for (unsigned sensor = 0; sensor <= Health::kSensors; ++sensor) {
    if (choice.sensor != sensor && choice.sensor != 0xF) continue;
    Health::Thresholds& thresholds = x.drive.health.thresholds(sensor);
    (choice.under ? thresholds.under : thresholds.over) = choice.kelvin;
  }
  x.drive.raise_warnings(before);
  return status::kSuccess;
}

Status get_threshold(ActiveCommand& x, FeatureSelect select) {
  if (select == FeatureSelect::capabilities) {
    x.command.set_result(kChangeable);
    return status::kSuccess;
  }
  ThresholdChoice choice{};
  if (const Status chosen = choose_threshold(x, false, choice); !chosen.ok()) return chosen;
  Health initial;
  const auto& from =
      select == FeatureSelect::current ? x.drive.health.thresholds(choice.sensor) : initial.thresholds(choice.sensor);
  x.command.set_result(choice.under ? from.under : from.over);
  return status::kSuccess;
}

Status set_timestamp(ActiveCommand& x, bool save) {
  if (save) return x.refuse(status::kFeatureNotSaveable, at::kDword10);
  std::uint64_t value = 0;
  if (const Status fetched = x.fetch(std::as_writable_bytes(std::span(&value, 1))); !fetched.ok()) return fetched;
  x.drive.features.set_timestamp(value);
  return status::kSuccess;
}

Status get_timestamp(ActiveCommand& x, FeatureSelect select) {
  if (select == FeatureSelect::capabilities) {
    x.command.set_result(kChangeable);
    return status::kSuccess;
  }
  const std::uint64_t value = select == FeatureSelect::current ? x.drive.features.timestamp() : 0;
  return x.send(std::as_bytes(std::span(&value, 1)));
}

}  // namespace

Status set_features(ActiveCommand& x) {
  const auto id = static_cast<std::uint8_t>(x.entry.cdw10);
  const bool save = (x.entry.cdw10 & 1U << 31U) != 0;
  const bool known =
      x.drive.features.knows(id) || id == id_of(FeatureId::temperature_threshold) || id == id_of(FeatureId::timestamp);
  if (!known) return x.refuse(status::kInvalidField, at::kDword10);
  // None of these belongs to a namespace; no namespace or all of them name the controller.
  if (x.entry.nsid != 0 && x.entry.nsid != kNsidAll) {
    if (x.entry.nsid > kMaxNamespaces) return x.refuse(status::kInvalidNamespaceOrFormat, at::kNsid);
    return x.refuse(status::kFeatureNotNamespaceSpecific, at::kNsid);
  }
  if (id == id_of(FeatureId::temperature_threshold)) return set_threshold(x, save);
  if (id == id_of(FeatureId::timestamp)) return set_timestamp(x, save);

  const std::uint32_t events_before = x.drive.features.current(FeatureId::async_event_configuration);
  const Status set = x.drive.features.set(id, x.entry.cdw11, save);
  if (!set.ok()) return x.refuse(set, set == status::kFeatureNotSaveable ? at::kDword10 : at::kDword11);
  // Without the cache, its blocks must not wait for a flush any more.
  if (!x.drive.cache_enabled()) x.drive.cache.flush(nullptr);
  // A warning that stands already is reported when its event is enabled.
  if (id == id_of(FeatureId::async_event_configuration)) {
    const auto standing = x.drive.health.critical_warning();
    x.drive.raise_warnings(static_cast<std::uint8_t>(standing & events_before));
  }
  return status::kSuccess;
}

Status get_features(ActiveCommand& x) {
  const auto id = static_cast<std::uint8_t>(x.entry.cdw10);
  const std::uint32_t select_bits = x.entry.cdw10 >> 8U & 7U;
  if (select_bits > 3 || is_engine_feature(id)) return x.refuse(status::kInvalidField, at::kDword10);
  const auto select = static_cast<FeatureSelect>(select_bits);
  if (id == id_of(FeatureId::temperature_threshold)) return get_threshold(x, select);
  if (id == id_of(FeatureId::timestamp)) return get_timestamp(x, select);
  const auto value = x.drive.features.get(id, select);
  if (!value) return x.refuse(value.error(), at::kDword10);
  x.command.set_result(*value);
  return status::kSuccess;
}

}  // namespace smartio::nvme
