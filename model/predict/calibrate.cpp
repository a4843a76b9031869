#include "model/predict/calibrate.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <numeric>
#include <random>

#include "model/predict/constants.hpp"
#include "model/setting/storage_cost.hpp"

namespace stallcast {
namespace {

constexpr int k_parameters = 5;
using Vector = Eigen::Matrix<double, k_parameters, 1>;
using Matrix = Eigen::Matrix<double, k_parameters, k_parameters>;

constexpr int k_dimensions = k_parameters + 3;  ///< error of making, of step, of hits behind the fourth parameter

Parameters parameters_of(const Vector& v) {
  return {v[0], v[1], v[2], v[3], k_beside_expected + v[4]};
}

double log_rate(const JobModel& job, const Setting& setting, const Vector& at, StallCurves& curves) {
  const StepTimes result = evaluate(job, setting, {parameters_of(at), {}}, curves);
  return std::log(setting.batch / std::max(result.step_s, 1e-12));
}

/// How far the truth may lie from what the profile says, before any rate is looked at.
Vector prior_sd(const JobModel& job) {
  const double bandwidth = job.storage_demand_s ? probed_ceiling_units(job) : k_prior_guessed_ceiling_units;
  // Only blocks of other worker counts tell it; where there are none, the model's own error holds it.
  const bool besides = std::any_of(job.observations.begin(), job.observations.end(),
                                   [](const Observation& seen) { return seen.workers.has_value(); });
  const double beside = besides ? k_beside_sd : k_untold_beside_sd;
  Vector sd;
  if (job.attributed) {
    sd << std::hypot(job.compute_relative_sd, k_attributed_step_sd), k_attributed_prep_sd, k_attributed_storage_sd,
        bandwidth, beside;
  } else {  // The differential rates shall decide.
    const double prep = job.cpu_of_cached ? k_prior_prep_of_cached_sd : k_prior_prep_sd;
    sd << std::hypot(job.compute_relative_sd, k_prior_step_sd), prep, k_prior_storage_sd, bandwidth, beside;
  }
  return sd;
}

struct Fit {
  Vector at = Vector::Zero();
  Matrix covariance = Matrix::Identity();
  double misfit = 0.0;
};

/// One observation as the fit sees it.
struct Target {
  Setting setting{};
  double log_rate = 0.0;
  double sd = 0.01;
};

std::vector<Target> targets_of(const JobModel& job, const std::vector<Observation>& observations) {
  std::vector<Target> targets;
  for (const Observation& seen : observations) {
    if (seen.repeats) continue;
    targets.push_back({setting_of(job, seen), std::log(seen.rate), seen.relative_sd});
  }
  return targets;
}

double penalty(const JobModel& job, const std::vector<Target>& targets, const Vector& sd, const Vector& at,
               StallCurves& curves) {
  double sum = at.cwiseQuotient(sd).squaredNorm();
  for (const Target& target : targets) {
    sum += std::pow((log_rate(job, target.setting, at, curves) - target.log_rate) / target.sd, 2.0);
  }
  return sum;
}

/// How the logarithm of the rate at `setting` moves with each parameter.
Vector slope_at(const JobModel& job, const Setting& setting, const Vector& at, const Vector& sd, StallCurves& curves) {
  Vector slope;
  for (int p = 0; p < k_parameters; ++p) {
    const double step = k_slope_step * sd[p];
    Vector moved = at;
    moved[p] += step;
    const double ahead = log_rate(job, setting, moved, curves);
    moved[p] -= 2.0 * step;
    slope[p] = (ahead - log_rate(job, setting, moved, curves)) / (2.0 * step);
  }
  return slope;
}

/// Gauss-Newton with the prior as four more observations; a step that does not improve is halved.
Fit fit(const JobModel& job, const std::vector<Observation>& observations, StallCurves& curves) {
  const std::vector<Target> targets = targets_of(job, observations);
  const Vector sd = prior_sd(job);
  Fit result;
  double best = penalty(job, targets, sd, result.at, curves);
  Matrix information = Matrix::Zero();
  for (int iteration = 0; iteration < 12; ++iteration) {
    information = sd.cwiseProduct(sd).cwiseInverse().asDiagonal();
    Vector gradient = information * result.at;
    for (const Target& target : targets) {
      const double here = log_rate(job, target.setting, result.at, curves);
      const Vector slope = slope_at(job, target.setting, result.at, sd, curves);
      const double weight = 1.0 / (target.sd * target.sd);
      gradient += weight * (here - target.log_rate) * slope;
      information += weight * slope * slope.transpose();
    }
    Vector move = -information.ldlt().solve(gradient);
    double reached = best;
    for (int halving = 0; halving < 8; ++halving, move *= 0.5) {
      reached = penalty(job, targets, sd, result.at + move, curves);
      if (reached < best) break;
    }
    if (!(reached < best)) break;
    result.at += move;
    const bool settled = best - reached < k_settled_gain;
    best = reached;
    if (settled) break;
  }
  result.covariance = information.inverse();
  double sum = 0.0;
  for (const Target& target : targets) {
    sum += std::pow(log_rate(job, target.setting, result.at, curves) - target.log_rate, 2.0);
  }
  result.misfit = std::sqrt(sum / static_cast<double>(targets.size()));
  return result;
}

/// Latin hypercube of standard normals: each dimension has its quantiles in the middle of k_draws equal slices.
std::vector<std::array<double, k_dimensions>> normals() {
  std::mt19937 random(20210816);
  const boost::math::normal standard;
  std::vector<std::array<double, k_dimensions>> rows(k_draws);
  std::vector<int> order(k_draws);
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t d = 0; d < k_dimensions; ++d) {
    // Fisher-Yates by hand: std::shuffle may differ between libraries, and the same question deserves the same answer
    for (std::size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[random() % (i + 1)]);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i][d] = boost::math::quantile(standard, (order[i] + 0.5) / k_draws);
    }
  }
  return rows;
}

