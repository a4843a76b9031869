/// Rates, stalls and points of a passive recording (method: attributed).
#include "analyzer/stalls/stalls.hpp"

#include <algorithm>
#include <cmath>

#include "analyzer/profile/loader_terms.hpp"
#include "analyzer/stalls/constants.hpp"
#include "analyzer/statistics/statistics.hpp"
#include "analyzer/steps/job.hpp"
#include "analyzer/steps/rank_view.hpp"
#include "core/other_load.hpp"

namespace stallcast::sections {
namespace {

/// Sums over ranks; each rank's own figures are kept to put the intervals together.
struct JobTimes {
  double step_s = 0.0;      ///< mean over ranks
  double samples = 0.0;     ///< per step of one rank
  Estimate<double> wait{};  ///< share of the step
  double sampler = 0.0;     ///< likewise, of the wait: choosing a batch
  double rate = 0.0;        ///< summed over ranks
  double rate_half = 0.0;
  std::int64_t n = 0;
};

std::vector<double> column(const SteadyWindow& window, double (*value)(const SteadyStep&)) {
  std::vector<double> values;
  values.reserve(window.steps.size());
  for (const SteadyStep& step : window.steps) values.push_back(value(step));
  return values;
}

JobTimes job_times(const std::vector<RankView>& ranks) {
  JobTimes times;
  double square = 0.0;
  double wait_half_square = 0.0;
  const double count = static_cast<double>(ranks.size());
  for (const RankView& rank : ranks) {
    const auto lengths = column(rank.window, [](const SteadyStep& s) { return s.step_s(); });
    const auto waits = column(rank.window, [](const SteadyStep& s) { return s.wait_s + s.sampler_s; });
    const auto samples = column(rank.window, [](const SteadyStep& s) { return s.samples; });
    const Estimate<double> per_sample = ratio_of_sums(lengths, samples);
    const Estimate<double> wait = ratio_of_sums(waits, lengths);
    const auto choosing = column(rank.window, [](const SteadyStep& s) { return s.sampler_s; });
    times.sampler += ratio_of_sums(choosing, lengths).mean / count;
    const double rate = 1.0 / per_sample.mean;
    const double half = rate * (per_sample.ci95_high - per_sample.ci95_low) / 2.0 / per_sample.mean;
    times.rate += rate;
    square += half * half;
    times.wait.mean += wait.mean / count;
    wait_half_square += std::pow((wait.ci95_high - wait.ci95_low) / 2.0 / count, 2.0);
    for (std::size_t i = 0; i < lengths.size(); ++i)
      times.step_s += lengths[i] / static_cast<double>(lengths.size()) / count;
    for (const double value : samples) times.samples += value / static_cast<double>(samples.size()) / count;
    times.n += per_sample.n;
  }
  times.rate_half = std::sqrt(square);
  const double wait_half = std::sqrt(wait_half_square);
  times.wait.ci95_low = std::max(0.0, times.wait.mean - wait_half);
  times.wait.ci95_high = std::min(1.0, times.wait.mean + wait_half);
  times.wait.n = times.n;
  return times;
}

MeasuredEstimate<SamplesPerSecond> rate_estimate(double mean, double relative_half, std::int64_t n) {
  return Estimate<SamplesPerSecond>{SamplesPerSecond(mean), SamplesPerSecond(mean * std::max(0.0, 1.0 - relative_half)),
                                    SamplesPerSecond(mean * (1.0 + relative_half)), n};
}

/// An attributed share of the step: statistical error, the replay's own, and that of the method, in quadrature.
Estimate<Fraction> share(double mean, const JobTimes& times, double replay_error) {
  const double statistical = (times.wait.ci95_high - times.wait.ci95_low) / 2.0;
  const double half =
      std::sqrt(statistical * statistical + std::pow(replay_error * mean, 2.0) + k_split_error * k_split_error);
  return {mean, std::max(0.0, mean - half), std::min(1.0, mean + half), times.n};
}

double share_without_wait(const RankView& rank) {
  const auto& steps = rank.window.steps;
  const auto count = std::count_if(steps.begin(), steps.end(),
                                   [](const SteadyStep& s) { return s.wait_s < k_no_wait_share * s.step_s(); });
  return static_cast<double>(count) / static_cast<double>(steps.size());
}

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

void add_point(Profile& profile, const char* phase, const char* method,
               const MeasuredEstimate<SamplesPerSecond>& estimate) {
  Point point;
  point.phase = phase;
  point.method = method;
  point.estimate = estimate;
  if (profile.job.num_workers) point.setting["workers"] = std::to_string(*profile.job.num_workers);
  for (const Premise& premise : profile.premises) {
    if (premise.phase == phase) point.premises.push_back(premise);
  }
  profile.points.push_back(std::move(point));
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

void absent_split(Profile& profile, const std::string& reason) {
  profile.stalls.interference = profile.stalls.as_is_interference = MeasuredEstimate<Fraction>::absent(reason);
  profile.stalls.receive = profile.stalls.as_is_receive = MeasuredEstimate<Fraction>::absent(reason);
  profile.stalls.as_is_prep = MeasuredEstimate<Fraction>::absent(reason);
  profile.stalls.as_is_fetch = MeasuredEstimate<Fraction>::absent(reason);
  profile.stalls.prep = MeasuredEstimate<Fraction>::absent(reason);
  profile.stalls.fetch = MeasuredEstimate<Fraction>::absent(reason);
  for (auto* rate : {&profile.rates.synthetic, &profile.rates.cached, &profile.rates.cold, &profile.rates.supply_cached,
                     &profile.rates.supply_cold}) {
    *rate = MeasuredEstimate<SamplesPerSecond>::absent(reason);
  }
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
  profile.stalls.as_is_fetch = share((step - found.cached_step_s) / step, times, error);
  const double fetch = profile.stalls.as_is_fetch->mean;
  const double beyond = (found.cached_step_s - found.synthetic_step_s) / step;  // prep, and what it costs the consumer
  const double waited = std::min(beyond, std::max(0.0, times.wait.mean - times.sampler - fetch));
  const double receive = std::min(waited, found.receive_s / step);
  profile.stalls.as_is_prep = share(waited - receive, times, error);
  profile.stalls.as_is_receive = share(receive, times, error);
  profile.stalls.as_is_interference = share(beyond - waited, times, error);
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

/// Why the rate of the steps alone cannot be told where threads of the loader's run beside them; empty if it can.
std::string steps_hidden(const std::vector<RankView>& ranks, const JobTimes& times, const Profile& profile) {
  const bool device_hides = std::any_of(ranks.begin(), ranks.end(), [](const RankView& rank) {
    return uses_cuda(rank) && share_without_wait(rank) < k_least_steps_without_wait;
  });
  if (device_hides) return "the device may still compute while the job waits, and fewer than 10 % of the steps did not";
  if (1.0 - times.wait.mean < k_least_step_share) return "the job does hardly anything but wait";
  const auto& cpu = profile.resources.consumer_cpu;
  const double usable = profile.host.usable_cpus * std::max(1, profile.host.hosts_seen);
  if (!cpu || !(usable > 0.0)) return "it is not known whether the loader's threads took cores from the steps";
  if (cpu->mean.value() * times.rate > k_busy_cores * usable) {
    return "the loader's threads and the steps share cores that were busy: without the loader the steps are faster";
  }
  return {};
}

/// A loader that fetches and prepares side by side is as fast as the slower of the two: waits do not say which that is,
/// unless nothing was fetched from storage. Taking a batch over is part of prep here.
void divide_overlapped(const std::vector<RankView>& ranks, const JobTimes& times, Profile& profile) {
  absent_split(profile,
               "this loader fetches and prepares batches side by side, in threads of the training process: "
               "which of the two a wait was for is not seen");
  const auto& storage = profile.resources.bytes_from_storage;
  if (storage && *storage <= k_cached_run_from_storage) {
    profile.stalls.as_is_fetch = share(0.0, times, 0.0);
    profile.stalls.as_is_prep = share(times.wait.mean, times, 0.0);
    profile.rates.cached = profile.rates.as_is;
    add_point(profile, "cached", "attributed", profile.rates.cached);
  }
  const std::string hidden = steps_hidden(ranks, times, profile);
  if (!hidden.empty()) {
    profile.rates.synthetic = MeasuredEstimate<SamplesPerSecond>::absent(hidden);
    return;
  }
  const double own = 1.0 - times.wait.mean;
  const double half =
      std::hypot(times.rate_half / times.rate, (times.wait.ci95_high - times.wait.ci95_low) / 2.0 / own);
  profile.rates.synthetic = rate_estimate(times.rate / own, std::hypot(half, k_split_error), times.n);
  add_point(profile, "synthetic", "attributed", profile.rates.synthetic);
}

/// A script that makes an iterator for each step starts workers for one batch: how these would keep up with it is not
/// seen. What the steps alone would give is.
void leave_iterators(const JobTimes& times, Profile& profile) {
  absent_split(profile, "the script makes an iterator for each step, whose workers are started for one batch");
  const double own = 1.0 - times.wait.mean;
  profile.rates.synthetic = rate_estimate(times.rate / own, times.rate_half / times.rate, times.n);
  add_point(profile, "synthetic", "attributed", profile.rates.synthetic);
  char waited[32] = "";
  std::snprintf(waited, sizeof waited, "%.3g ms", 1e3 * times.step_s * times.wait.mean);
  add_issue(profile.issues,
            {"iterator-per-step", Severity::warning, 1,
             std::string("an iterator is made for each step: ") + waited +
                 " of it go into starting workers, waiting for their first batch, and sending them away",
             "make the iterator once (batches = iter(loader), then next(batches)), or loop over the loader"});
}

/// The verdict is over the steps of the training, and not over the batches of a loader that is no longer asked.
void tell_given_again(const GivenAgain& again, const JobTimes& times, Profile& profile) {
  const std::string words = "the loader gave batches for the first " + std::to_string(again.deliveries) + " of " +
                            std::to_string(again.steps) + " steps only; the others took none from it";
  absent_split(profile, words);
  const auto steps = static_cast<double>(again.steps);
  const double wait = std::clamp(again.wait_s / again.seconds, 0.0, 1.0);
  const auto around = [&](double mean) {
    return Estimate<Seconds>{Seconds(mean), Seconds((1.0 - k_error_given_again) * mean),
                             Seconds((1.0 + k_error_given_again) * mean), again.steps};
  };
  profile.stalls.as_is_wait = Estimate<Fraction>{wait, (1.0 - k_error_given_again) * wait,
                                                 std::min(1.0, (1.0 + k_error_given_again) * wait), again.steps};
  profile.rates.as_is = rate_estimate(steps * again.samples / again.seconds, times.rate_half / times.rate, again.steps);
  profile.points.clear();
  add_point(profile, "as_is", "plain", profile.rates.as_is);
  profile.measured_s = again.seconds;
  profile.resources.step = around(again.seconds / steps);
  profile.resources.wait = around(again.wait_s / steps);
  profile.resources.compute = around((again.seconds - again.wait_s) / steps);
  add_issue(profile.issues,
            {"batches-given-again", Severity::warning, 1, words,
             "itertools.cycle(loader) keeps the batches of the first pass and gives them again, neither "
             "shuffled nor augmented anew; loop over the loader for new ones"});
}

void divide_waiting(const std::vector<RankView>& ranks, const std::vector<ReplayMachine>& machines,
                    const JobTimes& times, Profile& profile) {
  if (ranks.front().window.iterator_per_step) return leave_iterators(times, profile);
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
    absent_split(profile, reason);
    add_issue(profile.issues,
              {"replay-disagrees", Severity::warning, 1, reason,
               "something besides workers, cores and storage holds the loader back; profile without --phases as_is"});
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
  profile.stalls.as_is_sampler = share(times.sampler, times, 0.0);
  divide_waiting(ranks, machines, times, profile);
  const GivenAgain& again = ranks.front().window.given_again;
  if (again.steps > 0) tell_given_again(again, times, profile);
  if (times.samples <= 0.0) withdraw_rates(profile);
}

}  // namespace stallcast::sections
