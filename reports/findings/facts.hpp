/// What a profile tells about its surroundings, as labelled facts: for the long formats.
#pragma once

#include <vector>

#include "reports/findings/findings.hpp"

namespace stallcast::reports {

/// Files, sizes, layout, file system.
[[nodiscard]] std::vector<Fact> dataset_facts(const Profile& profile);

/// Machine, memory, framework, loader configuration.
[[nodiscard]] std::vector<Fact> environment_facts(const Profile& profile);

}  // namespace stallcast::reports
