#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>
#include <string_view>

#include "model/job/constants.hpp"
#include "model/job/inputs.hpp"

namespace stallcast::inputs {
namespace {

template <class T>
std::optional<T> number_in(const std::map<std::string, std::string>& setting, const char* key) {
  const auto found = setting.find(key);
  if (found == setting.end()) return std::nullopt;
  T value{};
  const char* end = found->second.data() + found->second.size();
  const auto parsed = std::from_chars(found->second.data(), end, value);
  return parsed.ec == std::errc() && parsed.ptr == end ? std::optional<T>(value) : std::nullopt;
}

/// Settings of a point that the model understands; a point with others is no observation of it.
bool understood(const Point& point) {
  return std::all_of(point.setting.begin(), point.setting.end(), [](const auto& entry) {
    return entry.first == "workers" || entry.first == "prefetch" || entry.first == "cached" ||
           entry.first == "added_cpu_s_per_sample";
  });
}

const Observation* at_all_workers(const JobModel& job, const char* phase) {
  const auto found = std::find_if(job.observations.begin(), job.observations.end(), [&](const Observation& seen) {
    return seen.phase == phase && !seen.workers && !seen.prefetch && !seen.cached;
  });
  return found != job.observations.end() ? &*found : nullptr;
}

/// How well the model must reproduce the rate as found. Where it was measured in the same window as the times that the
/// model is made of and nothing else was, what varies from window to window is in both of them, and only rounding tells
/// them apart.
double as_is_sd(const Profile& profile, const JobModel& job) {
  if (as_found_is_cold(profile) || !job.attributed) return job.rate_relative_sd;
  return std::min(job.rate_relative_sd, k_same_window_sd);
}

/// The phase whose blocks ran as the job was found: all from storage, or nothing.
const char* phase_as_found(const JobModel& job) {
  return job.miss >= k_as_good_as_all ? "cold" : job.miss <= 1.0 - k_as_good_as_all ? "cached" : nullptr;
}

/// Blocks that ran as the job was found are further windows of the same job: each counts by its precision, and where
/// they disagree beyond it, what they give together is that much less sure (Birge's ratio). What they give is of a
/// share from storage between theirs: a window that says little of the rate gives it no bytes from memory either.
void join_equal_blocks(const Profile& profile, JobModel& job) {
  const char* phase = as_found_is_cold(profile) ? nullptr : phase_as_found(job);
  const Observation* same = phase == nullptr ? nullptr : at_all_workers(job, phase);
  if (same == nullptr) return;
  const double weight = 1.0 / (job.rate_relative_sd * job.rate_relative_sd);
  const double other = 1.0 / (same->relative_sd * same->relative_sd);
  const double apart = std::log(same->rate / job.rate);
  const double birge = std::abs(apart) / std::hypot(job.rate_relative_sd, same->relative_sd);
  job.rate *= std::exp(apart * other / (weight + other));
  job.rate_relative_sd = std::max(1.0, birge) / std::sqrt(weight + other);
  if (same->phase != "cold") return;
  const double miss = job.miss + (1.0 - job.miss) * other / (weight + other);
  if (job.storage_s) *job.storage_s *= job.miss / miss;
  job.miss = miss;
}

/// Of a run that was found partly in memory, its own window says little: what was in memory may have changed
/// meanwhile. Blocks of one state tell what varies from window to window, where they do not speak of the same state.
double window_sd(const Profile& profile, const JobModel& job) {
  if (as_found_is_cold(profile) || phase_as_found(job) != nullptr) return job.rate_relative_sd;
  const Observation* cold = at_all_workers(job, "cold");
  const Observation* cached = at_all_workers(job, "cached");
  if (cold == nullptr || cached == nullptr) return job.rate_relative_sd;
  return std::min(job.rate_relative_sd, std::max(cold->relative_sd, cached->relative_sd));
}

/// How much longer a sample takes when its bytes come from storage, as two rates tell, and its standard deviation.
struct Slower {
  double seconds = 0.0;
  double sd = 0.0;
};

std::optional<Slower> slower_by_storage(const JobModel& job, const char* cold_phase, const char* cached_phase) {
  const Observation* cold = at_all_workers(job, cold_phase);
  const Observation* cached = at_all_workers(job, cached_phase);
  const char* as_found = phase_as_found(job);
  const bool found_cached = as_found != nullptr && std::string_view(as_found) == cached_phase;
  if (cached == nullptr && found_cached) cached = &job.observations.front();
  if (cold == nullptr || cached == nullptr) return std::nullopt;
  return Slower{1.0 / cold->rate - 1.0 / cached->rate,
                std::hypot(cold->relative_sd / cold->rate, cached->relative_sd / cached->rate)};
}

}  // namespace

void collect_observations(const Profile& profile, JobModel& job) {
  job.observations.push_back({.phase = "as_is"});
  constexpr const char* k_phases[] = {"cold",      "cached",      "half_cached",  "perturb_cpu",
                                      "synthetic", "supply_cold", "supply_cached"};
  for (const Point& point : profile.points) {
    const bool fits = std::find(std::begin(k_phases), std::end(k_phases), point.phase) != std::end(k_phases);
    // Epochs that were found in another state than the job is in now are as good as blocks.
    const bool is_measured = point.method == "differential" || (point.method == "plain" && point.phase == "cold");
    if (!is_measured || !fits || !understood(point)) continue;
    if (!known_rate(point.estimate)) continue;
    Observation seen{.phase = point.phase,
                     .workers = number_in<int>(point.setting, "workers"),
                     .prefetch = number_in<int>(point.setting, "prefetch"),
                     .cached = number_in<double>(point.setting, "cached"),
                     .added_cpu_s = number_in<double>(point.setting, "added_cpu_s_per_sample").value_or(0.0),
                     .rate = point.estimate->mean.value() / job.ranks,
                     .relative_sd = relative_sd(*point.estimate)};
    if (seen.workers == job.workers) seen.workers.reset();
    if (seen.prefetch == job.prefetch) seen.prefetch.reset();
    job.observations.push_back(std::move(seen));
    job.attributed = false;
  }
  // What a loader that never rests delivers alone is told by the cold blocks themselves.
  const Observation* cold = at_all_workers(job, "cold");
  for (Observation& seen : job.observations) {
    seen.repeats =
        cold != nullptr && seen.phase == "supply_cold" && std::abs(seen.rate / cold->rate - 1.0) < k_same_deliveries;
  }
  join_equal_blocks(profile, job);
  job.window_relative_sd = window_sd(profile, job);
  job.observations.front().rate = job.rate;
  job.observations.front().relative_sd = as_is_sd(profile, job);
}

/// The loader alone shows it undiminished by what the step hides; where its rates are too noisy for that, those of the
/// training do; and where neither shows any, it is small against their noise.
void storage_from_phases(JobModel& job) {
  const auto alone = slower_by_storage(job, "supply_cold", "supply_cached");
  const auto training = slower_by_storage(job, "cold", "cached");
  if (!alone && !training) return;
  const bool alone_tells = alone && alone->seconds > k_clearly_slower_sds * alone->sd;
  const Slower slower = alone_tells || !training ? *alone : *training;
  const double workers = std::max(1, job.workers);
  job.storage_s = workers * std::max(slower.seconds, 0.5 * slower.sd);
  const Observation* cold = at_all_workers(job, alone_tells || !training ? "supply_cold" : "cold");
  job.storage_presence = std::min(1.0, cold->rate * *job.storage_s / workers);
  if (job.reads_ahead && training && training->seconds > k_clearly_slower_sds * training->sd) {
    job.stream_demand_s = 1.0 / at_all_workers(job, "cold")->rate;
  }
  std::erase_if(job.missing, [](const MissingInput& m) { return m.input == Input::storage_cost; });
}

}  // namespace stallcast::inputs
