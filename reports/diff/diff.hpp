/// From a comparison of two profiles to a report: text, JSON, Markdown or one HTML page.
#pragma once

#include <span>
#include <string>

#include "analyzer/compare/comparison.hpp"
#include "core/result.hpp"
#include "reports/findings/render_options.hpp"

namespace stallcast {

inline constexpr int k_diff_schema_version = 1;

struct DiffNames {
  std::string before = "A";  ///< as the user named the profile
  std::string after = "B";
};

/// The whole report as one string (UTF-8, ends with a newline). Strings of the profiles are treated as hostile. Errors:
/// usage, for a format in which there is no comparison; internal, if a built-in template is broken.
[[nodiscard]] Result<std::string> render_diff(const Comparison& comparison, std::span<const JudgedCondition> conditions,
                                              const DiffNames& names, ReportFormat format,
                                              const RenderOptions& options);

/// "fetch_frac>+5%: fetch_frac changed by +12 points (+10 to +14): more than asked, and beyond noise".
[[nodiscard]] std::string condition_words(const JudgedCondition& judged);

}  // namespace stallcast
