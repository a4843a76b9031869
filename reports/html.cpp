/// One self-contained page: template, style, Chart.js and data in one file. Nothing is loaded from anywhere, and the
/// content security policy lets no script run but the three that were built in.
#include <fmt/format.h>

#include <array>

#include "reports/cpu_words.hpp"
#include "reports/formats.hpp"
#include "reports/html_assets.hpp"
#include "reports/html_charts.hpp"
#include "reports/html_curves.hpp"
#include "reports/html_page.hpp"
#include "reports/html_sections.hpp"
#include "reports/html_timeline.hpp"
#include "reports/html_whatif.hpp"
#include "reports/page_cache_words.hpp"
#include "reports/storage_words.hpp"

namespace stallcast::reports {
namespace {

using kainjow::mustache::data;

unsigned hex_value(char digit) {
  return static_cast<unsigned>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

/// Base64 of the bytes that `hex` spells: "4d61" -> "TWE=".
std::string base64_of_hex(std::string_view hex) {
  constexpr std::string_view k_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string result;
  // Three hex digits are twelve bits: two base64 digits.
  for (std::size_t at = 0; at < hex.size(); at += 3) {
    unsigned bits = 0;
    for (std::size_t i = at; i < at + 3; ++i) bits = bits << 4U | (i < hex.size() ? hex_value(hex[i]) : 0U);
    result += k_digits[bits >> 6U];
    if (at + 2 <= hex.size()) result += k_digits[bits & 63U];
  }
  result.append((4 - result.size() % 4) % 4, '=');
  return result;
}

std::string content_policy() {
  return fmt::format(
      "default-src 'none'; script-src 'sha256-{}' 'sha256-{}' 'sha256-{}'; style-src 'unsafe-inline'; base-uri 'none'; "
      "form-action 'none'",
      base64_of_hex(k_chart_library.sha256), base64_of_hex(k_charts.sha256), base64_of_hex(k_whatif_script.sha256));
}

}  // namespace

Result<std::string> render_html(const ReportData& report) {
  data page;
  add_summary(report, page);
  add_details(report, page);
  add_whatif(report, page);
  add_timeline(report.profile, page);
  add_curves(report, page);
  add_storage(report, page);
  add_page_cache(report, page);
  add_cpu(report, page);
  page.set("csp", content_policy());
  page.set("style", std::string(k_style.text));
  page.set("charts", std::string(k_charts.text));
  page.set("whatif_script", std::string(k_whatif_script.text));
  page.set("whatif_section", data{kainjow::mustache::partial{[] { return std::string(k_whatif.text); }}});
  page.set("chart_library", std::string(k_chart_library.text));
  page.set("chart_data", chart_json(report));
  page.set("details", data{kainjow::mustache::partial{[] { return std::string(k_details.text); }}});
  return render_page(k_page.text, page);
}

}  // namespace stallcast::reports
