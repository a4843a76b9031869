/// The stage: copies, in memory, of the files that a round's cold batches read, so that its cached batches need neither
/// trust the page cache nor wait for it. Lies in ControlBlock::stage_dir:
///
///   <stage_dir>/00000004/2f9a5c01d3e8b764.112640       round 4, a file of 112,640 bytes
///
/// The name is a hash of device, inode and time of modification, taken from the file itself at the open that is to be
/// redirected: a relative path in another folder, or a file written since, never finds the wrong copy.
/// A copy appears whole (written aside, then renamed); whoever stages a round removes rounds two and more before it.
#pragma once

#include "probes/capture/phase_state.hpp"

namespace stallcast::capture {

/// The file opened as `fd` is among those that this round stages.
void remember_file(RoundFiles& files, int fd, const char* path, std::size_t length, const struct stat& file);

/// Granules first..end-1 of the file behind `fd`, which stays open, are.
void remember_range(RoundFiles& files, int fd, const struct stat& file, std::uint64_t first, std::uint64_t end);

/// Copies what was remembered and is not staged yet, within the stage's budget. Nanoseconds spent; 0 if there was
/// nothing to do.
std::uint64_t stage_files(RoundFiles& files, std::uint32_t round, record::ControlBlock& control);

/// Forgets what was remembered: another round begins.
void forget_files(RoundFiles& files);

}  // namespace stallcast::capture
