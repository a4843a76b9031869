/// The HTML report's template data, section by section. Text goes in raw: the template's escape makes it safe.
#pragma once

#include <kainjow/mustache.hpp>

#include "reports/formats.hpp"

namespace stallcast::reports {

/// Verdict, waterfall, next steps, predictions: what the first screen shows.
void add_summary(const ReportData& data, kainjow::mustache::data& page);

/// Timeline, distributions, ranks, facts, premises, issues.
void add_details(const ReportData& data, kainjow::mustache::data& page);

/// Sets "has_NAME" and the list NAME.
void set_list(kainjow::mustache::data& page, const std::string& name, const kainjow::mustache::data& rows);

}  // namespace stallcast::reports
