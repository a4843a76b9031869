#include "model/analytic/cache.hpp"

#include <algorithm>
#include <cmath>

namespace stallcast {
namespace {

/// The root in [0, x] of h(H) = H - f(H), which is negative at 0 and not negative at x: bisection to full precision.
template <class F>
double fixed_point(F f, double x) {
  double low = 0.0;
  double high = x;
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (middle < f(middle) ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

/// (1 - e^-l)/l, with its limit 1 at l = 0.
double phi(double l) {
  return l < 1e-9 ? 1.0 - 0.5 * l : -std::expm1(-l) / l;
}

/// Length of the part of v in [0, 1] with scale (1 - v/N) > bound: v is what was left of its epoch when the last read
/// came, so that this is the share of last reads that came late enough.
double late_reads(double scale, double bound, double nodes) {
  return std::clamp(nodes * (1.0 - bound / scale), 0.0, 1.0);
}

/// Random replacement: l evictions per cached item and epoch; an item waits 1/N of the epochs for its next read. The
/// share of them that it survives, apart from those of the two epochs of these reads.
double next_read(double nodes, double l) {
  return (1.0 / nodes) / (1.0 - (1.0 - 1.0 / nodes) * std::exp(-l));
}

/// The l of random replacement in a part x of the data, from the misses of a whole epoch.
double evictions_an_epoch(double x, int nodes) {
  if (x <= 0.0 || x >= 1.0) return 0.0;
  return (1.0 - hit_random_shards(x, nodes)) / (static_cast<double>(nodes) * x);
}

double hit_random_after(double x, int nodes, double l, double at) {
  if (x <= 0.0) return 0.0;
  if (x >= 1.0) return 1.0;
  return phi(l) * std::exp(-l * at) * next_read(static_cast<double>(nodes), l);
}

HitBand band_of(double x, double lru, double random) {
  const double towards_random = std::clamp(0.5 + 2.0 * (0.5 - x), 0.5, 1.0);
  return {lru, lru + towards_random * (random - lru), random};
}

}  // namespace

double hit_minio(double x) {
  return std::clamp(x, 0.0, 1.0);
}

double hit_lru(double x) {
  if (x <= 0.0) return 0.0;
  if (x >= 1.0) return 1.0;
  return x + (1.0 - x) * std::log1p(-x);
}

double hit_random(double x) {
  return hit_random_shards(x, 1);
}

HitBand hit_page_cache(double x) {
  return hit_page_cache_shards(x, 1);
}

HitBand hit_page_cache_shards(double x, int nodes) {
  return band_of(x, nodes > 1 ? hit_lru_shards(x, nodes) : hit_lru(x), hit_random_shards(x, nodes));
}

PageCacheEpoch::PageCacheEpoch(double x, int nodes) : x_(x), nodes_(nodes), evictions_(evictions_an_epoch(x, nodes)) {}

HitBand PageCacheEpoch::at(double at) const {
  return band_of(x_, hit_lru_at(x_, nodes_, at), hit_random_after(x_, nodes_, evictions_, at));
}

double hit_random_shards(double x, int nodes) {
  if (x <= 0.0) return 0.0;
  if (x >= 1.0) return 1.0;
  const double n = static_cast<double>(nodes);
  const auto hits = [&](double hit) {
    const double l = (1.0 - hit) / (n * x);
    return std::pow(phi(l), 2.0) * next_read(n, l);
  };
  return fixed_point(hits, x);
}

double hit_lru_at(double x, int nodes, double at) {
  if (x <= 0.0) return 0.0;
  if (x >= 1.0) return 1.0;
  const double n = static_cast<double>(nodes);
  const double bound = 1.0 - x;
  double hit = 0.0;
  double reads_again = 1.0 / n;     // in the k-th epoch after
  double untouched = 1.0 - at / n;  // times (1 - 1/N)^k: items that k whole epochs in between leave untouched
  while (reads_again > 1e-12 && untouched > bound) {
    hit += reads_again * late_reads(untouched, bound, n);
    reads_again *= 1.0 - 1.0 / n;
    untouched *= 1.0 - 1.0 / n;
  }
  return hit;
}

double hit_lru_shards(double x, int nodes) {
  const int positions = std::max(40, 2000 / nodes);  // the more nodes, the less happens within one epoch
  double sum = 0.0;
  for (int i = 0; i < positions; ++i) sum += hit_lru_at(x, nodes, (i + 0.5) / positions);
  return sum / positions;
}

}  // namespace stallcast
