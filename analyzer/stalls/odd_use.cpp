#include "analyzer/stalls/odd_use.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "analyzer/stalls/constants.hpp"
#include "analyzer/steps/job.hpp"

namespace stallcast::sections {
namespace {

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

/// The steps without their waits: nothing else of the loader's runs in the training thread.
void tell_steps_alone(const JobTimes& times, Profile& profile) {
  const double own = 1.0 - times.wait.mean;
  profile.rates.synthetic = rate_estimate(times.rate / own, times.rate_half / times.rate, times.n);
  add_point(profile, "synthetic", "attributed", profile.rates.synthetic);
}

std::string named(const LoaderFacts& loader) {
  return loader.dataset_type.empty() ? std::string("a loader") : "the loader of " + loader.dataset_type;
}

void tell_busy(const LoaderBehind& behind, Profile& profile) {
  char text[160];
  const auto workers = static_cast<long long>(behind.facts.num_workers);
  std::snprintf(text, sizeof text,
                "the %lld worker%s of the loader behind that thread make%s batches %.0f %% of the time", workers,
                workers == 1 ? "" : "s", workers == 1 ? "s" : "", 100.0 * behind.busy);
  add_issue(profile.issues, {"busy-loader-in-thread", Severity::info, workers, text,
                             "more of them (num_workers) make more at a time, where cores and storage allow it"});
}

/// Each batch of one of them is a step.
void tell_turns(const SteadyWindow& window, const JobTimes& times, Profile& profile) {
  const std::string words = "the steps take batches of several loaders by turns";
  absent_split(profile, words);
  tell_steps_alone(times, profile);
  profile.job.dataset_samples = Measured<std::int64_t>::absent(words);
  double waited_s = 0.0;
  for (const SteadyStep& step : window.steps) waited_s += step.wait_s;
  auto steps = static_cast<std::int64_t>(window.steps.size());
  for (const OtherLoader& other : window.others) {
    waited_s -= other.wait_s;
    steps -= other.steps;
  }
  std::vector<OtherLoader> all{{window.loader, std::max(0.0, waited_s), std::max<std::int64_t>(0, steps)}};
  all.insert(all.end(), window.others.begin(), window.others.end());
  std::string each;
  for (const OtherLoader& loader : all) {
    const double part = static_cast<double>(loader.steps) / static_cast<double>(window.steps.size());
    const double wait_s = loader.steps > 0 ? loader.wait_s / static_cast<double>(loader.steps) : 0.0;
    each += (each.empty() ? " (" : ", ") + milliseconds(wait_s) + " for a batch of " + named(loader.facts) + " in " +
            std::to_string(std::lround(100.0 * part)) + " % of the steps";
  }
  add_issue(
      profile.issues,
      {"several-loaders", Severity::warning, static_cast<std::int64_t>(all.size()), words + each + ")",
       "the loader that is waited for longest is the one to speed up; profile a job of it alone for its settings"});
}

}  // namespace

bool takes_oddly(const std::vector<RankView>& ranks) {
  return std::any_of(ranks.begin(), ranks.end(), [](const RankView& rank) {
    return rank.consumer->takes_in_thread || rank.consumer->sees_queue || !rank.window.others.empty() ||
           nested_loader(rank) != nullptr;
  });
}

const NestedLoader* nested_loader(const RankView& rank) {
  std::set<std::uint64_t> loaders;  // a script may make its loader anew for each epoch
  double taken = 0.0;
  for (const Pass* pass : rank.window.passes) {
    loaders.insert(pass->loader_id);
    taken += static_cast<double>(pass->deliveries.size());
  }
  const NestedLoader* last = nullptr;
  double asked = 0.0;
  for (const std::uint64_t loader : loaders) {
    const auto nested = rank.consumer->nested.find(loader);
    if (nested == rank.consumer->nested.end()) continue;
    last = &nested->second;
    asked += static_cast<double>(last->batches);
  }
  return asked >= k_fewest_nested && asked >= k_least_nested_share * taken ? last : nullptr;
}

void tell_nested(const NestedLoader& nested, const JobTimes& times, Profile& profile) {
  const std::string& name = nested.dataset_type;
  const std::string workers = std::to_string(nested.workers) + (nested.workers == 1 ? " worker" : " workers");
  const std::string words = "the data set takes its samples from a loader of its own, whose " + workers +
                            " read and prepare" + (name.empty() ? "" : " those of " + name);
  absent_split(profile, words);
  tell_steps_alone(times, profile);
  add_issue(profile.issues, {"nested-loader", Severity::warning, nested.workers, words,
                             "the workers to add are those of the loader within; a job of that loader alone tells what "
                             "they wait for"});
}

void tell_several_loaders(const SteadyWindow& window, const JobTimes& times, Profile& profile) {
  if (window.by_turns) return tell_turns(window, times, profile);
  absent_split(profile, "each step takes batches of several loaders, whose waits add");
  tell_steps_alone(times, profile);
  const auto steps = static_cast<double>(window.steps.size());
  double waited_s = 0.0;
  for (const SteadyStep& step : window.steps) waited_s += step.wait_s;
  double others_s = 0.0;
  std::string words;
  for (const OtherLoader& other : window.others) {
    others_s += other.wait_s;
    words += ", " + milliseconds(other.wait_s / steps) + " for " + named(other.facts);
  }
  const double own_s = std::max(0.0, waited_s - others_s);
  add_issue(
      profile.issues,
      {"several-loaders", Severity::warning, static_cast<std::int64_t>(1 + window.others.size()),
       "a step waits " + milliseconds(own_s / steps) + " for " + named(window.loader) + words,
       "the loader that is waited for longest is the one to speed up; profile a job of it alone for its settings"});
}

void tell_handed_over(const RankView& rank, const JobTimes& times, Profile& profile) {
  const bool in_thread = rank.consumer->takes_in_thread;
  const std::string taken = in_thread
                                ? "another thread than the one whose optimizer steps takes the batches from the loader"
                                : "batches are handed over to the training by another process or thread";
  absent_split(profile, taken);
  if (rank.consumer->sees_queue) {
    const std::string& place = rank.window.loader.dataset_type;
    tell_steps_alone(times, profile);
    add_issue(profile.issues, {in_thread ? "loader-in-thread" : "batches-handed-over", Severity::info, 1,
                               taken + ": what is told is how long the training waits for them in " +
                                   (place.empty() ? "a queue" : place),
                               "what the loader does for each batch shows in a run that takes them from it directly"});
    const auto& behind = rank.consumer->behind;
    const bool is_awaited = times.wait.mean >= k_no_wait_share;
    if (behind && behind->busy >= k_busy_behind && is_awaited) tell_busy(*behind, profile);
    return;
  }
  profile.stalls.as_is_wait = MeasuredEstimate<Fraction>::absent(taken);
  profile.resources.wait = profile.resources.compute = MeasuredEstimate<Seconds>::absent(taken);
  add_issue(profile.issues,
            {"loader-in-thread", Severity::warning, 1, taken + ": how long the training waits for them was not seen",
             "mark where the training gets them: for batch in stallcast.wrap(...), or profile without that thread"});
}

void divide_overlapped(const std::vector<RankView>& ranks, const JobTimes& times, Profile& profile) {
  absent_split(profile,
               "this loader fetches and prepares batches side by side, in threads of its own: "
               "which of the two a wait was for is not seen");
  const auto& storage = profile.resources.bytes_from_storage;
  if (storage && *storage <= k_cached_run_from_storage) {
    profile.stalls.as_is_fetch = attributed_share(0.0, times, 0.0);
    profile.stalls.as_is_prep = attributed_share(times.wait.mean, times, 0.0);
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

void leave_iterators(const JobTimes& times, Profile& profile) {
  absent_split(profile, "the script makes an iterator for each step, whose workers are started for one batch");
  tell_steps_alone(times, profile);
  add_issue(profile.issues,
            {"iterator-per-step", Severity::warning, 1,
             "an iterator is made for each step: " + milliseconds(times.step_s * times.wait.mean) +
                 " of it go into starting workers, waiting for their first batch, and sending them away",
             "make the iterator once (batches = iter(loader), then next(batches)), or loop over the loader"});
}

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

}  // namespace stallcast::sections
