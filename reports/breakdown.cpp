#include <algorithm>
#include <cmath>

#include "reports/findings.hpp"
#include "reports/format.hpp"

namespace stallcast::reports {
namespace {

/// Waiting that is neither reading nor preparing is shown from here on: less would not show as a percent.
constexpr double k_other_from = 0.005;

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

void add_wait_slices(Breakdown& b, const Estimate<Fraction>& wait, const Estimate<Fraction>* fetch,
                     const Estimate<Fraction>* prep) {
  b.slices.push_back(slice("compute", "compute", one_minus(wait), b.step));
  if (fetch == nullptr || prep == nullptr) {
    b.slices.push_back(slice("wait", "wait for data", wait, b.step));
    return;
  }
  b.slices.push_back(slice("fetch", "wait: reading files", *fetch, b.step));
  b.slices.push_back(slice("prep", "wait: preparing samples", *prep, b.step));
  const double rest = wait.mean - fetch->mean - prep->mean;
  if (rest < k_other_from) return;
  const Estimate<Fraction> parts = sum_of(*fetch, *prep);
  const Estimate<Fraction> other = sum_of(wait, {-parts.mean, -parts.ci95_high, -parts.ci95_low, parts.n});
  if (!holds_zero(other)) b.slices.push_back(slice("other", "wait: neither", other, b.step));
}

/// Time of a cold step: the measured step, stretched by the ratio of the rates.
MeasuredEstimate<Seconds> cold_step(const Profile& p) {
  const auto* step = usable(p.resources.step);
  const auto* found = usable(p.rates.as_is);
  const auto* cold = usable(p.rates.cold);
  if (step == nullptr || found == nullptr || cold == nullptr || !(cold->mean.value() > 0.0)) {
    return MeasuredEstimate<Seconds>::absent("the cold rate was not measured");
  }
  const double ratio = found->mean / cold->mean;
  return Estimate<Seconds>{step->mean * ratio, step->ci95_low * ratio, step->ci95_high * ratio, cold->n};
}

}  // namespace

std::vector<Breakdown> breakdowns_of(const Profile& p) {
  std::vector<Breakdown> result;
  if (const auto* wait = usable(p.stalls.as_is_wait)) {
    Breakdown found{"as the run was found", p.stalls.method, p.resources.step, {}};
    add_wait_slices(found, *wait, usable(p.stalls.as_is_fetch), usable(p.stalls.as_is_prep));
    result.push_back(std::move(found));
  }
  const auto* fetch = usable(p.stalls.fetch);
  const auto* prep = usable(p.stalls.prep);
  if (fetch != nullptr && prep != nullptr) {
    Breakdown cold{"with every byte read from storage", p.stalls.method, cold_step(p), {}};
    add_wait_slices(cold, sum_of(*fetch, *prep), fetch, prep);
    result.push_back(std::move(cold));
  }
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
