/// The phases of a run as the user names them, and when their estimates are tight enough.
#pragma once

#include <string>

#include "core/result.hpp"
#include "probes/collect/schedule/phased_run.hpp"

namespace stallcast::cli {

/// "cold,cached,synthetic,supply" -> what a run shall measure. "as_is" alone: a passive run, no phases at all.
/// Blocks that a wanted state needs are wanted, too; each is once. Unknown names are a usage error that lists the known
/// ones.
[[nodiscard]] Result<collect::PhaseWants> parse_phases(const std::string& list);

/// The state whose blocks a phase needs: of what a loader brings in a state, which the bursts behind them tell, that
/// state; of all others itself.
[[nodiscard]] record::Phase block_of(record::Phase phase);

/// "own", "all" or "none".
[[nodiscard]] Result<record::Evict> parse_evict(const std::string& name);

/// The rates of a phased run while it goes on.
struct RatesSoFar {
  bool tight = false;       ///< as `rates_are_tight` has it
  bool cold_fails = false;  ///< of several cold blocks none counts, as its premise does not hold
  std::string words{};      ///< "cold 201 +-3%, cached 480 +-6%"; empty before there are any
};

/// Of the run recorded in `run_folder` so far. `target`: half the width of an interval as a share of its rate.
[[nodiscard]] RatesSoFar rates_so_far(const std::filesystem::path& run_folder, double target);

}  // namespace stallcast::cli
