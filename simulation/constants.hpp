/// What the simulation takes for much and little, with what set it.
#pragma once

namespace stallcast::simulation {

// node_cache.cpp

/// Entries of a cache's open-addressing table for each place. Chosen: at two thirds full, linear probing looks at 2
/// entries to find an item and at 5 to miss one (formulas of Knuth, The Art of Computer Programming, vol. 3, 6.4);
/// fuller, misses grow as the square of that, emptier, the table leaves the processor's cache.
inline constexpr double k_table_over_entries = 1.5;

// data_source.cpp

/// Of a step's share of misses, that goes into what is usual at a node: a mean over some 16 steps. Chosen: shorter,
/// what is usual scatters as the steps do; longer, it lags behind a cache that warms.
inline constexpr double k_share_of_new_misses = 1.0 / 16.0;

}  // namespace stallcast::simulation
