#include "model/predict/grid.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "model/predict/predict.hpp"
#include "model/scenario/bandwidth_words.hpp"
#include "tests/model/made_profile.hpp"

namespace stallcast {
namespace {

made::TrueJob grid_from_storage() {
  made::TrueJob job;
  job.miss = 0.8;
  job.disk_s = 0.004;
  return job;
}

std::size_t combinations(const PredictionGrid& grid) {
  std::size_t count = 1;
  for (const GridAxis& axis : grid.axes) count *= axis.values.size();
  return count;
}

}  // namespace

TEST_CASE("every point of the grid is what the model answers to that question") {
  const Profile profile = made::profile_of(grid_from_storage());
  const auto grid = prediction_grid(profile, 3);
  REQUIRE(grid.ok());
  const PredictionGrid& g = grid.value();
  REQUIRE(g.index.size() == combinations(g));
  CHECK(g.axes.size() == 6);
  CHECK(g.axes.back().key == "nodes");
  for (std::size_t place = 0; place < g.index.size(); place += 53) {
    std::size_t rest = place;
    Scenario scenario;
    std::vector<std::pair<std::string, std::string>> set;
    for (std::size_t i = g.axes.size(); i-- > 0; rest /= g.axes[i].values.size()) {
      const std::string& value = g.axes[i].values[rest % g.axes[i].values.size()];
      if (!value.empty()) set.emplace_back(g.axes[i].key, value);
    }
    for (const auto& [key, value] : set) REQUIRE(set_key(scenario, key, value).ok());
    const auto answer = predict(profile, scenario);
    REQUIRE(answer.ok());
    const Prediction& point = g.points[g.index[place]];
    CHECK(point.throughput.mean == answer.value().throughput.mean);
    CHECK(point.throughput.ci90_low == answer.value().throughput.ci90_low);
    CHECK(point.throughput.ci90_high == answer.value().throughput.ci90_high);
    CHECK(point.bound == answer.value().bound);
  }
}

TEST_CASE("the run as profiled is on the grid, and so is the recommended number of workers") {
  const Profile profile = made::profile_of(grid_from_storage());
  const auto grid = prediction_grid(profile, 3);
  REQUIRE(grid.ok());
  std::size_t place = 0;
  for (const GridAxis& axis : grid.value().axes) {
    REQUIRE(axis.found < axis.values.size());
    CHECK(axis.values.size() == axis.labels.size());
    CHECK(axis.values[axis.found].empty());
    place = place * axis.values.size() + axis.found;
    if (axis.key == "workers") CHECK(std::count(axis.values.begin(), axis.values.end(), "3") == 1);
  }
  CHECK(grid.value().points[grid.value().index[place]].scenario.empty());
}

TEST_CASE("what the run cannot tell about is off the grid, with the reason") {
  made::TrueJob job;  // reads nothing from storage
  const auto grid = prediction_grid(made::profile_of(job), 0);
  REQUIRE(grid.ok());
  CHECK(grid.value().gaps.size() == 2);
  for (const GridGap& gap : grid.value().gaps) CHECK_FALSE(gap.reason.empty());
  for (const GridAxis& axis : grid.value().axes) CHECK(axis.key != "cache");
  CHECK_FALSE(prediction_grid(Profile{}, 0).ok());
}

TEST_CASE("bandwidths are told without exponents") {
  CHECK(bandwidth_words(BytesPerSecond(38.72e6)) == "38.7 MB/s");
  CHECK(bandwidth_words(BytesPerSecond(999.4e6)) == "999 MB/s");
  CHECK(bandwidth_words(BytesPerSecond(999.6e6)) == "1 GB/s");
  CHECK(bandwidth_words(BytesPerSecond(1.94e9)) == "1.94 GB/s");
}

TEST_CASE("the grid stays small enough for a page, whatever the loader") {
  for (const int workers : {0, 3, 200}) {
    made::TrueJob job = grid_from_storage();
    job.workers = workers;
    const auto grid = unanswered_grid(made::profile_of(job), 7);
    REQUIRE(grid.ok());
    CHECK(grid.value().points.size() <= 2100);
  }
}

}  // namespace stallcast
