#include "analyzer/steps/steady.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analyzer/steps/by_turns.hpp"
#include "analyzer/steps/constants.hpp"
#include "analyzer/steps/steady_turns.hpp"

namespace stallcast {
namespace {

/// Loaders that are created anew every epoch are one loader to the user: joined by what they look like. The length
/// tells the two halves of a random split apart, which are both of type Subset.
using LoaderKey = std::tuple<std::string, std::int64_t, std::int64_t, int, std::int64_t>;

LoaderKey key_of(const LoaderFacts& facts) {
  return {facts.dataset_type, facts.batch_size, facts.num_workers, facts.shuffled, facts.dataset_samples};
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
  step.sampler_s = static_cast<double>(now.sampler_ns) * 1e-9;
  step.delivery = &now;
  return step;
}

std::size_t most_in_flight(const LoaderFacts& facts) {
  const auto workers = static_cast<std::size_t>(std::max<std::int64_t>(facts.num_workers, 0));
  return workers * static_cast<std::size_t>(std::max(facts.prefetch_factor, k_least_prefetch_factor));
}

struct Trim {
  std::size_t lead = 1;
  std::size_t tail = 0;
};

/// How much of a pass lies: at the start the queue is empty, at the end the workers have nothing left to do. A loader
/// of threads does not say how far it prefetches.
Trim trim_of(const LoaderFacts& facts, std::size_t deliveries) {
  const bool by_threads = facts.composition == "overlapped";
  const auto workers = static_cast<std::size_t>(std::max<std::int64_t>(facts.num_workers, 0));
  if (workers == 0 && !by_threads) return {1, 0};
  const std::size_t in_flight = by_threads ? k_prefetched_by_threads : most_in_flight(facts);
  Trim trim{in_flight, in_flight + k_tail_beyond_in_flight};
  if (trim.lead + trim.tail + k_fewest_steps_within_pass > deliveries)
    trim = {std::max<std::size_t>(1, deliveries / 4), deliveries / 4};
  return trim;
}

/// A delivery, and whether none was missed since the one before it.
struct Ordered {
  const Delivery* delivery = nullptr;
  bool follows = false;
};

/// Where batches overtake each other a gap does not show between neighbouring numbers. Nothing was missed between two
/// deliveries if no number is missing among those that can have been under way: up to `in_flight` behind the highest
/// one seen before, and ahead of the highest one seen after.
void mark_gaps(std::vector<Ordered>& ordered, std::uint64_t in_flight) {
  std::vector<std::uint64_t> numbers;
  numbers.reserve(ordered.size());
  for (const Ordered& each : ordered) numbers.push_back(each.delivery->wait.batch);
  std::sort(numbers.begin(), numbers.end());
  std::uint64_t highest = ordered.front().delivery->wait.batch;
  for (std::size_t i = 1; i < ordered.size(); ++i) {
    const std::uint64_t before = highest;
    highest = std::max(highest, ordered[i].delivery->wait.batch);
    const std::uint64_t from = before > in_flight ? before - in_flight : 0;
    const std::uint64_t to = std::min(highest + in_flight, numbers.back());
    const auto first = std::lower_bound(numbers.begin(), numbers.end(), from);
    const auto last = std::upper_bound(first, numbers.end(), to);
    ordered[i].follows = static_cast<std::uint64_t>(std::distance(first, last)) == to - from + 1;
  }
}

/// The deliveries of a pass in order of time. Numbers are that order unless the loader delivers batches as they come.
std::vector<Ordered> in_order_of_time(const Pass& pass, const LoaderFacts& facts) {
  std::vector<Ordered> ordered;
  for (const Delivery& delivery : pass.deliveries) ordered.push_back({&delivery, delivery.steps_with_predecessor});
  if (facts.in_order != 0) return ordered;
  std::stable_sort(ordered.begin(), ordered.end(), [](const Ordered& a, const Ordered& b) {
    return a.delivery->wait.end_ns < b.delivery->wait.end_ns;
  });
  mark_gaps(ordered, most_in_flight(facts));
  return ordered;
}

/// When the job ran as it was found.
struct Found {
  std::uint64_t until_ns = UINT64_MAX;
  const std::vector<Stretch>& again;

