#include "analyzer/blocks/bursts.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "analyzer/blocks/constants.hpp"
#include "analyzer/blocks/interruptions.hpp"
#include "analyzer/blocks/production.hpp"

namespace stallcast {
namespace {

using record::Phase;

constexpr const char* k_not_recorded = "how its hold went was not recorded: the run or the pass ended in it";

std::string in_percent(double share) {
  return std::to_string(std::lround(100.0 * share)) + " %";
}

double seconds_from(std::uint64_t from_ns, std::uint64_t to_ns) {
  return from_ns < to_ns ? static_cast<double>(to_ns - from_ns) * 1e-9 : 0.0;
}

/// Why the workers did not rest while the script was given the burst; empty if they did.
std::string why_not_at_rest(const BurstView& view) {
  const BurstRun& burst = *view.burst;
  const double all_s = seconds_from(burst.released_ns, burst.until_ns);
  double made_s = 0.0;
  for (const Delivery& delivery : view.pass.deliveries) {
    if (!delivery.made_known) continue;
    made_s += seconds_from(std::max(delivery.made.begin_ns, burst.released_ns),
                           std::min(handed_over_ns(delivery.made), burst.until_ns));
  }
  if (made_s > k_most_made_in_burst * all_s)
    return "batches were made in " + in_percent(made_s / all_s) + " of its time";
  const auto workers = static_cast<double>(view.run.workers);
  if (burst.workers_cpu_s > k_most_worked_in_burst * all_s * workers + k_cpu_granularity_s) {
    return "the loader's workers computed in " + in_percent(burst.workers_cpu_s / all_s / workers) + " of its time";
  }
  return {};
}

/// What the script does with each batch, from having it to asking for the next one.
class Steps {
 public:
  /// `sampler_s`: choosing a batch, which is part of a step.
  Steps(const LoaderFacts& loader, const std::vector<std::uint64_t>& interruptions, double sampler_s)
      : loader_(loader), interruptions_(interruptions), sampler_s_(sampler_s) {}

  /// `next`: the delivery after it; nullptr: of another state, or none.
  void count(const Delivery& delivery, std::uint64_t asked_ns, const Delivery* next, PhaseBlock& block) {
    if (interrupted_between(interruptions_, delivery.wait.end_ns, asked_ns)) {
      ++block.left_out;
      return;
    }
    ++block.batches;
    block.samples += samples_of(delivery, loader_);
    block.in_batches = block.in_batches || !samples_are_known(delivery, loader_);
    block.seconds += seconds_from(delivery.wait.end_ns, asked_ns);
    if (next == nullptr) {
      block.seconds += sampler_s_;  // the next batch is chosen behind it, and its wait begins after that
      return;
    }
    const double waited_s = seconds_from(next->wait.begin_ns, next->wait.end_ns);
    block.wait_seconds += waited_s;
    block.late_seconds += seconds_until_made(*next);
    const double cpu_s = cpu_between(delivery, *next);
    // What lies ready is taken over by computing; where there are no workers it is made by it.
    const bool own = next->made_known && next->made.put_ns == 0;
    const double over_s = own ? static_cast<double>(next->made.cpu_ns) * 1e-9 : waited_s;
    cpu_known_ = cpu_known_ && cpu_s >= 0.0;
    cpu_s_ += std::max(0.0, cpu_s - over_s);
    ++with_cpu_;
  }

  /// CPU time of the last step is not known apart from what comes after it: it is that of the others.
  void finish(PhaseBlock& block) const {
    const bool known = cpu_known_ && with_cpu_ > 0;
    block.cpu_seconds = known ? cpu_s_ * static_cast<double>(block.batches) / with_cpu_ : -1.0;
  }

