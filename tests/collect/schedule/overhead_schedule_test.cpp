#include <doctest/doctest.h>

#include "probes/collect/schedule/overhead_schedule.hpp"

namespace stallcast::collect {
namespace {

int recorded(OverheadDuty duty, std::uint64_t begin, std::uint64_t end) {
  int count = 0;
  for (std::uint64_t stretch = begin; stretch < end; ++stretch) count += stretch_records(duty, stretch) ? 1 : 0;
  return count;
}

TEST_CASE("the dense part is A B B A and half off") {
  const OverheadDuty duty = OverheadDuty::usual;
  CHECK(stretch_records(duty, 0));
  CHECK_FALSE(stretch_records(duty, 1));
  CHECK_FALSE(stretch_records(duty, 2));
  CHECK(stretch_records(duty, 3));
  CHECK(stretch_records(duty, 4));
  CHECK(recorded(duty, 0, 20) == 10);
}

TEST_CASE("a linear drift cancels within each group of four") {
  int on = 0;
  int off = 0;
  for (int stretch = 0; stretch < 4; ++stretch) {
    (stretch_records(OverheadDuty::always, static_cast<std::uint64_t>(stretch)) ? on : off) += stretch;
  }
  CHECK(on == off);
}

TEST_CASE("after the dense part one in 15 is off, later ever fewer") {
  CHECK(recorded(OverheadDuty::usual, 20, 35) == 14);
  CHECK_FALSE(stretch_records(OverheadDuty::usual, 34));
  CHECK(recorded(OverheadDuty::usual, 200, 500) == 280);
  CHECK(recorded(OverheadDuty::usual, 600, 3600) == 2950);
  CHECK(recorded(OverheadDuty::usual, 3600, 9600) == 5980);
}

TEST_CASE("every off stretch has an on stretch to compare with on either side") {
  for (std::uint64_t stretch = 21; stretch < 10'000; ++stretch) {
    if (stretch_records(OverheadDuty::usual, stretch)) continue;
    CHECK(stretch_records(OverheadDuty::usual, stretch - 1));
    CHECK(stretch_records(OverheadDuty::usual, stretch + 1));
    CHECK(stretch_is_compared(OverheadDuty::usual, stretch - 1));
    CHECK(stretch_is_compared(OverheadDuty::usual, stretch + 1));
  }
  CHECK_FALSE(stretch_is_compared(OverheadDuty::usual, 28));
}

TEST_CASE("always and off") {
  CHECK(recorded(OverheadDuty::always, 0, 1000) == 500);
  CHECK(recorded(OverheadDuty::off, 0, 1000) == 1000);
  CHECK_FALSE(stretch_is_compared(OverheadDuty::off, 1));
  CHECK(overhead_duty_from_name("always") == OverheadDuty::always);
  CHECK_FALSE(overhead_duty_from_name("Always").has_value());
}

TEST_CASE("benchmarks alternate faster than runs of users") {
  CHECK(stretch_ns(OverheadDuty::usual) == 1'000'000'000ULL);
  CHECK(stretch_ns(OverheadDuty::always) == 200'000'000ULL);
}

}  // namespace
}  // namespace stallcast::collect
