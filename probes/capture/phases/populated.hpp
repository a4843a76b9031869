/// The files whose pages this run brought into the page cache: found absent by one of its processes and read since.
/// Only those may be dropped by default, because other users of the machine paid for the rest.
///
/// One set for all processes of the run, a file in the run folder that each maps (record/populated_pages.hpp).
/// Bounded: what finds no room counts as foreign, which costs a premise and never a stranger's pages.
#pragma once

#include <cstdint>

namespace stallcast::capture {

/// Adds `key` (not 0) to the set. True if it is new there.
bool claim_populated(std::uint64_t key);

/// Whether `key` is in it.
bool is_populated_by_run(std::uint64_t key);

}  // namespace stallcast::capture
