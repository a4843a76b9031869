#include "analyzer/blocks/measure.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "analyzer/blocks/bursts.hpp"
#include "analyzer/blocks/constants.hpp"
#include "analyzer/blocks/interruptions.hpp"
#include "analyzer/blocks/production.hpp"
#include "analyzer/blocks/read_ahead.hpp"
#include "analyzer/blocks/whole_shards.hpp"

namespace stallcast {
namespace {

using record::Phase;

double mean_end_s(std::span<const Delivery> block, std::size_t from, std::size_t count) {
  double sum = 0.0;
  const std::uint64_t origin = block.front().wait.begin_ns;
  for (std::size_t i = from; i < from + count; ++i) sum += static_cast<double>(block[i].wait.end_ns - origin) * 1e-9;
  return sum / static_cast<double>(count);
}

/// Whether what a batch has read is what it is made of. Of a stream that reads a shard, or groups of rows, in one go it
/// is not: most batches read nothing, and the others what all of them are made of.
bool tells_content(const Delivery& delivery, const SegmentRun& run) {
  return delivery.made_known && (!run.iterable || delivery.made.io.read_bytes > 0);
}

/// What the deliveries first + bunch .. last of a piece are made of, by groups of those that arrive together.
void add_contents(std::span<const Delivery> deliveries, const LoaderFacts& loader, const BlockWindow& piece,
                  std::size_t bunch, PhaseBlock& block) {
  std::vector<ContentGroup> groups;
  bool known = block.content.bytes >= 0.0;
  for (std::size_t at = piece.first + bunch; at <= piece.last; at += bunch) {
    const std::size_t end = std::min(at + bunch, piece.last + 1);
    ContentGroup group;
    double samples = 0.0;
    for (std::size_t i = at; i < end; ++i) {
      known = known && tells_content(deliveries[i], block.run);
      group.bytes += static_cast<double>(deliveries[i].made.io.read_bytes);
      samples += samples_of(deliveries[i], loader);
    }
    block.content.bytes = known ? block.content.bytes + group.bytes : -1.0;
    if (end < at + bunch) continue;
    group.seconds = (mean_end_s(deliveries, at, bunch) - mean_end_s(deliveries, at - bunch, bunch)) / samples;
    group.bytes /= samples;
    groups.push_back(group);
  }
  if (known) add_groups(groups, block.content);
}

/// Deliveries first + bunch .. last of one piece, both ends averaged over a bunch of arrivals.
void add_piece(std::span<const Delivery> deliveries, const LoaderFacts& loader, const BlockWindow& piece,
               std::size_t bunch, PhaseBlock& block) {
  if (piece.last < piece.first + bunch) return;
  for (std::size_t i = piece.first + bunch; i <= piece.last; ++i) {
    count_delivery(deliveries[i - 1], deliveries[i], loader, block);
  }
  block.seconds += mean_end_s(deliveries, piece.last + 1 - bunch, bunch) - mean_end_s(deliveries, piece.first, bunch);
  add_contents(deliveries, loader, piece, bunch, block);
  if (block.from_ns == 0) block.from_ns = deliveries[piece.first].wait.end_ns;
  block.to_ns = deliveries[piece.last].wait.end_ns;
}

void check_measured(std::span<const Delivery> deliveries, const char* too_few, PhaseBlock& block) {
  block.left_out = static_cast<std::int64_t>(deliveries.size()) - block.batches;
  const bool counted = !block.in_batches || !block.run.stream.empty();
  if (block.batches < k_fewest_in_block) {
    block.rejected = too_few;
  } else if (!counted || block.samples <= 0.0 || block.seconds <= 0.0) {
    block.rejected = "the number of its samples is not known";
  }
}

/// What the makers of these deliveries of the block have found.
void take_evidence(const Measuring& m, const std::vector<std::size_t>& counted, PhaseBlock& block) {
  std::uint64_t begin_ns = UINT64_MAX;
  std::uint64_t end_ns = 0;
  for (const std::size_t i : counted) {
    const Delivery& delivery = m.course.block[i];
    count_evidence(delivery, m.loader, m.evidence, block.run.segment, block);
    if (!delivery.made_known) continue;
    begin_ns = std::min(begin_ns, delivery.made.begin_ns);
    end_ns = std::max(end_ns, delivery.made.end_ns);
  }
  if (block.run.phase == Phase::cold) block.first_reads = m.first_reads.share(begin_ns, end_ns);
}

/// Those of pieces, behind the first bunch of each.
std::vector<std::size_t> counted_in(const std::vector<BlockWindow>& pieces, std::size_t bunch) {
  std::vector<std::size_t> counted;
  for (const BlockWindow& piece : pieces) {
    for (std::size_t i = piece.first + bunch; i <= piece.last; ++i) counted.push_back(i);
  }
  return counted;
}

/// Whether the script waits for batches to be made in `share` of the time of the deliveries.
bool waits(std::span<const Delivery> deliveries, double share) {
  double late_s = 0.0;
  for (const Delivery& delivery : deliveries.subspan(1)) late_s += seconds_until_made(delivery);
  const std::uint64_t all_ns = deliveries.back().wait.end_ns - deliveries.front().wait.end_ns;
  return late_s >= share * static_cast<double>(all_ns) * 1e-9;
}

/// Whether the workers mostly wait themselves, and not for a core, while they make batches: the step takes no time from
/// these then, and makes them no slower while it goes through a stock.
bool makers_wait(std::span<const Delivery> deliveries) {
  double made_s = 0.0;
  double cpu_s = 0.0;
  for (const Delivery& delivery : deliveries) {
    if (!delivery.made_known || delivery.made.end_ns <= delivery.made.begin_ns) return false;
    made_s += static_cast<double>(delivery.made.end_ns - delivery.made.begin_ns) * 1e-9;
    const std::uint64_t delay_ns = delivery.made.run_delay_ns;
    cpu_s += static_cast<double>(delivery.made.cpu_ns + (delay_ns != UINT64_MAX ? delay_ns : 0)) * 1e-9;
  }
  return cpu_s <= k_computes_most * made_s;
}

/// What making took, as of `samples` of these deliveries.
void count_makings(std::span<const Delivery> deliveries, const LoaderFacts& loader, double samples, PhaseBlock& block) {
  block.made_cpu_s = block.made_wall_s = 0.0;
  double counted = 0.0;
  for (const Delivery& delivery : deliveries) {
    count_making(delivery, block);
    counted += samples_of(delivery, loader);
  }
  for (double* sum : {&block.made_cpu_s, &block.made_wall_s}) *sum *= *sum > 0.0 ? samples / counted : 1.0;
}

/// Where the job waits for most of a block, or its workers wait and make fewer batches than its steps take, and they
/// never rest, the block's rate is that of what they made. False where it does not, or that is not known.
///
/// Worked example. 8 workers make 8 batches in 3.3 s, steps take 2.0 s for as many. Behind a block from memory 16 lie
/// ready, and the script waits for none of the first 16. What was made meanwhile is its rate all the same: 2.4
/// batches/s.
bool measure_production(const Measuring& m, const BlockWindow& window, PhaseBlock& block) {
  const std::span<const Delivery> deliveries = m.course.block;
  if (block.run.at_once > 0 || deliveries.size() < 2) return false;
  const bool mostly = waits(deliveries, k_mostly_waits_for_making);
  if (!mostly && !makers_wait(deliveries)) return false;
  const auto produced = [&](std::uint64_t from_ns) {
    const auto batch = static_cast<double>(m.loader.batch_size);
    return production_of(m.pass, m.course.alike, block.run.workers, batch, from_ns, window.closed_ns);
  };
  const auto fewest = std::max<std::size_t>(k_fewest_in_block, block.run.workers);
  const auto is_enough = [&](const std::optional<Production>& of) { return of && of->groups.size() >= fewest; };
  std::uint64_t from_ns = window.used_up_ns;
  std::optional<Production> made;
  if (from_ns != UINT64_MAX) made = produced(from_ns);
  if (!is_enough(made)) made = produced(from_ns = window.all_at_it_ns);
  if (!made && !window.empty) made = produced(from_ns = deliveries[window.first].wait.end_ns);
  if (!is_enough(made)) return false;
  std::size_t first = 1;  // those before the block's are made in its state, too, while the script was in another
  while (mostly && first < deliveries.size() && deliveries[first].made.begin_ns < window.opened_ns) ++first;
  const BlockWindow piece{first, deliveries.size() - 1, false};
  double own_s = 0.0;
  for (std::size_t i = first; i < deliveries.size(); ++i) {
    count_delivery(deliveries[i - 1], deliveries[i], m.loader, block);
    own_s += static_cast<double>(deliveries[i].wait.begin_ns - deliveries[i - 1].wait.end_ns) * 1e-9;
  }
  const double scale = block.samples > 0.0 ? made->samples / block.samples : 0.0;
  const double receive_s = block.wait_seconds - block.late_seconds;
  const double taken_s = scale * (own_s + receive_s);
  const bool too_quick = !mostly && made->seconds - taken_s < k_least_wait_for_making * made->seconds;
  if (block.batches < k_fewest_in_block || too_quick) {
    const SegmentRun run = block.run;
    block = {};
    block.run = run;
    return false;
  }
  BlockWindow counted = piece;
  const bool is_later = from_ns == window.used_up_ns;
  while (is_later && counted.first < deliveries.size() && deliveries[counted.first].made.begin_ns < from_ns)
    ++counted.first;
  if (counted.first + k_fewest_in_block > deliveries.size()) counted = piece;
  count_makings(deliveries.subspan(counted.first), m.loader, made->samples, block);
  block.cpu_seconds *= block.cpu_seconds > 0.0 ? scale : 1.0;
  block.samples = made->samples;
  block.seconds = made->seconds;
  block.wait_seconds = std::max(0.0, block.seconds - scale * own_s);
  block.late_seconds = std::max(0.0, block.wait_seconds - scale * receive_s);
  const bool content_known = std::all_of(deliveries.begin() + static_cast<std::ptrdiff_t>(first), deliveries.end(),
                                         [&](const Delivery& delivery) { return tells_content(delivery, block.run); });
  block.content = {.bytes = content_known ? made->bytes : -1.0};
  if (content_known) add_groups(made->groups, block.content);
  block.from_ns = deliveries[window.empty ? first - 1 : window.first].wait.end_ns;
  block.to_ns = deliveries.back().wait.end_ns;
  check_measured(deliveries, "", block);
  if (block.rejected.empty()) take_evidence(m, counted_in({counted}, 0), block);
  return true;
}

/// By deliveries: without workers or with, in one piece or in several.
void measure_deliveries(const Measuring& m, const BlockWindow& window, PhaseBlock& block) {
  const std::span<const Delivery> deliveries = m.course.block;
  const bool by_workers = block.run.workers > 0;
  const bool in_bunches = by_workers && !window.full;
  const std::size_t bunch = in_bunches ? static_cast<std::size_t>(block.run.makers()) : 1;
  const bool is_long = !window.empty && window.last > window.first;
  const auto interrupted =
      is_long ? interrupted_steps(deliveries, window, m.interruptions) : std::vector<std::size_t>{};
  std::vector<BlockWindow> pieces;
  if (!window.empty) pieces = {window};
  if (by_workers && !interrupted.empty()) pieces = pieces_of(deliveries, window, interrupted);
  for (const BlockWindow& piece : pieces) add_piece(deliveries, m.loader, piece, bunch, block);
  if (!by_workers) {  // no queue fills up meanwhile: the steps alone are left out
    for (const std::size_t i : interrupted) discount_delivery(deliveries[i - 1], deliveries[i], m.loader, block);
  }
  const char* too_few = interrupted.empty() ? "too few batches between the transients of its two ends"
                                            : "too few batches between evaluations or checkpoints";
  check_measured(deliveries, too_few, block);
  if (block.rejected.empty() || window.empty) {
    const double waited = window.empty ? 0.0 : block.wait_seconds / block.seconds;
    if (std::string stock = lived_on_stock(m.consumer, m.pass, block.run, waited); !stock.empty())
      block.rejected = stock;
  }
  if (block.rejected.empty()) take_evidence(m, counted_in(pieces, bunch), block);
}

/// A pause fills the queue: between two of them it may be full at both ends, and not on the way.
BlockWindow longest_window(const Measuring& m, const SegmentRun& run, const BlockWindow& window) {
  const auto full = full_window(m.pass, m.course, run, m.loader, window);
  if (!full) return window;
  const std::uint64_t from_ns = m.course.block[full->first].wait.end_ns;
  const std::uint64_t to_ns = m.course.block[full->last].wait.end_ns;
  return interrupted_between(m.interruptions, from_ns, to_ns) ? window : *full;
}

/// From which of its deliveries on the batches of a block are like those that follow: at the begin of a pass a worker
/// may fill a buffer of its own, and the script one of its.
std::size_t begins_at(const Measuring& m, const BlockWindow& window) {
  const std::span<const Delivery> deliveries = m.course.block;
  const std::size_t crew = std::min(std::max<std::size_t>(1, m.pass.worker_pids.size()), deliveries.size());
  double all = 0.0;
  double first = 0.0;
  for (std::size_t i = 0; i < deliveries.size(); ++i) {
    const auto bytes = static_cast<double>(deliveries[i].made.io.read_bytes);
    all += bytes / static_cast<double>(deliveries.size());
    if (i < crew) first += bytes / static_cast<double>(crew);
  }
  const bool fills = deliveries.front().wait.batch < m.pass.filling || first > k_fills_buffer * all;
  return begins_pass(deliveries) && fills ? window.first : 0;
}

/// What was made in spans, as places in a block in which `deliveries` begin at `begin`; as often as it lies in one, as
/// it counts in their rate.
std::vector<std::size_t> made_in(const std::vector<ShardSpan>& spans, std::size_t begin) {
  std::vector<std::size_t> counted;
  for (const ShardSpan& span : spans) {
    for (std::size_t i = span.first + 1; i <= span.last; ++i) counted.push_back(begin + i);
  }
  return counted;
}

/// Where a stream's cold block holds whole shards, its rate and evidence are those of these. False where it does not.
bool measure_whole_shards(const Measuring& m, const BlockWindow& window, PhaseBlock& block) {
  if (!block.run.iterable || block.run.phase != Phase::cold || block.run.workers == 0) return false;
  if (window.empty || !waits(m.course.block, k_waits_for_storage)) return false;
  const std::size_t begin = begins_at(m, window);
  std::size_t end = window.last;
  while (end > begin && handed_over_ns(m.course.block[end].made) > window.closed_ns) --end;
  if (end <= begin) return false;
  const std::span<const Delivery> deliveries = m.course.block.subspan(begin, end + 1 - begin);
  const auto spans_from = [&](std::uint64_t from_ns) {
    return whole_shards(deliveries, m.evidence, block.run.segment, from_ns, m.shard_batches);
  };
  std::vector<ShardSpan> spans;
  if (window.used_up_ns != UINT64_MAX) spans = spans_from(window.used_up_ns);
  if (spans.empty()) spans = spans_from(window.opened_ns);
  if (spans.empty()) return false;
  const ShardSums sums = sums_of(deliveries, spans, m.loader);
  const double more = sums.seconds / sums.samples * block.samples - block.seconds;
  block.seconds += more;
  block.wait_seconds = std::max(0.0, block.wait_seconds + more);
  block.late_seconds = std::max(0.0, block.late_seconds + more);
  if (block.content.bytes >= 0.0) block.content.bytes = sums.bytes / sums.samples * block.samples;
  block.evidence = {};
  take_evidence(m, made_in(spans, begin), block);
  refuse_read_twice(block);
  block.in_shards = true;
  return true;
}

}  // namespace

PhaseBlock block_of(const Measuring& m, const SegmentRun& run) {
  PhaseBlock block;
  block.run = run;
  const std::span<const Delivery> deliveries = m.course.block;
  block.run.batches = deliveries.size();
  if (deliveries.empty() || deliveries.back().wait.batch - deliveries.front().wait.batch + 1 != deliveries.size()) {
    block.rejected = deliveries.empty() ? "no batch of it was delivered" : k_records_miss;
    return block;
  }
  const BlockWindow window = window_of(m.consumer, m.pass, m.course, run, m.loader);
  const std::uint64_t until_ns = m.course.until_ns != UINT64_MAX ? m.course.until_ns : deliveries.back().wait.end_ns;
  const bool whole = in_most_steps(deliveries, m.interruptions) ||
                     !interrupted_between(m.interruptions, deliveries.front().wait.end_ns, until_ns);
  block.produced = run.workers > 0 && whole && measure_production(m, window, block);
  if (!block.produced) measure_deliveries(m, longest_window(m, run, window), block);
  const bool is_whole = whole && block.rejected.empty() && measure_whole_shards(m, window, block);
  if (block.rejected.empty() && !is_whole) take_off_read_ahead(block);
  return block;
}

}  // namespace stallcast
