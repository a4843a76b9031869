/// From a folder of recordings to the files and the text that a user gets.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analyzer/profile/profile.hpp"
#include "core/result.hpp"
#include "reports/render.hpp"

namespace stallcast::cli {

/// What goes into a report besides the profile: the model's advice, and what its remedies would bring. Both empty where
/// the profile holds too little to predict from.
struct ReportExtras {
  RenderOptions options{};
  std::vector<Prediction> predictions{};
  int recommended_workers = 0;  ///< 0: none
};

/// Writes `output`/profile.json and `output`/report.html, each as a whole or not at all; gives the extras of the page.
[[nodiscard]] Result<ReportExtras> write_results(const Profile& profile, const std::filesystem::path& output);

/// Does so, says it on stderr, and prints the report as a terminal shows it unless `quiet`.
[[nodiscard]] Status deliver(const Profile& profile, const std::filesystem::path& output, bool quiet);

/// Adds the answers behind the sliders and the curves of the HTML page, or why there are none. Takes a second or two.
void add_page_data(const Profile& profile, ReportExtras& extras);

/// The extras of `profile`, where `named` is how the user names it.
[[nodiscard]] ReportExtras report_extras(const Profile& profile, const std::filesystem::path& named);

}  // namespace stallcast::cli
