/// What a loader does not say of itself and its passes show: a stream's length and batch size, buffers that fill.
#pragma once

#include "analyzer/load/run_data.hpp"

namespace stallcast {

/// Fills in the length of data sets that do not say it (where whole passes of theirs were recorded, all as long; never
/// those of one rank among several, which may be given its share, or all), and the batch size where the loader leaves
/// batching to its data set and at least three quarters of the batches hold as many samples.
void tell_of_streams(Consumer& consumer);

/// Fills in Pass::filling.
///
/// Worked example. A script shuffles in a buffer of 200 samples what its loader hands over by 16: it takes 13 batches
/// at once, then trains once for every 2. Its first step comes after 13 of 200 batches and 94 steps: 13 are no steps.
void tell_filling(const Consumer& consumer, Pass& pass);

}  // namespace stallcast
