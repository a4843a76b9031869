#include "analyzer/steps/steady_turns.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analyzer/statistics/statistics.hpp"
#include "analyzer/steps/constants.hpp"

namespace stallcast {
namespace {

/// Lengths of the steps, each averaged with the `bunch` - 1 that follow.
std::vector<double> smoothed(const std::vector<SteadyStep>& steps, std::size_t bunch) {
  std::vector<double> lengths;
  double sum = 0.0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    sum += steps[i].step_s();
    if (i + 1 < bunch) continue;
    lengths.push_back(sum / static_cast<double>(bunch));
    sum -= steps[i + 1 - bunch].step_s();
  }
  return lengths;
}

/// Drops leading steps while they are clearly slower than the later ones (lazy initialisation, first compilation,
/// caches): a step longer than 1.5 medians of the second half, within the first quarter. Workers that take turns
/// deliver in bunches (one long step, then short ones), hence lengths are averaged over as many steps as there are
/// workers.
void drop_warm_up(SteadyWindow& window) {
  std::vector<SteadyStep>& steps = window.steps;
  const auto bunch = static_cast<std::size_t>(std::max<std::int64_t>(window.loader.num_workers, 1));
  if (steps.size() < std::max(k_fewest_steps_for_warm_up, k_fewest_turns_for_warm_up * bunch)) return;
  const std::vector<double> lengths = smoothed(steps, bunch);
  const double median = median_of({lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2), lengths.end()});
  std::size_t last_slow = 0;
  for (std::size_t i = 0; i < std::min(steps.size() / 4, lengths.size()); ++i) {
    if (lengths[i] > k_slow_warm_up_step * median && i <= last_slow + 2) last_slow = i + 1;
  }
  window.warm_up_steps = static_cast<std::int64_t>(last_slow);
  steps.erase(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(last_slow));
}

double length_of(const std::vector<SteadyStep>& steps) {
  double sum = 0.0;
  for (const SteadyStep& step : steps) sum += step.step_s();
  return sum;
}

/// Workers that take turns deliver in bunches, one long step and then short ones: part of a turn, before the others,
/// would count its long steps or its short ones alone. Of each stretch of steps whole turns stay, where there are
/// several.
///
/// Worked example. Two workers, steps of 1.2 and 0.1 s by turns: 25 steps that begin and end with a long one take 0.67
/// s each, the last 24 of them 0.65.
void keep_whole_turns(SteadyWindow& window) {
  const auto turn = static_cast<std::size_t>(std::max<std::int64_t>(window.loader.num_workers, 1));
  if (turn < 2 || window.loader.in_order == 0 || window.loader.composition == "overlapped") return;
  std::vector<SteadyStep> kept;
  for (auto begin = window.steps.begin(); begin != window.steps.end();) {
    auto end = begin + 1;
    while (end != window.steps.end() && end->begin_ns == std::prev(end)->end_ns) ++end;
    const auto steps = static_cast<std::size_t>(end - begin);
    const std::size_t part = steps >= k_fewest_turns_kept_whole * turn ? steps % turn : 0;
    kept.insert(kept.end(), begin + static_cast<std::ptrdiff_t>(part), end);
    begin = end;
  }
  window.steps = std::move(kept);
}

}  // namespace

void keep_steady_turns(SteadyWindow& window) {
  const double all_s = length_of(window.steps);
  drop_warm_up(window);
  keep_whole_turns(window);
  const double kept = length_of(window.steps) / all_s;
  for (OtherLoader& other : window.others) {
    other.wait_s *= kept;
    other.steps = std::llround(static_cast<double>(other.steps) * kept);
  }
}

}  // namespace stallcast
