/// Rates, stalls and points of a passive recording (method: attributed).
#include "analyzer/stalls/stalls.hpp"

#include <algorithm>
#include <cmath>

#include "analyzer/profile/loader_terms.hpp"
#include "analyzer/stalls/constants.hpp"
#include "analyzer/stalls/job_times.hpp"
#include "analyzer/stalls/odd_use.hpp"
#include "analyzer/statistics/statistics.hpp"
#include "analyzer/steps/job.hpp"
#include "analyzer/steps/rank_view.hpp"
#include "core/other_load.hpp"

namespace stallcast::sections {
namespace {

/// Mean attribution over ranks; empty if any rank could not be attributed.
std::optional<Attribution> attribute_all(const std::vector<RankView>& ranks,
                                         const std::vector<ReplayMachine>& machines) {
  Attribution sum;
  const double count = static_cast<double>(ranks.size());
  for (const RankView& rank : ranks) {
    const auto one = attribute(rank.window, machines[rank.node]);
    if (!one) return std::nullopt;
    sum.step_s += one->step_s / count;
    sum.cached_step_s += one->cached_step_s / count;
    sum.synthetic_step_s += one->synthetic_step_s / count;
    sum.supply_step_s += one->supply_step_s / count;
    sum.supply_cached_step_s += one->supply_cached_step_s / count;
    sum.storage_read_s += one->storage_read_s / count;
    sum.receive_s += one->receive_s / count;
    sum.foreign_delay_s += one->foreign_delay_s / count;
    sum.replay_error = std::max(sum.replay_error, one->replay_error);
    sum.explained_error = std::max(sum.explained_error, one->explained_error);
  }
  return sum;
}

std::string percent_words(double fraction) {
  return std::to_string(static_cast<int>(std::lround(100.0 * fraction))) + " % of the bytes read came from storage";
}

/// The cache state that a passive run happened to find, as premises with their evidence.
void add_premises(Profile& profile) {
  const auto& storage = profile.resources.bytes_from_storage;
  if (!storage) return;
  profile.premises.push_back({"cold", "storage_bytes", "at least 95 % of the bytes read come from storage",
                              percent_words(*storage), *storage >= k_cold_run_from_storage});
  profile.premises.push_back({"cached", "storage_bytes", "at most 2 % of the bytes read come from storage",
                              percent_words(*storage), *storage <= k_cached_run_from_storage});
}

void fill_cold(Profile& profile) {
  const auto& storage = profile.resources.bytes_from_storage;
  if (storage && *storage >= k_cold_run_from_storage) {
    profile.rates.cold = profile.rates.as_is;  // as found, every byte came from storage: this run *is* the cold one
    profile.stalls.prep = profile.stalls.as_is_prep;
    profile.stalls.fetch = profile.stalls.as_is_fetch;
    profile.stalls.receive = profile.stalls.as_is_receive;
    profile.stalls.interference = profile.stalls.as_is_interference;
    add_point(profile, "cold", "attributed", profile.rates.cold);
    return;
  }
  const std::string reason =
      storage ? "only " + percent_words(*storage) + ": a passive recording cannot tell what a cold run would give"
              : "it is not known how much was read from storage: " + storage.reason();
  profile.rates.cold = MeasuredEstimate<SamplesPerSecond>::absent(reason);
  profile.stalls.prep = MeasuredEstimate<Fraction>::absent(reason);
  profile.stalls.fetch = MeasuredEstimate<Fraction>::absent(reason);
  profile.stalls.receive = MeasuredEstimate<Fraction>::absent(reason);
  profile.stalls.interference = MeasuredEstimate<Fraction>::absent(reason);
}

void fill_synthetic(const std::vector<RankView>& ranks, const JobTimes& times, const Attribution& found,
                    double relative_half, Profile& profile) {
  const bool hidden = std::any_of(ranks.begin(), ranks.end(), [](const RankView& rank) {
    return uses_cuda(rank) && share_without_wait(rank) < k_least_steps_without_wait;
  });
  if (hidden) {
    const std::string reason =
        "the device may still compute while the job waits, and fewer than 10 % of the steps did not wait";
    profile.rates.synthetic = MeasuredEstimate<SamplesPerSecond>::absent(reason);
    profile.stalls.as_is_prep = profile.stalls.as_is_receive = profile.stalls.as_is_interference =
        MeasuredEstimate<Fraction>::absent(reason);
    return;
  }
  const double per_rank = times.rate * found.step_s;
  profile.rates.synthetic = rate_estimate(per_rank / found.synthetic_step_s, relative_half, times.n);
  add_point(profile, "synthetic", "attributed", profile.rates.synthetic);
}

/// What the replay misses, and what it only meets because others' load was taken to explain the difference: the first
/// points of that could as well be the replay's own.
double model_error(const Attribution& found) {
  const double doubtful = std::min(found.explained_error, k_doubted_load);
  return found.replay_error + doubtful + k_doubt_beyond * (found.explained_error - doubtful);
}

/// Half-width of an attributed rate, as a share of it.
double relative_half_of(const JobTimes& times, double error) {
  return std::sqrt(std::pow(times.rate_half / times.rate, 2.0) + error * error + k_split_error * k_split_error);
}

void fill_split(const std::vector<RankView>& ranks, const JobTimes& times, const Attribution& found, Profile& profile) {
  const double step = found.step_s;
  const double error = model_error(found);
  const double relative_half = relative_half_of(times, error);
  const double per_rank = times.rate * step;  // samples of all ranks in one step
  profile.stalls.as_is_fetch = attributed_share((step - found.cached_step_s) / step, times, error);
  const double fetch = profile.stalls.as_is_fetch->mean;
  const double beyond = (found.cached_step_s - found.synthetic_step_s) / step;  // prep, and what it costs the consumer
  const double waited = std::min(beyond, std::max(0.0, times.wait.mean - times.sampler - fetch));
  // What a loader does with a batch in the process that trains is preparing, with workers and without.
  const bool works = ranks.front().window.loader.works_in_next;
  const double receive = works ? 0.0 : std::min(waited, found.receive_s / step);
  profile.stalls.as_is_prep = attributed_share(waited - receive, times, error);
  profile.stalls.as_is_receive = attributed_share(receive, times, error);
  profile.stalls.as_is_interference = attributed_share(beyond - waited, times, error);
  profile.rates.cached = rate_estimate(per_rank / found.cached_step_s, relative_half, times.n);
  profile.rates.supply_cached = rate_estimate(per_rank / found.supply_cached_step_s, relative_half, times.n);
  add_point(profile, "cached", "attributed", profile.rates.cached);
  add_point(profile, "supply_cached", "attributed", profile.rates.supply_cached);
  fill_synthetic(ranks, times, found, relative_half, profile);
  fill_cold(profile);
  if (profile.rates.cold) {
    profile.rates.supply_cold = rate_estimate(per_rank / found.supply_step_s, relative_half, times.n);
    add_point(profile, "supply_cold", "attributed", profile.rates.supply_cold);
  } else {
    profile.rates.supply_cold = MeasuredEstimate<SamplesPerSecond>::absent(profile.rates.cold.reason());
  }
}

/// Batches whose size nobody knows can be timed and their waits divided, but not counted in samples.
void withdraw_rates(Profile& profile) {
  const auto unknown =
      MeasuredEstimate<SamplesPerSecond>::absent("the loader does not say how many samples a batch has");
  for (auto* rate : {&profile.rates.as_is, &profile.rates.synthetic, &profile.rates.cached, &profile.rates.cold,
                     &profile.rates.supply_cached, &profile.rates.supply_cold}) {
    if (*rate) *rate = unknown;
  }
  for (Point& point : profile.points) point.estimate = unknown;
}

/// Workers that wait for cores longer than even sharing within the job explains. Where other processes used these, that
/// load is part of what was found, and of every rate that follows from it. Where nobody did, it was the kernel's
/// scheduler: three busy threads on two cores do not get two thirds of one each.
void name_core_waits(const Attribution& found, Profile& profile) {
  const double workers = static_cast<double>(std::max<std::int64_t>(profile.job.num_workers.value_or(0), 1));
  const double share = found.foreign_delay_s / (workers * found.step_s);
  if (share < k_named_core_waits) return;
  const std::string time = std::to_string(static_cast<int>(std::lround(100.0 * share))) + " % of their time";
  const auto& others = profile.resources.other_cpus;
  char used[80] = "";
  if (others) std::snprintf(used, sizeof used, "used %.2g of its %.4g cores", *others, profile.host.usable_cpus);
  if (nobody_else(others, profile.host.usable_cpus)) {
    add_issue(profile.issues, {"uneven-cores", Severity::info, 1,
                               "the workers waited for a core for " + time +
                                   " longer than even sharing with the steps explains, while others " + used +
                                   ": the kernel's scheduler shared unevenly",
                               "a core for each worker and one for the steps ends it"});
    return;
  }
  add_issue(profile.issues, {"other-load", Severity::warning, 1,
                             others ? std::string("other processes of this machine ") + used +
                                          " and kept the workers from its cores for " + time
                                    : "the workers waited for a core for " + time +
                                          " longer than even sharing with the steps explains, probably for other "
                                          "processes: what these used was not counted",
                             "measure on a quiet machine, or take the rates as those beside this load"});
}

/// Page faults that wait for storage look like computing to every probe, as does waiting for a program that reads:
/// neither of the two can be told, but what the steps alone would give can, where the replay is right.
void leave_undivided(const std::vector<RankView>& ranks, const JobTimes& times, const std::optional<Attribution>& found,
                     const std::string& unseen, Profile& profile) {
  absent_split(profile, unseen + ": reading and preparing cannot be told apart");
  if (!found || !(found->replay_error <= k_trusted_replay_error)) return;
  fill_synthetic(ranks, times, *found, relative_half_of(times, model_error(*found)), profile);
  name_core_waits(*found, profile);
}

void divide_waiting(const std::vector<RankView>& ranks, const std::vector<ReplayMachine>& machines,
                    const JobTimes& times, Profile& profile) {
  const SteadyWindow& window = ranks.front().window;
  if (window.iterator_per_step) return leave_iterators(times, profile);
  const Consumer& first = *ranks.front().consumer;
  if (first.takes_in_thread || first.sees_queue) return tell_handed_over(ranks.front(), times, profile);
  if (!window.others.empty()) return tell_several_loaders(window, times, profile);
  for (const RankView& rank : ranks) {
    if (const NestedLoader* nested = nested_loader(rank)) return tell_nested(*nested, times, profile);
  }
  if (profile.job.composition == "overlapped") return divide_overlapped(ranks, times, profile);
  if (profile.job.composition == "unknown") {
    absent_split(profile, terms_of(profile.job.loader_kind) == nullptr
                              ? "the script does not say where its loader makes batches (stallcast.wrap(loader, "
                                "workers=0) where next() does)"
                              : "batches are made by processes of the loader's own (" + profile.job.loader_kind +
                                    "), and their making is not recorded");
    return;
  }
  const auto found = attribute_all(ranks, machines);
  const auto unseen = std::find_if(machines.begin(), machines.end(),
                                   [](const ReplayMachine& machine) { return !machine.unseen.empty(); });
  if (unseen != machines.end()) return leave_undivided(ranks, times, found, unseen->unseen, profile);
  if (!found) {
    absent_split(profile, "the making of too few batches was recorded to divide the waiting");
    return;
  }
  if (!(found->replay_error <= k_trusted_replay_error)) {
    const std::string reason = "the loader replayed from its recorded times misses the measured step by " +
                               std::to_string(static_cast<int>(std::lround(100.0 * found->replay_error))) + " %";
    const bool is_measured = first.phases_begin_ns != UINT64_MAX;
    absent_split(profile, reason);
    add_issue(profile.issues,
              {"replay-disagrees", Severity::warning, 1, reason,
               is_measured
                   ? "something besides workers, cores and storage holds the loader back: what is predicted for other "
                     "settings may be off by as much"
                   : "something besides workers, cores and storage holds the loader back; profile without "
                     "--phases as_is"});
    return;
  }
  fill_split(ranks, times, *found, profile);
  name_core_waits(*found, profile);
}

/// The first epoch's pause holds imports and cold caches; the later ones are what repeats.
MeasuredEstimate<Seconds> epoch_pause(const std::vector<RankView>& ranks) {
  std::vector<double> pauses;
  for (const RankView& rank : ranks) {
    const std::vector<double>& own = rank.window.pauses_s;
    if (own.size() > 1) pauses.insert(pauses.end(), own.begin() + 1, own.end());
  }
  if (pauses.size() < 2) return MeasuredEstimate<Seconds>::absent("fewer than three epochs began as found");
  const Estimate<double> mean = mean_of(pauses);
  return Estimate<Seconds>{Seconds(mean.mean), Seconds(std::max(0.0, mean.ci95_low)), Seconds(mean.ci95_high), mean.n};
}

}  // namespace

void fill_rates_and_stalls(const std::vector<RankView>& ranks, const std::vector<ReplayMachine>& machines,
                           Profile& profile) {
  const JobTimes times = job_times(ranks);
  add_premises(profile);
  profile.rates.as_is = rate_estimate(times.rate, times.rate_half / times.rate, times.n);
  profile.stalls.as_is_wait = times.wait;
  profile.stalls.epoch_pause = epoch_pause(ranks);
  add_point(profile, "as_is", "plain", profile.rates.as_is);
  profile.stalls.as_is_sampler = attributed_share(times.sampler, times, 0.0);
  divide_waiting(ranks, machines, times, profile);
  const GivenAgain& again = ranks.front().window.given_again;
  if (again.steps > 0) tell_given_again(again, times, profile);
  if (times.samples <= 0.0) withdraw_rates(profile);
}

}  // namespace stallcast::sections
