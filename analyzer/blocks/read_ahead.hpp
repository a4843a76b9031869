/// A stream's cold block and what the kernel reads ahead of it. Internal to the analyzer.
#pragma once

#include "analyzer/blocks/blocks.hpp"

namespace stallcast {

/// Of a stream the kernel reads ahead, which lasts beyond a block: one that began with little of it has waited for more
/// than it read, one that began with much for less. Where the job waits for storage, its time is that of the bytes that
/// came from there. Files that come in a few requests are the exception: a worker waits for all of one, and until it
/// has come nothing of it is read ahead. Of what was asked for beyond what was read, that share counts as come in which
/// workers compute.
///
/// Worked example. 60 MB were read in 4.0 s, and 66 MB came from storage: what was read took 3.64 s of them. With files
/// of two requests each, and workers that compute for half of the time that a batch takes, 63 MB count: 3.81 s.
void take_off_read_ahead(PhaseBlock& block);

}  // namespace stallcast
