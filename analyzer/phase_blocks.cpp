#include "analyzer/phase_blocks.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "analyzer/first_reads.hpp"
#include "analyzer/json_fields.hpp"
#include "analyzer/phase_interruptions.hpp"
#include "analyzer/phase_production.hpp"
#include "analyzer/phase_windows.hpp"
#include "analyzer/steady.hpp"

namespace stallcast {
namespace {

using nlohmann::json;
using record::Phase;

constexpr std::int64_t k_fewest_in_block = 4;

/// Phase records of the processes that made a pass's batches, by segment and batch.
BlockEvidence evidence_of(const Consumer& consumer, const Pass& pass,
                          const std::vector<record::ProcessRecording>& processes) {
  BlockEvidence found;
  for (const record::ProcessRecording& process : processes) {
    const auto& pids = pass.worker_pids;
    const bool made_here =
        process.info.pid == consumer.pid || std::find(pids.begin(), pids.end(), process.info.pid) != pids.end();
    if (!made_here) continue;
    for (const record::PhaseRecord& phase : process.phases) found[{phase.header.aux, phase.batch}].phase = &phase;
    for (const record::MappedRecord& maps : process.mapped) found[{maps.header.aux, maps.batch}].mapped = &maps;
  }
  return found;
}

/// The deliveries of a segment, in order; a supply segment's carry numbers of their own, and so do batches that were
/// replayed beside a stream.
std::span<const Delivery> deliveries_of(const Pass& pass, const SegmentRun& run) {
  const bool apart = is_supply(run.phase) || (run.phase == Phase::synthetic && !run.stream.empty());
  const std::uint64_t first = apart ? k_supply_numbers + (static_cast<std::uint64_t>(run.segment) << 16) : run.first;
  const auto by_number = [](const Delivery& delivery, std::uint64_t number) { return delivery.wait.batch < number; };
  const auto begin = std::lower_bound(pass.deliveries.begin(), pass.deliveries.end(), first, by_number);
  const auto end = std::lower_bound(begin, pass.deliveries.end(), first + run.batches, by_number);
  return {begin, end};
}

double mean_end_s(std::span<const Delivery> block, std::size_t from, std::size_t count) {
  double sum = 0.0;
  const std::uint64_t origin = block.front().wait.begin_ns;
  for (std::size_t i = from; i < from + count; ++i) sum += static_cast<double>(block[i].wait.end_ns - origin) * 1e-9;
  return sum / static_cast<double>(count);
}

void take_mapped(const record::MappedRecord& seen, double samples, MappedEvidence& sum) {
  ++sum.batches;
  sum.samples += samples;
  sum.file_bytes += static_cast<double>(seen.file_bytes);
  sum.resident_bytes += static_cast<double>(seen.resident_bytes);
  sum.foreign_bytes += static_cast<double>(seen.foreign_bytes);
  sum.unknown_files += seen.unknown_files;
  sum.major_faults += seen.major_faults;
}

void take_evidence(const Delivery& delivery, double samples, const BlockEvidence& evidence, PhaseBlock& block) {
  if (delivery.made_known) block.evidence.read_bytes += static_cast<double>(delivery.made.io.read_bytes);
  block.evidence.received_bytes += static_cast<double>(delivery.received_bytes);
  const auto found = evidence.find({block.run.segment, delivery.wait.batch});
  if (found == evidence.end()) return;
  if (found->second.mapped != nullptr) take_mapped(*found->second.mapped, samples, block.evidence.mapped);
  if (found->second.phase == nullptr) return;
  const record::PhaseRecord& seen = *found->second.phase;
  PhaseEvidence& sum = block.evidence;
  sum.storage_known = (sum.batches == 0 || sum.storage_known) && seen.storage_bytes != UINT64_MAX;
  ++sum.batches;
  sum.opens += seen.opens;
  sum.staged_opens += seen.staged_opens;
  sum.unknown_opens += seen.unknown_opens;
  sum.opened_bytes += static_cast<double>(seen.opened_bytes);
  sum.resident_bytes += static_cast<double>(seen.resident_bytes);
  sum.evicted_bytes += static_cast<double>(seen.evicted_bytes);
  sum.foreign_bytes += static_cast<double>(seen.foreign_bytes);
  sum.page_bytes += static_cast<double>(seen.page_bytes);
  sum.samples += samples;
  if (seen.storage_bytes != UINT64_MAX) sum.storage_bytes += static_cast<double>(seen.storage_bytes);
}

/// CPU time of the consumer between two deliveries; negative where its clock was not read.
double cpu_between(const Delivery& before, const Delivery& after) {
  if (before.wait.cpu_ns == 0 || after.wait.cpu_ns < before.wait.cpu_ns) return -1.0;
  return static_cast<double>(after.wait.cpu_ns - before.wait.cpu_ns) * 1e-9;
}

/// Batches count as one where nobody knows how many samples they hold (PhaseBlock::in_batches).
double samples_of(const Delivery& delivery, const LoaderFacts& loader) {
  if (delivery.wait.samples > 0) return delivery.wait.samples;
  return loader.batch_size > 0 ? static_cast<double>(loader.batch_size) : 1.0;
}

double making_s(const Delivery& delivery) {
  return static_cast<double>(handed_over_ns(delivery.made) - delivery.made.begin_ns) * 1e-9;
}

void add_making(const Delivery& delivery, PhaseBlock& block) {
  const double cpu_s = static_cast<double>(delivery.made.cpu_ns) * 1e-9;
  block.made_cpu_s = delivery.made_known && block.made_cpu_s >= 0.0 ? block.made_cpu_s + cpu_s : -1.0;
  block.made_wall_s = delivery.made_known && block.made_wall_s >= 0.0 ? block.made_wall_s + making_s(delivery) : -1.0;
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
      known = known && deliveries[i].made_known;
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
    block.samples += samples_of(deliveries[i], loader);
    block.in_batches = block.in_batches || (deliveries[i].wait.samples == 0 && loader.batch_size <= 0);
    block.wait_seconds += static_cast<double>(deliveries[i].wait.end_ns - deliveries[i].wait.begin_ns) * 1e-9;
    block.late_seconds += seconds_until_made(deliveries[i]);
    const double cpu = cpu_between(deliveries[i - 1], deliveries[i]);
    block.cpu_seconds = cpu < 0.0 || block.cpu_seconds < 0.0 ? -1.0 : block.cpu_seconds + cpu;
    add_making(deliveries[i], block);
    ++block.batches;
  }
  block.seconds += mean_end_s(deliveries, piece.last + 1 - bunch, bunch) - mean_end_s(deliveries, piece.first, bunch);
  add_contents(deliveries, loader, piece, bunch, block);
  if (block.from_ns == 0) block.from_ns = deliveries[piece.first].wait.end_ns;
  block.to_ns = deliveries[piece.last].wait.end_ns;
}

/// Where the job waits for most of a block and its workers never rest, the block's rate is that of what they made.
void go_by_production(const Pass& pass, std::span<const Delivery> deliveries, const LoaderFacts& loader,
                      const BlockWindow& window, PhaseBlock& block) {
  constexpr double k_mostly = 0.5;  // of its time: batches do not pile up beside a job that waits so much
  if (block.late_seconds < k_mostly * block.seconds || block.content.bytes < 0.0) return;
  const auto made = production_of(pass, deliveries, block.run.workers, static_cast<double>(loader.batch_size),
                                  deliveries[window.first].wait.end_ns, window.closed_ns);
  if (!made) return;
  const double more_s = made->seconds * block.samples / made->samples - block.seconds;
  block.seconds += more_s;
  block.wait_seconds = std::max(0.0, block.wait_seconds + more_s);
  block.late_seconds = std::max(0.0, block.late_seconds + more_s);
  block.content = {.bytes = made->bytes * block.samples / made->samples};
  add_groups(made->groups, block.content);
}

/// Time and samples of the pieces of a block.
void measure(std::span<const Delivery> deliveries, const LoaderFacts& loader, const std::vector<BlockWindow>& pieces,
             std::size_t bunch, PhaseBlock& block) {
  for (const BlockWindow& piece : pieces) add_piece(deliveries, loader, piece, bunch, block);
  block.left_out = static_cast<std::int64_t>(deliveries.size()) - block.batches;
  if (block.batches < k_fewest_in_block) {
    block.rejected = pieces.size() > 1 ? "too few batches between evaluations, checkpoints or the ends of epochs"
                                       : "too few batches between the transients of its two ends";
    return;
  }
  const bool counted = !block.in_batches || !block.run.stream.empty();
  if (!counted || block.samples <= 0.0 || block.seconds <= 0.0)
    block.rejected = "the number of its samples is not known";
}

bool records_miss(std::span<const Delivery> deliveries) {
  for (std::size_t i = 1; i < deliveries.size(); ++i) {
    if (deliveries[i].wait.batch != deliveries[i - 1].wait.batch + 1) return true;
  }
  return false;
}

/// Leaves the interrupted steps out of a block in which no queue filled up meanwhile.
void take_out(std::span<const Delivery> deliveries, const LoaderFacts& loader,
              const std::vector<std::size_t>& interrupted, PhaseBlock& block) {
  for (const std::size_t i : interrupted) {
    const record::WaitRecord& wait = deliveries[i].wait;
    block.seconds -= static_cast<double>(wait.end_ns - deliveries[i - 1].wait.end_ns) * 1e-9;
    block.wait_seconds -= static_cast<double>(wait.end_ns - wait.begin_ns) * 1e-9;
    block.late_seconds -= seconds_until_made(deliveries[i]);
    block.cpu_seconds -= std::max(0.0, cpu_between(deliveries[i - 1], deliveries[i]));
    if (block.made_cpu_s >= 0.0) block.made_cpu_s -= static_cast<double>(deliveries[i].made.cpu_ns) * 1e-9;
    if (block.made_wall_s >= 0.0) block.made_wall_s -= making_s(deliveries[i]);
    block.samples -= samples_of(deliveries[i], loader);
    --block.batches;
    ++block.left_out;
  }
  if (block.batches < k_fewest_in_block) block.rejected = "too few batches between evaluations or checkpoints";
}

/// What the makers of the batches that count have found.
void take_evidence(std::span<const Delivery> deliveries, const LoaderFacts& loader,
                   const std::vector<BlockWindow>& pieces, std::size_t bunch, const BlockEvidence& evidence,
                   const FirstReads& first_reads, PhaseBlock& block) {
  std::uint64_t begin_ns = UINT64_MAX;
  std::uint64_t end_ns = 0;
  for (const BlockWindow& piece : pieces) {
    for (std::size_t i = piece.first + bunch; i <= piece.last; ++i) {
      take_evidence(deliveries[i], samples_of(deliveries[i], loader), evidence, block);
      if (!deliveries[i].made_known) continue;
      begin_ns = std::min(begin_ns, deliveries[i].made.begin_ns);
      end_ns = std::max(end_ns, deliveries[i].made.end_ns);
    }
  }
  if (block.run.phase == Phase::cold) block.first_reads = first_reads.share(begin_ns, end_ns);
}

PhaseBlock block_of(const Consumer& consumer, const Pass& pass, const SegmentRun& run, const BlockEvidence& evidence,
                    const std::vector<Interruption>& interruptions, const FirstReads& first_reads) {
  PhaseBlock block;
  block.run = run;
  const std::span<const Delivery> deliveries = deliveries_of(pass, run);
  if (deliveries.empty() || deliveries.size() < run.batches || records_miss(deliveries)) {
    block.rejected = "it was cut short";
    return block;
  }
  const auto loader = consumer.loaders.find(pass.loader_id);
  const LoaderFacts facts = loader != consumer.loaders.end() ? loader->second : LoaderFacts{};
  const BlockWindow window = window_of(consumer, pass, deliveries, run, facts, evidence);
  const bool in_bunches = run.phase != Phase::synthetic && run.workers > 0;
  const std::size_t bunch = in_bunches ? static_cast<std::size_t>(run.workers) : 1;
  const bool is_long = !window.empty && window.last > window.first;
  const auto interrupted = is_long ? interrupted_steps(deliveries, window, interruptions) : std::vector<std::size_t>{};
  const bool in_pieces = in_bunches && run.stream.empty() && !interrupted.empty();
  std::vector<BlockWindow> pieces;
  if (in_pieces) {
    pieces = pieces_of(deliveries, window, interrupted);
  } else if (!window.empty) {
    pieces = {window};
  }
  measure(deliveries, facts, pieces, bunch, block);
  if (block.rejected.empty() || window.empty) {
    const double waited = window.empty ? 0.0 : block.wait_seconds / block.seconds;
    if (std::string stock = lived_on_stock(consumer, pass, run, waited); !stock.empty()) block.rejected = stock;
  }
  if (!block.rejected.empty()) return block;
  if (!interrupted.empty() && !in_pieces) {
    if (in_bunches) {  // a stream's workers went on meanwhile, and what came after it came faster
      block.rejected = "an evaluation or a checkpoint lay within it";
    } else {
      take_out(deliveries, facts, interrupted, block);
    }
    if (!block.rejected.empty()) return block;
  }
  if (in_bunches && run.stream.empty() && interrupted.empty()) {
    go_by_production(pass, deliveries, facts, window, block);
  }
  take_evidence(deliveries, facts, pieces, bunch, evidence, first_reads, block);
  return block;
}

}  // namespace

