/// What the charts of a plan's page draw.
#pragma once

#include <string>

#include "reports/plan/plan_words.hpp"

namespace stallcast::reports {

/// JSON for charts.js, ready to stand inside <script>.
[[nodiscard]] std::string plan_chart_json(const PlanData& data);

/// "16 nodes: 1,234 (1,200 to 1,260) samples/s, 87 % of perfect scaling, bound by gpu": a point of a scaling line.
[[nodiscard]] std::string scaling_words(const PlanOption& first, const PlanOption& point);

/// The rate of `point` over that of as many nodes that are as fast as those of `first`.
[[nodiscard]] double share_of_perfect(const PlanOption& first, const PlanOption& point);

}  // namespace stallcast::reports
