/// Rates and points of a measured run, and what its blocks tell beside them.
#include "analyzer/blocks/differential.hpp"

#include <algorithm>
#include <cmath>

#include "analyzer/blocks/constants.hpp"
#include "analyzer/blocks/rounds.hpp"
#include "analyzer/load/phase_name.hpp"
#include "analyzer/statistics/statistics.hpp"
#include "analyzer/steps/rank_view.hpp"

namespace stallcast::sections {
namespace {

using record::Phase;

void add_points(const PhaseRounds& data, Profile& profile) {
  for (const auto& [setting, rounds] : data.settings) {
    if (rounds.empty()) continue;
    Point point;
    point.phase = phase_name(setting.phase);
    point.method = "differential";
    if (profile.job.num_workers) point.setting["workers"] = std::to_string(setting.workers);
    if (setting.at_once > 0) point.setting["prefetch"] = "1";  // n at a time: as n workers that prefetch one each
    if (setting.phase == Phase::half_cached) point.setting["cached"] = "0.5";
    if (setting.phase == Phase::perturb_read)
      point.setting["added_s_per_read"] = std::to_string(static_cast<double>(setting.argument) * 1e-9);
    if (setting.phase == Phase::perturb_cpu)
      point.setting["added_cpu_s_per_sample"] = std::to_string(static_cast<double>(setting.argument) * 1e-9);
    const bool extra = setting.phase == Phase::half_cached || setting.argument != 0 || setting.at_once > 0;
    const Scatter others = extra ? scatter_beside(data, setting) : Scatter{};
    point.estimate = data.in_batches ? phase_rate(data, setting.phase)
                                     : rate_of(rounds, data.correlation, content_sd(data, setting), others);
    const auto premises = data.premises.find(setting.phase);
    if (premises != data.premises.end() && !premises->second.empty()) point.premises.push_back(premises->second.back());
    profile.points.push_back(std::move(point));
  }
}

/// Seconds per sample in the blocks of a phase; `seconds` of a round, `what` in words.
MeasuredEstimate<SecondsPerSample> time_in(const PhaseRounds& data, Phase phase, double RoundCell::*seconds,
                                           const char* what) {
  const Rounds* rounds = rounds_of(data, phase);
  if (rounds == nullptr) return MeasuredEstimate<SecondsPerSample>::absent(why_absent(data, phase));
  std::vector<double> values;
  for (const auto& [round, cell] : *rounds) {
    if (cell.*seconds >= 0.0) values.push_back(cell.*seconds / cell.samples);
  }
  if (values.size() < 2) {
    return MeasuredEstimate<SecondsPerSample>::absent(std::string("fewer than two ") + phase_name(phase) +
                                                      " blocks show " + what);
  }
  const Estimate<double> mean = mean_of(values);
  return Estimate<SecondsPerSample>{SecondsPerSample(mean.mean), SecondsPerSample(std::max(0.0, mean.ci95_low)),
                                    SecondsPerSample(mean.ci95_high), mean.n};
}

/// One premise per phase: held by all of its blocks, or the first that failed.
void add_premises(const PhaseRounds& data, Profile& profile) {
  for (const auto& [phase, premises] : data.premises) {
    if (premises.empty() || premises.front().check == "none") continue;
    const auto failed = std::find_if(premises.begin(), premises.end(), [](const Premise& p) { return !p.holds; });
    Premise shown = failed != premises.end() ? *failed : premises.back();
    const auto held = std::count_if(premises.begin(), premises.end(), [](const Premise& p) { return p.holds; });
    shown.seen += "; holds in " + std::to_string(held) + " of " + std::to_string(premises.size()) + " blocks";
    shown.holds = mostly_holds(premises);
    profile.premises.push_back(std::move(shown));
  }
}

/// Whether nothing was resident at any open of the cold blocks that count; `first`: of those whose samples this run had
/// not read before.
bool opened_cold(const PhaseRounds& data, bool first) {
  double opened = 0.0;
  double resident = 0.0;
  for (const PhaseBlock& block : data.blocks) {
    if (block.run.phase != Phase::cold || !block.rejected.empty()) continue;
    if (first && block.first_reads < k_first_reads_of_block) continue;
    opened += block.evidence.opened_bytes;
    resident += block.evidence.resident_bytes + block.evidence.evicted_bytes;
  }
  return opened > 0.0 && resident <= k_most_resident_as_found * opened;
}

/// Whether the cold blocks are what the user has today: nothing was in memory at their opens, or nothing that the run
/// itself had not brought in, and the steps as found say no other.
bool found_cold(const PhaseRounds& data, const Rates& rates) {
  if (opened_cold(data, false)) return true;
  if (!rates.cold || !rates.as_is || !opened_cold(data, true)) return false;
  const bool inside = rates.as_is->ci95_low <= rates.cold->mean && rates.cold->mean <= rates.as_is->ci95_high;
  return inside || std::abs(rates.as_is->mean / rates.cold->mean - 1.0) <= k_same_state;
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

/// What a sample costs the consumer and the workers, by state.
void fill_costs(const PhaseRounds& data, Resources& resources) {
  const char* const consumer_clock = "the CPU clock of the consumer";
  const char* const worker_clock = "the CPU clock of the workers";
  const char* const making = "how batches were made";
  // What takes a batch over is not in a synthetic block: what the consumer computes there is the step.
  resources.step_cpu = time_in(data, Phase::synthetic, &RoundCell::cpu_seconds, consumer_clock);
  resources.consumer_cpu_cached = time_in(data, Phase::cached, &RoundCell::cpu_seconds, consumer_clock);
  resources.worker_cpu_cached = time_in(data, Phase::cached, &RoundCell::made_cpu_s, worker_clock);
  resources.worker_cpu_cold = time_in(data, Phase::cold, &RoundCell::made_cpu_s, worker_clock);
  resources.worker_wall_cached = time_in(data, Phase::cached, &RoundCell::made_wall_s, making);
  resources.worker_wall_cold = time_in(data, Phase::cold, &RoundCell::made_wall_s, making);
}

/// Of a job whose samples are made of no file the cached step is the step as found, and no part of it is fetching. Its
/// rate is that of all steps, which are more than those of its blocks, unless these contradict them.
void tell_without_files(const PhaseRounds& data, Profile& profile) {
  Stalls& stalls = profile.stalls;
  std::erase_if(profile.issues,
                [](const DataIssue& issue) { return issue.id == "no-cached-blocks" || issue.id == "no-cold-blocks"; });
  if (profile.rates.cached && stalls.prep) {
    const auto& found = profile.rates.as_is;
    const auto& cached = *profile.rates.cached;
    const bool agree = found && found->ci95_low <= cached.ci95_high && cached.ci95_low <= found->ci95_high;
    if (!agree) profile.rates.as_is = profile.rates.cached;
    stalls.as_is_fetch = Estimate<Fraction>{0.0, 0.0, 0.0, stalls.prep->n};
    stalls.as_is_prep = stalls.prep;
    stalls.as_is_receive = stalls.receive;
    stalls.as_is_interference = stalls.interference;
  }
  stalls.fetch = stalls.prep = stalls.receive = stalls.interference =
      MeasuredEstimate<Fraction>::absent(why_absent(data, Phase::cold));
}

/// A run that found its files in memory, and whose recorded times do not explain its steps: the steps of blocks from
/// memory are such steps, and divide by themselves. Of fetching there is no more than reads take of the making.
void divide_found_in_memory(const PhaseRounds& data, Profile& profile) {
  Stalls& stalls = profile.stalls;
  const Resources& resources = profile.resources;
  const bool unexplained = std::any_of(profile.issues.begin(), profile.issues.end(),
                                       [](const DataIssue& issue) { return issue.id == "replay-disagrees"; });
  const bool in_memory = resources.bytes_from_storage && *resources.bytes_from_storage <= k_most_stored_if_cached;
  if (!unexplained || !in_memory || !resources.read || !resources.worker_wall || !stalls.as_is_wait) return;
  if (!profile.rates.cached || !profile.rates.as_is) return;
  if (std::abs(profile.rates.as_is->mean / profile.rates.cached->mean - 1.0) > k_same_state) return;
  Stalls cached;
  fill_split(data, Phase::cached, cached);
  if (!cached.prep) return;
  const double reads = std::min(1.0, resources.read->mean.value() / resources.worker_wall->mean.value());
  stalls.as_is_fetch = Estimate<Fraction>{0.0, 0.0, reads * stalls.as_is_wait->mean, cached.prep->n};
  stalls.method = cached.method;
  stalls.as_is_prep = cached.prep;
  stalls.as_is_receive = cached.receive;
  stalls.as_is_interference = cached.interference;
}

}  // namespace

bool fill_differential(const std::vector<Launch>& launches, Profile& profile) {
  const PhaseRounds data = phase_rounds(launches);
  if (data.blocks.empty()) return false;
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
  if (!data.in_batches) fill_costs(data, profile.resources);
  Stalls& stalls = profile.stalls;
  fill_split(data, data.without_files ? Phase::cached : Phase::cold, stalls);
  // What a cold block opens says nothing of an emulated cache.
  const bool cache_emulated = profile.emulation.settings.contains("cache");
  fill_stored(*launches.front().run, data, profile);
  const bool maps_found_cold = fill_mapped(launches, data, profile);
  if ((found_cold(data, rates) || maps_found_cold) && !cache_emulated && rates.cold) {
    rates.as_is = rates.cold;
    // Else what was attributed stands: reads past the page cache have no cached blocks.
    if (stalls.fetch && stalls.prep) {
      stalls.as_is_fetch = stalls.fetch;
      stalls.as_is_prep = stalls.prep;
      stalls.as_is_receive = stalls.receive;
      stalls.as_is_interference = stalls.interference;
      compare_with_attributed(attributed, profile);
    }
  }
  if (data.without_files) tell_without_files(data, profile);
  if (!stalls.as_is_prep && data.stream.empty()) divide_found_in_memory(data, profile);
  if (!data.stream.empty()) fill_stream(data, profile);
  add_phase_issues(data, profile);
  return true;
}

}  // namespace stallcast::sections
