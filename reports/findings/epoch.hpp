/// What one pass over the data set takes, and costs: the parts of a step, times the steps of an epoch.
///
/// Worked example. 12,000 samples at 548 samples/s (534 to 562) are 21.9 s (21.4 to 22.5); of these 33 % (31 to 35)
/// wait for files: 7.29 s (6.66 to 7.96). The share and the rate come from the same blocks, so how their errors go
/// together is not known: the interval reaches from the least to the most that both allow.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/findings/findings.hpp"
#include "reports/findings/price.hpp"

namespace stallcast::reports {

struct EpochPart {
  std::string key{};    ///< compute | fetch | prep | other | wait | lost | whole
  std::string label{};  ///< "wait: reading files"
  Estimate<Seconds> time{};
  std::optional<Estimate<double>> cost{};  ///< of all machines; absent where no price was given
};

/// One pass in one state of the storage.
struct Epoch {
  std::string state{};  ///< as of its breakdown
  std::string title{};
  std::vector<EpochPart> parts{};   ///< as the breakdown's slices; empty where the step was not divided
  std::optional<EpochPart> lost{};  ///< all the waiting
  EpochPart whole{};
};

struct Epochs {
  std::int64_t samples = 0;
  int machines = 1;
  std::optional<Price> price{};
  std::vector<Epoch> passes{};               ///< one for each breakdown, the headline's first
  std::string absent{};                      ///< why there is none; empty where there is one
  std::optional<Estimate<Seconds>> pause{};  ///< at the beginning of each, where it is a hundredth of one or more
  std::string no_copy{};  ///< why copies to the GPU are no part of their own; empty where they were traced
};

[[nodiscard]] Epochs epochs_of(const Profile& profile, const std::vector<Breakdown>& breakdowns,
                               const std::optional<Price>& price);

/// The first pass, and those of the others that take or lose another time than it, beyond both intervals.
[[nodiscard]] std::vector<const Epoch*> telling_passes(const Epochs& epochs);

/// "7.29 s (6.66 to 7.96)"; "0 (up to 0.4 s)" where it is not distinguishable from 0.
[[nodiscard]] std::string epoch_time_words(const EpochPart& part);
/// "0.065 USD (0.059 to 0.071)": always with its interval; empty without a price.
[[nodiscard]] std::string epoch_cost_words(const EpochPart& part, const Epochs& epochs);
/// "at 32 USD an hour for each of 2 machines"; empty without a price.
[[nodiscard]] std::string price_words(const Epochs& epochs);
/// What an epoch's time leaves out, in one sentence.
[[nodiscard]] std::string epoch_note(const Epochs& epochs);

}  // namespace stallcast::reports
