/// The rate over the number of workers and over the size of the cache, for the curves of the HTML report. Each point is
/// the answer that `whatif` gives to that one question.
#pragma once

#include <vector>

#include "analyzer/profile/profile.hpp"
#include "model/scenario/prediction.hpp"

namespace stallcast {

/// The curve over workers, with `recommended_workers` marked on it (0: none is), then that over the cache, a line for
/// each policy. One that this profile cannot answer has its reason; both, where nothing can be predicted from it.
[[nodiscard]] std::vector<PredictionCurve> prediction_curves(const Profile& profile, int recommended_workers);

/// What LRU, the page cache of Linux, random replacement and a cache that never evicts would serve with the memory that
/// this job leaves free (model/analytic/cache.hpp): every sample read once an epoch, in a new order. Empty where it is
/// not known how much of the data set fits, or where all of it does.
[[nodiscard]] std::vector<PolicyHits> policy_hits(const Profile& profile);

}  // namespace stallcast
