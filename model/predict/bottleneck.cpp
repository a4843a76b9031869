#include "model/predict/bottleneck.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "model/predict/constants.hpp"

namespace stallcast {
namespace {

struct Stage {
  std::string_view name{};
  double seconds = 0.0;
};

std::array<Stage, 6> stages_of(const ServiceDemands& in) {
  const double step = in.device_s + in.receive_s + in.step_cpu_s * std::max(1.0, in.step_threads / in.cores);
  const std::string_view consumer = in.exchange_s > 0.5 * step ? "network" : "gpu";
  const std::string_view beyond = in.beyond_is_network ? "network" : "fetch";
  const double prep = in.cpu_s * std::max(1.0, 1.0 / in.cores) + in.other_s;
  const double limit = std::max(in.disk_s, in.limit_s);
  double fetch = in.disk_s + in.latency_s;
  if (in.workers == 0) {
    fetch = std::max(fetch, limit - step - prep);
    const double more = std::max(0.0, in.beyond_s - step - prep - fetch);
    // one after the other: each stage adds its own time, none hides another
    return {{{consumer, step}, {"fetch", fetch}, {"prep", prep}, {beyond, more}, {"", 0.0}, {"", 0.0}}};
  }
  const double cores = (in.cpu_s + in.receive_cpu_s + in.step_cpu_s * in.step_threads) / in.cores;
  return {{{consumer, step},
           {fetch > prep ? "fetch" : "prep", (fetch + prep) / in.workers},
           {"cpu", cores},
           {"fetch", limit},
           {beyond, in.beyond_s},
           {"prep", in.prep_elsewhere_s}}};
}

}  // namespace

Bounds bounds_of(const ServiceDemands& input) {
  const auto stages = stages_of(input);
  const auto slower = [](const Stage& a, const Stage& b) { return a.seconds < b.seconds; };
  const Stage first = *std::max_element(stages.begin(), stages.end(), slower);
  Stage second;
  for (const Stage& stage : stages) {
    if (stage.name != first.name && stage.seconds > second.seconds) second = stage;
  }
  Bounds bounds{std::string(first.name), std::string(second.name), k_most_headroom};
  if (second.seconds > 0.0) bounds.headroom = std::min(k_most_headroom, first.seconds / second.seconds - 1.0);
  return bounds;
}

double slowest_stage_s(const ServiceDemands& input) {
  const auto stages = stages_of(input);
  if (input.workers == 0) {
    double sum = 0.0;
    for (const Stage& stage : stages) sum += stage.seconds;
    return sum;
  }
  double slowest = 0.0;
  for (const Stage& stage : stages) slowest = std::max(slowest, stage.seconds);
  return slowest;
}

}  // namespace stallcast
