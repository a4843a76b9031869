#include "reports/render.hpp"

#include <array>
#include <utility>

#include "reports/findings/report_data.hpp"

namespace stallcast {
namespace {

reports::Findings findings_for(const Profile& profile, const RenderOptions& options) {
  reports::Findings findings = reports::find(profile);
  if (!options.recommendation) return findings;
  // The model has weighed the number of workers: a rule of thumb beside its answer could only contradict it.
  std::erase_if(findings.next, [](const reports::NextStep& step) {
    return step.key == "more-workers" || step.key == "start-workers";
  });
  if (!options.recommendation->gains_surely) return findings;
  std::erase_if(findings.next, [](const reports::NextStep& step) { return step.key == "leave-it"; });
  const double first = findings.next.empty() ? 1.0 : findings.next.front().weight;
  findings.next.insert(findings.next.begin(), {"recommended-loader", "Use the recommended loader settings (below)",
                                               "they bring " + options.recommendation->gain, first});
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
