/// Finds the loader settings at the knee.
#pragma once

#include "model/job/job_model.hpp"
#include "model/predict/predict.hpp"
#include "model/recommend/recommend.hpp"

namespace stallcast {

/// The most workers of a rank that this machine's memory lets one think of; `notes` gets the reason of a low limit.
[[nodiscard]] int most_workers(const JobModel& job, double cores, std::vector<std::string>& notes);

/// The fewest workers, up to `most`, and the smaller prefetch factor that come within 2 % of the best rate on top of
/// `settings`; the loader as found if it is within 2 % already. `found` says what the job uses.
[[nodiscard]] LoaderChoice find_knee(Predictor& predictor, const Scenario& settings, const LoaderChoice& found,
                                     int most);

/// `settings` with the workers and prefetch factor of `choice`.
[[nodiscard]] Scenario with_loader(const Scenario& settings, const LoaderChoice& choice);

/// DataLoader(dataset, ...) as the user would write it.
[[nodiscard]] std::string loader_line(const Profile& profile, const LoaderChoice& choice);

}  // namespace stallcast
