/// Batches that several functions of a script make one after the other (one reads, the next normalises): each of their
/// calls is recorded as a wait, and one of them, which gives the batch, says whose parts the others are.
///
/// Worked example. load() is called from 100 to 130 ms, normalise() from 131 to 141 and gives the batch: it was waited
/// for for 40 ms, which are told as from 101 to 141, with the CPU time and the reads of both.
#pragma once

#include "analyzer/load/run_data.hpp"

namespace stallcast {

/// Adds what the passes over parts took (LoaderFacts::part_of) to the next batch that they are parts of, and takes them
/// out of the consumer, with their loaders.
void join_parts(Consumer& consumer);

}  // namespace stallcast