 private:
  const LoaderFacts& loader_;
  const std::vector<std::uint64_t>& interruptions_;
  double sampler_s_;
  bool cpu_known_ = true;
  double cpu_s_ = 0.0;
  int with_cpu_ = 0;
};

std::span<const Delivery> deliveries_in(const BurstView& view) {
  return deliveries_of(view.pass, view.burst->first, view.burst->batches);
}

/// Batches that were begun and handed over while the script was held, and are made as the segment says.
std::vector<const Delivery*> made_in_hold(const BurstView& view, const BlockEvidence& evidence, Phase supply) {
  std::vector<const Delivery*> made;
  for (const Delivery& delivery : deliveries_in(view)) {
    const BatchEvidence* found = evidence.of(delivery);
    if (found == nullptr || found->phase == nullptr) continue;
    const auto phase = static_cast<Phase>(found->phase->phase);
    if (phase != supply && phase != view.run.made_as) continue;
    const bool inside = delivery.made.begin_ns >= view.burst->asked_ns &&
                        handed_over_ns(delivery.made) <= view.burst->made_ns && making_s(delivery) > 0.0;
    if (inside) made.push_back(&delivery);
  }
  return made;
}

/// Until the first worker had made all of its batches.
std::optional<Production> until_first_rest(const BurstView& view) {
  const std::span<const Delivery> block = deliveries_in(view);
  std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>> workers;  // first begin, last hand-over
  for (const Delivery& delivery : block) {
    const auto [begin_ns, done_ns] = std::pair(delivery.made.begin_ns, handed_over_ns(delivery.made));
    const auto [found, is_new] = workers.try_emplace(delivery.made.header.aux, begin_ns, done_ns);
    if (is_new) continue;
    found->second.first = std::min(found->second.first, begin_ns);
    found->second.second = std::max(found->second.second, done_ns);
  }
  std::uint64_t from_ns = 0;
  std::uint64_t to_ns = UINT64_MAX;
  for (const auto& [worker, span] : workers) {
    from_ns = std::max(from_ns, span.first);
    to_ns = std::min(to_ns, span.second);
  }
  const auto batch = static_cast<double>(view.loader.batch_size);
  auto made = production_of(view.pass, block, view.run.workers, batch, from_ns, to_ns);
  const double each = block.empty() ? 0.0 : samples_of(block.front(), view.loader);
  return made && made->samples >= each * static_cast<double>(view.run.workers) ? std::move(made) : std::nullopt;
}

std::string few_in_hold(std::size_t made) {
  if (made == 0) return "no batch was begun and ended in the hold: the queue was full";
  return "too few batches were begun and ended in the hold: " + std::to_string(made);
}

/// The makings of `deliveries`, by so many workers side by side.
void count_makings(const std::vector<const Delivery*>& deliveries, const LoaderFacts& loader, double workers,
                   PhaseBlock& block) {
  std::vector<ContentGroup> groups;
  for (const Delivery* delivery : deliveries) {
    const double samples = samples_of(*delivery, loader);
    const double seconds = making_s(*delivery) / workers;
    const auto bytes = static_cast<double>(delivery->made.io.read_bytes);
    block.samples += samples;
    block.seconds += seconds;
    block.content.bytes += bytes;
    block.in_batches = block.in_batches || !samples_are_known(*delivery, loader);
    groups.push_back({bytes / samples, seconds / samples});
    count_making(*delivery, block);
    ++block.batches;
  }
  block.wait_seconds = block.late_seconds = block.seconds;
  block.cpu_seconds = -1.0;
  add_groups(groups, block.content);
}

void go_by(const Production& made, PhaseBlock& block) {
  const double scale = made.samples / block.samples;
  block.samples = made.samples;
  block.seconds = block.wait_seconds = block.late_seconds = made.seconds;
  if (block.made_cpu_s > 0.0) block.made_cpu_s *= scale;
  if (block.made_wall_s > 0.0) block.made_wall_s *= scale;
  block.content = {.bytes = made.bytes};
  add_groups(made.groups, block.content);
}

/// A script that runs ahead of its device has given the burst's work long before that is done.
void go_by_device(const BurstRun& burst, PhaseBlock& block) {
  if (block.left_out > 0) block.rejected = "an evaluation or a checkpoint lay within it";
  if (burst.device_s <= 0.0) block.rejected = "how long the device took for it is not known";
  block.seconds = burst.device_s;
}

void check_samples(PhaseBlock& block) {
  if (block.in_batches && block.run.stream.empty()) block.rejected = "the number of its samples is not known";
}

}  // namespace

PhaseBlock synthetic_block(const BurstView& view, const std::vector<std::uint64_t>& interruptions) {
  PhaseBlock block;
  block.run = view.run;
  if (view.burst == nullptr) {
    block.rejected = k_not_recorded;
    return block;
  }
  block.run.begin_ns = view.burst->released_ns;
  block.run.batches = view.burst->batches;
  block.from_ns = view.burst->released_ns;
  block.to_ns = view.burst->until_ns;
  const std::span<const Delivery> deliveries = deliveries_in(view);
  if (!view.burst->refused.empty()) {
    block.rejected = "the job could not be held: " + view.burst->refused;
  } else if (deliveries.size() < view.burst->batches || deliveries.empty()) {
    block.rejected = k_records_miss;
  } else if (deliveries.front().wait.batch < view.pass.filling) {
    block.rejected = "the script filled a buffer of its own with its batches and did not train on them yet";
  } else {
    block.rejected = why_not_at_rest(view);
  }
  if (!block.rejected.empty()) return block;
  Steps steps(view.loader, interruptions, view.pass.sampler_s);
  for (std::size_t i = 0; i < deliveries.size(); ++i) {
    const Delivery* next = i + 1 < deliveries.size() ? &deliveries[i + 1] : nullptr;
    steps.count(deliveries[i], next != nullptr ? next->wait.begin_ns : view.burst->until_ns, next, block);
  }
  steps.finish(block);
  check_samples(block);
  if (block.batches == 0) block.rejected = "an evaluation or a checkpoint lay within it";
  if (view.burst->on_device) go_by_device(*view.burst, block);
  return block;
}

PhaseBlock supply_block(const BurstView& view, const BlockEvidence& evidence) {
  PhaseBlock block;
  block.run = view.run;
  block.run.phase = view.run.made_as == Phase::cold ? Phase::supply_cold : Phase::supply_cached;
  block.run.batches = 0;
  if (view.burst == nullptr || !view.burst->refused.empty()) {
    block.rejected = view.burst == nullptr ? k_not_recorded : "the job could not be held: " + view.burst->refused;
    return block;
  }
  block.run.begin_ns = block.from_ns = view.burst->asked_ns;
  block.to_ns = view.burst->released_ns;
  const std::vector<const Delivery*> made = made_in_hold(view, evidence, block.run.phase);
  const auto workers = static_cast<std::size_t>(view.run.workers);
  if (made.size() < std::max(k_fewest_in_hold, (workers + 1) / 2)) {
    block.rejected = few_in_hold(made.size());
    return block;
  }
  count_makings(made, view.loader, static_cast<double>(workers), block);
  if (made.size() == view.burst->under_way) {
    if (const auto all = until_first_rest(view)) go_by(*all, block);
  }
  check_samples(block);
  for (const Delivery* delivery : made) {
    const record::PhaseRecord& seen = *evidence.of(*delivery)->phase;
    count_evidence(*delivery, view.loader, evidence, seen.header.aux, block);
  }
  return block;
}

std::vector<PhaseBlock> blocks_beside(std::span<const Delivery> deliveries, const SegmentRun& run,
                                      const LoaderFacts& loader, const std::vector<std::uint64_t>& interruptions,
                                      const BlockEvidence& evidence) {
  PhaseBlock synthetic;
  synthetic.run = run;
  synthetic.run.phase = Phase::synthetic;
  synthetic.beside = true;
  Steps steps(loader, interruptions, 0.0);  // each is followed by another
  for (std::size_t i = 0; i + 1 < deliveries.size(); ++i) {
    steps.count(deliveries[i], deliveries[i + 1].wait.begin_ns, &deliveries[i + 1], synthetic);
  }
  steps.finish(synthetic);
  check_samples(synthetic);
  if (static_cast<std::size_t>(synthetic.batches) < k_fewest_steps_beside) {
    synthetic.rejected = "too few of its steps were not interrupted";
  }
  std::vector<PhaseBlock> blocks{synthetic};
  if (run.phase != Phase::cold && run.phase != Phase::cached) return blocks;
  PhaseBlock supply;
  supply.run = run;
  supply.run.phase = run.phase == Phase::cold ? Phase::supply_cold : Phase::supply_cached;
  supply.beside = true;
  std::vector<const Delivery*> made;
  for (const Delivery& delivery : deliveries) {
    if (delivery.made_known && making_s(delivery) > 0.0) made.push_back(&delivery);
  }
  count_makings(made, loader, 1.0, supply);
  check_samples(supply);
  if (made.size() < k_fewest_steps_beside) supply.rejected = "it is not known how its batches were made";
  for (const Delivery* delivery : made) count_evidence(*delivery, loader, evidence, run.segment, supply);
  blocks.push_back(std::move(supply));
  return blocks;
}

}  // namespace stallcast
