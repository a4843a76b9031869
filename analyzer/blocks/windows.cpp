#include "analyzer/blocks/windows.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "analyzer/blocks/constants.hpp"
#include "analyzer/steps/steady.hpp"

namespace stallcast {
namespace {

using record::Phase;

/// When the first batch of anything else was begun after the block had.
std::uint64_t next_begun(const Pass& pass, std::span<const Delivery> alike, std::uint64_t opened_ns) {
  std::uint64_t first = UINT64_MAX;
  for (const Delivery& delivery : pass.deliveries) {
    const bool inside = &delivery >= alike.data() && &delivery < alike.data() + alike.size();
    if (inside || !delivery.made_known || delivery.made.begin_ns <= opened_ns) continue;
    first = std::min(first, delivery.made.begin_ns);
  }
  return first;
}

/// When the first worker had made all that it was given, or, `reading`, had read all. Nothing may come next, before a
/// burst or at the end of a pass: it rests then, and what the others still make comes at another rate.
std::uint64_t first_at_rest(std::span<const Delivery> alike, bool reading) {
  std::map<std::uint32_t, std::uint64_t> last;  // by worker
  for (const Delivery& delivery : alike) {
    const std::uint64_t done_ns = handed_over_ns(delivery.made);
    if (reading && delivery.made.io.read_bytes == 0) continue;
    if (delivery.made_known && done_ns > 0) last[delivery.made.header.aux] = done_ns;
  }
  std::uint64_t first = UINT64_MAX;
  for (const auto& [worker, done_ns] : last) first = std::min(first, done_ns);
  return first;
}

/// When the last of the workers had begun the first batch that it began at `from_ns` or later; UINT64_MAX if not all of
/// them began one.
std::uint64_t last_to_begin(std::span<const Delivery> block, std::uint64_t workers, std::uint64_t from_ns) {
  std::map<std::uint32_t, std::uint64_t> first;  // by worker
  for (const Delivery& delivery : block) {
    if (!delivery.made_known || delivery.made.begin_ns < from_ns) continue;
    const auto [found, is_new] = first.emplace(delivery.made.header.aux, delivery.made.begin_ns);
    if (!is_new) found->second = std::min(found->second, delivery.made.begin_ns);
  }
  if (first.size() < workers) return UINT64_MAX;
  std::uint64_t last = 0;
  for (const auto& [worker, begin_ns] : first) last = std::max(last, begin_ns);
  return last;
}

/// When each worker had begun another batch than its first of the block, and what the storage saved up before the block
/// was used up.
std::uint64_t used_up(std::span<const Delivery> alike, std::uint64_t workers, std::uint64_t all_at_it_ns) {
  return last_to_begin(alike, workers, all_at_it_ns + k_saved_up_ns);
}

/// When the script came to the block: it asked for its first batch, and what was held back until then was let go.
std::uint64_t reached_ns(std::span<const Delivery> block, const SegmentRun& run) {
  const std::uint64_t asked_ns = block.front().wait.begin_ns;
  return run.begin_ns == 0 ? asked_ns : std::min(asked_ns, run.begin_ns);
}

/// Batches that lie ready or are being made in the steady state. A block that begins with the workers at rest, behind a
/// burst or with a pass, has none in the beginning: until as many have come it is not in that state.
std::size_t filling_up(std::span<const Delivery> block, const SegmentRun& run, const LoaderFacts& loader,
                       std::uint64_t opened_ns) {
  const Delivery& first = block.front();
  if (!first.made_known || (first.made.begin_ns < opened_ns && !begins_pass(block))) return 0;
  const auto prefetch = static_cast<std::uint64_t>(std::max<std::int64_t>(1, loader.prefetch_factor));
  return static_cast<std::size_t>(run.at_once > 0 ? run.makers() : run.workers * prefetch);
}

/// Whether the block is a stream's from storage, and ends its pass: a worker that shuffles in a buffer of its own makes
/// its last batches out of what that holds, and reads nothing for them.
bool drains(const Pass& pass, std::span<const Delivery> alike, const SegmentRun& run) {
  if (!run.iterable || run.phase != Phase::cold || !pass.is_over || &alike.back() != &pass.deliveries.back())
    return false;
  return std::any_of(alike.begin(), alike.end(),
                     [](const Delivery& delivery) { return delivery.made_known && delivery.made.io.read_bytes > 0; });
}

/// Whether all that is under way lies ready when the script asks for a delivery of `alike`. `under_way`: of its loader.
bool all_ready(std::span<const Delivery> alike, std::size_t asked, std::size_t under_way) {
  if (asked + under_way > alike.size()) return false;
  const std::uint64_t asked_ns = alike[asked].wait.begin_ns;
  const auto under = alike.subspan(asked, under_way);
  return std::all_of(under.begin(), under.end(), [&](const Delivery& delivery) {
    const std::uint64_t made_ns = handed_over_ns(delivery.made);
    return delivery.made_known && made_ns > 0 && made_ns <= asked_ns;
  });
}

BlockWindow pulled_window(const Pass& pass, const BlockCourse& course, const SegmentRun& run,
                          const LoaderFacts& loader) {
  const std::span<const Delivery> block = course.block;
  BlockWindow window;
  window.opened_ns = reached_ns(block, run);
  std::uint64_t closed_ns = next_begun(pass, course.alike, window.opened_ns);
  window.closed_ns =
      std::min({closed_ns, first_at_rest(course.alike, drains(pass, course.alike, run)), course.until_ns});
  if (closed_ns > block.back().wait.end_ns) closed_ns = window.closed_ns;
  const std::size_t filled = filling_up(block, run, loader, window.opened_ns);
  const std::uint64_t at_it_ns = last_to_begin(block, run.workers, 0);
  // Workers that are new have more to do for their first batch than to make it.
  if (at_it_ns != UINT64_MAX && !begins_pass(block)) window.all_at_it_ns = std::max(window.opened_ns, at_it_ns);
  if (run.phase == Phase::cold && at_it_ns != UINT64_MAX)
    window.used_up_ns = used_up(course.alike, run.workers, std::max(window.opened_ns, at_it_ns));
  for (std::size_t i = 0; i < block.size(); ++i) {
    const bool begun_inside = block[i].made_known && block[i].made.begin_ns >= window.opened_ns && i >= filled &&
                              block[i].wait.batch >= pass.filling;
    if (window.empty && !begun_inside) continue;
    if (block[i].wait.end_ns > closed_ns) break;
    if (window.empty) window.first = i;
    window.empty = false;
    window.last = i;
  }
  // Where the pass itself begins, the first batches are not like those that follow.
  if (window.used_up_ns != UINT64_MAX && begins_pass(block)) {
    const std::uint64_t at_ns = window.empty ? UINT64_MAX : block[window.first].wait.end_ns;
    window.used_up_ns = std::max(window.used_up_ns, at_ns);
  }
  return window;
}

/// Whether anybody recorded how the block's batches were made.
bool making_is_known(std::span<const Delivery> block) {
  return std::any_of(block.begin(), block.end(), [](const Delivery& delivery) { return delivery.made_known; });
}

/// How a job waited before it was ever held back.
struct Before {
  double share = -1.0;   ///< of its time; negative: not known
  double wait_ns = 0.0;  ///< mean of a delivery

