/// What this room takes for much and little: when two runs are held for the same, with what set it. The published
/// figures stand with their rows, and the tolerance of those in validate.hpp.
#pragma once

namespace stallcast {

// verification_premises.cpp
/// difference of the shares of bytes read from storage. Chosen: two runs within it are taken for one state of the cache
inline constexpr double k_same_storage_share = 0.10;
/// bytes from storage per sample, where no share is known because no read of a file was seen. Chosen: a block of a
/// disk, as good as nothing
inline constexpr double k_hardly_any_bytes = 512.0;
/// of what the emulated storage takes. Chosen, as what a run may be off: by no more may the real one have been late
inline constexpr double k_most_late_share = 0.03;

// applied.cpp
/// of the bytes read: emulated storage without a cache serves them all. Some are read twice, and the second time from
/// memory: numpy.load reads a file's beginning again (15 % of 20 KB), for which 0.9 was too strict
inline constexpr double k_all_from_storage = 0.8;

// verification.cpp
/// of the workers' time, waiting for a free core beyond the profiled run's. Chosen: other programs may then be at work
inline constexpr double k_much_more_core_wait = 0.1;

}  // namespace stallcast
