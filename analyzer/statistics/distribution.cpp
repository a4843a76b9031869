#include "analyzer/statistics/distribution.hpp"

#include <algorithm>
#include <cmath>

namespace stallcast {
namespace {

int bin_of(double value) {
  return static_cast<int>(std::floor(std::log2(value) * Distribution::k_bins_per_octave));
}

double lower_edge(int bin) {
  return std::exp2(static_cast<double>(bin) / Distribution::k_bins_per_octave);
}

}  // namespace

void Distribution::add(double value) {
  // Welford: numerically stable in one pass.
  ++n;
  const double count = static_cast<double>(n);
  const double delta = value - mean;
  mean += delta / count;
  if (n > 1) variance = variance * (count - 2.0) / (count - 1.0) + delta * delta / count;
  min = n == 1 ? value : std::min(min, value);
  max = n == 1 ? value : std::max(max, value);
  if (!(value > 0.0)) {
    ++zeros;
    return;
  }
  const int bin = bin_of(value);
  if (counts.empty()) first_bin = bin;
  if (bin < first_bin) {
    counts.insert(counts.begin(), static_cast<std::size_t>(first_bin - bin), 0);
    first_bin = bin;
  }
  const auto slot = static_cast<std::size_t>(bin - first_bin);
  if (slot >= counts.size()) counts.resize(slot + 1, 0);
  ++counts[slot];
}

double Distribution::quantile(double q) const {
  if (n == 0) return 0.0;
  double rank = std::clamp(q, 0.0, 1.0) * static_cast<double>(n);
  if (rank <= static_cast<double>(zeros) && zeros > 0) return std::min(min, 0.0);
  rank -= static_cast<double>(zeros);
  for (std::size_t slot = 0; slot < counts.size(); ++slot) {
    const auto count = static_cast<double>(counts[slot]);
    if (count > 0.0 && rank <= count) {
      const int bin = first_bin + static_cast<int>(slot);
      const double edge = lower_edge(bin);
      return std::clamp(edge * std::exp2(rank / count / k_bins_per_octave), min, max);
    }
    rank -= count;
  }
  return max;
}

double Distribution::cv() const {
  return mean != 0.0 ? std::sqrt(variance) / mean : 0.0;
}

}  // namespace stallcast
