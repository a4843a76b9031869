/// Batches that a queue hands over to the training, from a thread or a process. Internal to the loading.
#pragma once

#include "analyzer/load/run_data.hpp"

namespace stallcast {

/// Where the consumer's batches come out of a queue, what fills it waits for is none of its steps: `passes` are over
/// the queue then. Of the loader of this process that gave most batches to whoever fills it, `behind` tells what
/// remains.
void leave_to_queue(Consumer& consumer);

}  // namespace stallcast
