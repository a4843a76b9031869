/// What the page says of CPU time, storage and page cache, as tables and curves.
#pragma once

#include <nlohmann/json.hpp>

#include "reports/findings/report_data.hpp"
#include "reports/html/page.hpp"

namespace stallcast::reports {

/// Sets "has_cpu", the list "cpu" (workers, main process: each with its rows), "cpu_words" and the facts
/// "cpu_counters".
void add_cpu(const ReportData& report, Tags& page);

/// Sets "storage_words" and the list "storage": a row for each number of reads in flight.
void add_storage(const ReportData& report, Tags& page);

/// The curve that charts.js draws of it; null where there are fewer than two points.
[[nodiscard]] nlohmann::json storage_curve_json(const Storage& storage);

/// Sets "page_cache_words" and the lists "cache_epochs" and "cache_policies"; "has_page_cache" where one has rows.
void add_page_cache(const ReportData& report, Tags& page);

}  // namespace stallcast::reports
