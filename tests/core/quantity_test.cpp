#include "core/quantity.hpp"

#include <doctest/doctest.h>

#include <type_traits>

namespace stallcast {
namespace {

template <class A, class B>
concept can_add = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept can_compare = requires(A a, B b) {
  a < b;
};

// Dimensions that fit compile; those that do not, do not (see also must_not_compile/).
static_assert(can_add<Seconds, Seconds>);
static_assert(!can_add<Seconds, Bytes>);
static_assert(!can_add<Seconds, double>);
static_assert(!can_add<SamplesPerSecond, SecondsPerSample>);
static_assert(can_compare<Bytes, Bytes>);
static_assert(!can_compare<Bytes, Samples>);
static_assert(!std::is_convertible_v<double, Seconds>);
static_assert(!std::is_convertible_v<Seconds, double>);
static_assert(std::is_same_v<decltype(Bytes{} / Seconds{}), BytesPerSecond>);
static_assert(std::is_same_v<decltype(Seconds{} / Samples{}), SecondsPerSample>);
static_assert(std::is_same_v<decltype(BytesPerSample{} * SamplesPerSecond{}), BytesPerSecond>);
static_assert(std::is_same_v<decltype(Seconds{} / Seconds{}), double>);

TEST_CASE("arithmetic keeps the values") {
  const Seconds epoch = Seconds(3.0) + Seconds(1.5) - Seconds(0.5);
  CHECK(epoch.value() == 4.0);
  CHECK((2.0 * epoch).value() == 8.0);
  CHECK((epoch * 0.25).value() == 1.0);
  CHECK((epoch / 8.0).value() == 0.5);
  CHECK((-epoch).value() == -4.0);
  CHECK((Samples(100.0) / epoch).value() == 25.0);
  CHECK(epoch / Seconds(2.0) == 2.0);
  CHECK((SamplesPerSecond(100.0) * BytesPerSample(1e5)).value() == 1e7);
}

TEST_CASE("sums in place and comparisons") {
  Bytes total(10.0);
  total += Bytes(5.0);
  total -= Bytes(1.0);
  CHECK(total == Bytes(14.0));
  CHECK(total > Bytes(13.0));
  CHECK(Bytes{} == Bytes(0.0));
}

}  // namespace
}  // namespace stallcast
