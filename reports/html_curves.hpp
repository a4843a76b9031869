/// The curves of the HTML report: how the rate follows workers and cache, each with a table of its points.
#pragma once

#include <kainjow/mustache.hpp>
#include <nlohmann/json.hpp>

#include "reports/formats.hpp"

namespace stallcast::reports {

/// Sets the list "curves", and "has_curves".
void add_curves(const ReportData& report, kainjow::mustache::data& page);

/// What charts.js draws of them: those that there are.
[[nodiscard]] nlohmann::json curves_json(const ReportData& report);

}  // namespace stallcast::reports
