#include "analyzer/blocks/rounds.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include "analyzer/blocks/constants.hpp"
#include "analyzer/load/phase_name.hpp"

namespace stallcast::sections {

using record::Phase;

namespace {

constexpr const char* k_without_files = "its samples are made of no file";
constexpr const char* k_uncounted = "the loader does not say how many samples a batch has";

void count_block(const PhaseBlock& block, Phase phase, int rank, PhaseRounds& out) {
  const SegmentRun& run = block.run;
  RoundCell& cell = out.settings[{phase, run.makers(), run.argument, run.at_once}][run.round];
  cell.samples += block.samples;
  cell.seconds += block.seconds;
  cell.wait_seconds += block.wait_seconds;
  cell.late_seconds += block.late_seconds;
  const bool cpu_known = cell.cpu_seconds >= 0.0 && block.cpu_seconds >= 0.0;
  cell.cpu_seconds = cpu_known ? cell.cpu_seconds + block.cpu_seconds : -1.0;
  const bool made_known = cell.made_cpu_s >= 0.0 && block.made_cpu_s > 0.0;
  cell.made_cpu_s = made_known ? cell.made_cpu_s + block.made_cpu_s : -1.0;
  const bool wall_known = cell.made_wall_s >= 0.0 && block.made_wall_s > 0.0;
  cell.made_wall_s = wall_known ? cell.made_wall_s + block.made_wall_s : -1.0;
  add_content(block.content, cell.content);
  cell.ranks += cell.last_rank != rank ? 1 : 0;
  cell.last_rank = rank;
}

/// Where cold cannot be made or proven (files of others, FUSE, object stores), the first reading of a sample is the
/// nearest thing to it.
void try_first_touch(const PhaseBlock& block, int rank, PhaseRounds& out) {
  const Premise premise = check_first_touch(block);
  if (!premise.holds) return;
  out.premises[Phase::first_touch].push_back(premise);
  count_block(block, Phase::first_touch, rank, out);
}

/// A hold is short, and what storage saved up before it makes it fast. Where the cold blocks of some rounds tell what
/// every rank's loader can deliver (PhaseBlock::produced), holds do not; else holds alone do.
void leave_to_one(std::vector<std::vector<PhaseBlock>>& ranks) {
  std::map<std::uint32_t, std::size_t> told;  // ranks whose block tells it, by round
  const auto counts = [](const PhaseBlock& block) {
    return block.run.phase == Phase::supply_cold && block.rejected.empty();
  };
  for (const std::vector<PhaseBlock>& blocks : ranks) {
    for (const PhaseBlock& block : blocks) {
      if (counts(block) && block.produced && check_premise(block).holds) ++told[block.run.round];
    }
  }
  const auto whole = std::count_if(told.begin(), told.end(), [&](const auto& of) { return of.second == ranks.size(); });
  const bool by_blocks = whole >= 2;
  for (std::vector<PhaseBlock>& blocks : ranks) {
    std::erase_if(blocks, [&](const PhaseBlock& block) { return counts(block) && block.produced && !by_blocks; });
    for (PhaseBlock& block : blocks) {
      if (by_blocks && counts(block) && !block.produced) block.rejected = "cold blocks tell it by more batches";
    }
  }
}

/// `number`: of the rank, over all launches.
void collect_rank(int number, std::vector<PhaseBlock>& blocks, PhaseRounds& out) {
  for (PhaseBlock& block : blocks) {
    const Phase phase = block.run.phase;
    if (!block.run.stream.empty()) out.stream = block.run.stream;
    out.in_batches = out.in_batches || block.in_batches;
    out.all_workers = std::max(out.all_workers, block.run.workers);  // a loader of threads does not say
    if (block.rejected.empty()) {
      const Premise premise = check_premise(block);
      out.premises[phase].push_back(premise);
      if (!premise.holds) {
        block.rejected = std::string(k_premise_fails) + ": " + premise.seen;
        if (phase == Phase::cold) try_first_touch(block, number, out);
      }
    }
    if (block.rejected.empty()) {
      if (phase == Phase::as_is && !block.run.stream.empty()) try_first_touch(block, number, out);
      count_block(block, phase, number, out);
    } else {
      out.rejected[phase] = block.rejected;
    }
    out.blocks.push_back(std::move(block));
  }
}

/// Moves the times of a setting's rounds to samples of mean content. What a sample takes longer is waited for: where it
/// is not, the times do not follow the content.
void adjust_to_content(const Setting& setting, Rounds& rounds, PhaseRounds& out) {
  BlockContent all;
  double samples = 0.0;
  double seconds = 0.0;
  for (const auto& [round, cell] : rounds) {
    add_content(cell.content, all);
    samples += cell.samples;
    seconds += cell.seconds;
  }
  if (!(out.content.bytes > 0.0) || !(all.bytes > 0.0) || setting.phase == Phase::synthetic) return;
  const double share = elasticity(all, all.bytes / samples, seconds / samples);
  if (share <= 0.0) return;
  out.elasticities[setting] = share;
  for (auto& [round, cell] : rounds) {
    const double more = share * (out.content.bytes * cell.samples / cell.content.bytes - 1.0) * cell.seconds;
    cell.seconds += more;
    cell.wait_seconds = std::max(0.0, cell.wait_seconds + more);
    cell.late_seconds = std::max(0.0, cell.late_seconds + more);
  }
}

void finish_rounds(std::size_t ranks, PhaseRounds& out) {
  for (auto& [setting, rounds] : out.settings) {
    std::erase_if(rounds, [&](const auto& item) { return item.second.ranks != static_cast<int>(ranks); });
    adjust_to_content(setting, rounds, out);
    for (auto& [round, cell] : rounds) {
      cell.seconds /= static_cast<double>(cell.ranks);
      cell.wait_seconds /= static_cast<double>(cell.ranks);
      cell.late_seconds /= static_cast<double>(cell.ranks);
    }
  }
}

/// Of all ranks together; not known where it is not of one of them.
MeanContent mean_of_contents(const std::vector<MeanContent>& contents) {
  MeanContent all;
  double variance = 0.0;
  const auto n = static_cast<double>(contents.size());
  for (const MeanContent& content : contents) {
    if (!(content.bytes > 0.0)) return {};
    all.bytes += content.bytes / n;
    variance += content.relative_sd * content.relative_sd / (n * n);
  }
  all.relative_sd = std::sqrt(variance);
  return all;
}

/// How much neighbouring rounds resemble each other. All phases run on the same machine, so what each of them says is
/// averaged: a few rounds of one phase alone say little. It counts four fifths of its standard error higher than
/// estimated, as too narrow an interval is the worse mistake (k_correlation_margin).
double correlation_of(const Settings& settings) {
  double sum = 0.0;
  double values = 0.0;
  int phases = 0;
  for (const auto& [setting, rounds] : settings) {
    // A hold makes few batches: their own noise hides what rounds have in common.
    if (rounds.size() < k_fewest_rounds_to_correlate || is_supply(setting.phase)) continue;
    sum += neighbour_correlation(log_rates(rounds));
    values += static_cast<double>(rounds.size());
    ++phases;
  }
  return phases > 0 ? std::clamp(sum / phases + k_correlation_margin / std::sqrt(values), 0.0, k_most_correlated_rounds)
                    : 0.0;
}

}  // namespace

void leave_to_whole_shards(std::vector<std::vector<PhaseBlock>>& ranks) {
  std::map<std::uint32_t, std::set<std::size_t>> told;  // ranks with whole shards, by round
  const auto is_cold = [](const PhaseBlock& block) {
    return block.run.phase == Phase::cold && block.run.iterable && block.rejected.empty();
  };
  const auto told_beside = [](const PhaseBlock& block) {  // of the same deliveries: what the loader can deliver
    return block.run.phase == Phase::supply_cold && block.produced && block.run.iterable && block.rejected.empty();
  };
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (const PhaseBlock& block : ranks[rank]) {
      if (is_cold(block) && block.in_shards && check_premise(block).holds) told[block.run.round].insert(rank);
    }
  }
  const auto by_all = [&](const auto& round) { return round.second.size() == ranks.size(); };
  if (std::count_if(told.begin(), told.end(), by_all) < 2) return;
  for (std::vector<PhaseBlock>& blocks : ranks) {
    for (PhaseBlock& block : blocks) {
      if ((is_cold(block) || told_beside(block)) && !block.in_shards)
        block.rejected = "it lies within shards; other blocks hold whole ones";
    }
  }
}

