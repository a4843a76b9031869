#include <algorithm>
#include <cmath>

#include "reports/findings/constants.hpp"
#include "reports/findings/derived.hpp"
#include "reports/findings/findings.hpp"
#include "reports/words/format.hpp"

namespace stallcast::reports {
namespace {

Estimate<Fraction> one_minus(const Estimate<Fraction>& e) {
  return {1.0 - e.mean, 1.0 - e.ci95_high, 1.0 - e.ci95_low, e.n};
}

/// Sum of two shares of one step; their errors are taken as independent.
Estimate<Fraction> sum_of(const Estimate<Fraction>& a, const Estimate<Fraction>& b) {
  const double mean = a.mean + b.mean;
  return {mean, mean - std::hypot(a.mean - a.ci95_low, b.mean - b.ci95_low),
          mean + std::hypot(a.ci95_high - a.mean, b.ci95_high - b.mean), std::min(a.n, b.n)};
}

Slice slice(const char* key, const char* label, const Estimate<Fraction>& share,
            const MeasuredEstimate<Seconds>& step) {
  Slice result{key, label, share, std::nullopt};
  if (usable(step) != nullptr && !holds_zero(share)) result.per_step = step->mean * share.mean;
  return result;
}

/// What is known of the parts of a wait; null where it is not.
struct WaitParts {
  const Estimate<Fraction>* fetch = nullptr;
  const Estimate<Fraction>* prep = nullptr;
  const Estimate<Fraction>* receive = nullptr;
  const Estimate<Fraction>* sampler = nullptr;
};

bool shows(const Estimate<Fraction>* part) {
  return part != nullptr && part->mean >= k_other_from && !holds_zero(*part);
}

void add_wait_slices(Breakdown& b, const Estimate<Fraction>& wait, const WaitParts& of_wait) {
  const auto& [fetch, prep, receive, sampler] = of_wait;
  b.wait = wait;
  b.slices.push_back(slice("compute", "compute", one_minus(wait), b.step));
  if (fetch == nullptr || prep == nullptr) {
    b.slices.push_back(slice("wait", "wait for data", wait, b.step));
    return;
  }
  b.slices.push_back(slice("fetch", b.over_network ? "wait: the network" : "wait: reading files", *fetch, b.step));
  b.slices.push_back(slice("prep", "wait: preparing samples", *prep, b.step));
  Estimate<Fraction> parts = sum_of(*fetch, *prep);
  if (shows(receive)) {
    b.slices.push_back(slice("receive", "wait: receiving batches", *receive, b.step));
    parts = sum_of(parts, *receive);
  }
  if (shows(sampler)) {
    b.slices.push_back(slice("sampler", "wait: choosing samples", *sampler, b.step));
    parts = sum_of(parts, *sampler);
  }
  if (wait.mean - parts.mean < k_other_from) return;
  const Estimate<Fraction> other = sum_of(wait, {-parts.mean, -parts.ci95_high, -parts.ci95_low, parts.n});
  if (!holds_zero(other)) b.slices.push_back(slice("other", "wait: none of these", other, b.step));
}

/// Takes out of computing what the GPU waits for copies in, where it was traced and that shows.
void add_copies(const Gpu& gpu, Breakdown& b) {
  const auto* exposed = usable(gpu.exposed);
  if (exposed == nullptr || exposed->mean < k_other_from || holds_zero(*exposed)) return;
  Slice& compute = b.slices.front();
  const Estimate<Fraction> less{-exposed->mean, -exposed->ci95_high, -exposed->ci95_low, exposed->n};
  compute = slice("compute", "compute", sum_of(compute.share, less), b.step);
  b.slices.insert(b.slices.begin() + 1, slice("copy", "copies to the GPU", *exposed, b.step));
}

/// Samples of one step of all ranks: from the job's settings, else from the step and the rate as found.
std::optional<double> samples_per_step(const Profile& p) {
  if (p.job.batch_size && *p.job.batch_size > 0) {
    return static_cast<double>(*p.job.batch_size) *
           static_cast<double>(std::max<std::int64_t>(1, p.job.batches_per_step.value_or(1))) *
           std::max(1, p.job.ranks_seen);
  }
  const auto* step = usable(p.resources.step);
  const auto* found = usable(p.rates.as_is);
  if (step == nullptr || found == nullptr) return std::nullopt;
  return (step->mean * found->mean).value();
}

/// Time of a cold step: what a step takes in samples, at the cold rate and its interval.
MeasuredEstimate<Seconds> cold_step(const Profile& p) {
  const auto* cold = usable(p.rates.cold);
  const auto samples = samples_per_step(p);
  if (cold == nullptr || !samples || !(cold->ci95_low.value() > 0.0)) {
    return MeasuredEstimate<Seconds>::absent("the cold rate was not measured");
  }
  const auto time = [&](SamplesPerSecond rate) { return Seconds(*samples / rate.value()); };
  return Estimate<Seconds>{time(cold->mean), time(cold->ci95_high), time(cold->ci95_low), cold->n};
}

/// Whether phases divided the cold step.
bool divides_cold(const Profile& p) {
  return p.stalls.method == "differential" && usable(p.rates.cold) != nullptr && usable(p.stalls.fetch) != nullptr &&
         usable(p.stalls.prep) != nullptr;
}

/// What the page cache held when the run was found: said where another state stands beside it.
std::string found_title(const Profile& p) {
  std::string title = "as the run was found";
  if (divides_cold(p) && p.resources.bytes_from_storage && std::isfinite(*p.resources.bytes_from_storage)) {
    title += ", with " + percent(*p.resources.bytes_from_storage) + " of its bytes from storage";
  }
  return title;
}

std::optional<Breakdown> found_breakdown(const Profile& p) {
  const auto* wait = usable(p.stalls.as_is_wait);
  if (wait == nullptr) return std::nullopt;
  // What phases divided is the cold step; the split as found is attributed even in a run that had phases.
  Breakdown found{"as_is",
                  found_title(p),
                  divides_cold(p) ? "attributed" : p.stalls.method,
                  is_over_network(p),
                  p.resources.step,
                  {},
                  {}};
  add_wait_slices(found, *wait,
                  {usable(p.stalls.as_is_fetch), usable(p.stalls.as_is_prep), usable(p.stalls.as_is_receive),
                   usable(p.stalls.as_is_sampler)});
  add_copies(p.gpu, found);
  return found;
}

template <class Q>
double relative_half(const Estimate<Q>& e) {
  return (e.ci95_high.value() - e.ci95_low.value()) / (2.0 * e.mean.value());
}

/// All waiting of a cold step; profiles of older versions count taking over batches as preparing them.
///
/// Its parts are uncertain against each other (what one has too much the other has too little): where the cached rate
/// is uncertain, so is how the waiting divides, and not how much there is. That follows from two rates alone, 1 -
/// T_synthetic / T_cold less the interference; their interval, and what the parts add up to beside it.
Estimate<Fraction> cold_wait(const Profile& p) {
  Estimate<Fraction> parts = sum_of(*p.stalls.fetch, *p.stalls.prep);
  if (const auto* receive = usable(p.stalls.receive)) parts = sum_of(parts, *receive);
  const auto* synthetic = usable(p.rates.synthetic);
  const auto* cold = usable(p.rates.cold);
  if (synthetic == nullptr || cold == nullptr || p.stalls.method != "differential") return parts;
  if (!(synthetic->mean.value() > 0.0) || !(cold->mean.value() > 0.0)) return parts;
  const double computing = cold->mean.value() / synthetic->mean.value();
  double half = computing * std::hypot(relative_half(*cold), relative_half(*synthetic));
  double mean = 1.0 - computing;
  if (const auto* slowed = usable(p.stalls.interference)) {
    mean -= slowed->mean;
    half = std::hypot(half, (slowed->ci95_high - slowed->ci95_low) / 2.0);
  }
  half = std::max(half, std::abs(mean - parts.mean));
  const double half_of_parts = (parts.ci95_high - parts.ci95_low) / 2.0;
  if (!(half < half_of_parts)) return parts;
  return {parts.mean, parts.mean - half, parts.mean + half, parts.n};
}

/// Choosing the samples of a step takes as long wherever these come from.
std::optional<Estimate<Fraction>> cold_sampler(const Profile& p) {
  const auto* found = usable(p.stalls.as_is_sampler);
  const auto* as_is = usable(p.rates.as_is);
  const auto* cold = usable(p.rates.cold);
  if (!shows(found) || as_is == nullptr || cold == nullptr) return std::nullopt;
  const double slower = std::min(1.0, cold->mean / as_is->mean);
  return Estimate<Fraction>{slower * found->mean, slower * found->ci95_low, slower * found->ci95_high, found->n};
}

std::optional<Breakdown> cold_breakdown(const Profile& p) {
  const auto* fetch = usable(p.stalls.fetch);
  const auto* prep = usable(p.stalls.prep);
  if (fetch == nullptr || prep == nullptr) return std::nullopt;
  const char* title = found_is_cold(p) ? "with every byte from storage (\"cold\"; the run was found so)"
                                       : "with every byte from storage";
  Breakdown cold{"cold", title, p.stalls.method, is_over_network(p), cold_step(p), {}, {}};
  const auto sampler = cold_sampler(p);
  const Estimate<Fraction> wait = sampler ? sum_of(cold_wait(p), *sampler) : cold_wait(p);
  add_wait_slices(cold, wait, {fetch, prep, usable(p.stalls.receive), sampler ? &*sampler : nullptr});
  return cold;
}

}  // namespace

bool speaks_of_cold(const Profile& p) {
  if (!divides_cold(p)) return false;
  const auto* found = usable(p.stalls.as_is_wait);
  if (found == nullptr || holds_zero(*found)) return true;
  const Estimate<Fraction> cold = cold_wait(p);
  return !holds_zero(cold) || cold.ci95_high - cold.mean <= k_loose_half;
}

bool found_is_cold(const Profile& p) {
  const auto* found = usable(p.stalls.as_is_wait);
  if (!speaks_of_cold(p) || found == nullptr || p.resources.bytes_from_storage.value_or(0.0) < k_found_cold) {
    return false;
  }
  const Estimate<Fraction> cold = cold_wait(p);
  return found->ci95_low <= cold.ci95_high && cold.ci95_low <= found->ci95_high;
}

std::vector<Breakdown> breakdowns_of(const Profile& p) {
  std::vector<Breakdown> result;
  auto found = found_is_cold(p) ? std::nullopt : found_breakdown(p);
  auto cold = cold_breakdown(p);
  if (found) result.push_back(std::move(*found));
  if (cold) result.insert(speaks_of_cold(p) ? result.begin() : result.end(), std::move(*cold));
  return result;
}

std::vector<double> rounded_parts(const std::vector<double>& values, int places) {
  const double unit = std::pow(10.0, -places);
  std::vector<double> parts;
  std::vector<std::size_t> order;
  double sum = 0.0;
  double floors = 0.0;
  for (const double value : values) {
    order.push_back(parts.size());
    parts.push_back(std::floor(value / unit + 1e-9));
    sum += value;
    floors += parts.back();
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return values[a] / unit - parts[a] > values[b] / unit - parts[b];
  });
  double missing = std::round(sum / unit) - floors;
  for (std::size_t i = 0; i < order.size() && missing >= 1.0; ++i, missing -= 1.0) parts[order[i]] += 1.0;
  for (double& part : parts) part *= unit;
  return parts;
}

}  // namespace stallcast::reports