  [[nodiscard]] bool waits() const { return share >= k_waited_before; }
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
    if (count < k_fewest_delivered_before) continue;
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
/// window opens when the script waits as it did before it was ever held back, or, where it hardly did or that is not
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

}  // namespace

bool begins_pass(std::span<const Delivery> block) {
  const record::WaitRecord& wait = block.front().wait;
  return wait.batch == 0 || (wait.header.aux & record::k_wait_first) != 0;
}

BlockWindow window_of(const Consumer& consumer, const Pass& pass, const BlockCourse& course, const SegmentRun& run,
                      const LoaderFacts& loader) {
  const std::size_t size = course.block.size();
  if (run.workers == 0) return {1, size - 1, size < 3};  // the first step still follows the one before
  if (!run.stream.empty() && !making_is_known(pass.deliveries)) {
    return unseen_window(course.block, waited_before(consumer, pass.loader_id, consumer.phases_begin_ns));
  }
  return pulled_window(pass, course, run, loader);
}

std::optional<BlockWindow> full_window(const Pass& pass, const BlockCourse& course, const SegmentRun& run,
                                       const LoaderFacts& loader, const BlockWindow& other) {
  if (run.workers == 0 || run.at_once > 0 || run.iterable || loader.prefetch_factor < 1) return std::nullopt;
  const std::size_t under_way = run.workers * static_cast<std::size_t>(loader.prefetch_factor);
  BlockWindow window = other;
  window.empty = true;
  window.full = true;
  for (std::size_t i = begins_pass(course.block) ? under_way : 0; i < course.block.size(); ++i) {
    if (course.block[i].wait.batch < pass.filling || !all_ready(course.alike, i, under_way)) continue;
    if (window.empty) window.first = i;
    window.empty = false;
    window.last = i;
  }
  const std::size_t others = other.empty ? 0 : other.last - other.first;
  if (window.empty || window.last - window.first <= others) return std::nullopt;
  return window;
}

std::string lived_on_stock(const Consumer& consumer, const Pass& pass, const SegmentRun& run, double waited) {
  if (run.stream.empty() || run.phase != Phase::as_is || run.workers == 0 || making_is_known(pass.deliveries))
    return {};
  const Before before = waited_before(consumer, pass.loader_id, consumer.phases_begin_ns);
  if (!before.waits() || waited >= before.share / 2.0) return {};
  const auto percent = [](double share) { return std::to_string(std::lround(100.0 * share)) + " %"; };
  return "what the loader had ready may have lasted through it: the job waited for " + percent(waited) +
         " of its time, for " + percent(before.share) + " before it was ever held back";
}

}  // namespace stallcast
