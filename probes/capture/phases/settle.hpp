/// One part of a file that is about to be read: asked about, evicted where the phase and the rules allow, counted.
#pragma once

#include "probes/capture/phases/pages.hpp"
#include "probes/capture/phases/state.hpp"
#include "probes/record/populated_pages.hpp"

namespace stallcast::capture {

struct FilePart {
  int fd;
  const struct stat* file;
  Range range;
  std::uint64_t key;  ///< by which it is this run's own, besides the whole file's
  bool is_cold;
};

using record::hash_words;

/// By which a whole file is this run's own.
inline std::uint64_t file_key(const struct stat& file) {
  return record::own_file_key(file.st_dev, file.st_ino);
}

/// Whether this run brought the part's pages in.
bool is_own(const FilePart& part);

/// Asks what is resident, evicts what may be, and counts both.
void settle(PhaseSeen& seen, const FilePart& part);

/// Evicts what may be of the part, uncounted. True if nothing of it is resident now.
bool clear_pages(const FilePart& part);

/// A file (file_key) was settled as a whole in this batch, whichever descriptor it is read through.
void mark_whole_file(PhaseState& state, std::uint64_t file);

/// Whether what goes by `id` is cold in this batch.
bool is_cold(const PhaseState& state, std::uint64_t id);

/// The state if opens and reads of this thread are to be looked at: not in a vfork child, not without a run.
PhaseState* looking_state();

}  // namespace stallcast::capture
