/// What storage was asked for on behalf of this process.
#pragma once

#include <cstdint>

#include "probes/capture/phases/state.hpp"

namespace stallcast::capture {

inline constexpr std::uint64_t k_storage_unknown = UINT64_MAX;

/// "read_bytes: N" of /proc/self/io, of all threads; of the emulated storage, what it gave. k_storage_unknown where
/// that cannot be read.
std::uint64_t storage_bytes(PhaseState& state);

/// Page faults of this process that waited for storage (getrusage).
std::uint64_t major_faults();

}  // namespace stallcast::capture
