/// The what-if section of the HTML report: sliders over a grid of answers, and a table for pages without scripts.
#pragma once

#include <nlohmann/json.hpp>

#include "reports/findings/report_data.hpp"
#include "reports/html/page.hpp"

namespace stallcast::reports {

/// Template data: axes, single changes, gaps.
void add_whatif(const ReportData& data, Tags& page);

/// What whatif.js looks up: numbers for the bars, and every text as it is shown. null without a grid.
[[nodiscard]] nlohmann::json grid_json(const ReportData& data);

}  // namespace stallcast::reports
