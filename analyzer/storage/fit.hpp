/// From the points of a storage probe to what a model needs: latency, bandwidth of a stream, ceilings.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "analyzer/storage/points.hpp"
#include "analyzer/storage/probe_result.hpp"

namespace stallcast {

/// Reads of about one size: mean size, mean time, and the standard error of that time.
struct SizeClass {
  double bytes = 0.0;
  double seconds = 0.0;
  double error_s = 0.0;
  std::int64_t n = 0;
};

/// time = latency_s + bytes * s_per_byte, by weighted least squares over size classes.
struct SizeLine {
  double latency_s = 0.0;
  double latency_error_s = 0.0;
  double s_per_byte = 0.0;
  double s_per_byte_error = 0.0;
  double degrees = 1.0;  ///< of freedom, for the interval
  std::int64_t n = 0;
};

/// The line through `classes` (at least two of different size), weights 1/error^2.
///
/// Worked example. 4 KiB in 1.02 ms and 100 KiB in 1.51 ms, each +-1 %: 5 ns a byte (200 MB/s) and 1.00 ms. Where the
/// intercept comes out below zero it is held at zero: a read cannot end before it begins. No standard error is taken to
/// be below 1 % of its time, so that a class with many reads does not silence the others; errors are widened by
/// sqrt(chi^2/degrees) where the classes lie further from a line than their errors say.
/// (Weighted least squares: Press et al., Numerical Recipes, 3rd ed., 15.2 and 15.4.)
[[nodiscard]] std::optional<SizeLine> fit_size_line(std::span<const SizeClass> classes);

/// A rate with `n` reads in flight.
struct FlightRate {
  double in_flight = 1.0;
  Estimate<double> rate{};
};

/// rate(n) = per_stream n / (1 + contention (n-1) + coherence n (n-1)); the universal scalability law.
struct UslFit {
  double per_stream = 0.0;
  double contention = 0.0;
  double coherence = 0.0;
  double residual_frac = 0.0;

  [[nodiscard]] double rate(double in_flight) const;
};

/// The law through `rates` (at least three), by least squares on n/rate(n), which is linear in 1/per_stream,
/// contention/per_stream and coherence/per_stream, weighted so that relative errors count; coefficients that come out
/// below zero are held at zero. (Gunther, Guerrilla Capacity Planning, 2007, ch. 5.)
[[nodiscard]] std::optional<UslFit> fit_usl(std::span<const FlightRate> rates);

/// The most that `rates` (in the order of n) come to, or why that cannot be told.
///
/// Worked example. 5, 10, 19.8, 20.1, 20.0 MB/s at 1, 2, 4, 8, 16: the last doublings bring less than 10 %, so the
/// ceiling has been reached: the best (by the low end of its interval, so that noise does not choose), 20.1, pooled
/// with those within 3 % of it. 5, 10, 16, 22 still rises by 38 % at the end: the law's asymptote per_stream/contention
/// is taken if it lies within twice what was measured; else the ceiling is absent, with "at least 22".
[[nodiscard]] Measured<Estimate<double>> ceiling_of(std::span<const FlightRate> rates);

/// Everything that can be fitted to the points of `recording`. Problems of the data go to `issues`.
[[nodiscard]] StorageFit fit_storage(const record::StorageRecording& recording,
                                     std::span<const StoragePointData> points, std::vector<DataIssue>& issues);

}  // namespace stallcast
