#include "analyzer/profile/tight_rates.hpp"

#include <doctest/doctest.h>

using namespace stallcast;

namespace {

MeasuredEstimate<SamplesPerSecond> rate(double mean, double half) {
  return Estimate<SamplesPerSecond>{SamplesPerSecond(mean), SamplesPerSecond(mean - half),
                                    SamplesPerSecond(mean + half), 3};
}

/// A job that computes nearly all the time.
Rates rates_of_compute(MeasuredEstimate<SamplesPerSecond> supply) {
  Rates rates;
  rates.cold = rate(206.0, 1.0);
  rates.cached = rate(207.0, 1.0);
  rates.synthetic = rate(213.0, 0.1);
  rates.supply_cached = std::move(supply);
  return rates;
}

TEST_CASE("Every rate of the job must be as tight as wanted") {
  const Rates rates = rates_of_compute(rate(500.0, 5.0));
  CHECK(rates_are_tight(rates, 0.02));
  CHECK_FALSE(rates_are_tight(rates, 0.004));
}

TEST_CASE("A supply far beyond the job need not be tight, one that may bind must be") {
  CHECK(rates_are_tight(rates_of_compute(rate(500.0, 100.0)), 0.02));
  CHECK_FALSE(rates_are_tight(rates_of_compute(rate(220.0, 30.0)), 0.02));
  CHECK(rates_are_tight(rates_of_compute(rate(210.0, 4.0)), 0.02));
}

TEST_CASE("A supply alone must be tight: there is nothing that it lies beyond") {
  Rates rates;
  rates.supply_cached = rate(500.0, 100.0);
  CHECK_FALSE(rates_are_tight(rates, 0.02));
  CHECK(rates_are_tight(rates, 0.2));
}

TEST_CASE("What is absent does not keep a run from ending") {
  Rates rates = rates_of_compute(MeasuredEstimate<SamplesPerSecond>::absent("not wanted"));
  rates.cold = MeasuredEstimate<SamplesPerSecond>::absent("no block could be proven cold");
  CHECK(rates_are_tight(rates, 0.02));
}

TEST_CASE("What no block could be run of yet keeps it, if it is awaited") {
  Rates rates = rates_of_compute(rate(500.0, 5.0));
  rates.cached = MeasuredEstimate<SamplesPerSecond>::absent("no block of the state cached was run");
  CHECK(rates_are_tight(rates, 0.02, {record::Phase::cold}));
  CHECK_FALSE(rates_are_tight(rates, 0.02, {record::Phase::cold, record::Phase::cached}));
}

TEST_CASE("Cold blocks fail where none of three rounds was cold, and not where another reason left them out") {
  const auto fails = [](const std::vector<std::string>& left_out, bool has_rate, const char* issue = "none") {
    Profile profile;
    profile.issues.push_back({issue, Severity::info, 1, "", ""});
    profile.rates.cold = MeasuredEstimate<SamplesPerSecond>::absent("no block of this state counts");
    if (has_rate) profile.rates.cold = rate(200.0, 5.0);
    for (std::size_t round = 0; round < left_out.size(); ++round) {
      const auto number = static_cast<std::int64_t>(round);
      profile.phases.push_back({"cold", number, 0.0, 1.0, left_out[round]});
      profile.phases.push_back({"cold", number, 1.0, 2.0, left_out[round]});  // behind the end of a pass
    }
    return cold_blocks_fail(profile);
  };
  const std::string stayed = std::string(k_premise_fails) + ": 30 % resident";
  CHECK(fails({stayed, stayed, stayed}, false));
  CHECK_FALSE(fails({stayed, stayed}, false));
  CHECK_FALSE(fails({stayed, stayed, "an evaluation lay within it"}, false));
  CHECK_FALSE(fails({stayed, stayed, stayed, ""}, true));
  CHECK_FALSE(fails({stayed, stayed, stayed}, false, "first-touch"));
  CHECK_FALSE(fails({stayed, stayed, stayed}, false, "cold-not-ours"));
}

}  // namespace
