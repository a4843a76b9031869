/// From a folder of recordings to the files and the text that a user gets.
#pragma once

#include <filesystem>
#include <string>

#include "analyzer/profile.hpp"
#include "core/result.hpp"
#include "reports/render.hpp"

namespace stallcast::cli {

/// Writes `output`/profile.json and `output`/report.html.
[[nodiscard]] Status write_results(const Profile& profile, const std::filesystem::path& output);

/// The report as a terminal shows it.
[[nodiscard]] Status print_report(const Profile& profile, const std::filesystem::path& output);

/// What reports need to know about this profile, where `named` is how the user names it.
[[nodiscard]] RenderOptions render_options(const Profile& profile, const std::filesystem::path& named);

}  // namespace stallcast::cli
