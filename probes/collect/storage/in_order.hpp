/// How much of a file becomes readable at once where one reader goes through it in order.
///
/// The kernel reads ahead in windows (core/read_ahead.hpp), and makes the pages of one request readable together, when
/// all of it is there: with large folios that is a whole window of megabytes, before them 1 MiB. A reader that computes
/// between its reads overlaps with storage only as far as it has something to go on with.
///
/// Worked example. 10 MB at 20 MB/s, read ahead by up to 8 MiB: of a kernel with large folios 2 MiB are there after
/// 0.17 s, 4 MiB more after 0.38 s, the rest after 0.5 s.
#pragma once

#include "probes/collect/storage/pool.hpp"
#include "probes/record/storage_recording.hpp"

namespace stallcast::collect {

/// Reads some whole cold files through the page cache, for at most `most_s` seconds, and drops them again.
[[nodiscard]] record::StorageInOrder read_in_order(StoragePool& pool, double most_s);

}  // namespace stallcast::collect
