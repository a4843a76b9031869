/// Waiting that is divided otherwise, or not at all: loaders that fetch and prepare side by side, an iterator for each
/// step, batches that are given again.
#pragma once

#include <vector>

#include "analyzer/profile/profile.hpp"
#include "analyzer/stalls/job_times.hpp"
#include "analyzer/steps/rank_view.hpp"
#include "analyzer/steps/steady.hpp"

namespace stallcast::sections {

/// A loader that fetches and prepares side by side is as fast as the slower of the two: waits do not say which that is,
/// unless nothing was fetched from storage. Taking a batch over is part of prep here.
void divide_overlapped(const std::vector<RankView>& ranks, const JobTimes& times, Profile& profile);

/// A script that makes an iterator for each step starts workers for one batch: how these would keep up with it is not
/// seen. What the steps alone would give is.
void leave_iterators(const JobTimes& times, Profile& profile);

/// The verdict is over the steps of the training, and not over the batches of a loader that is no longer asked.
/// Each step takes batches of several loaders, whose waits add, or of one of several by turns: which of the waits are a
/// matter of reading is not told.
void tell_several_loaders(const SteadyWindow& window, const JobTimes& times, Profile& profile);

/// Another thread or process than the training's takes the batches from the loader. What is waited for where it hands
/// them over is told if that was seen; else nothing is told of the waiting.
void tell_handed_over(const RankView& rank, const JobTimes& times, Profile& profile);

/// The loader, with workers of its own, that the data set of this rank's training takes its samples from; nullptr where
/// there is none, or where it was asked for hardly a batch (to fill a cache, or to compute a mean).
[[nodiscard]] const NestedLoader* nested_loader(const RankView& rank);

/// What is waited for is read and prepared by these workers, whose batches nobody recorded; the steps are as without.
void tell_nested(const NestedLoader& nested, const JobTimes& times, Profile& profile);

/// Whether one of these holds: states that are made of one loader say nothing of the job then.
[[nodiscard]] bool takes_oddly(const std::vector<RankView>& ranks);

void tell_given_again(const GivenAgain& again, const JobTimes& times, Profile& profile);

}  // namespace stallcast::sections
