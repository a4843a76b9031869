#include "cli/results.hpp"

#include <fmt/core.h>

#include "analyzer/profile/json.hpp"
#include "cli/answers.hpp"
#include "cli/terminal.hpp"
#include "core/write_file.hpp"
#include "model/job/operators.hpp"
#include "model/predict/curves.hpp"
#include "model/predict/grid.hpp"
#include "model/predict/without_operators.hpp"
#include "model/recommend/recommend.hpp"
#include "probes/collect/launch/output_folder.hpp"

namespace stallcast::cli {
namespace {

constexpr std::size_t k_operators_left_out = 8;  ///< of whose absence a report tells

}  // namespace

ReportExtras report_extras(const Profile& profile, const std::filesystem::path& named) {
  ReportExtras extras;
  extras.options.profile_path = named.string();
  const auto recommendation = recommend(profile);
  if (!recommendation) return extras;
  extras.options.without_operator = without_each_operator(profile, k_operators_left_out);
  extras.options.recommendation = loader_advice(recommendation.value());
  for (const Remedy& remedy : recommendation.value().remedies) extras.predictions.push_back(remedy.prediction);
  extras.recommended_workers = recommendation.value().best.workers;
  return extras;
}

void add_page_data(const Profile& profile, ReportExtras& extras) {
  auto grid = prediction_grid(profile, extras.recommended_workers);
  extras.options.curves = prediction_curves(profile, extras.recommended_workers);
  extras.options.policies = policy_hits(profile);
  if (grid.ok()) {
    extras.options.grid = std::move(grid).value();
  } else {
    extras.options.no_grid = grid.error().what;
  }
}

Result<ReportExtras> write_results(const Profile& profile, const std::filesystem::path& output) {
  STALLCAST_RETURN_IF_ERROR(save_profile(profile, output / collect::k_profile_file));
  ReportExtras extras = report_extras(profile, output);
  add_page_data(profile, extras);
  const auto html = render(profile, extras.predictions, ReportFormat::html, extras.options);
  if (!html) return html.error();
  STALLCAST_RETURN_IF_ERROR(write_private_file(output / collect::k_report_file, html.value()));
  return extras;
}

Status deliver(const Profile& profile, const std::filesystem::path& output, bool quiet) {
  auto written = write_results(profile, output);
  if (!written) return written.error();
  print_note(fmt::format("wrote {0}/profile.json and {0}/report.html", output.string()));
  if (quiet) return {};
  ReportExtras& extras = written.value();
  extras.options.color = stdout_has_color();
  extras.options.unicode = stdout_has_unicode();
  const auto text = render(profile, extras.predictions, ReportFormat::text, extras.options);
  return text ? print_result(text.value()) : Status(text.error());
}

}  // namespace stallcast::cli
