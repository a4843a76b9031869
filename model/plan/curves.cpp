#include "model/plan/curves.hpp"

#include <cstddef>
#include <cstdio>

#include "model/plan/constants.hpp"

namespace stallcast {
namespace {

double rate_of(const PlanOption& option) {
  return option.prediction.throughput.mean.value();
}

/// What the nodes exchange would end it sooner.
const char* caveat(const ScalingLine& line) {
  return line.points.back().upper_bound ? " (exchanging gradients is left out: not known)" : "";
}

std::string plural_nodes(int nodes) {
  return std::to_string(nodes) + (nodes == 1 ? " node" : " nodes");
}

}  // namespace

FastestOptions fastest_by_nodes(std::span<const PlanOption> options) {
  FastestOptions fastest;
  for (const PlanOption& option : options) {
    const PlanOption*& at = fastest[option.machine][option.nodes];
    if (at == nullptr || rate_of(option) > rate_of(*at)) at = &option;
  }
  return fastest;
}

void say_where_it_stops(ScalingLine& line) {
  if (line.points.size() < 2) return;
  const PlanOption& first = line.points.front();
  const double alone = rate_of(first) / first.nodes;
  for (std::size_t i = 1; i < line.points.size(); ++i) {
    const PlanOption& before = line.points[i - 1];
    const PlanOption& after = line.points[i];
    const double brings = (rate_of(after) - rate_of(before)) / (after.nodes - before.nodes);
    if (brings >= k_node_worth_share * alone) continue;
    line.worth_nodes = before.nodes;
    line.stops = "beyond " + plural_nodes(before.nodes) +
                 ", each added node brings less than half of what one node alone " + "brings: limited by " +
                 after.prediction.bound + caveat(line);
    return;
  }
  const PlanOption& last = line.points.back();
  char share[32];
  std::snprintf(share, sizeof share, "%.0f", 100.0 * rate_of(last) / (alone * last.nodes));
  line.stops = "up to " + plural_nodes(last.nodes) + " (the most in the catalogue): " + share +
               " % of perfect scaling, limited by " + last.prediction.bound + caveat(line);
}

}  // namespace stallcast
