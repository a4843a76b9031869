/// The files of a stream (an iterable data set, whose samples have no index), as a measured run needs to know them:
/// which there are, so that the tool can hold all of them in memory, and whether several processes read the same one.
/// What one of these brings in is there for the next, and nobody evicts it between the two.
#pragma once

#include <cstdint>

#include "probes/capture/phases/state.hpp"

namespace stallcast::capture {

/// The file `key` (phase_populated.hpp) behind `fd` is opened or read for a batch of a stream. Only with the thread
/// busy.
void read_in_stream(PhaseState& state, int fd, std::uint64_t key);

/// Whether processes of this run read the same files of a stream at the same time.
bool files_are_shared();

}  // namespace stallcast::capture
