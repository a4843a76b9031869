/// What a run did in which no loader was found: steps, processes, files, sockets, cores. One line each, for who asks
/// why nothing was measured.
#pragma once

#include <span>
#include <vector>

#include "analyzer/load/run_data.hpp"
#include "analyzer/profile/profile.hpp"

namespace stallcast {

/// In the order in which a report shows them.
[[nodiscard]] std::vector<Sighting> sightings_of(std::span<const RunData> nodes);

}  // namespace stallcast
