/// What this room takes for many and large, with what set it.
#pragma once

#include <cstddef>

namespace stallcast::collect {

// process_reader.cpp
/// of /proc/PID/environ. Chosen: twice what Linux gives arguments and environment together under the usual stack limit
inline constexpr std::size_t k_most_environment_bytes = 4U << 20U;

// process_tree.cpp
/// readings of all processes, until none came or went. Chosen: a job that always starts some must not hold us
inline constexpr int k_most_passes = 3;

// run_program.cpp
inline constexpr std::size_t k_most_output_bytes = 64U << 10U;  ///< of a program asked. Chosen: answers are a few lines

}  // namespace stallcast::collect
