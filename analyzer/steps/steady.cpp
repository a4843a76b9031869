#include "analyzer/steps/steady.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analyzer/steps/by_turns.hpp"
#include "analyzer/steps/constants.hpp"
#include "analyzer/steps/pass_steps.hpp"
#include "analyzer/steps/steady_turns.hpp"

namespace stallcast {
namespace {

using steady::facts_of;
using steady::seconds;

/// Loaders that are created anew every epoch are one loader to the user: joined by what they look like. The length
/// tells the two halves of a random split apart, which are both of type Subset.
using LoaderKey = std::tuple<std::string, std::int64_t, std::int64_t, int, std::int64_t>;

LoaderKey key_of(const LoaderFacts& facts) {
  return {facts.dataset_type, facts.batch_size, facts.num_workers, facts.shuffled, facts.dataset_samples};
}

struct Group {
  LoaderFacts facts{};
  std::vector<const Pass*> passes{};
  std::int64_t deliveries = 0;
  std::int64_t steps = 0;
};

/// Begin and end of the deliveries of a pass.
std::pair<std::uint64_t, std::uint64_t> extent_of(const Pass& pass) {
  std::pair<std::uint64_t, std::uint64_t> extent{UINT64_MAX, 0};
  for (const Delivery& delivery : pass.deliveries) {
    extent.first = std::min(extent.first, delivery.wait.end_ns);
    extent.second = std::max(extent.second, delivery.wait.end_ns);
  }
  return extent;
}

/// When each batch of any loader was delivered, in order.
std::vector<std::uint64_t> delivery_times(const Consumer& consumer) {
  std::vector<std::uint64_t> times;
  for (const Pass& pass : consumer.passes) {
    for (const Delivery& delivery : pass.deliveries) times.push_back(delivery.wait.end_ns);
  }
  std::sort(times.begin(), times.end());
  return times;
}

/// Optimizer steps from the first batch of a pass until the first batch of any loader after its last: the step on the
/// last batch belongs to the pass, too. consumer.steps is in order of time.
std::int64_t steps_within(const Consumer& consumer, const std::vector<std::uint64_t>& times, const Pass& pass) {
  const auto after = [&](std::uint64_t time_ns) {
    return std::upper_bound(consumer.steps.begin(), consumer.steps.end(), time_ns,
                            [](std::uint64_t t, const record::StepRecord& step) { return t < step.time_ns; });
  };
  const auto [begin, end] = extent_of(pass);
  const auto next = std::upper_bound(times.begin(), times.end(), end);
  return std::distance(after(begin), after(next == times.end() ? UINT64_MAX : *next));
}

std::map<LoaderKey, Group> group_passes(const Consumer& consumer) {
  std::map<LoaderKey, Group> groups;
  const std::vector<std::uint64_t> times = delivery_times(consumer);
  for (const Pass& pass : consumer.passes) {
    if (pass.deliveries.empty()) continue;
    const LoaderFacts facts = facts_of(consumer, pass);
    Group& group = groups[key_of(facts)];
    group.facts = facts;
    group.passes.push_back(&pass);
    group.deliveries += static_cast<std::int64_t>(pass.deliveries.size());
    group.steps += steps_within(consumer, times, pass);
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

/// The steps after all deliveries, where these are most of all.
GivenAgain given_again(const Consumer& consumer, const Group& training) {
  const std::vector<std::uint64_t> times = delivery_times(consumer);
  const auto after = std::upper_bound(consumer.steps.begin(), consumer.steps.end(), times.back(),
                                      [](std::uint64_t t, const record::StepRecord& step) { return t < step.time_ns; });
  const auto late = std::distance(after, consumer.steps.end());
  const auto all = static_cast<std::int64_t>(consumer.steps.size());
  if (late < k_fewest_steps_given_again || 2 * late < all) return {};
  GivenAgain again{.steps = all, .deliveries = training.deliveries};
  again.seconds = seconds(times.front(), consumer.steps.back().time_ns);
  for (const Pass* pass : training.passes) {
    for (const Delivery& delivery : pass->deliveries) {
      const double waited_s = seconds(delivery.wait.begin_ns, delivery.wait.end_ns);
      again.samples += static_cast<double>(delivery.wait.samples) / static_cast<double>(training.deliveries);
      if (delivery.wait.end_ns == times.front()) continue;  // the time begins with it
      if (delivery.wait.end_ns > consumer.phases_begin_ns) {
        again.seconds -= waited_s;
      } else {
        again.wait_s += waited_s;
      }
    }
  }
  return again;
}

/// Part of a step that is waiting for a batch of another loader.
struct OtherWait {
  SteadyStep* step = nullptr;
  double seconds = 0.0;
};

/// What of the waits for a group's batches lies in the steps, which are in order of time.
std::vector<OtherWait> waits_within(std::vector<SteadyStep>& steps, const Group& group) {
  std::vector<OtherWait> waits;
  for (const Pass* pass : group.passes) {
    for (const Delivery& delivery : pass->deliveries) {
      const std::uint64_t end_ns = delivery.wait.end_ns;
      const auto next = std::upper_bound(steps.begin(), steps.end(), end_ns,
                                         [](std::uint64_t t, const SteadyStep& step) { return t < step.begin_ns; });
      if (next == steps.begin() || std::prev(next)->end_ns < end_ns) continue;
      SteadyStep& step = *std::prev(next);
      waits.push_back({&step, seconds(std::max(delivery.wait.begin_ns, step.begin_ns), end_ns)});
    }
  }
  return waits;
}

/// What steps wait for batches of another loader is waiting, too, and no computing. Where that is next to nothing, the
/// training loader's waits are all there is.
void take_others(const std::map<LoaderKey, Group>& groups, const Group* training, SteadyWindow& window) {
  std::vector<SteadyStep>& steps = window.steps;
  std::sort(steps.begin(), steps.end(), [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; });
  std::vector<OtherWait> all;
  double waited_s = 0.0;
  double steps_s = 0.0;
  for (const SteadyStep& step : steps) steps_s += step.step_s();
  for (const auto& [key, group] : groups) {
    if (&group == training) continue;
    OtherLoader other{.facts = group.facts};
    for (const OtherWait& wait : waits_within(steps, group)) {
      other.wait_s += wait.seconds;
      all.push_back(wait);
    }
    waited_s += other.wait_s;
    window.others.push_back(std::move(other));
  }
  if (waited_s < k_least_other_wait * steps_s) {
    window.others.clear();
    return;
  }
  for (const OtherWait& wait : all) {
    const double moved_s = std::min(wait.step->compute_s, wait.seconds);
    wait.step->compute_s -= moved_s;
    wait.step->wait_s += moved_s;
  }
}

/// An evaluation now and then is not the step that is asked about; a second loader of every step is.
void drop_interrupted(const std::map<LoaderKey, Group>& groups, const Group* training, SteadyWindow& window) {
  const auto interrupted = std::count_if(window.steps.begin(), window.steps.end(),
                                         [](const SteadyStep& step) { return step.beside_another; });
  if (2 * interrupted > static_cast<std::ptrdiff_t>(window.steps.size())) return take_others(groups, training, window);
  std::erase_if(window.steps, [](const SteadyStep& step) { return step.beside_another; });
  window.interrupted_steps = interrupted;
}

/// Whether the training loader is among those that take turns.
bool trains_by_turns(const Group& training, const std::vector<Turn>& turns) {
  return std::any_of(turns.begin(), turns.end(), [&](const Turn& turn) {
    return std::find(training.passes.begin(), training.passes.end(), turn.pass) != training.passes.end();
  });
}

}  // namespace

SteadyWindow steady_window(const Consumer& consumer, const std::vector<Stretch>& found_again) {
  SteadyWindow window;
  const std::map<LoaderKey, Group> groups = group_passes(consumer);
  const Group* training = training_group(groups);
  if (training == nullptr) return window;
  window.loader = training->facts;
  window.passes = training->passes;
  window.loaders_seen = static_cast<int>(groups.size());
  window.deliveries = training->deliveries;
  if (training->steps > 0) {
    window.optimizer_steps_per_batch = static_cast<double>(training->steps) / static_cast<double>(training->deliveries);
  }
  window.given_again = given_again(consumer, *training);
  window.iterator_per_step = steady::is_iterator_per_step(training->passes);
  if (window.iterator_per_step) {
    steady::take_single_batches(training->passes, training->facts, window);
    return window;
  }
  const steady::Found found{consumer.phases_begin_ns, found_again};
  if (const std::vector<Turn> turns = turns_of(consumer); trains_by_turns(*training, turns)) {
    take_turns(turns, consumer, waits_beside(consumer, turns), found, window);
    keep_steady_turns(window);
    return window;
  }
  const std::vector<std::uint64_t> others = other_waits(groups, training);
  for (const Pass* pass : training->passes) steady::take_pass(*pass, training->facts, others, found, window);
  drop_interrupted(groups, training, window);
  keep_steady_turns(window);
  return window;
}

std::vector<std::uint64_t> waits_beside_training(const Consumer& consumer) {
  const std::map<LoaderKey, Group> groups = group_passes(consumer);
  const Group* training = training_group(groups);
  const std::vector<Turn> turns = turns_of(consumer);
  return training != nullptr && trains_by_turns(*training, turns) ? waits_beside(consumer, turns)
                                                                  : other_waits(groups, training);
}

}  // namespace stallcast
