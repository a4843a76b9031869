/// What this room takes for much and little: thresholds and tolerances, with what set them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stallcast {

// dataset_bytes.cpp

/// Times what a sample needs, from which storage clearly gives more. Chosen: lower, what all samples share (an index,
/// the labels) and what counting by batches leaves open would pass for read-ahead; higher, read-ahead of a quarter is
/// missed.
inline constexpr double k_clearly_more_than_needed = 1.25;
/// Mean files' sizes that a sample of one reads, below which it is taken to read its file once and a part twice (numpy
/// reads a header again). Chosen: from two on it may be several files of its own.
inline constexpr double k_least_files_of_a_sample = 2.0;

// from_json.cpp

/// Bytes of a profile.json. Chosen far above any profile (the timeline is thinned): a wrong file must not fill memory.
inline constexpr std::uintmax_t k_most_profile_bytes = 256U << 20U;

// tight_rates.cpp
/// in which no cold block was cold. Chosen: as many as a schedule makes at least
inline constexpr std::size_t k_rounds_that_fail = 3;

}  // namespace stallcast
