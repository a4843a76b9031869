/// The one way from a profile and predictions to a report, in any format.
#pragma once

#include <span>
#include <string>

#include "analyzer/profile/profile.hpp"
#include "core/result.hpp"
#include "model/scenario/prediction.hpp"
#include "reports/findings/render_options.hpp"

namespace stallcast {

/// The whole report as one string (UTF-8, ends with a newline). Strings of the profile are treated as hostile in every
/// format. Errors: internal, if a built-in template is broken.
[[nodiscard]] Result<std::string> render(const Profile& profile, std::span<const Prediction> predictions,
                                         ReportFormat format, const RenderOptions& options);

}  // namespace stallcast
