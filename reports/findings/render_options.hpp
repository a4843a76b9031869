/// What a report is given beside a profile and predictions.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "model/scenario/prediction.hpp"
#include "reports/findings/price.hpp"

namespace stallcast {

enum class ReportFormat { text, json, html, md, csv, perfetto, openmetrics };

/// "text", "json", "html", "md", "csv", "perfetto" or "openmetrics"; anything else is a usage error that lists them.
[[nodiscard]] Result<ReportFormat> report_format_from_name(std::string_view name);

/// The inverse of report_format_from_name.
[[nodiscard]] const char* report_format_name(ReportFormat format);

/// A change beyond the loader's settings, with what it would bring.
struct RankedFix {
  std::string title{};
  std::string gain{};  ///< e.g. "about 3.1 times the samples/s (2.8 to 3.4)", over the recommended loader
};

/// A recommended loader configuration, worded by the caller (the model decides, reports only print).
struct LoaderAdvice {
  std::string loader_line{};         ///< e.g. "num_workers=4, prefetch_factor=4, persistent_workers=True"
  std::string gain{};                ///< e.g. "about 1.5 times the samples/s (1.4 to 1.6)"
  bool gains_surely = false;         ///< by more than its interval is wide: it is the first thing to do
  std::vector<std::string> lines{};  ///< why, one sentence each
  std::vector<RankedFix> fixes{};    ///< the most rewarding first
};

struct RenderOptions {
  bool color = false;    ///< ANSI colours in text
  bool unicode = false;  ///< block characters instead of '#' in the bars of text
  std::optional<LoaderAdvice> recommendation{};
  std::optional<PredictionGrid> grid{};   ///< of the HTML page's sliders
  std::vector<PredictionCurve> curves{};  ///< of the HTML page
  std::vector<PolicyHits> policies{};     ///< of the HTML page
  /// The job without one of its operators, by its place in the profile's list; empty where nobody asked.
  std::map<std::size_t, Prediction> without_operator{};
  std::string no_grid{};         ///< why there is none; empty where nobody asked for one
  std::optional<Price> price{};  ///< what an epoch costs is told where there is one
  std::string profile_path{};    ///< as the user named it, for the command that the text ends with; may be empty
};

}  // namespace stallcast
