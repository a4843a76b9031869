/// From where on this room says something, with what set it.
#pragma once

#include <cstddef>

namespace stallcast::reports {

// cpu_words.cpp
inline constexpr std::size_t k_most_named_functions = 4;  ///< in a sentence. Chosen: more are a table's
inline constexpr double k_least_named_share = 0.03;  ///< of the workers' CPU time. Chosen: less is not worth a name

// storage_words.cpp
/// of what was saved up, by the probe. Chosen, as the model takes it for sure (model/setting): it is said from here on
inline constexpr double k_saves_up_from = 0.5;

// format.cpp
inline constexpr double k_dust = 1e-9;  ///< a share that only rounding keeps from 0. Chosen: far below what is printed

}  // namespace stallcast::reports
