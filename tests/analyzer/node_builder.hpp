/// Runs as tools on several nodes of one job would have recorded them (run_builder.hpp), and their profile.
#pragma once

#include <string>
#include <vector>

#include "analyzer/load/run_data.hpp"
#include "analyzer/profile/profile.hpp"
#include "tests/analyzer/run_builder.hpp"

namespace stallcast::synthetic {

/// A node of two ranks that wait for storage.
[[nodiscard]] JobSpec two_ranks();

/// What node `number` of a job of `world` ranks left: those of `spec`, numbered from number * spec.ranks on.
[[nodiscard]] RunData node(JobSpec spec, int number, int world = 4);

[[nodiscard]] std::vector<RunData> two_nodes(const JobSpec& spec);

/// As one job, which they must be, with what there is to be said of it.
[[nodiscard]] std::vector<RunData> joined(std::vector<RunData> nodes);

[[nodiscard]] Profile merged(std::vector<RunData> nodes);

}  // namespace stallcast::synthetic
