/// What each sample of known index reads, in a phased run: TouchedRecords, timed samples or not. The tool holds just
/// these files and ranges in memory when the sample comes again.
///
/// A file of at most k_whole_phase_file that a sample opens is one record; what it reads of others is a record a range,
/// in whole pages, and ranges that meet are one:
///
///   pread(fd, 5000 at 0), pread(fd, 3000 at 5000), pread(fd, 10 at 90000)   ->   0 + 8192, 86016 + 8192
///
/// A `__getitems__` that makes a batch at once reads for all of its samples: the index of these records is that of all
/// of them, an AtOnceIndex. What is read outside of both (in a collate function) or by other threads belongs to no
/// index.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "probes/capture/thread.hpp"

namespace stallcast::capture {

/// A sample begins, or a batch that is made at once. index -1: nothing is told. Only with the thread busy.
void begin_touched(Thread& thread, std::int64_t index);

/// Whether the thread is in a batch that is made at once.
bool touches_at_once(const Thread& thread);

/// The sample has opened the file, which is to be there as a whole. Only with the thread busy.
void touch_file(int fd, std::uint64_t file_id);

/// The sample is about to read this part of what is behind `fd`. Only with the thread busy.
void touch_range(int fd, std::uint64_t offset, std::uint64_t bytes);

/// Whether the sample reads through `fd` what it did not open itself, as a whole. Then touch_range() is due.
bool touches_others_file(int fd);

/// Tells the tool of a file, whose path it knows, that nobody knows which samples read of: a stream's, or one that is
/// mapped. False: there was no room for it.
bool tell_whole_file(Thread& thread, std::uint64_t file_id);

/// It ends: writes what is left to be written. Only with the thread busy.
void end_touched(Thread& thread);

}  // namespace stallcast::capture
