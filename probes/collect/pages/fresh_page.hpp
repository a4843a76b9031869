/// What a page of memory costs on this machine when it is taken from the kernel and given back: a page fault, clearing,
/// mapping and unmapping it. Half a microsecond on many machines, more in virtual ones.
#pragma once

#include <optional>

namespace stallcast::collect {

/// Seconds per page: maps 2 MiB, writes to each page and unmaps them, nine times, and takes the median. Takes some
/// milliseconds; nothing if memory cannot be mapped.
[[nodiscard]] std::optional<double> measure_fresh_page();

}  // namespace stallcast::collect
