/// Text files built into the program (reports/embed.cmake).
#pragma once

#include <string_view>

namespace stallcast::reports {

struct Asset {
  std::string_view text;
  std::string_view sha256;  ///< of the file, in lower-case hexadecimal digits
};

extern const Asset k_page;           ///< html/page.mustache
extern const Asset k_details;        ///< html/details.mustache: the sections below the fold
extern const Asset k_diff;           ///< html/diff.mustache: the page of a comparison
extern const Asset k_plan;           ///< html/plan.mustache: the page of a plan
extern const Asset k_style;          ///< html/style.css
extern const Asset k_whatif;         ///< html/whatif.mustache: the section with the sliders
extern const Asset k_whatif_script;  ///< html/whatif.js
extern const Asset k_charts;         ///< html/charts.js
extern const Asset k_chart_library;  ///< Chart.js, minified

}  // namespace stallcast::reports
