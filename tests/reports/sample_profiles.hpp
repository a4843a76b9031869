/// Profiles with realistic numbers (a JPEG job on 2 cores) for tests of reports and model, built by hand.
#pragma once

#include <string>
#include <vector>

#include "analyzer/profile/profile.hpp"

namespace stallcast::testing {

/// A name, which is also the stem of its golden files, and the profile.
struct NamedProfile {
  std::string name{};
  Profile profile{};
};

/// Waits 1.2 % of a 94 ms step: the network is the limit.
[[nodiscard]] Profile compute_bound();
/// Waits 38 %, nearly all of it decoding, both cores busy.
[[nodiscard]] Profile prep_bound();
/// Likewise, with so much waiting (a share of the step), all of it for preparing, and half the width of its interval.
[[nodiscard]] Profile with_wait(double wait, double half);
/// Waits 62 %, most of it reading from a slow disk, cores idle.
[[nodiscard]] Profile fetch_bound();
/// A command without a loader: next to nothing measured, every reason given.
[[nodiscard]] Profile absent_heavy();
/// Four ranks on two nodes, one of them slow; phases measured too.
[[nodiscard]] Profile multi_rank();
/// fetch_bound with every string replaced by an attack.
[[nodiscard]] Profile hostile();

/// All of them.
[[nodiscard]] std::vector<NamedProfile> sample_profiles();

/// Strings that try to break out of HTML, scripts, Markdown, terminals, CSV and metric labels.
[[nodiscard]] const std::vector<std::string>& hostile_strings();

}  // namespace stallcast::testing
