/// What a profile says, in sentences and ranked lists: computed once, used by every format.
///
/// Strings here are raw: they may hold whatever a path or a command line held. Each format escapes them in its own way.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/profile/profile.hpp"

namespace stallcast::reports {

/// Shares of the step that wait for data from which a job counts as moderately and highly input-bound: the thresholds
/// that users know from TensorFlow's profiler.
inline constexpr Fraction k_moderate_from = 0.05;
inline constexpr Fraction k_high_from = 0.20;

enum class Level { unknown, fine, moderate, high };

/// "unknown", "fine", "moderate" or "high".
[[nodiscard]] const char* level_name(Level level);
/// The level of a share of the step.
[[nodiscard]] Level level_of(Fraction wait);

/// One part of a step.
struct Slice {
  std::string key{};    ///< compute | fetch | prep | other | wait
  std::string label{};  ///< "wait: reading files"
  Estimate<Fraction> share{};
  std::optional<Seconds> per_step{};  ///< absent where the share is not distinguishable from 0
};

/// How a step divides; the slices' means add up to 1.
struct Breakdown {
  std::string state{};        ///< of the storage: as_is | cold
  std::string title{};        ///< "as the run was found"
  std::string method{};       ///< attributed | differential
  bool over_network = false;  ///< the data come over the network, not from files
  MeasuredEstimate<Seconds> step{};
  Estimate<Fraction> wait{};    ///< for data, all of it
  std::vector<Slice> slices{};  ///< of the whole step
};

/// A labelled statement: "workers", "2 of 2 busy 97 % of the time".
struct Fact {
  std::string label{};
  std::string text{};
};

/// Something to do, the most rewarding first.
struct NextStep {
  std::string key{};  ///< stable name of the rule, e.g. "more-workers"
  std::string title{};
  std::string why{};
  double weight = 0.0;  ///< roughly the share of the step that it is about; orders the list
};

/// How far the verdict can be trusted.
struct Confidence {
  std::string word = "good";  ///< good | fair | weak | none
  std::vector<std::string> reasons{};
};

/// Quantities that were not measured for one and the same reason.
struct Missing {
  std::vector<std::string> what{};
  std::string reason{};
};

struct Findings {
  Level level = Level::unknown;
  std::string verdict{};       ///< one or two sentences
  std::string level_words{};   ///< "highly input-bound (over 20 % of the step)"
  std::string outcome_note{};  ///< where the run did not end as it should; else empty
  Confidence confidence{};
  std::vector<Breakdown> breakdowns{};  ///< the first is what the verdict speaks of
  std::vector<Fact> why{};
  std::vector<NextStep> next{};
  std::vector<Missing> missing{};
  std::string overhead{};
};

[[nodiscard]] Findings find(const Profile& profile);

/// Whether the verdict speaks of the steps that read every byte from storage: where phases of this run divided those
/// (method differential) that is measured, while the split as found is attributed, and a cache that happened to be warm
/// hides what storage costs. Not where these phases cannot even tell that it waits, and the run as found can.
[[nodiscard]] bool speaks_of_cold(const Profile& profile);

/// Whether the run was found in the state of its cold phases: its bytes came from storage, and its steps wait alike.
/// The split as found then says nothing of its own.
[[nodiscard]] bool found_is_cold(const Profile& profile);

/// Whether a number of the profile rests on this premise: whether its phase was measured, or is the run as found. In a
/// run without phases, "cold" and "cached" only say how the cache was found.
[[nodiscard]] bool rests_on(const Profile& profile, const Premise& premise);

/// Whether a report should show this premise: it holds, a number rests on it, or the run was to make its state.
[[nodiscard]] bool is_worth_showing(const Profile& profile, const Premise& premise);

/// The parts, each in its own file; find() puts them together.
[[nodiscard]] std::vector<Breakdown> breakdowns_of(const Profile& profile);
[[nodiscard]] Confidence confidence_of(const Profile& profile, const Findings& findings);
[[nodiscard]] std::vector<Fact> why_of(const Profile& profile);
/// "Why"; or what stands there where no loader was found.
[[nodiscard]] std::string why_title(const Profile& profile);
[[nodiscard]] std::vector<NextStep> next_steps_of(const Profile& profile, Level level);
[[nodiscard]] std::vector<Missing> missing_of(const Profile& profile);

/// `values` rounded to `places` decimals so that they add up to their rounded sum (largest remainder): a reader who
/// adds the numbers of a sentence finds them right.
[[nodiscard]] std::vector<double> rounded_parts(const std::vector<double>& values, int places);

}  // namespace stallcast::reports
