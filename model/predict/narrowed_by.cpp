#include "model/predict/narrowed_by.hpp"

#include <array>
#include <cmath>

#include "model/predict/constants.hpp"

namespace stallcast {
namespace {

struct Unknown {
  double (*value)(const Draw&);
  const char* measured_by;
};

constexpr const char* k_other_workers =
    "what another number of workers brings (measured by a profile without --phases as_is, or by a second profile with "
    "another num_workers)";

constexpr std::array<Unknown, 8> k_unknowns{{
    {[](const Draw& d) { return d.parameters.step; }, "how fast the job can ingest (measured by the state synthetic)"},
    {[](const Draw& d) { return d.parameters.prep; },
     "how fast workers make batches (measured by the states cached and supply)"},
    {[](const Draw& d) { return d.parameters.storage; },
     "what reading from storage costs (measured by the state cold)"},
    {[](const Draw& d) { return d.parameters.bandwidth; },
     "whether more readers get more out of the storage (measured by stallcast storage on the data set's folder, or by "
     "a "
     "profile with another num_workers)"},
    {[](const Draw& d) { return d.parameters.beside; }, k_other_workers},
    {[](const Draw& d) { return d.error.making; }, k_other_workers},
    {[](const Draw& d) { return d.error.step; },
     "how the step changes with batch size, device or cores (measured by a run with these changed)"},
    {[](const Draw& d) { return d.error.hits; }, "the page cache's hit ratio (measured by a profile of a later epoch)"},
}};

struct Moments {
  double mean = 0.0;
  double variance = 0.0;
};

template <class Value>
Moments moments(std::size_t n, Value value) {
  Moments m;
  for (std::size_t i = 0; i < n; ++i) m.mean += value(i) / static_cast<double>(n);
  for (std::size_t i = 0; i < n; ++i) m.variance += std::pow(value(i) - m.mean, 2.0) / static_cast<double>(n);
  return m;
}

}  // namespace

std::string widest_contribution(std::span<const Draw> draws, std::span<const double> log_rates) {
  const std::size_t n = draws.size();
  if (n < 8 || log_rates.size() != n) return {};
  const Moments rate = moments(n, [&](std::size_t i) { return log_rates[i]; });
  if (std::sqrt(rate.variance) < k_wide_log_rate_sd) return {};
  const char* best = nullptr;
  double most = k_least_explained_share;
  for (const Unknown& unknown : k_unknowns) {
    const Moments own = moments(n, [&](std::size_t i) { return unknown.value(draws[i]); });
    if (own.variance <= 0.0) continue;
    double covariance = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      covariance += (log_rates[i] - rate.mean) * (unknown.value(draws[i]) - own.mean) / static_cast<double>(n);
    }
    const double explained = covariance * covariance / (rate.variance * own.variance);
    if (explained > most) {
      most = explained;
      best = unknown.measured_by;
    }
  }
  return best == nullptr ? std::string() : std::string(best);
}

}  // namespace stallcast
