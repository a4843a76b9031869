#include "tests/analyzer/run_builder.hpp"

#include <doctest/doctest.h>

#include "analyzer/analyze.hpp"
#include "tests/analyzer/job_draws.hpp"
#include "tests/analyzer/job_simulation.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

namespace {

/// Largest difference between deliveries and waits of the two simulations.
double disagreement(const JobSpec& spec) {
  Random random(spec.seed);
  const Draws draws = draw(spec, 300, random);
  const PlayedPass played = play_pass(spec.loader, spec.cores, 0.0, draws.work, draws.steps);
  const auto run = run_loader_shared(spec.loader, {spec.cores}, draws.work, draws.steps);
  double worst = std::abs(played.end_s - run.end_s);
  for (std::size_t i = 0; i < played.handed.size(); ++i) {
    const Handed& handed = played.handed[i];
    worst = std::max(worst, std::abs(handed.delivered_s - run.delivered_s[i]));
    worst = std::max(worst, std::abs(handed.delivered_s - handed.asked_s - run.wait_s[i]));
  }
  return worst;
}

}  // namespace

TEST_CASE("the job that the tests play is the one that the loader simulation computes") {
  for (JobSpec spec : {compute_bound(), prep_bound(), fetch_bound()}) {
    for (const int workers : {0, 1, 2, 4}) {
      for (const double cores : {0.5, 1.0, 2.0, 8.0}) {
        for (const bool in_order : {true, false}) {
          CAPTURE(workers);
          CAPTURE(cores);
          CAPTURE(in_order);
          spec.loader = {workers, 2, in_order};
          spec.cores = cores;
          spec.host_s = 0.02;
          spec.other_s = 0.01;
          // As they come, two batches that are ready within a rounding error of each other may change places.
          CHECK(disagreement(spec) < (in_order ? 1e-6 : 1e-3));
        }
      }
    }
  }
}

TEST_CASE("makings fill a worker's time without overlap and take what was drawn plus the wait for a core") {
  JobSpec spec = prep_bound();
  spec.cores = 1.0;
  spec.loader.workers = 3;
  Random random(1);
  const Draws draws = draw(spec, 100, random);
  const PlayedPass played = play_pass(spec.loader, spec.cores, 0.0, draws.work, draws.steps);
  double delayed = 0.0;
  std::vector<double> free_from(3, 0.0);
  for (std::size_t i = 0; i < played.made.size(); ++i) {
    const Making& made = played.made[i];
    CHECK(made.begin_s >= free_from[made.worker] - 1e-9);
    free_from[made.worker] = made.end_s;
    const double drawn = draws.work[i].read_s + draws.work[i].cpu_s + draws.work[i].other_s;
    CHECK(made.end_s - made.begin_s == doctest::Approx(drawn + made.run_delay_s));
    delayed += made.run_delay_s;
  }
  CHECK(delayed > 10.0);  // three workers on one core
}

TEST_CASE("waits, makings, steps and ticks of a made run agree") {
  JobSpec spec = fetch_bound();
  spec.passes = 2;
  spec.accumulate = 2;
  const RunData run = make_run(spec);
  REQUIRE(run.consumers.size() == 1);
  const Consumer& consumer = run.consumers.front();
  REQUIRE(consumer.passes.size() == 2);
  std::uint64_t waited_ns = 0;
  for (const Pass& pass : consumer.passes) {
    REQUIRE(pass.deliveries.size() == 200);
    for (const Delivery& delivery : pass.deliveries) {
      REQUIRE(delivery.made_known);
      CHECK(delivery.made.put_ns <= delivery.wait.end_ns);
      waited_ns += delivery.wait.end_ns - delivery.wait.begin_ns;
    }
  }
  CHECK(consumer.steps.size() == 200);
  const RankTick& last = run.log.ticks.back().ranks.front();
  CHECK(last.batches == 400);
  CHECK(last.samples == 400 * 32);
  CHECK(last.steps == 200);
  CHECK(static_cast<double>(last.waited_ns) == doctest::Approx(static_cast<double>(waited_ns)));
}
