/// Whether a job's data come over the network, and what to say of it.
#pragma once

#include <vector>

#include "analyzer/steps/rank_view.hpp"
#include "core/data_issue.hpp"

namespace stallcast::sections {

/// Bytes that came over the network for a sample, in the steady windows; 0 where none was seen.
[[nodiscard]] double received_per_sample(const std::vector<RankView>& ranks);

/// Whether most of what samples are made of came over the network.
[[nodiscard]] bool is_over_network(const std::vector<RankView>& ranks);

/// Says so; and where storage was emulated, that such data were not.
void add_network_issues(const RunData& run, const std::vector<RankView>& ranks, std::vector<DataIssue>& issues);

}  // namespace stallcast::sections
