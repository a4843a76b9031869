/// Numbers as people read them. Percent, ms, MiB and MB/s exist only here; digits follow the interval.
///
/// Worked example: mean 0.3827 with interval 0.361 to 0.404 is "38 % (36 to 40)": half the interval is 2.2 points, so
/// a decimal would be noise. Mean 0.0412 with 0.0405 to 0.0419 is "4.12 % (4.05 to 4.19)".
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "core/measured.hpp"
#include "core/quantity.hpp"

namespace stallcast::reports {

/// Display unit: shown = base * factor.
struct Scale {
  double factor = 1.0;
  const char* unit = "";  ///< with no leading space
};

[[nodiscard]] Scale percent_scale();
/// ns, us, ms, s, min or h, by the size of `seconds`.
[[nodiscard]] Scale time_scale(double seconds);
/// B, KiB, MiB, GiB, TiB.
[[nodiscard]] Scale bytes_scale(double bytes);
/// B/s, kB/s, MB/s, GB/s (powers of ten, as storage and networks are sold).
[[nodiscard]] Scale bandwidth_scale(double bytes_per_second);

/// `value` * factor with three significant digits and its unit: "84.2 ms". "n/a" if it is not finite.
[[nodiscard]] std::string scaled(double value, const Scale& scale);

/// "84.2 ms (83.9 to 84.5)"; at most `digits` significant digits; the interval is left out where it then shows no
/// difference.
[[nodiscard]] std::string with_interval(double mean, double low, double high, const Scale& scale, int digits = 4);

[[nodiscard]] std::string percent(Fraction value);
[[nodiscard]] std::string percent(const Estimate<Fraction>& estimate);
[[nodiscard]] std::string duration(Seconds value);
[[nodiscard]] std::string duration(const Estimate<Seconds>& estimate);
/// "at most 549 us" where the interval holds 0.
[[nodiscard]] std::string duration(const Estimate<SecondsPerSample>& estimate);
[[nodiscard]] std::string bytes(Bytes value);
[[nodiscard]] std::string bandwidth(BytesPerSecond value);
/// "412 samples/s (405 to 419)".
[[nodiscard]] std::string rate(SamplesPerSecond value);
[[nodiscard]] std::string rate(const Estimate<SamplesPerSecond>& estimate);
/// "1,234,567".
[[nodiscard]] std::string count(std::int64_t value);
/// A plain number with at most three significant digits and no trailing zeros: "2", "1.5".
[[nodiscard]] std::string number(double value);
/// Cores: "2", "1.4", "16".
[[nodiscard]] std::string cores(double value);
/// "1 worker", "2 workers".
[[nodiscard]] std::string plural(std::int64_t value, const char* noun);

/// "not measured (why)"; without the brackets where nobody recorded why.
[[nodiscard]] std::string not_measured(const std::string& reason);

/// Whether the interval holds 0: the number is then not distinguishable from nothing.
[[nodiscard]] bool holds_zero(const Estimate<Fraction>& estimate);

/// As percent(estimate), but says so where the number is not distinguishable from 0.
[[nodiscard]] std::string percent_or_zero(const Estimate<Fraction>& estimate);

/// The estimate if it is there and finite: reports treat anything else as absent.
template <class Q>
[[nodiscard]] const Estimate<Q>* usable(const Measured<Estimate<Q>>& measured) {
  if (!measured) return nullptr;
  const auto finite = [](auto value) {
    if constexpr (requires { value.value(); }) {
      return std::isfinite(value.value());
    } else {
      return std::isfinite(value);
    }
  };
  return finite(measured->mean) && finite(measured->ci95_low) && finite(measured->ci95_high) ? &*measured : nullptr;
}

}  // namespace stallcast::reports
