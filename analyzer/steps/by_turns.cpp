#include "analyzer/steps/by_turns.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "analyzer/load/trained_on.hpp"
#include "analyzer/steps/constants.hpp"
#include "analyzer/steps/pass_steps.hpp"

namespace stallcast {
namespace {

std::vector<Turn> in_order(const Consumer& consumer) {
  std::vector<Turn> all;
  for (const Pass& pass : consumer.passes) {
    for (const Delivery& delivery : pass.deliveries) all.push_back({&pass, &delivery});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Turn& a, const Turn& b) { return a.delivery->wait.end_ns < b.delivery->wait.end_ns; });
  return all;
}

/// Of one pass: how many of its batches steps were made on that had none of another, how many such steps, and when it
/// gave its first batch and its last.
struct Course {
  std::size_t trained = 0;
  std::size_t steps = 0;
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
};

/// Worked example. Batches and steps a a | b b | a b |, where | is a step: of a two of three were trained on without
/// another's, in one step, and so of b.
std::map<const Pass*, Course> courses_of(const std::vector<Turn>& all, const Consumer& consumer) {
  std::map<const Pass*, Course> courses;
  auto step = consumer.steps.begin();
  std::size_t first = 0;  // batch since the last step
  bool mixed = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::uint64_t from_ns = all[i].delivery->wait.end_ns;
    const std::uint64_t asked_ns = i + 1 < all.size() ? all[i + 1].delivery->wait.begin_ns : UINT64_MAX;
    while (step != consumer.steps.end() && step->time_ns < from_ns) ++step;
    Course& course = courses[all[i].pass];
    if (course.begin_ns == 0) course.begin_ns = from_ns;
    course.end_ns = from_ns;
    mixed = mixed || all[i].pass != all[first].pass;
    if (step == consumer.steps.end() || step->time_ns > asked_ns) continue;
    if (!mixed) {
      course.trained += i + 1 - first;
      ++course.steps;
    }
    first = i + 1;
    mixed = false;
    ++step;  // where nothing was waited for, it is as late as the next batch
  }
  return courses;
}

/// While a pass fills its queue, or drains it, its part of the steps is not what it is otherwise: none of them counts.
std::vector<Stretch> unsteady_stretches(const std::vector<Turn>& turns, const Consumer& consumer) {
  std::map<const Pass*, std::vector<std::uint64_t>> times;
  for (const Turn& turn : turns) times[turn.pass].push_back(turn.delivery->wait.end_ns);
  std::vector<Stretch> stretches;
  for (const auto& [pass, given] : times) {
    const steady::Trim trim = steady::trim_of(facts_of(consumer, *pass), given.size());
    const std::size_t lead = std::min(std::max(trim.lead, pass->filling + 1), given.size()) - 1;
    stretches.push_back({given.front(), given[lead]});
    if (trim.tail > 0) stretches.push_back({given[given.size() - std::min(trim.tail, given.size())], given.back()});
  }
  return stretches;
}

}  // namespace

std::vector<Turn> turns_of(const Consumer& consumer) {
  std::vector<Turn> all = in_order(consumer);
  std::map<const Pass*, Course> courses = courses_of(all, consumer);
  std::erase_if(courses, [](const auto& each) {
    const auto& [pass, course] = each;
    const auto batches = static_cast<double>(pass->deliveries.size());
    return pass->deliveries.size() < k_fewest_batches_by_turns ||
           static_cast<double>(course.trained) < k_trained_alone * batches;
  });
  const auto takes_turns = [&courses](const auto& each) {
    return std::any_of(courses.begin(), courses.end(), [&each](const auto& other) {
      return other.first != each.first && other.second.begin_ns < each.second.end_ns &&
             each.second.begin_ns < other.second.end_ns;
    });
  };
  std::erase_if(all, [&](const Turn& turn) {
    const auto found = courses.find(turn.pass);
    return found == courses.end() || !takes_turns(*found);
  });
  // Waits that overlap are those of several threads, each with a training of its own.
  const bool overlap = std::adjacent_find(all.begin(), all.end(), [](const Turn& a, const Turn& b) {
                         return b.delivery->wait.begin_ns < a.delivery->wait.end_ns;
                       }) != all.end();
  if (overlap) all.clear();
  return all;
}

std::map<const Pass*, std::size_t> steps_alone(const Consumer& consumer) {
  std::map<const Pass*, std::size_t> steps;
  for (const auto& [pass, course] : courses_of(in_order(consumer), consumer)) steps[pass] = course.steps;
  return steps;
}

void take_turns(const std::vector<Turn>& turns, const Consumer& consumer, const std::vector<std::uint64_t>& others,
                const steady::Found& found, SteadyWindow& window) {
  window.by_turns = true;
  const auto between = std::count_if(consumer.steps.begin(), consumer.steps.end(), [&](const auto& step) {
    return step.time_ns >= turns.front().delivery->wait.end_ns && step.time_ns < turns.back().delivery->wait.end_ns;
  });
  window.optimizer_steps_per_batch = static_cast<double>(between) / static_cast<double>(turns.size() - 1);
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
    SteadyStep step = steady::make_step(*turns[i - 1].delivery, *turn.delivery, facts.batch_size);
    step.beside_another = steady::any_within(others, step.begin_ns, step.end_ns);
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

}  // namespace stallcast
