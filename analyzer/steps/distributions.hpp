/// Times of steps and of samples as found.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analyzer/profile/profile.hpp"
#include "analyzer/steps/rank_view.hpp"

namespace stallcast::sections {

/// Evenly timed samples (steps/timed_samples.hpp) that the training loader's batches were made of, as found: not those
/// of an evaluation, nor of phases, in which reads come from where we have put the bytes.
[[nodiscard]] std::vector<const record::SampleRecord*> training_samples(Nodes nodes,
                                                                        const std::vector<RankView>& ranks);

/// Times of steps and of samples, by name.
[[nodiscard]] std::map<std::string, Distribution> distributions_of(Nodes nodes, const std::vector<RankView>& ranks);

}  // namespace stallcast::sections
