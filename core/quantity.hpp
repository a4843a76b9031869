/// Dimension-checked quantities: `Bytes / Seconds` compiles, `Seconds + Bytes` does not.
///
/// Values are held in base units (seconds, bytes, samples). Percent, ms and MiB exist only in reports/words/format.
#pragma once

#include <compare>

namespace stallcast {

/// A double with the dimension second^T * byte^B * sample^N.
template <int T, int B, int N>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(double value) : value_(value) {}

  /// The number in base units (s, B, samples and their products).
  [[nodiscard]] constexpr double value() const { return value_; }

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity operator-() const { return Quantity(-value_); }
  constexpr Quantity& operator+=(Quantity other) {
    value_ += other.value_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value_ -= other.value_;
    return *this;
  }

 private:
  double value_ = 0.0;
};

template <int T, int B, int N>
constexpr Quantity<T, B, N> operator+(Quantity<T, B, N> a, Quantity<T, B, N> b) {
  return Quantity<T, B, N>(a.value() + b.value());
}
template <int T, int B, int N>
constexpr Quantity<T, B, N> operator-(Quantity<T, B, N> a, Quantity<T, B, N> b) {
  return Quantity<T, B, N>(a.value() - b.value());
}
template <int T, int B, int N>
constexpr Quantity<T, B, N> operator*(Quantity<T, B, N> a, double factor) {
  return Quantity<T, B, N>(a.value() * factor);
}
template <int T, int B, int N>
constexpr Quantity<T, B, N> operator*(double factor, Quantity<T, B, N> a) {
  return a * factor;
}
template <int T, int B, int N>
constexpr Quantity<T, B, N> operator/(Quantity<T, B, N> a, double divisor) {
  return Quantity<T, B, N>(a.value() / divisor);
}
template <int T1, int B1, int N1, int T2, int B2, int N2>
constexpr auto operator*(Quantity<T1, B1, N1> a, Quantity<T2, B2, N2> b) {
  return Quantity<T1 + T2, B1 + B2, N1 + N2>(a.value() * b.value());
}
template <int T1, int B1, int N1, int T2, int B2, int N2>
constexpr auto operator/(Quantity<T1, B1, N1> a, Quantity<T2, B2, N2> b) {
  if constexpr (T1 == T2 && B1 == B2 && N1 == N2) {
    return a.value() / b.value();
  } else {
    return Quantity<T1 - T2, B1 - B2, N1 - N2>(a.value() / b.value());
  }
}

using Seconds = Quantity<1, 0, 0>;
using Bytes = Quantity<0, 1, 0>;
using Samples = Quantity<0, 0, 1>;
using PerSecond = Quantity<-1, 0, 0>;
using BytesPerSecond = Quantity<-1, 1, 0>;
using SamplesPerSecond = Quantity<-1, 0, 1>;
using SecondsPerSample = Quantity<1, 0, -1>;
using BytesPerSample = Quantity<0, 1, -1>;

}  // namespace stallcast
