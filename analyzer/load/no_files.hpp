/// Samples that are made of no file: of tensors in memory, or of nothing but arithmetic.
#pragma once

#include "analyzer/load/run_data.hpp"

namespace stallcast {

/// Whether making the consumer's batches in a measured run read no file and received nothing, maps of files included,
/// and nothing to speak of came from storage for any process of the job meanwhile. What a cold block is to show, and a
/// cached one, are the same then: each is the job as found. False where one of these is not known.
[[nodiscard]] bool reads_no_file(const RunData& run, const Consumer& consumer);

}  // namespace stallcast
