#include "model/operators.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/units.hpp"
#include "model/job_inputs.hpp"
#include "model/nearest_word.hpp"
#include "model/predict.hpp"

namespace stallcast {
namespace {

constexpr double k_largest_factor = 1000.0;
/// Of what is saved: without an operator the others find other inputs and other caches.
constexpr double k_saved_sd = 0.1;
/// Wall time beyond CPU time and waiting for a core that counts as waiting for something else.
constexpr double k_waits_from = 0.1;
constexpr double k_device_prep_sd = 0.3;  ///< of what operators add to the step: nobody has run them there
constexpr const char* k_example =
    "write for example operator=Resize:x2, operator=Resize:off, or operator=Resize:gpu20 on the accelerator";
constexpr const char* k_unlocked_by = "a profile of a map-style data set, with at least 32 samples timed";

/// "x2", "2x", "2", "off", which is endlessly fast, or "gpu20": on the accelerator, 20 times as fast as in a worker.
Result<OperatorChange> parse_change(std::string_view text) {
  OperatorChange change;
  change.speedup = std::numeric_limits<double>::infinity();
  if (text == "off") return change;
  change.on_device = text.starts_with("gpu");
  if (change.on_device) text.remove_prefix(3);
  if (!text.empty() && text.front() == 'x') text.remove_prefix(1);
  auto factor = parse_factor(text);
  if (!factor || factor.value() < 1.0 / k_largest_factor || factor.value() > k_largest_factor) {
    return usage_error("'" + std::string(text) + "' is neither off nor a factor of 0.001 to 1000", k_example);
  }
  change.speedup = factor.value();
  return change;
}

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

Status set_operators(Scenario& scenario, std::string_view value) {
  std::vector<OperatorChange> changes;
  while (!value.empty()) {
    const std::size_t plus = std::min(value.find('+'), value.size());
    const std::string_view one = value.substr(0, plus);
    value.remove_prefix(std::min(plus + 1, value.size()));
    const std::size_t colon = one.rfind(':');
    if (colon == std::string_view::npos || colon == 0) {
      return usage_error("'" + std::string(one) + "' does not say how much faster", k_example);
    }
    auto change = parse_change(one.substr(colon + 1));
    if (!change) return change.error();
    const std::string name(one.substr(0, colon));
    const bool twice =
        std::any_of(changes.begin(), changes.end(), [&](const auto& other) { return other.name == name; });
    if (twice) return usage_error("the operator '" + name + "' is changed twice", "change each operator once");
    change.value().name = name;
    changes.push_back(std::move(change).value());
  }
  scenario.operators = std::move(changes);
  return {};
}

void read_operators(const Profile& profile, JobModel& job) {
  const double cpu = inputs::mean_or(profile.resources.worker_cpu, 0.0);
  const double delayed = cpu > 0.0 ? inputs::mean_or(profile.resources.worker_run_delay, 0.0) / cpu : 0.0;
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
    if (waits > k_waits_from * wall) known.other_s = std::min(waits, job.other_s);
    if (share > 0.0 && std::isfinite(half)) known.relative_sd = std::min(1.0, half / 1.96 / share);
    job.operators.push_back(std::move(known));
  }
}

std::map<std::size_t, Prediction> without_each_operator(const Profile& profile, std::size_t most) {
  std::map<std::size_t, Prediction> without;
  const std::vector<Operator>& rows = profile.operators;
  if (rows.empty()) return without;
  auto predictor = Predictor::make(profile);
  if (!predictor) return without;
  for (std::size_t i = 0; i < rows.size() && without.size() < most; ++i) {
    if (rows[i].kind != "operator") continue;  // nothing can be trained on without decoding and collating
    const auto same =
        std::count_if(rows.begin(), rows.end(), [&](const Operator& x) { return x.name == rows[i].name; });
    const std::string& address = same > 1 && !rows[i].where.empty() ? rows[i].where : rows[i].name;
    Scenario scenario;
    if (!set_key(scenario, "operator", address + ":off")) continue;
    auto prediction = predictor.value().predict(scenario);
    if (prediction) without.emplace(i, std::move(prediction).value());
  }
  return without;
}

Status setting_parts::apply_operators(const JobModel& job, const Scenario& scenario, Setting& setting,
                                      Uncertainty& uncertain) {
  if (scenario.operators.empty()) return {};
  if (job.operators.empty()) {
    return Error{ErrorCode::not_enough_data,
                 "the scenario key 'operator' needs the cost per operator, which this profile lacks",
                 std::string("needed: ") + k_unlocked_by};
  }
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
      unsure += squared(gone * (known.cpu_s + known.other_s)) * (squared(k_saved_sd) + squared(known.relative_sd));
    }
    if (!found) return unknown(job, change.name);
    removed = removed || std::isinf(change.speedup);
  }
  setting.saved_cpu_s = std::min(setting.saved_cpu_s, job.cpu_s);
  setting.saved_other_s = std::min(setting.saved_other_s, job.other_s);
  const double whole = job.cpu_s + job.other_s;
  const double left = std::max(whole - setting.saved_cpu_s - setting.saved_other_s, 0.02 * whole);
  if (whole > 0.0) uncertain.making += std::min(1.0, unsure / squared(left));
  if (left * k_twice < whole || left > whole * k_twice) setting.extrapolated = true;
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

}  // namespace stallcast
