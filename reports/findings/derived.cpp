#include "reports/findings/derived.hpp"

#include <algorithm>
#include <cmath>

#include "reports/findings/findings.hpp"
#include "reports/words/format.hpp"

namespace stallcast::reports {
namespace {

std::optional<double> mean_of(const MeasuredEstimate<Fraction>& measured) {
  const auto* estimate = usable(measured);
  return estimate != nullptr ? std::optional(estimate->mean) : std::nullopt;
}

void derive_stalls(const Profile& p, Derived& d) {
  const Stalls& stalls = p.stalls;
  d.wait = mean_of(stalls.as_is_wait);
  d.fetch = mean_of(stalls.as_is_fetch);
  d.prep = mean_of(stalls.as_is_prep);
  if (d.wait && !speaks_of_cold(p)) return;
  d.fetch = mean_of(stalls.fetch);
  d.prep = mean_of(stalls.prep);
  d.wait = d.fetch && d.prep ? std::optional(*d.fetch + *d.prep + mean_of(stalls.receive).value_or(0.0)) : std::nullopt;
  d.cold = d.wait.has_value();
}

void derive_cores(const Profile& p, Derived& d) {
  if (p.host.usable_cpus > 0.0) d.cores_usable = p.host.usable_cpus * std::max(1, p.host.hosts_seen);
  if (p.resources.job_cpus) d.cores_busy = *p.resources.job_cpus;
  if (d.cores_usable && d.cores_busy) d.cores_free = std::max(0.0, *d.cores_usable - *d.cores_busy);
}

}  // namespace

bool is_over_network(const Profile& profile) {
  return profile.dataset.layout == "network" && profile.dataset.received_per_sample;
}

double states_s(const Profile& profile) {
  double sum = 0.0;
  for (const PhaseStretch& stretch : profile.phases) {
    if (stretch.phase != "as_is") sum += stretch.end_s - stretch.begin_s;
  }
  return sum;
}

Derived derive(const Profile& p) {
  Derived d;
  derive_stalls(p, d);
  derive_cores(p, d);
  const auto* rate = usable(p.rates.as_is);
  const auto* wall = usable(p.resources.worker_wall);
  if (p.job.num_workers) d.workers = static_cast<double>(*p.job.num_workers) * std::max(1, p.job.ranks_seen);
  if (rate != nullptr && wall != nullptr && d.workers && *d.workers > 0.0) {
    d.worker_busy = std::clamp((rate->mean * wall->mean).value() / *d.workers, 0.0, 1.0);
  }
  const auto* delay = usable(p.resources.worker_run_delay);
  if (delay != nullptr && wall != nullptr && wall->mean.value() > 0.0) {
    d.run_delay = std::clamp(delay->mean / wall->mean, 0.0, 1.0);
  }
  return d;
}

}  // namespace stallcast::reports