std::vector<SegmentRun> segments_of(const record::ProcessRecording& process) {
  std::vector<SegmentRun> runs;
  for (const record::TextEntry& entry : process.texts) {
    if (entry.kind != record::TextKind::segment) continue;
    const json text = json::parse(entry.json, nullptr, /*allow_exceptions=*/false);
    if (!text.is_object()) continue;
    SegmentRun run;
    run.segment = static_cast<std::uint32_t>(natural(text, "segment"));
    run.phase = static_cast<Phase>(natural(text, "phase"));
    run.round = static_cast<std::uint32_t>(natural(text, "round"));
    run.iterator_id = natural(text, "iterator_id");
    run.first = natural(text, "first");
    run.batches = natural(text, "batches");
    run.workers = natural(text, "workers");
    run.argument = natural(text, "argument");
    run.begin_ns = natural(text, "t_ns");
    const auto stream = text.find("stream");
    if (stream != text.end() && stream->is_string()) run.stream = stream->get<std::string>();
    runs.push_back(run);
  }
  return runs;
}

std::vector<PhaseBlock> phase_blocks(const Consumer& consumer, const std::vector<record::ProcessRecording>& processes) {
  std::vector<PhaseBlock> blocks;
  std::map<std::uint64_t, BlockEvidence> evidence;
  const std::vector<Interruption> interruptions = interruptions_of(consumer, processes);
  const FirstReads first_reads(processes);
  for (const record::ProcessRecording& process : processes) {
    if (process.info.pid != consumer.pid) continue;
    for (const SegmentRun& run : segments_of(process)) {
      const auto pass = std::find_if(consumer.passes.begin(), consumer.passes.end(),
                                     [&](const Pass& candidate) { return candidate.iterator_id == run.iterator_id; });
      if (pass == consumer.passes.end()) continue;
      if (!evidence.contains(run.iterator_id)) evidence[run.iterator_id] = evidence_of(consumer, *pass, processes);
      blocks.push_back(block_of(consumer, *pass, run, evidence[run.iterator_id], interruptions, first_reads));
    }
  }
  return blocks;
}

std::vector<Stretch> found_between_blocks(const Consumer& consumer,
                                          const std::vector<record::ProcessRecording>& processes) {
  std::vector<Stretch> found;
  const bool is_stream = std::any_of(processes.begin(), processes.end(), [&](const record::ProcessRecording& process) {
    const auto runs = process.info.pid == consumer.pid ? segments_of(process) : std::vector<SegmentRun>{};
    return std::any_of(runs.begin(), runs.end(), [](const SegmentRun& run) { return !run.stream.empty(); });
  });
  if (!is_stream) return found;
  for (const PhaseBlock& block : phase_blocks(consumer, processes)) {
    const bool counts = block.run.phase == Phase::as_is && !block.run.stream.empty() && block.rejected.empty();
    if (counts) found.push_back({block.from_ns, block.to_ns});
  }
  return found;
}

}  // namespace stallcast
