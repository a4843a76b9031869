#include "model/predict/discrepancy.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <utility>

#include "model/predict/constants.hpp"

namespace stallcast {
namespace {

double covariance(const Regime& a, const Regime& b) {
  double square = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) square += (a[i] - b[i]) * (a[i] - b[i]);
  return k_model_sd * k_model_sd * std::exp(-0.5 * square / (k_discrepancy_reach * k_discrepancy_reach));
}

}  // namespace

Regime regime_of(const ServiceDemands& in, double step_s) {
  const double workers = std::max(1, in.workers);
  const auto load = [&](double seconds) { return std::pow(std::clamp(seconds / step_s, 0.0, 1.0), 4.0); };
  const double fetching_s = std::max({in.limit_s, in.disk_s, in.beyond_s});
  return {load((in.cpu_s + in.receive_cpu_s + in.step_cpu_s * in.step_threads) / in.cores), load(fetching_s),
          load((in.cpu_s + in.other_s + in.latency_s + in.disk_s) / workers),
          load(in.device_s + in.receive_s + in.step_cpu_s), in.workers > 0 ? 1.0 : 0.0};
}

Discrepancy::Discrepancy(std::vector<Observed> seen) : observed_(std::move(seen)) {
  const auto n = static_cast<Eigen::Index>(observed_.size());
  Eigen::MatrixXd covariances(n, n);
  Eigen::VectorXd ratios(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const Observed& one = observed_[static_cast<std::size_t>(i)];
    ratios[i] = one.log_ratio;
    for (Eigen::Index j = 0; j < n; ++j) {
      covariances(i, j) = covariance(one.regime, observed_[static_cast<std::size_t>(j)].regime);
    }
    covariances(i, i) += one.relative_sd * one.relative_sd;
  }
  const Eigen::VectorXd weights = covariances.ldlt().solve(ratios);
  weights_.assign(weights.begin(), weights.end());
}

double Discrepancy::at(const Regime& regime) const {
  double sum = 0.0;
  for (std::size_t i = 0; i < observed_.size(); ++i) {
    sum += weights_[i] * covariance(regime, observed_[i].regime);
  }
  return sum;
}

}  // namespace stallcast
