#include "model/predict/predict.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "model/predict/availability.hpp"
#include "model/predict/bottleneck.hpp"
#include "model/predict/calibrate.hpp"
#include "model/predict/cluster_simulation.hpp"
#include "model/predict/constants.hpp"
#include "model/predict/discrepancy.hpp"
#include "model/predict/narrowed_by.hpp"
#include "model/predict/recursion.hpp"
#include "model/scenario/formatted.hpp"
#include "model/setting/parts_of_time.hpp"

namespace stallcast {
namespace {

constexpr double k_ninety = 1.6448536;  ///< two-sided 90 % of a normal, in standard deviations

/// A value below which the share `q` of the sorted `values` lies, linear between them.
double quantile(const std::vector<double>& values, double q) {
  const double place =
      std::clamp(q * static_cast<double>(values.size()) - 0.5, 0.0, static_cast<double>(values.size() - 1));
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

}  // namespace

struct Predictor::State {
  JobModel job{};
  StallCurves curves{};
  Calibration calibration{};
  std::optional<Recursion> recursion{};
  std::optional<Discrepancy> of_analytic{};
  std::optional<Discrepancy> of_recursion{};

  double rate_of(const Setting& setting, const Draw& truth) {
    double step_s = 0.0;
    for (const PartOfTime& part : parts_of_time(job, setting)) {
      step_s += part.weight * evaluate(job, part.setting, truth, curves).step_s;
    }
    return setting.batch / std::max(1e-12, step_s);
  }

  Draw best() const { return {calibration.best, {}}; }

  const Recursion& fitted() {
    if (!recursion) {
      recursion.emplace(job);
      // Where blocks were run, all of them have fitted the model, and what it gets wrong of each is corrected there.
      if (job.attributed) recursion->fit(demands(job, as_found(job), calibration.best, {}));
    }
    return *recursion;
  }

  /// Where blocks were run: what `step_of` (seconds of a step, by its demands) gets wrong of their rates.
  template <class StepOf>
  Discrepancy discrepancy_of(StepOf step_of) const {
    std::vector<Discrepancy::Observed> seen;
    if (job.attributed) return Discrepancy(seen);
    for (const Observation& one : job.observations) {
      const bool is_cold_too =
          one.phase == "as_is" &&
          std::any_of(job.observations.begin(), job.observations.end(), [&](const Observation& other) {
            return other.phase == "cold" && other.rate == one.rate;  // one and the same measurement
          });
      if (is_cold_too) continue;
      const ServiceDemands input = demands(job, setting_of(job, one), calibration.best, {});
      const double step_s = std::max(1e-12, step_of(input));
      seen.push_back({regime_of(input, step_s), std::log(one.rate * step_s / job.batch), one.relative_sd});
    }
    return Discrepancy(std::move(seen));
  }

  /// Seconds of a step, given what the model says: never less than the slowest stage needs.
  static double corrected(const ServiceDemands& input, double step_s, const Discrepancy& discrepancy) {
    const double expected = step_s * std::exp(-discrepancy.at(regime_of(input, std::max(1e-12, step_s))));
    return std::max(expected, std::min(step_s, slowest_stage_s(input)));
  }

  /// Seconds of a step at `setting`, by the analytic form and by the recursion.
  double analytic_step_s(const Setting& setting) {
    if (!of_analytic) {
      of_analytic = discrepancy_of([&](const ServiceDemands& input) { return evaluate(input, curves).step_s; });
    }
    double step_s = 0.0;
    for (const PartOfTime& part : parts_of_time(job, setting)) {
      const ServiceDemands input = demands(job, part.setting, calibration.best, {});
      step_s += part.weight * corrected(input, evaluate(input, curves).step_s, *of_analytic);
    }
    return step_s;
  }

  /// A setting as the recursion plays it: what the step takes by it, and corrected by what it gets wrong of blocks.
  struct Course {
    Played run{};
    double step_s = 0.0;
  };

  Course play(const Setting& setting) {
    if (!of_recursion) {
      of_recursion =
          discrepancy_of([&](const ServiceDemands& input) { return fitted().play(input, job.batch).step_s; });
    }
    Course course;
    for (const PartOfTime& part : parts_of_time(job, setting)) {
      const ServiceDemands input = demands(job, part.setting, calibration.best, {});
      const Played run = fitted().play(input, setting.batch);
      course.run.step_s += part.weight * run.step_s;
      course.run.wait_s += part.weight * run.wait_s;
      course.run.own_s += part.weight * run.own_s;
      course.step_s += part.weight * corrected(input, run.step_s, *of_recursion);
    }
    return course;
  }

