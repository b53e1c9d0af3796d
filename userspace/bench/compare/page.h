// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "bench/compare/figures.h"
#include "bench/compare/model.h"

namespace smartio::bench_compare {

/// Text for HTML, in elements and attributes.
std::string html_escaped(std::string_view text);
/// JSON for a script element: nothing in it ends the element.
std::string script_escaped(const nlohmann::ordered_json& json);

/// The report: one HTML file with the plotting library in it. `library`: the file vega.min.js.
Result<std::string> page_of(const Figures& figures, const Assumptions& assumptions,
                            const std::filesystem::path& library);

}  // namespace smartio::bench_compare
