/// Copies of parts of large files in the stage, granule by granule:
///
///   <stage_dir>/00000004/2f9a5c01d3e8b764.8388608.part     a sparse file of the original's size
///
/// Which granules of it hold bytes is noted in the run's shared set after they were written, so that what one worker
/// has staged serves them all.
#pragma once

#include "probes/capture/phase.hpp"
#include "probes/capture/phase_state.hpp"

namespace stallcast::capture {

inline constexpr std::uint64_t k_granule = 64 * 1024;
inline constexpr char k_part_ending[] = ".part";

/// By which a granule of a file is known to be staged in a round.
std::uint64_t granule_key(const FileIdentity& file, std::uint32_t round, std::uint64_t granule);

/// A descriptor of the file's copy of this round, kept open; -1 if it cannot be had.
int shadow_of(PhaseState& state, const FileIdentity& file);

}  // namespace stallcast::capture
