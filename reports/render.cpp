#include "reports/render.hpp"

#include <array>
#include <utility>

#include "reports/formats.hpp"

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

namespace {

reports::Findings findings_for(const Profile& profile, const RenderOptions& options) {
  reports::Findings findings = reports::find(profile);
  // The model has weighed the number of workers: a rule of thumb beside its answer could only contradict it.
  if (options.recommendation) {
    std::erase_if(findings.next, [](const reports::NextStep& step) {
      return step.key == "more-workers" || step.key == "start-workers";
    });
  }
  return findings;
}

}  // namespace

Result<std::string> render(const Profile& profile, std::span<const Prediction> predictions, ReportFormat format,
                           const RenderOptions& options) {
  reports::Findings findings = findings_for(profile, options);
  reports::Epochs epochs = reports::epochs_of(profile, findings.breakdowns, options.price);
  const reports::ReportData data{
      profile, predictions, options, std::move(findings), std::move(epochs), reports::subtitle_of(profile)};
  switch (format) {
    case ReportFormat::text:
      return reports::render_text(data);
    case ReportFormat::json:
      return reports::render_json(data);
    case ReportFormat::html:
      return reports::render_html(data);
    case ReportFormat::md:
      return reports::render_markdown(data);
    case ReportFormat::csv:
      return reports::render_csv(data);
    case ReportFormat::perfetto:
      return reports::render_perfetto(data);
    case ReportFormat::openmetrics:
      return reports::render_openmetrics(data);
  }
  return Error{ErrorCode::internal, "a report format that does not exist", ""};
}

}  // namespace stallcast
