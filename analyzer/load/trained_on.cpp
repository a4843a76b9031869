#include "analyzer/load/trained_on.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "analyzer/load/constants.hpp"

namespace stallcast {
namespace {

/// Passes alike, and the steps within each.
struct Alike {
  std::vector<std::pair<Pass*, std::int64_t>> passes{};
  std::int64_t trained_batches = 0;  ///< of passes with steps
  std::int64_t steps = 0;
  Pass* last = nullptr;  ///< with steps
};

std::int64_t batches_of(const Pass& pass) {
  return static_cast<std::int64_t>(pass.deliveries.size());
}

/// When a pass gave its first batch: not always the one of the lowest number.
std::uint64_t first_given_ns(const Pass& pass) {
  std::uint64_t begin_ns = UINT64_MAX;
  for (const Delivery& delivery : pass.deliveries) begin_ns = std::min(begin_ns, delivery.wait.end_ns);
  return begin_ns;
}

/// Whether the steps of the last pass with steps end long before the pass does.
bool steps_end_early(const Consumer& consumer, const std::vector<std::uint64_t>& times, const Alike& alike) {
  const Pass& pass = *alike.last;
  const std::int64_t steps = steps_within(consumer, times, pass);
  const std::int64_t before = steps_after(consumer, 0) - steps_after(consumer, first_given_ns(pass));
  const std::uint64_t last_ns = consumer.steps[static_cast<std::size_t>(before + steps - 1)].time_ns;
  const auto late = std::count_if(pass.deliveries.begin(), pass.deliveries.end(),
                                  [last_ns](const Delivery& delivery) { return delivery.wait.end_ns > last_ns; });
  const double per_step = static_cast<double>(batches_of(pass) - late) / static_cast<double>(steps);
  return static_cast<double>(late) > k_late_times_usual * per_step + k_most_late_batches;
}

}  // namespace

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

std::vector<std::uint64_t> delivery_times(const Consumer& consumer) {
  std::vector<std::uint64_t> times;
  for (const Pass& pass : consumer.passes) {
    for (const Delivery& delivery : pass.deliveries) times.push_back(delivery.wait.end_ns);
  }
  std::sort(times.begin(), times.end());
  return times;
}

std::int64_t steps_after(const Consumer& consumer, std::uint64_t time_ns) {
  const auto first = std::upper_bound(consumer.steps.begin(), consumer.steps.end(), time_ns,
                                      [](std::uint64_t t, const record::StepRecord& step) { return t < step.time_ns; });
  return std::distance(first, consumer.steps.end());
}

std::int64_t steps_within(const Consumer& consumer, const std::vector<std::uint64_t>& times, const Pass& pass) {
  std::uint64_t end_ns = 0;
  for (const Delivery& delivery : pass.deliveries) end_ns = std::max(end_ns, delivery.wait.end_ns);
  const auto next = std::upper_bound(times.begin(), times.end(), end_ns);
  return steps_after(consumer, first_given_ns(pass)) - steps_after(consumer, next == times.end() ? UINT64_MAX : *next);
}

bool is_given_again(const Consumer& consumer, const std::vector<std::uint64_t>& times) {
  if (times.empty()) return false;
  const std::int64_t late = steps_after(consumer, times.back());
  return late >= k_fewest_steps_given_again && 2 * late >= static_cast<std::int64_t>(consumer.steps.size());
}

void tell_evaluations(Consumer& consumer) {
  const std::vector<std::uint64_t> times = delivery_times(consumer);
  if (is_given_again(consumer, times)) return;
  std::map<LoaderKey, Alike> by_key;
  for (Pass& pass : consumer.passes) {
    if (pass.deliveries.empty()) continue;
    Alike& alike = by_key[key_of(facts_of(consumer, pass))];
    const std::int64_t steps = steps_within(consumer, times, pass);
    alike.passes.emplace_back(&pass, steps);
    if (steps == 0) continue;
    alike.trained_batches += batches_of(pass);
    alike.steps += steps;
    alike.last = &pass;
  }
  for (const auto& [key, alike] : by_key) {
    if (alike.last == nullptr || steps_end_early(consumer, times, alike)) continue;
    for (const auto& [pass, steps] : alike.passes) {
      const bool could_step = batches_of(*pass) >= 2 && batches_of(*pass) * alike.steps >= alike.trained_batches;
      pass->is_evaluation = steps == 0 && could_step;
    }
  }
}

}  // namespace stallcast
