/// How much the page shows, with what set it.
#pragma once

#include <cstddef>

namespace stallcast::reports {

// html_charts.cpp
/// Chosen: those of best known titles come first; the page stays small
inline constexpr std::size_t k_most_histograms = 12;

// html_timeline.cpp
inline constexpr std::size_t k_timeline_table_rows = 20;  ///< Chosen: for whoever has no chart; all are in profile.json
inline constexpr std::size_t k_timeline_chart_rows = 1500;  ///< Chosen: about as many as a wide screen has columns
/// of states, in the chart. Chosen: narrower ones are not seen
inline constexpr std::size_t k_most_drawn_stretches = 400;
inline constexpr std::size_t k_listed_stretches = 60;  ///< the same, in the table; the others are counted. Chosen
/// of a step longer than most. Chosen: the chart reaches at most so far above it, or one pause would flatten all others
inline constexpr double k_chart_headroom = 4.0;
inline constexpr double k_most_of_steps = 0.9;  ///< of the steps: those that this step is longer than. Chosen

}  // namespace stallcast::reports
