/// What each operator of the workers costs the job's rate.
#pragma once

#include <cstddef>
#include <map>

#include "analyzer/profile/profile.hpp"
#include "model/scenario/prediction.hpp"

namespace stallcast {

/// The job without each of its dearest operators, at most `most`, by their place in `profile.operators`. Empty where
/// nothing can be predicted.
[[nodiscard]] std::map<std::size_t, Prediction> without_each_operator(const Profile& profile, std::size_t most);

}  // namespace stallcast
