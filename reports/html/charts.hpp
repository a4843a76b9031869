/// What the charts of the HTML report draw: numbers in display units, with their labels made here.
#pragma once

#include <string>
#include <vector>

#include "reports/findings/report_data.hpp"
#include "reports/words/format.hpp"

namespace stallcast::reports {

/// One histogram of the report.
struct NamedDistribution {
  std::string title{};
  const Distribution* distribution = nullptr;
  Scale scale{};
};

/// Those with values, the familiar ones first, at most twelve.
[[nodiscard]] std::vector<NamedDistribution> distributions_of(const Profile& profile);

/// JSON for charts.js, ready to stand inside <script>.
[[nodiscard]] std::string chart_json(const ReportData& data);

}  // namespace stallcast::reports
