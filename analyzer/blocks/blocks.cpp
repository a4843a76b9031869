#include "analyzer/blocks/blocks.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "analyzer/blocks/bursts.hpp"
#include "analyzer/blocks/constants.hpp"
#include "analyzer/blocks/interruptions.hpp"
#include "analyzer/blocks/measure.hpp"
#include "analyzer/blocks/sums.hpp"
#include "analyzer/blocks/whole_shards.hpp"
#include "analyzer/steps/first_reads.hpp"

namespace stallcast {
namespace {

using record::Phase;

/// What the workers of a cold block made, who never rested and mostly waited for storage, is what the loader can
/// deliver: of more batches than a hold makes, and without what storage saved up meanwhile, as many limits let it. Of
/// workers that mostly compute the step may have taken time, and the holds alone tell it.
std::optional<PhaseBlock> supply_of(const PhaseBlock& block) {
  const bool is_known = block.made_cpu_s > 0.0 && block.made_wall_s > 0.0;
  if (block.run.phase != Phase::cold || !block.produced || !block.rejected.empty() || !is_known) return std::nullopt;
  if (block.made_cpu_s > k_computes_most * block.made_wall_s) return std::nullopt;
  PhaseBlock supply = block;
  supply.run.phase = Phase::supply_cold;
  supply.beside = true;
  supply.wait_seconds = supply.late_seconds = supply.seconds;
  supply.cpu_seconds = -1.0;
  return supply;
}

void leave_files_out(PhaseBlock& block) {
  block.without_files = true;
  if (block.run.phase == Phase::cold) block.run.phase = Phase::cached;
  if (block.run.phase == Phase::supply_cold) block.run.phase = Phase::supply_cached;
}

/// Between the batches of an evaluation no step was made: its blocks tell how fast that goes, and not the training.
void leave_evaluation_out(const Pass& pass, std::vector<PhaseBlock>& blocks) {
  for (PhaseBlock& block : blocks) {
    if (block.run.iterator_id == pass.iterator_id) block.rejected = "its batches were evaluated, not trained on";
  }
}

/// All that one pass has, once.
struct PassView {
  const Pass* pass = nullptr;
  LoaderFacts loader{};
  BlockEvidence evidence{};
  std::vector<std::uint64_t> interruptions{};  ///< none where they are part of the step
};

const BurstRun* burst_of(const std::vector<BurstRun>& bursts, const SegmentRun& run) {
  const auto found = std::find_if(bursts.begin(), bursts.end(), [&](const BurstRun& burst) {
    return burst.segment == run.segment && burst.iterator_id == run.iterator_id;
  });
  return found != bursts.end() ? &*found : nullptr;
}

/// The burst right behind a block, if its batches are made in the block's state.
const SegmentRun* burst_behind(const std::vector<SegmentRun>& runs, const SegmentRun& run) {
  if (run.at_once > 0) return nullptr;
  const auto found = std::find_if(runs.begin(), runs.end(), [&](const SegmentRun& next) {
    return next.phase == Phase::synthetic && next.made_as == run.phase && next.iterator_id == run.iterator_id &&
           next.first == run.first + run.batches;
  });
  return found != runs.end() ? &*found : nullptr;
}

/// The blocks of one consumer's texts.
class Blocks {
 public:
  Blocks(const Consumer& consumer, const std::vector<record::ProcessRecording>& processes)
      : consumer_(consumer),
        processes_(processes),
        interruptions_(interruptions_of(consumer, processes)),
        first_reads_(processes) {}

  void add(const record::ProcessRecording& process) {
    const std::vector<SegmentRun> runs = segments_of(process);
    const std::vector<BurstRun> bursts = bursts_of(process);
    shard_batches_ = shard_batches_of(runs);
    for (const SegmentRun& run : runs) {
      const PassView* view = view_of(run.iterator_id);
      if (view == nullptr) continue;
      if (run.phase == Phase::synthetic) {
        add_burst(*view, run, burst_of(bursts, run));
      } else {
        add_block(*view, run, burst_behind(runs, run), bursts);
      }
    }
  }

  std::vector<PhaseBlock> blocks{};

 private:
  const PassView* view_of(std::uint64_t iterator_id) {
    const auto known = views_.find(iterator_id);
    if (known != views_.end()) return &known->second;
    const auto pass = std::find_if(consumer_.passes.begin(), consumer_.passes.end(),
                                   [&](const Pass& candidate) { return candidate.iterator_id == iterator_id; });
    if (pass == consumer_.passes.end()) return nullptr;
    PassView& view = views_[iterator_id];
    view.pass = &*pass;
    const auto loader = consumer_.loaders.find(pass->loader_id);
    if (loader != consumer_.loaders.end()) view.loader = loader->second;
    view.evidence = BlockEvidence(consumer_, *pass, processes_);
    if (!in_most_steps(pass->deliveries, interruptions_)) view.interruptions = interruptions_;
    return &view;
  }

