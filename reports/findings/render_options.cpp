#include "reports/findings/render_options.hpp"

#include <array>
#include <utility>

namespace stallcast {
namespace {

constexpr std::array<std::pair<ReportFormat, const char*>, 7> k_names = {{{ReportFormat::text, "text"},
                                                                          {ReportFormat::json, "json"},
                                                                          {ReportFormat::html, "html"},
                                                                          {ReportFormat::md, "md"},
                                                                          {ReportFormat::csv, "csv"},
                                                                          {ReportFormat::perfetto, "perfetto"},
                                                                          {ReportFormat::openmetrics, "openmetrics"}}};

}  // namespace

Result<ReportFormat> report_format_from_name(std::string_view name) {
  std::string known;
  for (const auto& [format, known_name] : k_names) {
    if (name == known_name) return format;
    known += (known.empty() ? "" : ", ") + std::string(known_name);
  }
  return Error{ErrorCode::usage, "unknown report format \"" + std::string(name) + "\"", "write one of " + known};
}

const char* report_format_name(ReportFormat format) {
  for (const auto& [known, name] : k_names) {
    if (known == format) return name;
  }
  return "unknown";
}

}  // namespace stallcast
