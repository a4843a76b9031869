/// The formats, one function and one file each; render.cpp chooses. What several of them word alike is here too.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/scenario/prediction.hpp"
#include "reports/findings/epoch.hpp"
#include "reports/findings/findings.hpp"
#include "reports/findings/render_options.hpp"
#include "reports/words/format.hpp"

namespace stallcast::reports {

/// Everything that a format may show.
struct ReportData {
  const Profile& profile;
  std::span<const Prediction> predictions;
  const RenderOptions& options;
  Findings findings;
  Epochs epochs;
  std::string subtitle;  ///< "58.2 s measured, 1 rank, 2 workers, batches of 32, pytorch 2.1"
};

[[nodiscard]] std::string render_text(const ReportData& data);
[[nodiscard]] std::string render_json(const ReportData& data);
[[nodiscard]] Result<std::string> render_html(const ReportData& data);
[[nodiscard]] std::string render_markdown(const ReportData& data);
/// A row per timeline row.
[[nodiscard]] std::string render_csv(const ReportData& data);
/// Chrome trace JSON, as Perfetto's UI opens it.
[[nodiscard]] std::string render_perfetto(const ReportData& data);
/// Gauges; ends with "# EOF".
[[nodiscard]] std::string render_openmetrics(const ReportData& data);

/// "38 % (36 to 40)"; "0 (up to 1.4 %)" where it is not distinguishable from 0.
[[nodiscard]] std::string share_words(const Slice& slice);
/// "workers=8 cache=100%"; "as profiled" if nothing is changed.
[[nodiscard]] std::string scenario_words(const Prediction& prediction);
/// "612 (580 to 645)", in samples/s.
[[nodiscard]] std::string forecast_words(const Prediction& prediction);
/// "prep, then gpu".
[[nodiscard]] std::string bound_words(const Prediction& prediction);
/// "fetch: reading; gpu: the step itself": what the words stand for that bound_words() gives of these.
[[nodiscard]] std::string bound_legend(std::span<const Prediction> predictions);
/// The prediction's own notes, and that it was extrapolated.
[[nodiscard]] std::vector<std::string> prediction_notes(const Prediction& prediction);
[[nodiscard]] std::string subtitle_of(const Profile& profile);

}  // namespace stallcast::reports
