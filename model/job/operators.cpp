#include "model/job/operators.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "model/job/constants.hpp"
#include "model/job/inputs.hpp"

namespace stallcast {
void read_operators(const Profile& profile, JobModel& job) {
  const double cpu = inputs::mean_or(profile.resources.worker_cpu, 0.0);
  double core_wait = inputs::mean_or(profile.resources.worker_run_delay, 0.0);
  for (const Operator& row : profile.operators) {  // what of it lies in no operator
    if (row.kind == "core" && inputs::known(row.wall)) core_wait -= row.wall->mean.value();
  }
  const double delayed = cpu > 0.0 ? std::max(0.0, core_wait) / cpu : 0.0;
  for (const Operator& row : profile.operators) {
    const bool is_asked_for = row.kind == "operator" || row.kind == "getitem" || row.kind == "collate";
    if (!is_asked_for || !inputs::known(row.wall) || !inputs::known(row.cpu) || !row.cpu_share) continue;
    const double share = row.cpu_share->mean;
    if (!std::isfinite(share) || share < 0.0) continue;
    const double wall = row.wall->mean.value();
    const double own_cpu = row.cpu->mean.value();
    const double waits = wall - own_cpu * (1.0 + delayed);
    const double half = 0.5 * (row.cpu_share->ci95_high - row.cpu_share->ci95_low);
    JobOperator known{row.name, row.where, row.kind, std::min(share, 1.0) * job.cpu_s, 0.0, 0.0};
    if (waits > k_operator_waits_from * wall) known.other_s = std::min(waits, job.other_s);
    if (share > 0.0 && std::isfinite(half)) known.relative_sd = std::min(1.0, half / 1.96 / share);
    job.operators.push_back(std::move(known));
  }
  if (job.operators.empty()) {
    job.missing.push_back({Input::operators, "", "a profile of a map-style data set, with at least 32 samples timed"});
  }
}

}  // namespace stallcast
