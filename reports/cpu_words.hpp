/// Where a job's CPU time went, in words and as tables.
#pragma once

#include <string>

#include "reports/formats.hpp"
#include "reports/html_page.hpp"

namespace stallcast::reports {

/// "61 % (59 to 63) JPEG decode (libjpeg), 14 % (13 to 15) image operations (Pillow), ...; 8,204 samples": the
/// largest shares of the workers' CPU time; empty where none was sampled.
[[nodiscard]] std::string cpu_words(const Cpu& cpu);

/// Sets "has_cpu", the list "cpu" (workers, main process: each with its rows), "cpu_words" and the facts
/// "cpu_counters".
void add_cpu(const ReportData& report, Tags& page);

}  // namespace stallcast::reports
