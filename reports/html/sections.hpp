/// The HTML report's template data, section by section. Text goes in raw: the template's escape makes it safe.
#pragma once

#include "reports/findings/report_data.hpp"
#include "reports/html/page.hpp"

namespace stallcast::reports {

/// Verdict, waterfall, next steps, predictions: what the first screen shows.
void add_summary(const ReportData& data, Tags& page);

/// Timeline, distributions, ranks, facts, premises, issues.
void add_details(const ReportData& data, Tags& page);

/// Sets "has_NAME" and the list NAME.
void set_list(Tags& page, const std::string& name, const Tags& rows);

}  // namespace stallcast::reports
