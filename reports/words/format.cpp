#include "reports/words/format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "reports/words/constants.hpp"

namespace stallcast::reports {
namespace {

/// Decimal places so that `value` shows `digits` significant digits, after rounding: 0.9996 with three is 1.00.
int places_for(double value, int digits) {
  if (value == 0.0 || !std::isfinite(value)) return 0;
  const std::string rounded = fmt::format("{:.{}e}", std::fabs(value), digits - 1);
  return std::clamp(digits - 1 - std::atoi(rounded.c_str() + rounded.find('e') + 1), 0, 9);
}

/// Fixed point, or powers of ten where that would be a row of digits that nobody reads.
std::string fixed(double value, int places) {
  const double size = std::fabs(value);
  if (size >= 1e9 || (size > 0.0 && size < 1e-6)) return fmt::format("{:.3g}", value);
  std::string text = fmt::format("{:.{}f}", value, places);
  // "-0.0" reads as a sign that is not there.
  const bool zero = text.find_first_of("123456789") == std::string::npos;
  return zero && text.starts_with('-') ? text.substr(1) : text;
}

/// A share that only rounding keeps from 0 is 0.
double without_dust(double value, const Scale& scale) {
  return scale.factor == percent_scale().factor && std::fabs(value) < k_dust ? 0.0 : value;
}

std::string joined(const std::string& digits, const char* unit) {
  return *unit == '\0' ? digits : digits + " " + unit;
}

Scale pick(double value, std::initializer_list<std::pair<double, Scale>> steps) {
  Scale best = steps.begin()->second;
  for (const auto& [from, scale] : steps) {
    if (std::fabs(value) >= from) best = scale;
  }
  return best;
}

}  // namespace

Scale percent_scale() {
  return {100.0, "%"};
}

Scale time_scale(double seconds) {
  // Thresholds lie half a last digit below the unit, so that 999.6 us shows as 1 ms and not as 1000 us.
  if (seconds == 0.0) return {1.0, "s"};
  return pick(seconds, {{0.0, {1e9, "ns"}},
                        {0.9995e-6, {1e6, "us"}},
                        {0.9995e-3, {1e3, "ms"}},
                        {0.9995, {1.0, "s"}},
                        {180.0, {1.0 / 60.0, "min"}},
                        {3.0 * 3600.0, {1.0 / 3600.0, "h"}}});
}

Scale bytes_scale(double bytes) {
  constexpr double k = 1024.0;
  return pick(bytes, {{0.0, {1.0, "B"}},
                      {k, {1.0 / k, "KiB"}},
                      {k * k, {1.0 / (k * k), "MiB"}},
                      {k * k * k, {1.0 / (k * k * k), "GiB"}},
                      {k * k * k * k, {1.0 / (k * k * k * k), "TiB"}}});
}

Scale bandwidth_scale(double bytes_per_second) {
  return pick(bytes_per_second,
              {{0.0, {1.0, "B/s"}}, {1e3, {1e-3, "kB/s"}}, {1e6, {1e-6, "MB/s"}}, {1e9, {1e-9, "GB/s"}}});
}

std::string scaled(double value, const Scale& scale) {
  if (!std::isfinite(value)) return "n/a";
  const double shown = without_dust(value, scale) * scale.factor;
  return joined(fixed(shown, places_for(shown, 3)), scale.unit);
}

std::string with_interval(double mean, double low, double high, const Scale& scale, int digits) {
  for (double* end : {&mean, &low, &high}) *end = without_dust(*end, scale);
  const double half = (high - low) / 2.0 * scale.factor;
  if (!(half > 0.0) || !std::isfinite(half) || !std::isfinite(mean)) return scaled(mean, scale);
  const int by_interval = static_cast<int>(std::clamp(-std::floor(std::log10(half)), 0.0, 9.0));
  const double largest = std::max({std::fabs(mean), std::fabs(low), std::fabs(high)}) * scale.factor;
  const int places = std::min(by_interval, places_for(largest, digits));
  const std::string shown = fixed(mean * scale.factor, places);
  const std::string from = fixed(low * scale.factor, places);
  const std::string to = fixed(high * scale.factor, places);
  if (from == to) return joined(shown, scale.unit);
  return fmt::format("{} ({} to {})", joined(shown, scale.unit), from, to);
}

std::string percent(Fraction value) {
  if (!std::isfinite(value)) return "n/a";
  const double shown = without_dust(value, percent_scale()) * 100.0;
  return joined(fixed(shown, std::min(places_for(shown, 2), 2)), "%");
}

std::string percent(const Estimate<Fraction>& estimate) {
  return with_interval(estimate.mean, estimate.ci95_low, estimate.ci95_high, percent_scale(), 3);
}

std::string duration(Seconds value) {
  return scaled(value.value(), time_scale(value.value()));
}

std::string duration(const Estimate<Seconds>& e) {
  return with_interval(e.mean.value(), e.ci95_low.value(), e.ci95_high.value(), time_scale(e.mean.value()));
}

std::string duration(const Estimate<SecondsPerSample>& e) {
  if (e.ci95_low.value() <= 0.0 && e.ci95_high.value() > 0.0)
    return "at most " + duration(Seconds(e.ci95_high.value()));
  return with_interval(e.mean.value(), e.ci95_low.value(), e.ci95_high.value(), time_scale(e.mean.value()));
}

std::string bytes(Bytes value) {
  return scaled(value.value(), bytes_scale(value.value()));
}

std::string bandwidth(BytesPerSecond value) {
  return scaled(value.value(), bandwidth_scale(value.value()));
}

std::string rate(SamplesPerSecond value) {
  return scaled(value.value(), {1.0, "samples/s"});
}

std::string rate(const Estimate<SamplesPerSecond>& e) {
  return with_interval(e.mean.value(), e.ci95_low.value(), e.ci95_high.value(), {1.0, "samples/s"});
}

std::string count(std::int64_t value) {
  std::string digits = std::to_string(value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string number(double value) {
  if (!std::isfinite(value)) return "n/a";
  return std::fabs(value) < 999.5 ? fmt::format("{:.3g}", value) : fmt::format("{:.0f}", value);
}

std::string cores(double value) {
  if (!std::isfinite(value)) return "n/a";
  const std::string text = fixed(value, value < 9.95 ? 1 : 0);
  return text.ends_with(".0") ? text.substr(0, text.size() - 2) : text;
}

std::string plural(std::int64_t value, const char* noun) {
  return fmt::format("{} {}{}", count(value), noun, value == 1 ? "" : "s");
}

std::string not_measured(const std::string& reason) {
  return reason.empty() || reason == "not measured" ? "not measured" : "not measured (" + reason + ")";
}

bool holds_zero(const Estimate<Fraction>& estimate) {
  return estimate.ci95_low <= 0.0 && estimate.ci95_high >= 0.0;
}

std::string percent_or_zero(const Estimate<Fraction>& estimate) {
  if (!holds_zero(estimate)) return percent(estimate);
  if (estimate.ci95_high <= 0.0) return "not distinguishable from 0";
  return "not distinguishable from 0 (at most " + percent(estimate.ci95_high) + ")";
}

}  // namespace stallcast::reports
