#include "analyzer/steps/pass_steps.hpp"

#include <algorithm>

#include "analyzer/steps/constants.hpp"

namespace stallcast::steady {
namespace {

std::size_t most_in_flight(const LoaderFacts& facts) {
  const auto workers = static_cast<std::size_t>(std::max<std::int64_t>(facts.num_workers, 0));
  return workers * static_cast<std::size_t>(std::max(facts.prefetch_factor, k_least_prefetch_factor));
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

}  // namespace

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

bool Found::holds(const Delivery& before, const Delivery& now) const {
  if (now.wait.begin_ns < until_ns) return true;
  return std::any_of(again.begin(), again.end(), [&](const Stretch& stretch) {
    return before.wait.end_ns >= stretch.begin_ns && now.wait.end_ns <= stretch.end_ns;
  });
}

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

bool is_iterator_per_step(const std::vector<const Pass*>& passes) {
  const auto single = std::count_if(passes.begin(), passes.end(),
                                    [](const Pass* pass) { return pass->deliveries.size() == 1 && !pass->is_over; });
  return passes.size() >= k_fewest_single_batch_passes && 10 * static_cast<std::size_t>(single) >= 9 * passes.size();
}

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

}  // namespace stallcast::steady
