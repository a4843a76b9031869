#include "analyzer/phase_windows.hpp"

#include <algorithm>
#include <cmath>

#include "analyzer/steady.hpp"

namespace stallcast {
namespace {

using record::Phase;

constexpr double k_waits = 0.05;             ///< of its time: a job that waits so much is looked at
constexpr std::size_t k_fewest_before = 16;  ///< deliveries of a pass, before any batch was replayed

/// Time at which the last worker had finished copying this round's files into the stage.
std::uint64_t staged_by(std::span<const Delivery> block, const SegmentRun& run, const BlockEvidence& evidence) {
  std::uint64_t last = 0;
  for (const Delivery& delivery : block) {
    const auto found = evidence.find({run.segment, delivery.wait.batch});
    const bool staged = found != evidence.end() && found->second.phase != nullptr && found->second.phase->stage_ns > 0;
    if (staged && delivery.made_known) last = std::max(last, delivery.made.begin_ns);
  }
  return last;
}

bool is_from_memory(Phase phase) {
  return phase == Phase::cached || phase == Phase::supply_cached;
}

/// How many of a block's deliveries it takes until the data that are mapped have come into memory: up to the last one,
/// in its first half, of which more than one sample in fifty met a page fault that waited for storage. The block goes
/// over its lists again after that half at the latest.
std::size_t warmed_after(std::span<const Delivery> block, const SegmentRun& run, const LoaderFacts& loader,
                         const BlockEvidence& evidence) {
  constexpr double k_stray = 0.02;
  if (!is_from_memory(run.phase)) return 0;
  std::size_t warm = 0;
  for (std::size_t i = 0; i < block.size() / 2; ++i) {
    const auto found = evidence.find({run.segment, block[i].wait.batch});
    if (found == evidence.end() || found->second.mapped == nullptr) continue;
    const double samples = std::max<double>(1.0, static_cast<double>(loader.batch_size));
    if (static_cast<double>(found->second.mapped->major_faults) > k_stray * samples) warm = i + 1;
  }
  return warm;
}

/// When the first batch of anything after this block was begun.
std::uint64_t next_begun(const Pass& pass, std::span<const Delivery> block, std::uint64_t opened_ns) {
  std::uint64_t first = UINT64_MAX;
  for (const Delivery& delivery : pass.deliveries) {
    const bool inside = &delivery >= block.data() && &delivery < block.data() + block.size();
    if (inside || !delivery.made_known || delivery.made.begin_ns <= opened_ns) continue;
    first = std::min(first, delivery.made.begin_ns);
  }
  return first;
}

/// When the first worker had made all that it was given of this block. Replayed batches may come next, for which
/// nothing is made: it rests then, and what the others still make comes at another rate.
std::uint64_t first_at_rest(std::span<const Delivery> block) {
  std::map<std::uint32_t, std::uint64_t> last;  // by worker
  for (const Delivery& delivery : block) {
    const std::uint64_t done_ns = handed_over_ns(delivery.made);
    if (delivery.made_known && done_ns > 0) last[delivery.made.header.aux] = done_ns;
  }
  std::uint64_t first = UINT64_MAX;
  for (const auto& [worker, done_ns] : last) first = std::min(first, done_ns);
  return first;
}

/// When the script came to the block: it asked for its first batch. Beside a stream workers are given work a little
/// before that, right after the block was announced.
std::uint64_t reached_ns(std::span<const Delivery> block, const SegmentRun& run) {
  const std::uint64_t asked_ns = block.front().wait.begin_ns;
  return run.stream.empty() || run.begin_ns == 0 ? asked_ns : std::min(asked_ns, run.begin_ns);
}

/// Batches that lie ready or are being made in the steady state. A block that begins with the workers at rest, because
/// replayed batches came before it, has none in the beginning: until as many have come it is not in that state.
std::size_t filling_up(std::span<const Delivery> block, const SegmentRun& run, const LoaderFacts& loader) {
  const Delivery& first = block.front();
  if (!first.made_known || first.made.begin_ns < reached_ns(block, run)) return 0;
  return static_cast<std::size_t>(run.workers *
                                  static_cast<std::uint64_t>(std::max<std::int64_t>(1, loader.prefetch_factor)));
}

BlockWindow pulled_window(const Pass& pass, std::span<const Delivery> block, const SegmentRun& run,
                          const LoaderFacts& loader, const BlockEvidence& evidence) {
  BlockWindow window;
  const std::size_t warm = warmed_after(block, run, loader, evidence);
  const std::uint64_t warmed_ns = warm > 0 ? block[warm - 1].made.end_ns : 0;
  const std::uint64_t opened_ns = std::max({reached_ns(block, run), staged_by(block, run, evidence), warmed_ns});
  std::uint64_t closed_ns = next_begun(pass, block, opened_ns);
  const std::uint64_t rest_ns = first_at_rest(block);
  window.closed_ns = std::min(closed_ns, rest_ns);
  if (closed_ns > block.back().wait.end_ns) closed_ns = window.closed_ns;
  const std::size_t filled = filling_up(block, run, loader);
  for (std::size_t i = 0; i < block.size(); ++i) {
    const bool begun_inside = block[i].made_known && block[i].made.begin_ns >= opened_ns && i >= filled;
    if (window.empty && !begun_inside) continue;
    if (block[i].wait.end_ns > closed_ns) break;
    if (window.empty) window.first = i;
    window.empty = false;
    window.last = i;
  }
  return window;
}

/// Whether anybody recorded how the block's batches were made.
bool making_is_known(std::span<const Delivery> block) {
  return std::any_of(block.begin(), block.end(), [](const Delivery& delivery) { return delivery.made_known; });
}

/// How a job waited before any batch was replayed.
struct Before {
  double share = -1.0;   ///< of its time; negative: not known
  double wait_ns = 0.0;  ///< mean of a delivery

