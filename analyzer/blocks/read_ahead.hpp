/// A stream's cold block and what the kernel reads ahead of it. Internal to the analyzer.
#pragma once

#include "analyzer/blocks/blocks.hpp"

namespace stallcast {

/// Of a stream the kernel reads ahead, which lasts beyond a block: one that began with little of it has waited for more
/// than it read, one that began with much for less. Where the job waits for storage, and the block lies within the
/// shards that its workers read, its time is that of the bytes that came from there. Where it holds whole shards they
/// tell it (blocks/whole_shards.hpp); of files that batches wait for one by one nothing is read ahead.
///
/// Worked example. 60 MB were read in 4.0 s, and 66 MB came from storage: what was read took 3.64 s of them.
void take_off_read_ahead(PhaseBlock& block);

/// Rejects a block of whole shards for which storage gave far more than they hold.
void refuse_read_twice(PhaseBlock& block);

}  // namespace stallcast