  /// All blocks together say more of the job as found than its own window does, unless they contradict that one: then
  /// the model is wrong there, and what was measured stands.
  void settle() {
    if (job.attributed) return;
    const double fitted_rate = rate_of(as_found(job), best());
    if (std::abs(std::log(fitted_rate / job.rate)) <= k_window_contradicts_sds * job.rate_relative_sd)
      job.rate = fitted_rate;
  }

  /// ln of the rate in each truth over the best one, sorted; if `base` is given, of the rate over that at `base` in the
  /// same truth.
  std::vector<double> spread(const Setting& setting, const Setting* base) {
    const auto log_rate = [&](const Draw& truth) {
      const double rate = std::log(rate_of(setting, truth));
      return base == nullptr ? rate : rate - std::log(rate_of(*base, truth));
    };
    const double centre = log_rate(best());
    std::vector<double> logs;
    logs.reserve(calibration.draws.size());
    for (const Draw& truth : calibration.draws) logs.push_back(log_rate(truth) - centre);
    std::sort(logs.begin(), logs.end());
    return logs;
  }

  Prediction describe(const Scenario& scenario, const Setting& setting) {
    Prediction prediction;
    prediction.scenario = scenario.items;
    prediction.notes = job.notes;
    prediction.notes.insert(prediction.notes.end(), setting.notes.begin(), setting.notes.end());
    prediction.extrapolated = setting.extrapolated;
    const Bounds bounds = bounds_of(demands(job, setting, calibration.best, {}));
    prediction.bound = bounds.bound;
    prediction.next_bound = bounds.next_bound;
    if (job.overlapped || job.reads_unseen) {
      for (std::string* name : {&prediction.bound, &prediction.next_bound}) {
        if (*name == "prep" || *name == "fetch") *name = job.loader_bound;
      }
    }
    prediction.headroom = bounds.headroom;
    return prediction;
  }

  void set_rate(Prediction& prediction, double rank_rate, const Setting& setting, double ln_low, double ln_high) const {
    const double rate = rank_rate * ranks_of(setting);
    prediction.throughput = {SamplesPerSecond(rate), SamplesPerSecond(rate * std::exp(std::min(0.0, ln_low))),
                             SamplesPerSecond(rate * std::exp(std::max(0.0, ln_high)))};
    prediction.step = Seconds(setting.batch / rank_rate);
    if (job.dataset_samples) {
      prediction.epoch = Seconds(*job.dataset_samples / rate);
    } else {
      prediction.epoch = Measured<Seconds>::absent("the number of samples of the data set is not known");
    }
  }

  /// Staging: what is copied first, and the epoch in which nothing lies where it will.
  void set_first_epoch(Prediction& prediction, const Setting& setting) {
    const auto first = first_epoch(setting);
    if (!first) return;
    if (!prediction.epoch) {
      prediction.first_epoch = prediction.epoch;
      return;
    }
    const double rate = rate_of(*first, best()) * ranks_of(setting);
    const Seconds epoch(*job.dataset_samples / rate);
    prediction.first_epoch = Seconds(setting.copy_s) + std::max(epoch, *prediction.epoch);
  }

  /// The run as found, with the interval of what was measured of it.
  Prediction measured(const Scenario& scenario, const Setting& setting) {
    Prediction prediction = describe(scenario, setting);
    const double half = std::log1p(k_ninety * job.rate_relative_sd);
    set_rate(prediction, job.rate, setting, -half, half);
    prediction.stall = job.found_stall;
    return prediction;
  }

