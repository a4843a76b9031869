/// What this room takes for a slip: the largest values that a scenario may ask for, and how alike words
/// are, with what set them. Most nodes and the largest grid are in scenario.hpp: other rooms hold to them.
#pragma once

#include <cstddef>

namespace stallcast {

// nearest_word.cpp
inline constexpr std::size_t k_longest_guessed_word = 64;  ///< letters. Chosen: longer ones are no slip of the keyboard
/// letters. Chosen: shorter parts of keys are like too many words
inline constexpr std::size_t k_fewest_part_letters = 4;

// keys.cpp. Chosen: more than any machine has or needs, so that a larger number is a slip.
inline constexpr int k_most_asked_workers = 1024;   ///< of a rank
inline constexpr int k_most_asked_prefetch = 1024;  ///< batches of a worker
inline constexpr int k_largest_batch = 1 << 24;     ///< samples
inline constexpr int k_most_ranks_of_node = 1024;   ///< and jobs on it
inline constexpr double k_most_echoes = 1000.0;     ///< times that a batch is trained on

// operator_changes.cpp
inline constexpr double k_largest_operator_factor = 1000.0;  ///< of an operator's speed, up or down. Chosen, as above

}  // namespace stallcast
