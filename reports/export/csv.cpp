/// The timeline as CSV: times in seconds since the first wait, as in profile.json.
#include <fmt/format.h>

#include "reports/findings/report_data.hpp"
#include "reports/words/escape.hpp"

namespace stallcast::reports {

std::string render_csv(const ReportData& data) {
  std::string out = "begin_s,end_s,steps,wait_s,longest_wait_s,phase,longest_step_s\r\n";
  for (const TimelineRow& row : data.profile.timeline) {
    out += fmt::format("{},{},{},{},{},{},{}\r\n", row.begin_s, row.end_s, row.steps, row.wait_s, row.longest_wait_s,
                       csv_field(row.phase), row.longest_step_s);
  }
  return out;
}

}  // namespace stallcast::reports
