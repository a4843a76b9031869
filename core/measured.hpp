/// What a measurement delivers: a value with its interval, or the reason why there is none. Never a silent 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace stallcast {

/// Mean of n observations with the two-sided 95 % confidence interval of that mean.
template <class Q>
struct Estimate {
  Q mean{};
  Q ci95_low{};
  Q ci95_high{};
  std::int64_t n = 0;
};

/// The same in base units, for a numerical fit.
template <class Q>
[[nodiscard]] Estimate<double> plain(const Estimate<Q>& of) {
  return {of.mean.value(), of.ci95_low.value(), of.ci95_high.value(), of.n};
}

/// A value, or the reason for its absence (one sentence that a user understands).
template <class T>
class Measured {
 public:
  Measured() = default;
  Measured(T value) : value_(std::move(value)), reason_() {}  // NOLINT(google-explicit-constructor)

  /// A measurement that could not be made, and why.
  static Measured absent(std::string reason) {  // NOLINT(performance-unnecessary-value-param): it is moved
    Measured result;
    result.reason_ = std::move(reason);
    return result;
  }

  [[nodiscard]] bool has_value() const { return value_.has_value(); }
  explicit operator bool() const { return has_value(); }
  [[nodiscard]] const T& value() const { return *value_; }
  [[nodiscard]] T& value() { return *value_; }
  [[nodiscard]] T value_or(T fallback) const { return value_.value_or(std::move(fallback)); }
  const T* operator->() const { return &*value_; }
  const T& operator*() const { return *value_; }

  /// Why there is no value; empty when there is one.
  [[nodiscard]] const std::string& reason() const { return reason_; }

 private:
  std::optional<T> value_{};
  std::string reason_ = "not measured";
};

/// A fraction in [0, 1] or a signed difference of fractions; a plain number by design.
using Fraction = double;

/// A mean with its interval, or the reason why there is none.
template <class Q>
using MeasuredEstimate = Measured<Estimate<Q>>;

}  // namespace stallcast
