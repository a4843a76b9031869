#include "model/analytic/staging.hpp"

#include <algorithm>
#include <cmath>

namespace stallcast::staging {

double local_epoch_s(double samples, const Rates& rates) {
  return samples / std::min({rates.disk_read, rates.prep, rates.train});
}

double direct_s(double samples, int epochs, const Rates& rates) {
  return epochs * samples / std::min({rates.storage, rates.prep, rates.train});
}

double before_s(double samples, int epochs, const Rates& rates) {
  return samples / std::min(rates.storage, rates.disk_write) + epochs * local_epoch_s(samples, rates);
}

double overlap_s(double samples, int epochs, double fill_s, const Rates& rates) {
  const double first = samples / std::min({rates.storage, rates.disk_write, rates.prep, rates.train});
  return fill_s + first + (epochs - 1) * local_epoch_s(samples, rates);
}

double staged_share(int nodes, int epochs) {
  return 1.0 - std::pow(1.0 - 1.0 / nodes, epochs);
}

int epochs_to_stage(int nodes, double share) {
  if (nodes <= 1) return 1;
  // just below the whole number where share is that of a whole number of epochs
  return std::max(1, static_cast<int>(std::ceil(std::log1p(-share) / std::log1p(-1.0 / nodes) - 1e-9)));
}

double disk_share(double disk_bytes, double data_bytes) {
  return std::clamp(disk_bytes / data_bytes, 0.0, 1.0);
}

}  // namespace stallcast::staging
