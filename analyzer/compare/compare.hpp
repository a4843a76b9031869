/// Compares two profiles: what changed, and whether that is more than noise.
///
/// Both intervals make the interval of the change (Zou & Donner 2008, Statistics in Medicine 27:1693, with the wider
/// half of each interval, so that one cut off at 0 counts whole). Worked example: 400 samples/s (390 to 410) before
/// and 360 (345 to 375) after. In logarithms the halves are 0.025 and 0.043, together sqrt(0.025^2 + 0.043^2) = 0.049;
/// the change is ln(360/400) = -0.105 +- 0.049, that is -10 % (-14 to -5 %): beyond noise. Shares of the step, which
/// may be 0 or less, are compared by their difference; so is what else is not clearly above 0.
///
/// Some twenty numbers are compared, and one in twenty intervals misses by chance: "changed" is said where the change
/// also stands among all of them (Holm 1979). Tails are those of Student's t with few degrees of freedom, since an
/// interval may rest on as few as five blocks of steps.
#pragma once

#include "analyzer/compare/comparison.hpp"
#include "analyzer/profile/profile.hpp"

namespace stallcast {

/// Chance at which a change that is none may be called one.
inline constexpr double k_significance = 0.05;

/// From `before` to `after`. Every estimate of rates, stalls, resources and overhead is compared; settings of job,
/// machine, software and data set are listed where they differ.
[[nodiscard]] Comparison compare(const Profile& before, const Profile& after);

/// Of the settings that differ, those that make it another job: the command, what is loaded, batches, workers, ranks.
/// Software, machine, and what a loader does with its workers (prefetch, pinning) are no part of that.
[[nodiscard]] std::vector<SettingChange> workload_changes(const Comparison& comparison);

}  // namespace stallcast