  [[nodiscard]] bool holds(const Delivery& before, const Delivery& now) const {
    if (now.wait.begin_ns < until_ns) return true;
    return std::any_of(again.begin(), again.end(), [&](const Stretch& stretch) {
      return before.wait.end_ns >= stretch.begin_ns && now.wait.end_ns <= stretch.end_ns;
    });
  }
};

void take_pass(const Pass& pass, const LoaderFacts& facts, const std::vector<std::uint64_t>& others, const Found& found,
               SteadyWindow& window) {
  const std::vector<Ordered> deliveries = in_order_of_time(pass, facts);
  const record::WaitRecord& first = deliveries.front().delivery->wait;
  const bool is_first = first.batch == 0 || (first.header.aux & record::k_wait_first) != 0;
  if (is_first && first.begin_ns < found.until_ns) {
    window.pauses_s.push_back(static_cast<double>(pass.made_ns) * 1e-9 + seconds(first.begin_ns, first.end_ns));
  }
  const Trim trim = trim_of(facts, deliveries.size());
  for (std::size_t i = std::max({trim.lead, pass.filling + 1, std::size_t{1}}); i + trim.tail < deliveries.size();
       ++i) {
    const Delivery& before = *deliveries[i - 1].delivery;
    const Delivery& now = *deliveries[i].delivery;
    if (!deliveries[i].follows || !found.holds(before, now)) continue;
    SteadyStep step = make_step(before, now, facts.batch_size);
    step.beside_another = any_within(others, step.begin_ns, step.end_ns);
    window.steps.push_back(step);
  }
}

/// Whether the script takes one batch of each pass and drops it.
bool is_iterator_per_step(const std::vector<const Pass*>& passes) {
  const auto single = std::count_if(passes.begin(), passes.end(),
                                    [](const Pass* pass) { return pass->deliveries.size() == 1 && !pass->is_over; });
  return passes.size() >= k_fewest_single_batch_passes && 10 * static_cast<std::size_t>(single) >= 9 * passes.size();
}

/// A step from each pass to the next, the first of which is left out.
void take_single_batches(const std::vector<const Pass*>& passes, const LoaderFacts& facts, SteadyWindow& window) {
  for (std::size_t i = 2; i < passes.size(); ++i) {
    const Pass& before = *passes[i - 1];
    SteadyStep step = make_step(before.deliveries.back(), passes[i]->deliveries.front(), facts.batch_size);
    const double around_s = static_cast<double>(before.given_up_ns + passes[i]->made_ns) * 1e-9;
    const double moved_s = std::min(step.compute_s, around_s);
    step.compute_s -= moved_s;
    step.wait_s += moved_s;
    window.steps.push_back(step);
  }
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

/// While a pass fills its queue, or drains it, its part of the steps is not what it is otherwise: none of them counts.
std::vector<Stretch> unsteady_stretches(const std::vector<Turn>& turns, const Consumer& consumer) {
  std::map<const Pass*, std::vector<std::uint64_t>> times;
  for (const Turn& turn : turns) times[turn.pass].push_back(turn.delivery->wait.end_ns);
  std::vector<Stretch> stretches;
  for (const auto& [pass, given] : times) {
    const Trim trim = trim_of(facts_of(consumer, *pass), given.size());
    const std::size_t lead = std::min(std::max(trim.lead, pass->filling + 1), given.size()) - 1;
    stretches.push_back({given.front(), given[lead]});
    if (trim.tail > 0) stretches.push_back({given[given.size() - std::min(trim.tail, given.size())], given.back()});
  }
  return stretches;
}

/// Steps on batches of several loaders by turns: from each delivery to the next one of any of them.
void take_turns(const std::vector<Turn>& turns, const Consumer& consumer, const std::vector<std::uint64_t>& others,
                const Found& found, SteadyWindow& window) {
  window.by_turns = true;
  const std::vector<Stretch> unsteady = unsteady_stretches(turns, consumer);
  std::map<std::uint64_t, OtherLoader> by_loader;
  for (std::size_t i = 1; i < turns.size(); ++i) {
    const Turn& turn = turns[i];
    const LoaderFacts facts = facts_of(consumer, *turn.pass);
    const std::uint64_t at_ns = turn.delivery->wait.end_ns;
    const bool is_steady = std::none_of(unsteady.begin(), unsteady.end(), [at_ns](const Stretch& stretch) {
      return at_ns >= stretch.begin_ns && at_ns <= stretch.end_ns;
    });
    const bool follows = turn.delivery->steps_with_predecessor || facts.in_order == 0;
    if (!is_steady || !follows || !found.holds(*turns[i - 1].delivery, *turn.delivery)) continue;
    SteadyStep step = make_step(*turns[i - 1].delivery, *turn.delivery, facts.batch_size);
    step.beside_another = any_within(others, step.begin_ns, step.end_ns);
    if (step.beside_another) {
      ++window.interrupted_steps;
      continue;
    }
    window.steps.push_back(step);
    OtherLoader& loader = by_loader[turn.pass->loader_id];
    loader.facts = facts;
    loader.wait_s += step.wait_s;
    ++loader.steps;
  }
  by_loader.erase(window.loader.loader_id);
  for (auto& [id, loader] : by_loader) window.others.push_back(std::move(loader));
}

/// When loaders that take no turns were asked for batches.
std::vector<std::uint64_t> waits_beside(const Consumer& consumer, const std::vector<Turn>& turns) {
  std::set<const Pass*> taking;
  for (const Turn& turn : turns) taking.insert(turn.pass);
  std::vector<std::uint64_t> times;
  for (const Pass& pass : consumer.passes) {
    if (taking.contains(&pass)) continue;
    for (const Delivery& delivery : pass.deliveries) times.push_back(delivery.wait.begin_ns);
  }
  std::sort(times.begin(), times.end());
  return times;
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
  window.iterator_per_step = is_iterator_per_step(training->passes);
  if (window.iterator_per_step) {
    take_single_batches(training->passes, training->facts, window);
    return window;
  }
  const Found found{consumer.phases_begin_ns, found_again};
  if (const std::vector<Turn> turns = turns_of(consumer); trains_by_turns(*training, turns)) {
    window.optimizer_steps_per_batch = 1.0;
    take_turns(turns, consumer, waits_beside(consumer, turns), found, window);
    keep_steady_turns(window);
    return window;
  }
  const std::vector<std::uint64_t> others = other_waits(groups, training);
  for (const Pass* pass : training->passes) take_pass(*pass, training->facts, others, found, window);
  drop_interrupted(groups, training, window);
  keep_steady_turns(window);
  return window;
}

std::vector<std::uint64_t> waits_beside_training(const Consumer& consumer) {
  if (const std::vector<Turn> turns = turns_of(consumer); !turns.empty()) return waits_beside(consumer, turns);
  const std::map<LoaderKey, Group> groups = group_passes(consumer);
  return other_waits(groups, training_group(groups));
}

}  // namespace stallcast
