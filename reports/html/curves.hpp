/// The curves of the HTML report: how the rate follows workers and cache, each with a table of its points.
#pragma once

#include <nlohmann/json.hpp>

#include "reports/findings/report_data.hpp"
#include "reports/html/page.hpp"

namespace stallcast::reports {

/// Sets the list "curves", and "has_curves".
void add_curves(const ReportData& report, Tags& page);

/// What charts.js draws of them: those that there are.
[[nodiscard]] nlohmann::json curves_json(const ReportData& report);

}  // namespace stallcast::reports
