/// The phases of a run as the user names them, and when their estimates are tight enough.
#pragma once

#include <string>

#include "core/result.hpp"
#include "probes/collect/phased_run.hpp"

namespace stallcast::cli {

/// "cold,cached,synthetic,supply" -> what a run shall measure. "as_is" alone: a passive run, no phases at all.
/// Unknown names are a usage error that lists the known ones.
[[nodiscard]] Result<collect::PhaseWants> parse_phases(const std::string& list);

/// "own", "all" or "none".
[[nodiscard]] Result<record::Evict> parse_evict(const std::string& name);

/// Whether every wanted rate of the run recorded in `run_folder` so far has a 95 % interval within +-`target` of it.
[[nodiscard]] bool rates_are_tight(const std::filesystem::path& run_folder, double target);

}  // namespace stallcast::cli
