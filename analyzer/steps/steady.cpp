#include "analyzer/steps/steady.hpp"

#include <algorithm>
#include <compare>
#include <map>
#include <tuple>
#include <utility>

#include "analyzer/load/trained_on.hpp"
#include "analyzer/steps/by_turns.hpp"
#include "analyzer/steps/constants.hpp"
#include "analyzer/steps/pass_steps.hpp"
#include "analyzer/steps/steady_turns.hpp"

namespace stallcast {
namespace {

using steady::seconds;

/// Passes over loaders alike. Evaluations are a group of their own. So are passes that are under way at the same time:
/// each step takes from all of them, and they lie in lanes of passes that follow each other.
struct GroupKey {
  LoaderKey loader{};
  bool is_evaluation = false;
  std::size_t lane = 0;

  auto operator<=>(const GroupKey&) const = default;
};

struct Group {
  LoaderFacts facts{};
  std::vector<const Pass*> passes{};
  std::int64_t deliveries = 0;
  std::int64_t steps = 0;
};

using Groups = std::map<GroupKey, Group>;

/// Begin and end of the deliveries of a pass.
Stretch extent_of(const Pass& pass) {
  Stretch extent{UINT64_MAX, 0};
  for (const Delivery& delivery : pass.deliveries) {
    extent.begin_ns = std::min(extent.begin_ns, delivery.wait.end_ns);
    extent.end_ns = std::max(extent.end_ns, delivery.wait.end_ns);
  }
  return extent;
}

/// The pass that a lane ended with so far.
struct Lane {
  std::uint64_t loader_id = 0;
  std::uint64_t end_ns = 0;
};

/// The lane that a pass goes on, rather of its own loader; a new one while all are under way. Passes come in order.
std::size_t lane_of(const Pass& pass, std::vector<Lane>& lanes) {
  const Stretch extent = extent_of(pass);
  const auto is_free = [&](const Lane& lane) { return lane.end_ns < extent.begin_ns; };
  auto lane = std::find_if(lanes.begin(), lanes.end(),
                           [&](const Lane& each) { return is_free(each) && each.loader_id == pass.loader_id; });
  if (lane == lanes.end()) lane = std::find_if(lanes.begin(), lanes.end(), is_free);
  if (lane == lanes.end()) lane = lanes.emplace(lanes.end());
  *lane = {pass.loader_id, extent.end_ns};
  return static_cast<std::size_t>(lane - lanes.begin());
}

Groups group_passes(const Consumer& consumer) {
  Groups groups;
  std::map<LoaderKey, std::vector<Lane>> lanes;
  const std::vector<std::uint64_t> times = delivery_times(consumer);
  for (const Pass& pass : consumer.passes) {
    if (pass.deliveries.empty()) continue;
    const LoaderFacts facts = facts_of(consumer, pass);
    GroupKey key{key_of(facts), pass.is_evaluation};
    if (!pass.is_evaluation) key.lane = lane_of(pass, lanes[key.loader]);
    Group& group = groups[key];
    group.facts = facts;
    group.passes.push_back(&pass);
    group.deliveries += static_cast<std::int64_t>(pass.deliveries.size());
    group.steps += steps_within(consumer, times, pass);
  }
  return groups;
}

const Group* training_group(const Groups& groups) {
  const Group* best = nullptr;
  for (const auto& [key, group] : groups) {
    const auto rank = [](const Group& g) { return std::tuple(g.steps, g.deliveries, g.facts.shuffled); };
    if (best == nullptr || rank(group) > rank(*best)) best = &group;
  }
  return best;
}

/// Stretches of time in which loaders other than the training loader delivered: evaluation inside the epoch.
std::vector<std::uint64_t> other_waits(const Groups& groups, const Group* training) {
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
  if (!is_given_again(consumer, times)) return {};
  GivenAgain again{.steps = static_cast<std::int64_t>(consumer.steps.size()), .deliveries = training.deliveries};
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
void take_others(const Groups& groups, const Group* training, SteadyWindow& window) {
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
void drop_interrupted(const Groups& groups, const Group* training, SteadyWindow& window) {
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
  const Groups groups = group_passes(consumer);
  const Group* training = training_group(groups);
  if (training == nullptr) return window;
  window.loader = training->facts;
  window.passes = training->passes;
  window.loaders_seen = static_cast<int>(
      std::count_if(groups.begin(), groups.end(), [](const auto& each) { return !each.first.is_evaluation; }));
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
  const Groups groups = group_passes(consumer);
  const Group* training = training_group(groups);
  const std::vector<Turn> turns = turns_of(consumer);
  return training != nullptr && trains_by_turns(*training, turns) ? waits_beside(consumer, turns)
                                                                  : other_waits(groups, training);
}

}  // namespace stallcast
