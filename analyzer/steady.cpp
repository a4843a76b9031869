#include "analyzer/steady.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace stallcast {
namespace {

/// Loaders that are created anew every epoch are one loader to the user: joined by what they look like.
using LoaderKey = std::tuple<std::string, std::int64_t, std::int64_t, int>;

LoaderKey key_of(const LoaderFacts& facts) {
  return {facts.dataset_type, facts.batch_size, facts.num_workers, facts.shuffled};
}

LoaderFacts facts_of(const Consumer& consumer, const Pass& pass) {
  const auto found = consumer.loaders.find(pass.loader_id);
  if (found != consumer.loaders.end()) return found->second;
  LoaderFacts facts;
  facts.loader_id = pass.loader_id;
  return facts;
}

struct Group {
  LoaderFacts facts{};
  std::vector<const Pass*> passes{};
  std::int64_t deliveries = 0;
  std::int64_t steps = 0;
};

/// Optimizer steps during a pass; consumer.steps is in order of time.
std::int64_t steps_within(const Consumer& consumer, const Pass& pass) {
  const auto after = [&](std::uint64_t time_ns) {
    return std::upper_bound(consumer.steps.begin(), consumer.steps.end(), time_ns,
                            [](std::uint64_t t, const record::StepRecord& step) { return t < step.time_ns; });
  };
  return std::distance(after(pass.deliveries.front().wait.end_ns), after(pass.deliveries.back().wait.end_ns));
}

std::map<LoaderKey, Group> group_passes(const Consumer& consumer) {
  std::map<LoaderKey, Group> groups;
  for (const Pass& pass : consumer.passes) {
    if (pass.deliveries.empty()) continue;
    const LoaderFacts facts = facts_of(consumer, pass);
    Group& group = groups[key_of(facts)];
    group.facts = facts;
    group.passes.push_back(&pass);
    group.deliveries += static_cast<std::int64_t>(pass.deliveries.size());
    group.steps += steps_within(consumer, pass);
  }
  return groups;
}

const Group* training_group(const std::map<LoaderKey, Group>& groups) {
  const Group* best = nullptr;
  for (const auto& [key, group] : groups) {
    const auto rank = [](const Group& g) { return std::tuple(g.steps, g.deliveries, g.facts.shuffled); };
    if (best == nullptr || rank(group) > rank(*best)) best = &group;
  }
  return best;
}

/// Stretches of time in which loaders other than the training loader delivered: evaluation inside the epoch.
std::vector<std::uint64_t> other_waits(const std::map<LoaderKey, Group>& groups, const Group* training) {
  std::vector<std::uint64_t> times;
  for (const auto& [key, group] : groups) {
    if (&group == training) continue;
    for (const Pass* pass : group.passes) {
      for (const Delivery& delivery : pass->deliveries) times.push_back(delivery.wait.begin_ns);
    }
  }
  std::sort(times.begin(), times.end());
  return times;
}

bool any_within(const std::vector<std::uint64_t>& times, std::uint64_t from, std::uint64_t to) {
  const auto first = std::lower_bound(times.begin(), times.end(), from);
  return first != times.end() && *first < to;
}

double seconds(std::uint64_t from_ns, std::uint64_t to_ns) {
  return to_ns > from_ns ? static_cast<double>(to_ns - from_ns) * 1e-9 : 0.0;
}

SteadyStep make_step(const Delivery& before, const Delivery& now, std::int64_t batch_size) {
  SteadyStep step;
  step.begin_ns = before.wait.end_ns;
  step.end_ns = now.wait.end_ns;
  step.compute_s = seconds(before.wait.end_ns, now.wait.begin_ns);
  step.wait_s = seconds(now.wait.begin_ns, now.wait.end_ns);
  step.samples = now.wait.samples > 0 ? now.wait.samples : static_cast<double>(std::max<std::int64_t>(batch_size, 0));
  if (before.wait.cpu_ns > 0 && now.wait.cpu_ns >= before.wait.cpu_ns) {
    step.consumer_cpu_s = seconds(before.wait.cpu_ns, now.wait.cpu_ns);
  }
  step.ready = now.wait.ready;
  step.delivery = &now;
  return step;
}

struct Trim {
  std::size_t lead = 1;
  std::size_t tail = 0;
};

/// How much of a pass lies: at the start the queue is empty, at the end the workers have nothing left to do.
Trim trim_of(const LoaderFacts& facts, std::size_t deliveries) {
  const auto workers = static_cast<std::size_t>(std::max<std::int64_t>(facts.num_workers, 0));
  if (workers == 0) return {1, 0};
  const auto in_flight = workers * static_cast<std::size_t>(std::max<std::int64_t>(facts.prefetch_factor, 2));
  Trim trim{in_flight, in_flight + 2};
  if (trim.lead + trim.tail + 4 > deliveries) trim = {std::max<std::size_t>(1, deliveries / 4), deliveries / 4};
  return trim;
}

void take_pass(const Pass& pass, const LoaderFacts& facts, const std::vector<std::uint64_t>& others,
               SteadyWindow& window) {
  const std::size_t n = pass.deliveries.size();
  if (pass.deliveries.front().wait.batch == 0) {
    window.first_wait_s.push_back(seconds(pass.deliveries[0].wait.begin_ns, pass.deliveries[0].wait.end_ns));
  }
  const Trim trim = trim_of(facts, n);
  for (std::size_t i = std::max<std::size_t>(trim.lead, 1); i + trim.tail < n; ++i) {
    const Delivery& now = pass.deliveries[i];
    if (!now.steps_with_predecessor || now.in_segment || pass.deliveries[i - 1].in_segment) continue;
    const SteadyStep step = make_step(pass.deliveries[i - 1], now, facts.batch_size);
    if (any_within(others, step.begin_ns, step.end_ns)) {
      ++window.interrupted_steps;
      continue;
    }
    window.steps.push_back(step);
  }
}

double median_step(const std::vector<SteadyStep>& steps, std::size_t from) {
  std::vector<double> lengths;
  for (std::size_t i = from; i < steps.size(); ++i) lengths.push_back(steps[i].step_s());
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
  std::nth_element(lengths.begin(), middle, lengths.end());
  return *middle;
}

/// Drops leading steps while they are clearly slower than the later ones (lazy initialisation, first compilation,
/// caches): a step longer than 1.5 medians of the second half, within the first quarter.
void drop_warm_up(SteadyWindow& window) {
  std::vector<SteadyStep>& steps = window.steps;
  if (steps.size() < 16) return;
  const double usual = median_step(steps, steps.size() / 2);
  std::size_t last_slow = 0;
  for (std::size_t i = 0; i < steps.size() / 4; ++i) {
    if (steps[i].step_s() > 1.5 * usual && i <= last_slow + 2) last_slow = i + 1;
  }
  window.warm_up_steps = static_cast<std::int64_t>(last_slow);
  steps.erase(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(last_slow));
}

}  // namespace

SteadyWindow steady_window(const Consumer& consumer) {
  SteadyWindow window;
  const std::map<LoaderKey, Group> groups = group_passes(consumer);
  const Group* training = training_group(groups);
  if (training == nullptr) return window;
  window.loader = training->facts;
  window.loaders_seen = static_cast<int>(groups.size());
  window.deliveries = training->deliveries;
  if (training->steps > 0) {
    window.optimizer_steps_per_batch = static_cast<double>(training->steps) / static_cast<double>(training->deliveries);
  }
  const std::vector<std::uint64_t> others = other_waits(groups, training);
  for (const Pass* pass : training->passes) take_pass(*pass, training->facts, others, window);
  drop_warm_up(window);
  return window;
}

}  // namespace stallcast
