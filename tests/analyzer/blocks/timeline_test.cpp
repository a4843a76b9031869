#include <doctest/doctest.h>

#include <algorithm>

#include "analyzer/analyze.hpp"
#include "analyzer/blocks/timeline.hpp"
#include "tests/analyzer/run_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

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