bool mostly_holds(const std::vector<Premise>& premises) {
  const auto held = std::count_if(premises.begin(), premises.end(), [](const Premise& p) { return p.holds; });
  return premises.empty() || 2 * held > static_cast<std::ptrdiff_t>(premises.size());
}

std::vector<double> log_rates(const Rounds& rounds) {
  std::vector<double> logs;
  for (const auto& [round, cell] : rounds) logs.push_back(std::log(cell.samples / cell.seconds));
  return logs;
}

PhaseRounds phase_rounds(const std::vector<Launch>& launches) {
  PhaseRounds data;
  data.without_files = std::all_of(launches.begin(), launches.end(), [](const Launch& launch) {
    return std::all_of(launch.ranks.begin(), launch.ranks.end(),
                       [](const RankView& rank) { return rank.consumer->without_files; });
  });
  std::size_t most_ranks = 0;
  int number = 0;
  std::vector<MeanContent> contents;
  for (const Launch& launch : launches) {
    std::vector<std::vector<PhaseBlock>> blocks;
    for (const RankView& rank : launch.ranks) blocks.push_back(phase_blocks(*rank.consumer, launch.run->processes));
    leave_to_whole_shards(blocks);
    leave_to_one(blocks);
    for (std::size_t i = 0; i < launch.ranks.size(); ++i) {
      const RankView& rank = launch.ranks[i];
      collect_rank(number++, blocks[i], data);
      const auto in_data_set = static_cast<double>(std::max<std::int64_t>(0, rank.window.loader.dataset_samples));
      contents.push_back(mean_content(*rank.consumer, in_data_set));
      const std::int64_t workers = rank.window.loader.num_workers;
      data.all_workers = std::max(data.all_workers, static_cast<std::uint64_t>(std::max<std::int64_t>(0, workers)));
    }
    most_ranks = std::max(most_ranks, launch.ranks.size());
  }
  data.content = mean_of_contents(contents);
  finish_rounds(most_ranks, data);
  data.correlation = correlation_of(data.settings);
  return data;
}

