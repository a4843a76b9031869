/// One self-contained page: template, style, Chart.js and data in one file. Nothing is loaded from anywhere, and the
/// content security policy lets no script run but the three that were built in.
#include "reports/findings/report_data.hpp"
#include "reports/html/assets.hpp"
#include "reports/html/charts.hpp"
#include "reports/html/curves.hpp"
#include "reports/html/page.hpp"
#include "reports/html/parts.hpp"
#include "reports/html/sections.hpp"
#include "reports/html/timeline.hpp"
#include "reports/html/whatif.hpp"

namespace stallcast::reports {

Result<std::string> render_html(const ReportData& report) {
  Tags page;
  add_summary(report, page);
  add_details(report, page);
  add_whatif(report, page);
  add_timeline(report.profile, page);
  add_curves(report, page);
  add_storage(report, page);
  add_page_cache(report, page);
  add_cpu(report, page);
  page.set("csp", content_policy({&k_chart_library, &k_charts, &k_whatif_script}));
  page.set("style", std::string(k_style.text));
  page.set("charts", std::string(k_charts.text));
  page.set("whatif_script", std::string(k_whatif_script.text));
  page.set("whatif_section", Tags{kainjow::mustache::partial{[] { return std::string(k_whatif.text); }}});
  page.set("chart_library", std::string(k_chart_library.text));
  page.set("chart_data", chart_json(report));
  page.set("details", Tags{kainjow::mustache::partial{[] { return std::string(k_details.text); }}});
  return render_page(k_page.text, page);
}

}  // namespace stallcast::reports