  /// Of a stream's shards, in all passes together.
  std::optional<double> shard_batches_of(const std::vector<SegmentRun>& runs) {
    std::set<std::uint64_t> passes;
    for (const SegmentRun& run : runs) {
      if (run.iterable) passes.insert(run.iterator_id);
    }
    std::vector<double> lengths;
    for (const std::uint64_t pass : passes) {
      const PassView* view = view_of(pass);
      if (view == nullptr) continue;
      const std::vector<double> more = shard_lengths(*view->pass, view->evidence);
      lengths.insert(lengths.end(), more.begin(), more.end());
    }
    return batches_of_shard(lengths);
  }

  void add_burst(const PassView& view, const SegmentRun& run, const BurstRun* burst) {
    const BurstView seen{*view.pass, run, burst, view.loader};
    if (run.made_as == Phase::cold || run.made_as == Phase::cached) {
      blocks.push_back(supply_block(seen, view.evidence));
    }
    blocks.push_back(synthetic_block(seen, view.interruptions));
  }

  void add_block(const PassView& view, const SegmentRun& run, const SegmentRun* behind,
                 const std::vector<BurstRun>& bursts) {
    BlockCourse course;
    course.block = course.alike = deliveries_of(*view.pass, run.first, run.batches);
    if (run.iterable && course.block.empty())
      return;  // when the pass was over nobody knew before its end was asked for
    if (behind != nullptr) {
      course.alike = deliveries_of(*view.pass, run.first, run.batches + behind->batches);
      const BurstRun* burst = burst_of(bursts, *behind);
      course.until_ns = burst != nullptr ? burst->asked_ns : UINT64_MAX;
    }
    const Measuring measuring{consumer_,      *view.pass,    course,       view.loader,
                              interruptions_, view.evidence, first_reads_, shard_batches_};
    blocks.push_back(block_of(measuring, run));
    if (auto supply = supply_of(blocks.back())) blocks.push_back(std::move(*supply));
    const bool tells_steps = run.phase == Phase::cold || run.phase == Phase::cached || run.phase == Phase::as_is;
    if (run.workers > 0 || !tells_steps) return;
    auto beside = blocks_beside(course.block, run, view.loader, view.interruptions, view.evidence);
    std::move(beside.begin(), beside.end(), std::back_inserter(blocks));
  }

  const Consumer& consumer_;
  const std::vector<record::ProcessRecording>& processes_;
  std::vector<std::uint64_t> interruptions_;
  FirstReads first_reads_;
  std::map<std::uint64_t, PassView> views_{};
  std::optional<double> shard_batches_{};
};

}  // namespace

std::vector<PhaseBlock> phase_blocks(const Consumer& consumer, const std::vector<record::ProcessRecording>& processes) {
  Blocks all(consumer, processes);
  for (const record::ProcessRecording& process : processes) {
    if (process.info.pid == consumer.pid) all.add(process);
  }
  for (const Pass& pass : consumer.passes) {
    if (pass.is_evaluation) leave_evaluation_out(pass, all.blocks);
  }
  if (consumer.without_files) std::for_each(all.blocks.begin(), all.blocks.end(), leave_files_out);
  return std::move(all.blocks);
}

std::vector<Stretch> found_between_blocks(const Consumer& consumer,
                                          const std::vector<record::ProcessRecording>& processes) {
  std::vector<Stretch> found;
  const bool is_stream = std::any_of(processes.begin(), processes.end(), [&](const record::ProcessRecording& process) {
    const auto runs = process.info.pid == consumer.pid ? segments_of(process) : std::vector<SegmentRun>{};
    return std::any_of(runs.begin(), runs.end(), [](const SegmentRun& run) { return !run.stream.empty(); });
  });
  if (!is_stream && !consumer.without_files) return found;
  for (const PhaseBlock& block : phase_blocks(consumer, processes)) {
    const bool of_stream = block.run.phase == Phase::as_is && !block.run.stream.empty();
    const bool of_none = block.run.phase == Phase::cached && block.without_files && block.run.at_once == 0;
    if ((of_stream || of_none) && block.rejected.empty()) found.push_back({block.from_ns, block.to_ns});
  }
  return found;
}

}  // namespace stallcast