double content_sd(const PhaseRounds& data, const Setting& setting) {
  const auto found = data.elasticities.find(setting);
  return found != data.elasticities.end() ? found->second * data.content.relative_sd : 0.0;
}

Scatter scatter_beside(const PhaseRounds& data, const Setting& setting) {
  Scatter widest;
  for (const Phase phase : {Phase::cold, Phase::cached}) {
    const Rounds* rounds = rounds_of(data, phase);
    const bool itself = setting == Setting{phase, data.all_workers};
    if (rounds == nullptr || itself || rounds->size() < 2) continue;
    const std::vector<double> logs = log_rates(*rounds);
    const auto count = static_cast<double>(logs.size());
    const double mean = std::accumulate(logs.begin(), logs.end(), 0.0) / count;
    double square = 0.0;
    for (const double value : logs) square += (value - mean) * (value - mean);
    const Scatter scatter{square / (count - 1.0), count - 1.0};
    if (scatter.variance > widest.variance) widest = scatter;
  }
  return widest;
}

MeasuredEstimate<SamplesPerSecond> rate_of(const Rounds& rounds, double correlation, double content_sd,
                                           const Scatter& others) {
  constexpr double k_95 = 1.96;
  double samples = 0.0;
  double seconds = 0.0;
  for (const auto& [round, cell] : rounds) {
    samples += cell.samples;
    seconds += cell.seconds;
  }
  const std::vector<double> logs = log_rates(rounds);
  if (logs.size() < 2) return MeasuredEstimate<SamplesPerSecond>::absent("fewer than two rounds gave a valid block");
  const Estimate<double> spread = mean_of(logs, others);
  const double of_rounds = (spread.ci95_high - spread.ci95_low) / 2.0 * widening(correlation, spread.n);
  const double half = std::hypot(of_rounds, k_95 * content_sd);
  const double mean = samples / seconds;
  return Estimate<SamplesPerSecond>{SamplesPerSecond(mean), SamplesPerSecond(mean * std::exp(-half)),
                                    SamplesPerSecond(mean * std::exp(half)), static_cast<std::int64_t>(logs.size())};
}

const Rounds* rounds_of(const PhaseRounds& data, Phase phase) {
  const auto found = data.settings.find({phase, data.all_workers});
  return found != data.settings.end() && !found->second.empty() ? &found->second : nullptr;
}

std::string why_absent(const PhaseRounds& data, Phase phase) {
  if (data.without_files && (phase == Phase::cold || phase == Phase::supply_cold)) return k_without_files;
  const auto reason = data.rejected.find(phase);
  if (reason != data.rejected.end()) return "no block of this state counts: " + reason->second;
  if (!data.stream.empty() && phase != Phase::as_is && phase != Phase::synthetic) return data.stream;
  return std::string("no block of the state ") + phase_name(phase) + " was run";
}

MeasuredEstimate<SamplesPerSecond> phase_rate(const PhaseRounds& data, Phase phase) {
  const Rounds* rounds = rounds_of(data, phase);
  if (rounds == nullptr) return MeasuredEstimate<SamplesPerSecond>::absent(why_absent(data, phase));
  if (data.in_batches) return MeasuredEstimate<SamplesPerSecond>::absent(k_uncounted);
  if (const auto seen = data.premises.find(phase); seen != data.premises.end() && !mostly_holds(seen->second)) {
    const auto failed =
        std::find_if(seen->second.rbegin(), seen->second.rend(), [](const Premise& p) { return !p.holds; });
    return MeasuredEstimate<SamplesPerSecond>::absent("its premise does not hold in most blocks: " + failed->seen);
  }
  return rate_of(*rounds, data.correlation, content_sd(data, {phase, data.all_workers}));
}

}  // namespace stallcast::sections
