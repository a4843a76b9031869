/// Rates and stalls of a phased run (method: differential), paired over the rounds.
#include <algorithm>
#include <cmath>
#include <map>

#include "analyzer/phase_blocks.hpp"
#include "analyzer/sections.hpp"
#include "analyzer/statistics.hpp"

namespace stallcast::sections {
namespace {

using record::Phase;

constexpr double k_outlier = 0.25;  ///< a block this far (log) from the median of its phase is named
constexpr double k_same_wait = 0.02;
constexpr std::size_t k_rounds_to_correlate = 4;
constexpr double k_most_correlated = 0.7;  ///< beyond it a few rounds say next to nothing

/// What identifies one kind of measurement: phase, workers, argument.
struct Setting {
  Phase phase = Phase::as_is;
  std::uint64_t workers = 0;
  std::uint64_t argument = 0;
  auto operator<=>(const Setting&) const = default;
};

/// One round's blocks of one setting over all ranks.
struct RoundCell {
  double samples = 0.0;
  double seconds = 0.0;       ///< mean over ranks
  double wait_seconds = 0.0;  ///< of them, likewise
  int ranks = 0;
};

using Rounds = std::map<std::uint32_t, RoundCell>;
using Settings = std::map<Setting, Rounds>;

struct Collected {
  Settings settings{};
  std::vector<PhaseBlock> blocks{};
  std::map<Phase, std::string> rejected{};  ///< last reason per phase
  std::map<Phase, std::vector<Premise>> premises{};
  std::uint64_t all_workers = 0;
  double correlation = 0.0;  ///< of neighbouring rounds: the machine's speed wanders
};

void collect_rank(const RankView& rank, const RunData& run, Collected& out) {
  for (PhaseBlock& block : phase_blocks(*rank.consumer, run.processes)) {
    const Phase phase = block.run.phase;
    if (block.rejected.empty()) {
      const Premise premise = check_premise(block);
      out.premises[phase].push_back(premise);
      if (!premise.holds) block.rejected = "its premise does not hold: " + premise.seen;
    }
    if (!block.rejected.empty()) {
      out.rejected[phase] = block.rejected;
    } else {
      const Setting setting{phase, block.run.workers, block.run.argument};
      RoundCell& cell = out.settings[setting][block.run.round];
      cell.samples += block.samples;
      cell.seconds += block.seconds;
      cell.wait_seconds += block.wait_seconds;
      ++cell.ranks;
    }
    out.blocks.push_back(std::move(block));
  }
}

/// Ranks run at the same time: their samples add up, their times are averaged. A round that a rank lacks is dropped.
void finish_rounds(std::size_t ranks, Collected& out) {
  for (auto& [setting, rounds] : out.settings) {
    std::erase_if(rounds, [&](const auto& item) { return item.second.ranks != static_cast<int>(ranks); });
    for (auto& [round, cell] : rounds) {
      cell.seconds /= static_cast<double>(cell.ranks);
      cell.wait_seconds /= static_cast<double>(cell.ranks);
    }
  }
}

std::vector<double> log_rates(const Rounds& rounds) {
  std::vector<double> logs;
  for (const auto& [round, cell] : rounds) logs.push_back(std::log(cell.samples / cell.seconds));
  return logs;
}

/// How much neighbouring rounds resemble each other. All phases run on the same machine, so what each of them says is
/// averaged: a few rounds of one phase alone say little. It counts half its standard error higher than estimated, as
/// too narrow an interval is the worse mistake (tests/analyzer/phases_test.cpp holds the coverage).
double correlation_of(const Settings& settings) {
  double sum = 0.0;
  double values = 0.0;
  int phases = 0;
  for (const auto& [setting, rounds] : settings) {
    if (rounds.size() < k_rounds_to_correlate) continue;
    sum += neighbour_correlation(log_rates(rounds));
    values += static_cast<double>(rounds.size());
    ++phases;
  }
  return phases > 0 ? std::clamp(sum / phases + 0.5 / std::sqrt(values), 0.0, k_most_correlated) : 0.0;
}

/// Pooled rate with the interval of the log rates over rounds.
MeasuredEstimate<SamplesPerSecond> rate_of(const Rounds& rounds, double correlation) {
  double samples = 0.0;
  double seconds = 0.0;
  for (const auto& [round, cell] : rounds) {
    samples += cell.samples;
    seconds += cell.seconds;
  }
  const std::vector<double> logs = log_rates(rounds);
  if (logs.size() < 2) return MeasuredEstimate<SamplesPerSecond>::absent("fewer than two rounds gave a valid block");
  const Estimate<double> spread = mean_of(logs);
  const double half = (spread.ci95_high - spread.ci95_low) / 2.0 * widening(correlation, spread.n);
  const double mean = samples / seconds;
  return Estimate<SamplesPerSecond>{SamplesPerSecond(mean), SamplesPerSecond(mean * std::exp(-half)),
                                    SamplesPerSecond(mean * std::exp(half)), static_cast<std::int64_t>(logs.size())};
}

const Rounds* rounds_of(const Collected& data, Phase phase) {
  const auto found = data.settings.find({phase, data.all_workers, 0});
  return found != data.settings.end() && !found->second.empty() ? &found->second : nullptr;
}

std::string why_absent(const Collected& data, Phase phase) {
  const auto reason = data.rejected.find(phase);
  if (reason != data.rejected.end()) return "no block of this phase counts: " + reason->second;
  return std::string("no block of phase ") + phase_name(phase) + " was run";
}

MeasuredEstimate<SamplesPerSecond> phase_rate(const Collected& data, Phase phase) {
  const Rounds* rounds = rounds_of(data, phase);
  if (rounds == nullptr) return MeasuredEstimate<SamplesPerSecond>::absent(why_absent(data, phase));
  return rate_of(*rounds, data.correlation);
}

/// The blocks of one round that a split needs, each in seconds per sample.
struct Trio {
  double cold = 0.0;
  double cached = 0.0;
  double cached_wait = 0.0;
  double synthetic = 0.0;
};

/// Rounds that hold a valid block of all three phases: what drifts between rounds cancels within them.
std::vector<Trio> paired_rounds(const Collected& data) {
  std::vector<Trio> trios;
  const Rounds* cold = rounds_of(data, Phase::cold);
  const Rounds* cached = rounds_of(data, Phase::cached);
  const Rounds* synthetic = rounds_of(data, Phase::synthetic);
  if (cold == nullptr || cached == nullptr || synthetic == nullptr) return trios;
  for (const auto& [round, cell] : *cold) {
    const auto with = cached->find(round);
    const auto alone = synthetic->find(round);
    if (with == cached->end() || alone == synthetic->end()) continue;
    trios.push_back({cell.seconds / cell.samples, with->second.seconds / with->second.samples,
                     with->second.wait_seconds / with->second.samples, alone->second.seconds / alone->second.samples});
  }
  return trios;
}

template <class Value>
MeasuredEstimate<Fraction> share_of_cold(const std::vector<Trio>& trios, Value value) {
  std::vector<double> shares;
  shares.reserve(trios.size());
  for (const Trio& trio : trios) shares.push_back(value(trio) / trio.cold);
  const Estimate<double> mean = mean_of(shares);
  return Estimate<Fraction>{mean.mean, std::max(-1.0, mean.ci95_low), std::min(1.0, mean.ci95_high), mean.n};
}

double difference_of(const Trio& trio) {
  return trio.cached - trio.synthetic;
}

/// What the waiting does not explain of cached - synthetic is the compute slowed by the workers. Where a device
/// computes on while the host waits, the waiting exceeds the difference, which then is all there is. Which of the two
/// holds is a property of the job: chosen round by round, the lesser of two noisy numbers would be too low on average.
double (*prep_of_rounds(const std::vector<Trio>& trios))(const Trio&) {
  double waited = 0.0;
  double difference = 0.0;
  for (const Trio& trio : trios) {
    waited += trio.cached_wait;
    difference += difference_of(trio);
  }
  if (waited > difference) return difference_of;
  return [](const Trio& trio) { return trio.cached_wait; };
}

std::string why_no_split(const Collected& data) {
  for (const Phase phase : {Phase::cold, Phase::cached, Phase::synthetic}) {
    if (rounds_of(data, phase) == nullptr) return why_absent(data, phase);
  }
  return "fewer than two rounds hold valid blocks of all the phases it needs";
}

void fill_split(const Collected& data, Stalls& stalls) {
  const std::vector<Trio> trios = paired_rounds(data);
  stalls.method = "differential";
  if (trios.size() < 2) {
    stalls.fetch = stalls.prep = stalls.interference = MeasuredEstimate<Fraction>::absent(why_no_split(data));
    return;
  }
  stalls.fetch = share_of_cold(trios, [](const Trio& t) { return t.cold - t.cached; });
  const auto prep_of = prep_of_rounds(trios);
  stalls.prep = share_of_cold(trios, prep_of);
  stalls.interference = share_of_cold(trios, [prep_of](const Trio& t) { return difference_of(t) - prep_of(t); });
}

void add_points(const Collected& data, Profile& profile) {
  for (const auto& [setting, rounds] : data.settings) {
    if (rounds.empty()) continue;
    Point point;
    point.phase = phase_name(setting.phase);
    point.method = "differential";
    point.setting["workers"] = std::to_string(setting.workers);
    if (setting.phase == Phase::half_cached) point.setting["cached"] = "0.5";
    if (setting.phase == Phase::perturb_read)
      point.setting["added_s_per_read"] = std::to_string(static_cast<double>(setting.argument) * 1e-9);
    if (setting.phase == Phase::perturb_cpu)
      point.setting["added_cpu_s_per_sample"] = std::to_string(static_cast<double>(setting.argument) * 1e-9);
    point.estimate = rate_of(rounds, data.correlation);
    const auto premises = data.premises.find(setting.phase);
    if (premises != data.premises.end() && !premises->second.empty()) point.premises.push_back(premises->second.back());
    profile.points.push_back(std::move(point));
  }
}

/// One premise per phase: held by all of its blocks, or the first that failed.
void add_premises(const Collected& data, Profile& profile) {
  for (const auto& [phase, premises] : data.premises) {
    if (premises.empty() || premises.front().check == "none") continue;
    const auto failed = std::find_if(premises.begin(), premises.end(), [](const Premise& p) { return !p.holds; });
    Premise shown = failed != premises.end() ? *failed : premises.back();
    const auto held = std::count_if(premises.begin(), premises.end(), [](const Premise& p) { return p.holds; });
    shown.seen += "; holds in " + std::to_string(held) + " of " + std::to_string(premises.size()) + " blocks";
    shown.holds = 2 * held > static_cast<std::ptrdiff_t>(premises.size());
    profile.premises.push_back(std::move(shown));
  }
}

/// Rounds that stand out are named; they stay in the estimate, whose interval shows them.
void name_outliers(const Collected& data, Profile& profile) {
  for (const auto& [setting, rounds] : data.settings) {
    if (rounds.size() < 4) continue;
    std::vector<double> logs = log_rates(rounds);
    std::nth_element(logs.begin(), logs.begin() + static_cast<std::ptrdiff_t>(logs.size() / 2), logs.end());
    const double median = logs[logs.size() / 2];
    for (const auto& [round, cell] : rounds) {
      const double off = median - std::log(cell.samples / cell.seconds);
      if (std::abs(off) < k_outlier) continue;
      const auto percent = std::to_string(static_cast<int>(std::lround(100.0 * std::abs(std::expm1(off)))));
      add_issue(profile.issues, {"outlier-round", Severity::warning, 1,
                                 "round " + std::to_string(round) + " of phase " + phase_name(setting.phase) +
                                     " took " + percent + (off > 0.0 ? " % more" : " % less") + " time than the others",
                                 "another job on this machine or its storage? see the timeline"});
    }
  }
}

/// What was run and counts for nothing, by phase, with the last reason.
void name_rejected(const Collected& data, Profile& profile) {
  std::map<Phase, std::pair<int, int>> counts;  // rejected, all
  for (const PhaseBlock& block : data.blocks) {
    auto& [rejected, all] = counts[block.run.phase];
    rejected += block.rejected.empty() ? 0 : 1;
    ++all;
  }
  for (const auto& [phase, count] : counts) {
    if (count.first == 0) continue;
    add_issue(profile.issues,
              {"blocks-rejected", Severity::info, count.first,
               std::to_string(count.first) + " of " + std::to_string(count.second) + " blocks of phase " +
                   phase_name(phase) + " count for nothing: " + data.rejected.at(phase),
               "see the premises for what was found; blocks that are too short need a longer epoch"});
  }
}

/// Cold blocks that failed because pages lay in memory which this run had not brought there, and which it left alone.
void name_foreign_pages(const Collected& data, Profile& profile) {
  int blocks = 0;
  for (const PhaseBlock& block : data.blocks) {
    const bool cold = block.run.phase == Phase::cold || block.run.phase == Phase::supply_cold;
    blocks += cold && block.evidence.foreign_bytes > k_same_wait * block.evidence.opened_bytes ? 1 : 0;
  }
  if (blocks == 0) return;
  add_issue(profile.issues, {"cold-not-ours", Severity::warning, blocks,
                             "files of cold blocks were in memory before this run read them, and stayed there",
                             "if nothing else on this machine needs them in memory, profile with --evict all"});
}

/// Nothing was resident at any open, so the cold blocks are what the user has today.
bool found_cold(const Collected& data) {
  double opened = 0.0;
  double resident = 0.0;
  for (const PhaseBlock& block : data.blocks) {
    if (block.run.phase != Phase::cold || !block.rejected.empty()) continue;
    opened += block.evidence.opened_bytes;
    resident += block.evidence.resident_bytes + block.evidence.evicted_bytes;
  }
  return opened > 0.0 && resident <= k_same_wait * opened;
}

void compare_with_attributed(const Stalls& attributed, Profile& profile) {
  const auto apart = [](const MeasuredEstimate<Fraction>& a, const MeasuredEstimate<Fraction>& b) {
    return a && b && (a->ci95_low > b->ci95_high || b->ci95_low > a->ci95_high);
  };
  const bool fetch = apart(attributed.as_is_fetch, profile.stalls.fetch);
  const bool prep = apart(attributed.as_is_prep, profile.stalls.prep);
  if (!fetch && !prep) return;
  add_issue(profile.issues, {"splits-disagree", Severity::warning, 1,
                             std::string("the attributed and the differential ") + (fetch ? "fetch" : "prep") +
                                 " stall lie outside each other's intervals",
                             "the differential one is the measurement; see points for both"});
}

}  // namespace

bool fill_differential(const RunData& run, const std::vector<RankView>& ranks, Profile& profile) {
  Collected data;
  for (const RankView& rank : ranks) {
    collect_rank(rank, run, data);
    data.all_workers = std::max(data.all_workers,
                                static_cast<std::uint64_t>(std::max<std::int64_t>(0, rank.window.loader.num_workers)));
  }
  if (data.blocks.empty()) return false;
  finish_rounds(ranks.size(), data);
  data.correlation = correlation_of(data.settings);
  const Stalls attributed = profile.stalls;
  profile.premises.clear();
  add_premises(data, profile);
  add_points(data, profile);
  Rates& rates = profile.rates;
  rates.cold = phase_rate(data, Phase::cold);
  rates.cached = phase_rate(data, Phase::cached);
  rates.synthetic = phase_rate(data, Phase::synthetic);
  rates.supply_cached = phase_rate(data, Phase::supply_cached);
  rates.supply_cold = phase_rate(data, Phase::supply_cold);
  Stalls& stalls = profile.stalls;
  fill_split(data, stalls);
  const bool cache_emulated =
      run.log.emulation.settings.contains("cache");  // what a cold block opens says nothing of it
  if (found_cold(data) && !cache_emulated && rates.cold) {
    rates.as_is = rates.cold;
    stalls.as_is_fetch = stalls.fetch;
    stalls.as_is_prep = stalls.prep;
    stalls.as_is_interference = stalls.interference;
    compare_with_attributed(attributed, profile);
  }
  name_outliers(data, profile);
  name_rejected(data, profile);
  name_foreign_pages(data, profile);
  return true;
}

}  // namespace stallcast::sections
