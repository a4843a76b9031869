#include "core/result.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "core/measured.hpp"

namespace stallcast {
namespace {

Error too_small() {
  return Error{ErrorCode::not_enough_data, "too small", "run longer"};
}

Result<int> half(int value) {
  if (value % 2 != 0) return too_small();
  return value / 2;
}

Status both_even(int first, int second) {
  STALLCAST_RETURN_IF_ERROR(half(first));
  STALLCAST_RETURN_IF_ERROR(half(second));
  return {};
}

TEST_CASE("a result is a value or an error") {
  CHECK(half(8).ok());
  CHECK(half(8).value() == 4);
  CHECK_FALSE(half(7));
  CHECK(half(7).error().code == ErrorCode::not_enough_data);
  CHECK(half(7).error().what == "too small");
  CHECK(half(7).error().hint == "run longer");
}

TEST_CASE("a value that cannot be copied is moved out") {
  Result<std::unique_ptr<int>> made = std::make_unique<int>(3);
  const std::unique_ptr<int> owned = std::move(made).value();
  REQUIRE(owned);
  CHECK(*owned == 3);
}

TEST_CASE("a status is fine by default and the first error returns") {
  CHECK(both_even(2, 4).ok());
  CHECK_FALSE(both_even(1, 4).ok());
  CHECK_FALSE(both_even(2, 3).ok());
  CHECK(both_even(2, 3).error().what == "too small");
}

TEST_CASE("what was not measured has a reason, never a silent zero") {
  const Measured<double> nothing;
  CHECK_FALSE(nothing.has_value());
  CHECK(nothing.reason() == "not measured");

  const auto absent = Measured<double>::absent("no /proc here");
  CHECK_FALSE(absent.has_value());
  CHECK(absent.reason() == "no /proc here");
  CHECK(absent.value_or(-1.0) == -1.0);

  const Measured<double> zero(0.0);
  CHECK(zero.has_value());
  CHECK(*zero == 0.0);
  CHECK(zero.reason().empty());
}

}  // namespace
}  // namespace stallcast
