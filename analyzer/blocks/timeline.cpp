/// The run over time: steps as found, then the blocks of a phased run and the steps in them.
#include "analyzer/blocks/timeline.hpp"

#include <algorithm>
#include <set>

#include "analyzer/blocks/blocks.hpp"
#include "analyzer/load/phase_name.hpp"
#include "analyzer/steps/rank_view.hpp"

namespace stallcast::sections {
namespace {

constexpr double k_ns = 1e-9;
constexpr std::size_t k_none = SIZE_MAX;
const char* const k_between = "between";  ///< blocks: neither one of them nor the state that was found

/// A step as the timeline shows it, whatever the phase.
struct DrawnStep {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  double wait_s = 0.0;
  std::size_t stretch = k_none;  ///< index of its phase stretch
};

void add_step(const DrawnStep& step, std::uint64_t origin, TimelineRow& row) {
  const double begin_s = static_cast<double>(step.begin_ns - origin) * k_ns;
  row.end_s = static_cast<double>(step.end_ns - origin) * k_ns;
  if (row.steps == 0) row.begin_s = begin_s;
  row.wait_s += step.wait_s;
  row.longest_wait_s = std::max(row.longest_wait_s, step.wait_s);
  row.longest_step_s = std::max(row.longest_step_s, row.end_s - begin_s);
  ++row.steps;
}

/// Rows of `per_row` steps; one ends where the phase changes.
void add_rows(const std::vector<DrawnStep>& steps, std::size_t per_row, std::uint64_t origin,
              const std::vector<PhaseStretch>& stretches, std::vector<TimelineRow>& rows) {
  const DrawnStep* before = nullptr;
  for (const DrawnStep& step : steps) {
    const bool goes_on =
        before != nullptr && before->stretch == step.stretch && rows.back().steps < static_cast<std::int64_t>(per_row);
    if (!goes_on) {
      rows.emplace_back();
      if (!stretches.empty()) rows.back().phase = step.stretch == k_none ? k_between : stretches[step.stretch].phase;
    }
    add_step(step, origin, rows.back());
    before = &step;
  }
}

/// Why a block counts for nothing; empty if it counts.
std::string why_left_out(const PhaseBlock& block) {
  if (!block.rejected.empty()) return block.rejected;
  const Premise premise = check_premise(block);
  return premise.holds ? std::string() : std::string(k_premise_fails) + ": " + premise.seen;
}

/// Blocks in the order of their beginning.
std::vector<PhaseBlock> ordered_blocks(const RunData& run, const Consumer& consumer) {
  std::vector<PhaseBlock> blocks = phase_blocks(consumer, run.processes);
  std::erase_if(blocks, [](const PhaseBlock& block) { return block.run.begin_ns == 0 || block.beside; });
  std::stable_sort(blocks.begin(), blocks.end(),
                   [](const PhaseBlock& a, const PhaseBlock& b) { return a.run.begin_ns < b.run.begin_ns; });
  return blocks;
}

/// Waits for batches of the loader that has phases, since they began, in the order of their end.
std::vector<const record::WaitRecord*> waits_since(std::uint64_t begin_ns, const std::vector<PhaseBlock>& blocks,
                                                   const Consumer& consumer) {
  std::set<std::uint64_t> loaders;
  for (const Pass& pass : consumer.passes) {
    const bool phased = std::any_of(blocks.begin(), blocks.end(),
                                    [&](const PhaseBlock& block) { return block.run.iterator_id == pass.iterator_id; });
    if (phased) loaders.insert(pass.loader_id);
  }
  std::vector<const record::WaitRecord*> waits;
  for (const Pass& pass : consumer.passes) {
    if (!loaders.contains(pass.loader_id)) continue;
    for (const Delivery& delivery : pass.deliveries) {
      if (delivery.wait.begin_ns >= begin_ns && delivery.wait.end_ns >= delivery.wait.begin_ns) {
        waits.push_back(&delivery.wait);
      }
    }
  }
  std::stable_sort(waits.begin(), waits.end(), [](const auto* a, const auto* b) { return a->end_ns < b->end_ns; });
  return waits;
}

/// Steps since the phases began: from delivery to delivery, taken to the block that the batch was one of. The pause
/// between two passes is no step: the first of a pass begins with its wait.
std::vector<DrawnStep> steps_in(const std::vector<PhaseBlock>& blocks, const Consumer& consumer) {
  std::vector<DrawnStep> steps;
  std::size_t at = 0;
  std::uint64_t taken = 0;
  const record::WaitRecord* before = nullptr;
  for (const record::WaitRecord* wait : waits_since(blocks.front().run.begin_ns, blocks, consumer)) {
    for (; at + 1 < blocks.size() && blocks[at + 1].run.begin_ns <= wait->begin_ns; ++at) taken = 0;
    const std::size_t stretch = taken++ < blocks[at].run.batches ? at : k_none;
    const bool follows = before != nullptr && before->iterator_id == wait->iterator_id;
    const std::uint64_t begin_ns = follows ? std::min(before->end_ns, wait->begin_ns) : wait->begin_ns;
    steps.push_back({begin_ns, wait->end_ns, static_cast<double>(wait->end_ns - wait->begin_ns) * k_ns, stretch});
    before = wait;
  }
  return steps;
}

}  // namespace

std::vector<TimelineRow> timeline_of(const std::vector<RankView>& ranks, std::size_t most_rows) {
  std::vector<TimelineRow> rows;
  if (ranks.empty() || ranks.front().window.steps.empty()) return rows;
  const std::vector<SteadyStep>& steady = ranks.front().window.steps;
  std::vector<DrawnStep> steps;
  steps.reserve(steady.size());
  for (const SteadyStep& step : steady) {
    const bool before_phases = step.begin_ns < ranks.front().consumer->phases_begin_ns;  // add_phases draws the rest
    if (before_phases) steps.push_back({step.begin_ns, step.end_ns, step.wait_s, 0});
  }
  if (steps.empty()) return rows;
  add_rows(steps, (steps.size() + most_rows - 1) / most_rows, steps.front().begin_ns, {}, rows);
  return rows;
}

void add_phases(const RunData& run, const RankView& rank, std::size_t most_rows, Profile& profile) {
  const std::vector<PhaseBlock> blocks = ordered_blocks(run, *rank.consumer);
  if (blocks.empty() || rank.window.steps.empty()) return;
  const std::uint64_t origin = rank.window.steps.front().begin_ns;
  // Phases begin after the window as found ends; a recording that says otherwise has no place on this clock.
  if (blocks.front().run.begin_ns < origin) return;
  const std::vector<DrawnStep> steps = steps_in(blocks, *rank.consumer);
  for (const PhaseBlock& block : blocks) {
    const double begin_s = static_cast<double>(block.run.begin_ns - origin) * k_ns;
    // A hold has no steps to end with.
    const double end_s = block.run.batches == 0 && block.to_ns > block.run.begin_ns
                             ? static_cast<double>(block.to_ns - origin) * k_ns
                             : begin_s;
    profile.phases.push_back(
        {phase_name(block.run.phase), static_cast<std::int64_t>(block.run.round), begin_s, end_s, why_left_out(block)});
  }
  for (const DrawnStep& step : steps) {
    if (step.stretch != k_none) profile.phases[step.stretch].end_s = static_cast<double>(step.end_ns - origin) * k_ns;
  }
  if (steps.empty()) return;
  add_rows(steps, (steps.size() + most_rows - 1) / most_rows, origin, profile.phases, profile.timeline);
}

}  // namespace stallcast::sections
