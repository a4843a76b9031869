/// What each operator (transform, decoding, collating) costs.
#pragma once

#include <vector>

#include "analyzer/profile/profile.hpp"
#include "analyzer/steps/rank_view.hpp"

namespace stallcast::sections {

/// What each operator costs, the dearest first, the rest last; empty where too few samples were timed. Issues: parts
/// that do not add up to the workers' busy time within 3 %, data sets whose samples are not seen.
/// `premises`: of the run's phases; operators of cached blocks are spoken of only where that held.
[[nodiscard]] std::vector<Operator> operators_of(Nodes nodes, const std::vector<RankView>& ranks,
                                                 const std::vector<Premise>& premises, std::vector<DataIssue>& issues);

}  // namespace stallcast::sections
