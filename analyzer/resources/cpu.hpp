/// Where CPU time went, by library and function.
#pragma once

#include <cstddef>
#include <vector>

#include "analyzer/profile/profile.hpp"
#include "analyzer/steps/rank_view.hpp"

namespace stallcast::sections {

/// Where the job's CPU time went, of all launches together; without a source where none was sampled. Counters are those
/// of the first `nodes` launches, summed.
[[nodiscard]] Cpu cpu_of(const std::vector<Launch>& launches, std::size_t nodes);

}  // namespace stallcast::sections
