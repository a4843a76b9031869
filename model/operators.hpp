/// What if an operator of the workers (a transform, decoding, collating) were faster, or gone.
#pragma once

#include <cstddef>
#include <map>
#include <string_view>

#include "analyzer/profile.hpp"
#include "core/result.hpp"
#include "model/prediction.hpp"
#include "model/setting_parts.hpp"

namespace stallcast {

/// "Resize:x2", "transform[2]:off", several joined by '+', into `scenario.operators`. Errors (usage) say what to write.
[[nodiscard]] Status set_operators(Scenario& scenario, std::string_view value);

/// Reads the operators' costs off `profile`. Needs the costs of a sample in `job`.
void read_operators(const Profile& profile, JobModel& job);

/// The job without each of its dearest operators, at most `most`, by their place in `profile.operators`. Empty where
/// nothing can be predicted.
[[nodiscard]] std::map<std::size_t, Prediction> without_each_operator(const Profile& profile, std::size_t most);

namespace setting_parts {

/// Takes what the scenario's operators no longer cost out of the making of a sample. What the others cost is taken to
/// stay the same. Errors: not_enough_data where the profile has no operators, usage for one that it does not have (the
/// nearest is named).
[[nodiscard]] Status apply_operators(const JobModel& job, const Scenario& scenario, Setting& setting,
                                     Uncertainty& uncertain);

}  // namespace setting_parts
}  // namespace stallcast
