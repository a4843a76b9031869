/// Operators of the workers that a scenario makes faster, or takes away.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "model/scenario/nearest_word.hpp"
#include "model/setting/constants.hpp"
#include "model/setting/parts.hpp"

namespace stallcast::setting_parts {
namespace {

/// By its name all operators of a class, by its place in the chain the one.
bool is_meant(const JobOperator& candidate, std::string_view name) {
  if (name == "all") return candidate.kind != "collate";
  return candidate.name == name || (!candidate.where.empty() && candidate.where == name);
}

Error unknown(const JobModel& job, const std::string& name) {
  std::vector<std::string_view> known;
  std::string list;
  for (const JobOperator& candidate : job.operators) {
    if (std::find(known.begin(), known.end(), candidate.name) == known.end()) {
      known.push_back(candidate.name);
      list += (list.empty() ? "" : ", ") + candidate.name;
    }
    if (!candidate.where.empty()) known.push_back(candidate.where);
  }
  const auto nearest = nearest_word(name, known);
  return usage_error("this job has no operator '" + name + "'",
                     nearest ? "did you mean '" + std::string(*nearest) + "'?" : "operators: " + list);
}

}  // namespace

Status apply_operators(const JobModel& job, const Scenario& scenario, Setting& setting, Uncertainty& uncertain) {
  if (scenario.operators.empty()) return {};
  double unsure = 0.0;
  bool removed = false;
  for (const OperatorChange& change : scenario.operators) {
    bool found = false;
    for (const JobOperator& known : job.operators) {
      if (!is_meant(known, change.name)) continue;
      found = true;
      const double gone = change.on_device ? 1.0 : 1.0 - 1.0 / change.speedup;
      if (change.on_device) setting.device_prep_s += known.cpu_s / change.speedup;
      setting.saved_cpu_s += gone * known.cpu_s;
      setting.saved_other_s += gone * known.other_s;
      unsure +=
          squared(gone * (known.cpu_s + known.other_s)) * (squared(k_operator_saved_sd) + squared(known.relative_sd));
    }
    if (!found) return unknown(job, change.name);
    removed = removed || std::isinf(change.speedup);
  }
  setting.saved_cpu_s = std::min(setting.saved_cpu_s, job.cpu_s);
  setting.saved_other_s = std::min(setting.saved_other_s, job.other_s);
  const double whole = job.cpu_s + job.other_s;
  const double left = std::max(whole - setting.saved_cpu_s - setting.saved_other_s, k_least_left_share * whole);
  if (whole > 0.0) uncertain.making += std::min(1.0, unsure / squared(left));
  if (left * k_within_measured_factor < whole || left > whole * k_within_measured_factor) setting.extrapolated = true;
  if (setting.device_prep_s > 0.0) {
    const double step_s = (job.device_s + job.step_cpu_s) / job.batch;
    uncertain.step += squared(k_device_prep_sd * std::min(1.0, setting.device_prep_s / std::max(step_s, 1e-12)));
    setting.extrapolated = true;
    setting.notes.emplace_back(
        "operators on the accelerator hold up the step for as long as they run there; that their inputs must be copied "
        "to it is left out");
  }
  if (removed) setting.notes.push_back("what the operators that stay then cost is taken to be the same");
  return {};
}

}  // namespace stallcast::setting_parts