  Prediction closed_form(const Scenario& scenario, const Setting& setting) {
    if (setting.as_found) return measured(scenario, setting);
    Prediction prediction = describe(scenario, setting);
    double step_s = 0.0;
    double own_s = 0.0;
    for (const PartOfTime& part : parts_of_time(job, setting)) {
      const StepTimes result = evaluate(job, part.setting, best(), curves);
      step_s += part.weight * result.step_s;
      own_s += part.weight * result.own_s;
    }
    const auto logs = spread(setting, nullptr);
    // The measured window is one of many: how far another would be off comes on top, in squares.
    const double window = k_ninety * job.window_relative_sd;
    set_rate(prediction, setting.batch / analytic_step_s(setting), setting,
             -std::hypot(std::min(0.0, quantile(logs, 0.05)), window),
             std::hypot(std::max(0.0, quantile(logs, 0.95)), window));
    const double receive_s = demands(job, setting, calibration.best, {}).receive_s;
    prediction.stall = std::clamp(1.0 - (own_s - receive_s) / step_s, 0.0, 1.0);
    set_first_epoch(prediction, setting);
    return prediction;
  }

  Prediction played(const Scenario& scenario, const Setting& setting) {
    Prediction prediction = closed_form(scenario, setting);
    if (setting.as_found) return prediction;
    const Course course = play(setting);
    const double rate = setting.batch / course.step_s;
    const double analytic = prediction.throughput.mean.value() / ranks_of(setting);
    const double apart = std::log(analytic / rate);
    const double low = std::log(prediction.throughput.ci90_low.value() / prediction.throughput.mean.value());
    const double high = std::log(prediction.throughput.ci90_high.value() / prediction.throughput.mean.value());
    set_rate(prediction, rate, setting, low + 0.5 * std::min(0.0, apart), high + 0.5 * std::max(0.0, apart));
    prediction.stall = std::clamp(course.run.wait_s / course.run.step_s, 0.0, 1.0);
    set_first_epoch(prediction, setting);
    if (std::abs(apart) > k_forms_apart) {
      prediction.notes.push_back("the analytic form, which sweeps use, says " +
                                 formatted("%.1f", 100.0 * std::abs(std::expm1(apart))) +
                                 (apart > 0.0 ? " % more" : " % less"));
    }
    return prediction;
  }
};

Predictor::Predictor(std::unique_ptr<State> state) : state_(std::move(state)) {}
Predictor::Predictor(Predictor&&) noexcept = default;
Predictor& Predictor::operator=(Predictor&&) noexcept = default;
Predictor::~Predictor() = default;

Result<Predictor> Predictor::make(const Profile& profile) {
  auto job = job_model(profile);
  if (!job) return job.error();
  auto state = std::make_unique<State>();
  state->job = std::move(job).value();
  state->calibration = calibrate(state->job, state->curves);
  state->settle();
  return Predictor(std::move(state));
}

Result<Prediction> Predictor::predict(const Scenario& scenario) {
  auto setting = resolve(state_->job, scenario);
  if (!setting) return setting.error();
  return state_->played(scenario, setting.value());
}

Result<Prediction> Predictor::predict_and_simulate(const Scenario& scenario, const SimulationAsk& ask) {
  const auto resolved = resolve(state_->job, scenario);
  if (!resolved) return resolved.error();
  const Setting& setting = resolved.value();
  const Recursion& recursion = state_->fitted();
  const Parameters& best = state_->calibration.best;
  auto cluster = cluster_of(state_->job, scenario, setting, best, state_->curves, recursion, ask);
  if (!cluster) return cluster.error();
  Prediction prediction = state_->played(scenario, setting);
  const double receiving_s = recursion.receiving_s(demands(state_->job, setting, best, {}), setting.batch);
  prediction.simulation = simulate_cluster(cluster.value(), setting, receiving_s, prediction);
  return prediction;
}

Result<Prediction> Predictor::predict_closed_form(const Scenario& scenario) {
  auto setting = resolve(state_->job, scenario);
  if (!setting) return setting.error();
  return state_->closed_form(scenario, setting.value());
}

Result<double> Predictor::closed_form_rate(const Scenario& scenario) {
  auto setting = resolve(state_->job, scenario);
  if (!setting) return setting.error();
  return setting.value().batch / std::max(1e-12, state_->analytic_step_s(setting.value())) * ranks_of(setting.value());
}

Result<Gain> Predictor::gain(const Scenario& scenario, const Scenario& base) {
  auto setting = resolve(state_->job, scenario);
  if (!setting) return setting.error();
  auto before = resolve(state_->job, base);
  if (!before) return before.error();
  if (setting.value().as_found && before.value().as_found) return Gain{};
  const auto log_rate = [&](const Setting& at) { return std::log(ranks_of(at) * at.batch / state_->play(at).step_s); };
  const double centre = log_rate(setting.value()) - log_rate(before.value());
  const auto logs = state_->spread(setting.value(), &before.value());
  const double low = std::min(0.0, quantile(logs, 0.05));
  const double high = std::max(0.0, quantile(logs, 0.95));
  // Whether the storage serves more readers at once, or gives each of them less, no block of the profile has shown.
  const JobModel& job = state_->job;
  const bool reads = job.reads_unseen || (setting.value().miss > 0.0 && !job.storage_demand_s && job.storage_s);
  const bool more_readers = reads && setting.value().workers > before.value().workers;
  const double lowest = more_readers ? std::min(centre + low, 0.0) : centre + low;
  return Gain{std::expm1(centre), std::expm1(lowest), std::expm1(centre + high)};
}

std::vector<KeyAvailability> Predictor::keys() const {
  std::vector<KeyAvailability> keys;
  for (const std::string_view key : scenario_keys()) keys.push_back(availability(state_->job, key));
  return keys;
}

std::optional<BytesPerSecond> Predictor::storage_ceiling() const {
  const JobModel& job = state_->job;
  Setting cold = as_found(job);
  cold.miss = 1.0;
  const double demand_s = demands(job, cold, state_->calibration.best, {}).limit_s / job.batch;
  if (!job.storage_s || !job.stored_bytes || demand_s <= 0.0) return std::nullopt;
  return BytesPerSecond(*job.stored_bytes * job.ranks / demand_s);
}

std::string Predictor::narrowed_by(const Scenario& scenario) {
  const auto setting = resolve(state_->job, scenario);
  if (!setting) return setting.error().hint;
  std::vector<double> logs;
  for (const Draw& truth : state_->calibration.draws) logs.push_back(std::log(state_->rate_of(setting.value(), truth)));
  return widest_contribution(state_->calibration.draws, logs);
}

std::vector<std::string> Predictor::backtest_lines() const {
  std::vector<std::string> lines;
  for (const Backtest& test : state_->calibration.backtests) {
    std::string what = test.seen.phase;
    if (test.seen.workers) what += ", workers=" + std::to_string(*test.seen.workers);
    if (test.seen.prefetch) what += ", prefetch=" + std::to_string(*test.seen.prefetch);
    if (test.seen.added_cpu_s > 0.0) what += " with more CPU time per sample";
    if (test.seen.cached) what += ", cached=" + formatted("%.1f", 100.0 * *test.seen.cached) + "%";
    lines.push_back(what + ": predicted from the rest with an error of " +
                    formatted("%.1f", 100.0 * (test.predicted_rate / test.seen.rate - 1.0)) + " %");
  }
  return lines;
}

Result<Prediction> predict(const Profile& profile, const Scenario& scenario) {
  auto predictor = Predictor::make(profile);
  if (!predictor) return predictor.error();
  return predictor.value().predict(scenario);
}

Result<std::vector<Prediction>> predict_all(const Profile& profile, std::span<const Scenario> scenarios) {
  auto predictor = Predictor::make(profile);
  if (!predictor) return predictor.error();
  std::vector<Prediction> predictions;
  predictions.reserve(scenarios.size());
  const bool sweep = scenarios.size() > k_most_recursions;
  for (const Scenario& scenario : scenarios) {
    auto one = sweep ? predictor.value().predict_closed_form(scenario) : predictor.value().predict(scenario);
    if (!one) return one.error();
    predictions.push_back(std::move(one).value());
  }
  return predictions;
}

Result<std::vector<Prediction>> simulate_all(const Profile& profile, std::span<const Scenario> scenarios,
                                             const SimulationAsk& ask) {
  if (scenarios.size() > k_most_recursions) {
    return Error{ErrorCode::usage,
                 "--simulate of " + std::to_string(scenarios.size()) + " scenarios at once, and the most is " +
                     std::to_string(k_most_recursions),
                 "use fewer values"};
  }
  auto predictor = Predictor::make(profile);
  if (!predictor) return predictor.error();
  std::vector<Prediction> predictions;
  for (const Scenario& scenario : scenarios) {
    auto one = predictor.value().predict_and_simulate(scenario, ask);
    if (!one) return one.error();
    predictions.push_back(std::move(one).value());
  }
  return predictions;
}

}  // namespace stallcast
