/// The run over time in the HTML report: steps, their waiting, and the phases behind them.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "analyzer/profile/profile.hpp"
#include "core/measured.hpp"
#include "reports/html/page.hpp"

namespace stallcast::reports {

/// The timeline in about `most` rows, one phase each; what is joined keeps its longest wait and step. Where phases
/// change too often for that, a row may hold "several".
[[nodiscard]] std::vector<TimelineRow> coarse_timeline(const std::vector<TimelineRow>& rows, std::size_t most);

/// Share of a row's time that waits; 0 for an empty row.
[[nodiscard]] Fraction wait_share(const TimelineRow& row);

/// The tables beside the chart: "timeline" and "stretches", the legend "tints", and the note under it.
void add_timeline(const Profile& profile, Tags& page);

/// What charts.js draws: {"timeline", "timeline_top", "timeline_unit", "stretches"}.
[[nodiscard]] nlohmann::json timeline_json(const Profile& profile);

}  // namespace stallcast::reports
