/// Opening and closing samples and batches, shared by the C API and the hooks.
#pragma once

#include "probes/capture/thread.hpp"

namespace stallcast::capture {

/// Whether I/O of this thread belongs to a recorded sample.
inline bool in_sample(const Thread& thread) {
  return thread.sample.depth != 0 && thread.sample.recorded != 0;
}

/// Whether I/O of this thread belongs to a recorded batch (inside or outside a sample).
inline bool in_batch(const Thread& thread) {
  return thread.batch.open != 0 && thread.batch.recorded != 0;
}

/// The file's line in the open sample, taken if need be: the eldest is written out where all are taken.
FileInSample& file_in_sample(Thread& thread, std::uint64_t file_id, std::int32_t fd, std::uint64_t begin_ns);

/// The file's line in the open sample; nullptr if it has none.
FileInSample* line_in_sample(Thread& thread, std::uint64_t file_id);

/// Writes the file's record and frees its line.
void write_file(Thread& thread, FileInSample& file);

/// Adds `part` to `sum`, major faults aside.
void add_io(record::IoTotals& sum, const record::IoTotals& part);

}  // namespace stallcast::capture
