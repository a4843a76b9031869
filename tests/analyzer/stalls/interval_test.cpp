// How often the attributed intervals hold the truth: 200 jobs drawn over the plane of states, loaders and machines, the
// truth of each simulated with fresh draws.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>

#include "analyzer/analyze.hpp"
#include "tests/analyzer/run_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

namespace {

JobSpec drawn_job(std::mt19937_64& random, std::uint64_t seed) {
  const auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  const auto one_of = [&](std::initializer_list<int> values) {
    return *(values.begin() + static_cast<std::ptrdiff_t>(random() % values.size()));
  };
  JobSpec spec;
  spec.seed = seed;
  spec.loader.workers = one_of({0, 1, 2, 4, 8});
  spec.loader.prefetch_factor = one_of({1, 2, 4});
  spec.loader.in_order = random() % 4 != 0;
  spec.cores = one_of({1, 2, 4, 16});
  spec.device_s = uniform(0.05, 0.2);
  spec.host_s = uniform(0.0, 0.05);
  spec.step_cv = uniform(0.0, 0.2);
  const double share = std::max(1, spec.loader.workers);  // so that all states are met
  spec.read_s = uniform(0.0, 0.2) * share;
  spec.read_cv = uniform(0.1, 0.8);
  spec.cpu_s = uniform(0.02, 0.2) * std::min<double>(share, spec.cores);
  spec.cpu_cv = uniform(0.05, 0.4);
  spec.other_s = random() % 3 == 0 ? uniform(0.0, 0.05) : 0.0;
  spec.batches = one_of({120, 300, 800});
  return spec;
}

struct Tally {
  int jobs = 0;
  int held = 0;
  double worst = 0.0;
  double width = 0.0;

  void add(const Estimate<Fraction>& estimate, double truth) {
    ++jobs;
    held += estimate.ci95_low <= truth && truth <= estimate.ci95_high ? 1 : 0;
    worst = std::max(worst, std::abs(estimate.mean - truth));
    width += estimate.ci95_high - estimate.ci95_low;
  }
  [[nodiscard]] double share() const { return static_cast<double>(held) / jobs; }
};

}  // namespace

TEST_CASE("attributed intervals hold the simulated truth about as often as they claim") {
  std::mt19937_64 random(11);
  Tally fetch;
  Tally prep;
  Tally wait;
  int absent = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const JobSpec spec = drawn_job(random, seed);
    const Truth truth = truth_of(spec, 3000);
    const Profile profile = analyze_run(make_run(spec));
    if (!profile.stalls.as_is_fetch || !profile.stalls.as_is_prep) {
      ++absent;
      continue;
    }
    fetch.add(*profile.stalls.as_is_fetch, truth.fetch());
    // The simulated truth is T_cached - T_synthetic: prep and what the workers cost the compute.
    const Estimate<Fraction>& waited = *profile.stalls.as_is_prep;
    const Estimate<Fraction>& slowed = *profile.stalls.as_is_interference;
    const double mean = waited.mean + slowed.mean;
    const double half = std::max(waited.ci95_high - waited.mean, slowed.ci95_high - slowed.mean);
    const Estimate<Fraction> beyond{mean, mean - half, mean + half, waited.n};
    prep.add(beyond, truth.prep());
    // Where cores are short, workers also slow the consumer's own computing: time lost that is no waiting.
    if (spec.cores > spec.loader.workers) wait.add(*profile.stalls.as_is_wait, truth.fetch() + truth.prep());
  }
  for (const auto& [name, tally] : {std::pair{std::string("fetch"), fetch}, std::pair{std::string("prep"), prep},
                                    std::pair{std::string("wait"), wait}}) {
    MESSAGE(name << ": " << tally.held << " of " << tally.jobs << " intervals hold the truth, mean width "
                 << tally.width / tally.jobs << ", largest error " << tally.worst);
  }
  MESSAGE(absent << " of 200 had no split");
  CHECK(absent <= 10);
  CHECK(wait.share() >= 0.85);  // of the job at large, from a window of some hundred steps
  CHECK(fetch.share() >= 0.93);
  CHECK(prep.share() >= 0.93);
  CHECK(fetch.width / fetch.jobs < 0.15);  // an interval from 0 to 1 would hold everything
  CHECK(prep.width / prep.jobs < 0.15);
}
