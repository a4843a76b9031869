#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "analyzer/analyze.hpp"
#include "analyzer/blocks/timeline.hpp"
#include "tests/analyzer/phased_builder.hpp"
#include "tests/analyzer/run_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

namespace {

/// Batches that a consumer was given since its phases began.
std::int64_t phased_deliveries(const Consumer& consumer) {
  std::int64_t count = 0;
  for (const Pass& pass : consumer.passes) {
    count += std::count_if(pass.deliveries.begin(), pass.deliveries.end(), [&](const Delivery& delivery) {
      return delivery.wait.begin_ns >= consumer.phases_begin_ns;
    });
  }
  return count;
}

}  // namespace

TEST_CASE("the timeline keeps sums and extremes when it is thinned") {
  const RunData run = make_run(fetch_bound());
  const std::vector<sections::RankView> ranks{{&run.consumers[0], steady_window(run.consumers[0])}};
  const auto& steps = ranks[0].window.steps;
  double waited = 0.0;
  double longest = 0.0;
  for (const SteadyStep& step : steps) {
    waited += step.wait_s;
    longest = std::max(longest, step.wait_s);
  }
  for (const std::size_t rows : {2000UL, 50UL, 7UL, 1UL}) {
    const auto timeline = sections::timeline_of(ranks, rows);
    CHECK(timeline.size() <= rows);
    double sum = 0.0;
    double most = 0.0;
    std::int64_t count = 0;
    for (const TimelineRow& row : timeline) {
      CHECK(row.end_s > row.begin_s);
      sum += row.wait_s;
      most = std::max(most, row.longest_wait_s);
      count += row.steps;
    }
    CHECK(near(sum, waited, 1e-9));
    CHECK(most == longest);
    CHECK(count == static_cast<std::int64_t>(steps.size()));
  }
}

TEST_CASE("the timeline goes on through the phases, and says which when") {
  PhasedSpec spec = phased_both_stalls();
  const RunData run = make_phased_run(spec);
  const Profile profile = analyze_run(run);
  // A cold and a cached block, and a hold and a burst twice behind each of them.
  REQUIRE(profile.phases.size() == static_cast<std::size_t>((2 + 8) * spec.rounds));
  for (std::size_t i = 0; i < profile.phases.size(); ++i) {
    const PhaseStretch& stretch = profile.phases[i];
    CHECK(stretch.begin_s < stretch.end_s);
    if (i > 0) CHECK(stretch.begin_s >= profile.phases[i - 1].end_s - 1e-6);
    const bool full = stretch.left_out.find("were begun and ended in the hold") != std::string::npos ||
                      stretch.left_out.find("the queue was full") != std::string::npos;
    CHECK((stretch.left_out.empty() || (full && stretch.phase.find("supply") == 0)));
  }
  std::int64_t cold_steps = 0;
  std::int64_t tail_steps = 0;
  std::int64_t all_steps = 0;
  double before_s = 0.0;
  for (const TimelineRow& row : profile.timeline) {
    CHECK(row.begin_s >= before_s - 1e-9);
    CHECK(row.longest_step_s >= row.longest_wait_s - 1e-9);
    CHECK(row.longest_step_s <= row.end_s - row.begin_s + 1e-9);
    before_s = row.end_s;
    if (row.phase == "as_is") {
      CHECK(row.end_s <= profile.phases.front().begin_s + 1e-9);
      continue;
    }
    const bool within = std::any_of(profile.phases.begin(), profile.phases.end(), [&](const PhaseStretch& stretch) {
      return stretch.phase == row.phase && row.end_s >= stretch.begin_s - 1e-6 && row.end_s <= stretch.end_s + 1e-6;
    });
    CHECK(within == (row.phase != "between"));
    all_steps += row.steps;
    tail_steps += row.phase == "between" ? row.steps : 0;
    cold_steps += row.phase == "cold" ? row.steps : 0;
  }
  CHECK(cold_steps == spec.rounds * spec.block);
  CHECK(tail_steps >= spec.tail);
  CHECK(all_steps == phased_deliveries(run.consumers.front()));
}

TEST_CASE("a block that counts for nothing says so in the timeline, and a passive run has no phases") {
  PhasedSpec spec = phased_both_stalls();
  spec.cold_resident_share = 0.4;
  const Profile profile = analyze_run(make_phased_run(spec));
  for (const PhaseStretch& stretch : profile.phases) {
    if (stretch.phase.find("supply") == 0) continue;
    CHECK((stretch.phase == "cold") == (stretch.left_out.find("40.0 % resident") != std::string::npos));
  }
  spec.rounds = 0;
  CHECK(analyze_run(make_phased_run(spec)).phases.empty());
}
