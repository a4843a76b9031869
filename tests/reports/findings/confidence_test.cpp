#include <doctest/doctest.h>

#include "reports/findings/findings.hpp"
#include "reports/findings/report_data.hpp"
#include "tests/reports/findings/advice.hpp"
#include "tests/reports/sample_profiles.hpp"

namespace stallcast::reports {

TEST_CASE("confidence falls with what speaks against it") {
  CHECK(find(testing::prep_bound()).confidence.word == "good");
  CHECK(find(testing::with_wait(0.30, 0.07)).confidence.word == "fair");
  CHECK(find(testing::with_wait(0.30, 0.15)).confidence.word == "weak");
  CHECK(find(testing::with_wait(0.19, 0.02)).confidence.word == "fair");  // reaches across a threshold
  Profile p = testing::multi_rank();
  p.premises[0].holds = false;
  CHECK(find(p).confidence.word == "weak");
  p = testing::prep_bound();
  p.measured_s = 4.0;
  CHECK(find(p).confidence.word == "fair");
  CHECK(find(p).confidence.reasons.back() == "only 4.00 s of the run were measured");
  p.phases = {{"synthetic", 0, 5.0, 6.0, ""}};
  CHECK(find(p).confidence.reasons.back() == "only 4.00 s of the run were as found");
  p = testing::prep_bound();
  p.job.ranks_expected = 8;
  CHECK(find(p).confidence.word == "fair");
  CHECK(advises(p, "all-ranks"));
}

TEST_CASE("a premise counts only where a number rests on it") {
  Profile p = testing::prep_bound();
  p.premises.push_back({"cold", "storage_bytes", "at least 95 % from storage", "0 %", false});
  CHECK(find(p).confidence.word == "good");
  CHECK_FALSE(is_worth_showing(p, p.premises.back()));
  // What is attributed in a passive run was taken from no block in that state.
  p.points.push_back({{}, "cold", "attributed", p.rates.as_is, {}});
  CHECK(find(p).confidence.word == "good");
  CHECK_FALSE(is_worth_showing(p, p.premises.back()));
  p.points.push_back({{}, "cold", "differential", p.rates.as_is, {}});
  CHECK(find(p).confidence.word == "weak");
  CHECK(find(p).confidence.reasons.back() == "the premise of \"cold\" did not hold");
  CHECK(is_worth_showing(p, p.premises.back()));
}

TEST_CASE("what the loader alone delivers is absent where its premise fails, and the split is as sure as without it") {
  Profile p = testing::prep_bound();
  p.points.push_back({{}, "cached", "differential", p.rates.as_is, {}});
  p.points.push_back({{}, "supply_cold", "attributed", p.rates.as_is, {}});
  p.premises.push_back({"supply_cold", "storage_bytes", "at least 90 % from storage", "80 %", false});
  CHECK(find(p).confidence.word == "good");
  CHECK(is_worth_showing(p, p.premises.back()));
  p.points.push_back({{}, "supply_cold", "differential", p.rates.as_is, {}});
  CHECK(find(p).confidence.word == "weak");
}

TEST_CASE("a run in states says how long was as found, and how long in states") {
  Profile p = testing::prep_bound();
  p.measured_s = 4.0;
  CHECK(subtitle_of(p).starts_with("4.00 s measured, "));
  p.phases = {{"as_is", 0, 2.0, 5.0, ""}};  // of a loader that has no other: part of what was found
  CHECK(subtitle_of(p).starts_with("4.00 s measured, "));
  p.phases.push_back({"synthetic", 0, 5.0, 7.5, "its premise does not hold"});
  CHECK(subtitle_of(p).starts_with("4.00 s as found, 2.50 s in states, "));
}

}  // namespace stallcast::reports
