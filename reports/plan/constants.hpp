/// When a plan's charts change their axes, with what set it. Widths of columns are where they are printed.
#pragma once

namespace stallcast::reports {

// charts.cpp
/// the largest over the smallest value. Chosen: the small ones would lie on one
inline constexpr double k_log_axis_from = 8.0;
/// of an axis' ends. Chosen: a target further outside is told, and not drawn
inline constexpr double k_target_near = 2.0;
/// nodes. Chosen: catalogues double their numbers, and those up to 8 would merge
inline constexpr int k_log_axis_nodes = 32;

}  // namespace stallcast::reports