std::vector<Draw> draw(const Fit& fitted, double error_scale) {
  const boost::math::normal standard;
  const Matrix root = fitted.covariance.llt().matrixL();
  std::vector<Draw> draws;
  for (const auto& row : normals()) {
    Draw truth;
    Vector normal;
    normal << row[0], row[1], row[2], row[3], row[7];
    truth.parameters = parameters_of(fitted.at + root * normal);
    truth.error.making = error_scale * row[4];
    truth.error.step = error_scale * row[5];
    const double uniform = boost::math::cdf(standard, row[6]);
    truth.error.hits = 2.0 * uniform - 1.0;
    truth.error.other_step = boost::math::cdf(standard, row[5] * 0.6 + row[4] * 0.8) < k_other_step_share;
    draws.push_back(truth);
  }
  return draws;
}

/// Each block beyond those that the split is made of, predicted from the rest. What exceeds the errors that the fit and
/// the block's own noise explain is the model's. One or two blocks say little of it: what is expected counts as two
/// more.
void backtest(const JobModel& job, Calibration& calibration, StallCurves& curves) {
  double squares = k_expected_backtest_counts * k_expected_backtest_sd * k_expected_backtest_sd;
  double expected = squares;
  for (std::size_t i = 1; i < job.observations.size(); ++i) {
    const Observation& seen = job.observations[i];
    if (!seen.workers && !seen.prefetch && !seen.cached && seen.added_cpu_s == 0.0)
      continue;  // a rate that the split is made of: nothing else knows it
    std::vector<Observation> others = job.observations;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const Fit fitted = fit(job, others, curves);
    const Setting setting = setting_of(job, seen);
    const double predicted = std::exp(log_rate(job, setting, fitted.at, curves));
    const Vector slope = slope_at(job, setting, fitted.at, prior_sd(job), curves);
    const double explained = slope.dot(fitted.covariance * slope) + seen.relative_sd * seen.relative_sd;
    calibration.backtests.push_back({seen, predicted});
    const double off = std::log(predicted / seen.rate);
    squares += std::max(0.0, off * off - explained);
    expected += k_expected_backtest_sd * k_expected_backtest_sd;
  }
  if (calibration.backtests.empty()) return;
  calibration.error_scale = std::clamp(std::sqrt(squares / expected), k_least_error_scale, k_most_error_scale);
}

}  // namespace

StepTimes evaluate(const JobModel& job, const Setting& setting, const Draw& truth, StallCurves& curves) {
  return evaluate(demands(job, setting, truth.parameters, truth.error), curves);
}

Calibration calibrate(const JobModel& job, StallCurves& curves) {
  const Fit fitted = fit(job, job.observations, curves);
  Calibration calibration;
  calibration.best = parameters_of(fitted.at);
  calibration.misfit = fitted.misfit;
  for (int p = 0; p < k_parameters; ++p)
    calibration.sd[static_cast<std::size_t>(p)] = std::sqrt(fitted.covariance(p, p));
  backtest(job, calibration, curves);
  calibration.draws = draw(fitted, calibration.error_scale);
  return calibration;
}

}  // namespace stallcast
