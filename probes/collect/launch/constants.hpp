/// What this room takes for little and many, with what set it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stallcast::collect {

// output_folder.cpp
inline constexpr int k_most_default_folders = 9999;  ///< stallcast-profile-N. Chosen: with more, a name should be given

// run_folder.cpp
/// Chosen: below this nothing useful fits beside the control block: a few blocks of a few processes
inline constexpr std::uint64_t k_least_free_bytes = 4ULL << 20U;

// command_facts.cpp
/// of a program, read. Chosen: a script's first line, ELF's headers
inline constexpr std::size_t k_head_bytes = 64 * 1024;

}  // namespace stallcast::collect
