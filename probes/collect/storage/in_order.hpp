/// How much of a file becomes readable at once where one reader goes through it in order.
///
/// The kernel reads ahead in windows (core/read_ahead.hpp), and makes the pages of one request readable together, when
/// all of it is there: at most 1 MiB, or with large folios more. A reader that computes between its reads overlaps with
/// storage only as far as it has something to go on with. How large the requests are goes by how the reader asks: this
/// one asks as Python's buffered files do.
///
/// Worked example. 10 MB at 20 MB/s, read ahead by up to 8 MiB, Linux 6.18 on ext4: after what the throttle had saved
/// up 1.8, 1.0, 2.1 and 2.1 MB come at once. Told is 2 MiB.
#pragma once

#include <vector>

#include "probes/collect/storage/pool.hpp"
#include "probes/record/storage_recording.hpp"

namespace stallcast::collect {

/// Reads some whole cold files through the page cache, for at most `most_s` seconds, and drops them again.
[[nodiscard]] record::StorageInOrder read_in_order(StoragePool& pool, double most_s);

/// Takes over what one file tells: `came_s`, when each of its blocks had come, in seconds since the first was asked
/// for; nothing where it was not read to its end.
void take_file_in_order(const std::vector<double>& came_s, record::StorageInOrder& seen);

}  // namespace stallcast::collect
