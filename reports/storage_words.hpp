/// What a profile knows of its data set's storage, in words and as a curve.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "reports/formats.hpp"
#include "reports/html_page.hpp"

namespace stallcast::reports {

/// "at most 20.1 MB/s (19.8 to 20.4), 19.6 MB/s with one read at once; ..."; empty where it was not probed.
[[nodiscard]] std::string storage_words(const Storage& storage);

/// Sets "storage_words" and the list "storage": a row for each number of reads in flight.
void add_storage(const ReportData& report, Tags& page);

/// The curve that charts.js draws of it; null where there are fewer than two points.
[[nodiscard]] nlohmann::json storage_curve_json(const Storage& storage);

}  // namespace stallcast::reports