  [[nodiscard]] bool waits() const { return share >= k_waits; }
};

/// In the second half of what each pass over the loader had delivered by `until_ns`.
Before waited_before(const Consumer& consumer, std::uint64_t loader_id, std::uint64_t until_ns) {
  double waited = 0.0;
  double all = 0.0;
  double batches = 0.0;
  for (const Pass& pass : consumer.passes) {
    if (pass.loader_id != loader_id) continue;
    const auto end = std::find_if(pass.deliveries.begin(), pass.deliveries.end(),
                                  [&](const Delivery& delivery) { return delivery.wait.end_ns > until_ns; });
    const auto count = static_cast<std::size_t>(end - pass.deliveries.begin());
    if (count < k_fewest_before) continue;
    for (std::size_t i = count / 2; i < count; ++i) {
      const record::WaitRecord& wait = pass.deliveries[i].wait;
      waited += static_cast<double>(wait.end_ns - wait.begin_ns);
      all += static_cast<double>(wait.end_ns - pass.deliveries[i - 1].wait.end_ns);
      ++batches;
    }
  }
  return all > 0.0 ? Before{waited / all, waited / batches} : Before{};
}

/// Nobody recorded when the batches were made, and the loader's queue may have been full when the block began: the
/// window opens when the script waits as it did before any batch was replayed, or, where it hardly did or that is not
/// known, as it does in the block's last third.
///
/// Worked example. Waits of 0, 0, 0, 0, 9, 10, 11, 8, 10 ms: 9.7 ms in the last third; the fifth is the first of more
/// than half as long. Had it waited for 30 ms before, the window would not open at all.
BlockWindow unseen_window(std::span<const Delivery> block, const Before& before) {
  const auto waited = [](const Delivery& delivery) {
    return static_cast<double>(delivery.wait.end_ns - delivery.wait.begin_ns);
  };
  const std::size_t third = std::max<std::size_t>(block.size() / 3, 1);
  double sum = 0.0;
  for (const Delivery& delivery : block.last(third)) sum += waited(delivery);
  const double mean = before.waits() ? before.wait_ns : sum / static_cast<double>(third);
  const auto first = std::find_if(block.begin() + 1, block.end(),
                                  [&](const Delivery& delivery) { return waited(delivery) >= mean / 2.0; });
  return {static_cast<std::size_t>(first - block.begin()), block.size() - 1, first == block.end()};
}

/// Replayed batches, once the workers have come to rest: they still make what was asked for before the block, and slow
/// the compute meanwhile. The first step still follows the block before.
BlockWindow replayed_window(const Pass& pass, std::span<const Delivery> block) {
  std::uint64_t rest_ns = block.front().wait.end_ns;
  const std::uint64_t end_ns = block.back().wait.end_ns;
  for (const Delivery& delivery : pass.deliveries) {
    if (!delivery.made_known || delivery.made.begin_ns >= end_ns) continue;
    rest_ns = std::max(rest_ns, handed_over_ns(delivery.made));
  }
  BlockWindow window;
  const auto first = std::find_if(block.begin() + 1, block.end(),
                                  [&](const Delivery& delivery) { return delivery.wait.begin_ns >= rest_ns; });
  if (first == block.end()) return window;
  return {static_cast<std::size_t>(first - block.begin()), block.size() - 1, false};
}

}  // namespace

BlockWindow window_of(const Consumer& consumer, const Pass& pass, std::span<const Delivery> block,
                      const SegmentRun& run, const LoaderFacts& loader, const BlockEvidence& evidence) {
  const bool replayed = run.phase == Phase::synthetic;
  if (run.workers == 0) {  // the first step still follows the one before
    const std::size_t first = warmed_after(block, run, loader, evidence) + 1;
    return {first, block.size() - 1, block.size() < first + 2};
  }
  if (!run.stream.empty() && !making_is_known(pass.deliveries)) {
    if (!replayed) return unseen_window(block, waited_before(consumer, pass.loader_id, consumer.phases_begin_ns));
    return {block.size() / 2, block.size() - 1, block.size() < 3};  // the workers' queue is full by then
  }
  return replayed ? replayed_window(pass, block) : pulled_window(pass, block, run, loader, evidence);
}

std::string lived_on_stock(const Consumer& consumer, const Pass& pass, const SegmentRun& run, double waited) {
  if (run.stream.empty() || run.phase != Phase::as_is || run.workers == 0 || making_is_known(pass.deliveries))
    return {};
  const Before before = waited_before(consumer, pass.loader_id, consumer.phases_begin_ns);
  if (!before.waits() || waited >= before.share / 2.0) return {};
  const auto percent = [](double share) { return std::to_string(std::lround(100.0 * share)) + " %"; };
  return "what the loader had ready may have lasted through it: the job waited for " + percent(waited) +
         " of its time, for " + percent(before.share) + " before any batch was replayed";
}

}  // namespace stallcast
