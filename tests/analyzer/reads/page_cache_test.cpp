#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "analyzer/analyze.hpp"
#include "analyzer/reads/page_cache.hpp"
#include "analyzer/steps/rank_view.hpp"
#include "tests/analyzer/run_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

namespace {

/// Epochs of half a minute.
JobSpec cached_job() {
  JobSpec spec = fetch_bound();
  spec.passes = 4;
  spec.batches = 150;
  spec.tick_s = 0.5;
  return spec;
}

/// The run with so much of each pass's bytes from storage: the ticks' counts, told anew.
RunData run_with(const JobSpec& spec, const std::vector<double>& from_storage) {
  RunData run = make_run(spec);
  const Consumer& consumer = run.consumers.front();
  double seen = 0.0;  // as counted in a run that has all of it from storage
  double wanted = 0.0;
  for (Tick& tick : run.log.ticks) {
    if (tick.tree_read_bytes < 0) continue;
    std::size_t pass = 0;
    while (pass + 1 < consumer.passes.size() &&
           consumer.passes[pass + 1].deliveries.front().wait.begin_ns <= tick.t_ns) {
      ++pass;
    }
    wanted +=
        from_storage[std::min(pass, from_storage.size() - 1)] * (static_cast<double>(tick.tree_read_bytes) - seen);
    seen = static_cast<double>(tick.tree_read_bytes);
    tick.tree_read_bytes = static_cast<std::int64_t>(wanted);
  }
  return run;
}

}  // namespace

TEST_CASE("what an epoch had from memory is told epoch by epoch, and for those after the first together") {
  const Profile profile = analyze_run(run_with(cached_job(), {1.0, 0.6, 0.64, 0.62}));
  const PageCache& cache = profile.page_cache;
  REQUIRE(cache.epochs.size() == 4);
  CHECK(cache.epochs[0].hit < 0.03);
  CHECK(std::abs(cache.epochs[1].hit - 0.40) < 0.03);
  CHECK(std::abs(cache.epochs[2].hit - 0.36) < 0.03);
  CHECK(near(cache.epochs[1].read.value(), 150 * 32 * k_bytes_per_sample, 0.02));
  REQUIRE(cache.hit.has_value());
  CHECK(std::abs(cache.hit->mean - 0.38) < 0.03);
  CHECK(cache.hit->n == 3);
}

TEST_CASE("epochs shorter than the ticks can tell, and runs of one epoch, have no hits but a reason") {
  JobSpec spec = cached_job();
  spec.tick_s = 20.0;
  Profile profile = analyze_run(run_with(spec, {1.0, 0.5, 0.5, 0.5}));
  CHECK(profile.page_cache.epochs.empty());
  CHECK_FALSE(profile.page_cache.hit.has_value());
  spec = cached_job();
  spec.passes = 1;
  profile = analyze_run(run_with(spec, {1.0}));
  CHECK(profile.page_cache.epochs.size() == 1);
  CHECK_FALSE(profile.page_cache.hit.has_value());
  CHECK(profile.page_cache.hit.reason().find("two whole epochs") != std::string::npos);
}

TEST_CASE("an evaluation inside the epochs reads files too: their hits are not told") {
  JobSpec spec = cached_job();
  spec.evaluate_every = 40;
  const Profile profile = analyze_run(run_with(spec, {1.0, 0.5, 0.5, 0.5}));
  CHECK(profile.page_cache.epochs.empty());
  CHECK(profile.page_cache.hit.reason() == "an evaluation read files within the epochs");
}

TEST_CASE("memory with room for all of it that keeps none is warned of") {
  const auto warned = [](double room, double low, double high) {
    PageCache cache;
    cache.room = room;
    cache.hit = Estimate<Fraction>{0.5 * (low + high), low, high, 3};
    std::vector<DataIssue> issues;
    sections::check_page_cache(cache, issues);
    return !issues.empty() && issues.front().id == "pages-do-not-stay";
  };
  CHECK(warned(3.0, 0.05, 0.15));
  CHECK_FALSE(warned(3.0, 0.97, 1.0));
  CHECK_FALSE(warned(3.0, 0.5, 1.0));    // it may have been all
  CHECK_FALSE(warned(0.8, 0.05, 0.15));  // it does not fit
  std::vector<DataIssue> issues;
  sections::check_page_cache(PageCache{}, issues);
  CHECK(issues.empty());
}
