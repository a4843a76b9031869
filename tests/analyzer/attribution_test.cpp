#include "analyzer/attribution.hpp"

#include <doctest/doctest.h>

#include "analyzer/analyze.hpp"
#include "tests/analyzer/run_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

namespace {

struct State {
  const char* name;
  JobSpec spec;
};

std::vector<State> states() {
  return {{"compute-bound", compute_bound()}, {"prep-bound", prep_bound()}, {"fetch-bound", fetch_bound()}};
}

}  // namespace

TEST_CASE("attributed shares are within 2 points of the simulated truth") {
  for (const State& state : states()) {
    for (const int workers : {0, 1, 2, 4}) {
      for (const double cores : {1.0, 2.0, 8.0}) {
        for (const bool in_order : {true, false}) {
          JobSpec spec = state.spec;
          spec.loader = {workers, 2, in_order};
          spec.cores = cores;
          spec.host_s = 0.02;
          spec.batches = 1500;
          const Truth truth = truth_of(spec);
          const Profile profile = analyze_run(make_run(spec));
          CAPTURE(state.name);
          CAPTURE(workers);
          CAPTURE(cores);
          CAPTURE(in_order);
          CAPTURE(profile.stalls.as_is_fetch.reason());
          REQUIRE(profile.stalls.as_is_fetch.has_value());
          REQUIRE(profile.stalls.as_is_prep.has_value());
          CHECK(std::abs(profile.stalls.as_is_fetch->mean - truth.fetch()) < 0.02);
          CHECK(std::abs(profile.stalls.as_is_prep->mean - truth.prep()) < 0.02);
          CHECK(std::abs(profile.rates.as_is->mean.value() * truth.step_s / spec.batch_size - 1.0) < 0.02);
        }
      }
    }
  }
}
