#include "model/predict/curves.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "model/analytic/cache.hpp"
#include "model/predict/predict.hpp"
#include "tests/model/made_profile.hpp"

namespace stallcast {
namespace {

made::TrueJob from_storage() {
  made::TrueJob job;
  job.miss = 0.8;
  job.disk_s = 0.004;
  return job;
}

}  // namespace

TEST_CASE("every point of a curve is what the model answers to that question, and the marks are among them") {
  const Profile profile = made::profile_of(from_storage());
  const auto curves = prediction_curves(profile, 5);
  REQUIRE(curves.size() == 2);
  const PredictionCurve& workers = curves[0];
  REQUIRE(workers.absent.empty());
  REQUIRE(workers.lines.size() == 1);
  const CurveLine& line = workers.lines.front();
  CHECK(workers.recommended == 5.0);
  for (const auto& mark : {workers.found, workers.recommended}) {
    CHECK(std::count(line.x.begin(), line.x.end(), mark.value_or(-1.0)) == 1);
  }
  CHECK(std::is_sorted(line.x.begin(), line.x.end()));
  for (std::size_t i = 0; i < line.x.size(); ++i) {
    const auto wanted = predict(
        profile, parse_scenario(std::vector<std::string>(line.y[i].scenario.empty() ? 0 : 1,
                                                         "workers=" + std::to_string(static_cast<int>(line.x[i]))))
                     .value());
    REQUIRE(wanted.ok());
    CHECK(line.y[i].throughput.mean.value() == wanted.value().throughput.mean.value());
  }
}

TEST_CASE("a cache that never evicts is never behind the page cache, and both agree where nothing or all is held") {
  const auto curves = prediction_curves(made::profile_of(from_storage()), 0);
  const PredictionCurve& cache = curves[1];
  REQUIRE(cache.lines.size() == 2);
  const CurveLine& linux_cache = cache.lines[0];
  const CurveLine& minio = cache.lines[1];
  REQUIRE(linux_cache.x == minio.x);
  CHECK(minio.x.front() == 0.0);
  CHECK(minio.x.back() == 1.0);
  for (std::size_t i = 0; i < minio.x.size(); ++i) {
    CHECK(minio.y[i].throughput.mean >= linux_cache.y[i].throughput.mean * 0.999);
  }
  CHECK(minio.y.front().throughput.mean.value() == doctest::Approx(linux_cache.y.front().throughput.mean.value()));
  CHECK(minio.y.back().throughput.mean.value() == doctest::Approx(linux_cache.y.back().throughput.mean.value()));
  CHECK_FALSE(curves[0].recommended);
}

TEST_CASE("what a profile cannot answer is absent with its reason") {
  made::TrueJob resident = from_storage();
  resident.miss = 0.0;
  const auto curves = prediction_curves(made::profile_of(resident), 0);
  CHECK(curves[0].absent.empty());
  CHECK(curves[1].absent == "this run read everything from memory");
  CHECK(curves[1].lines.empty());
  for (const PredictionCurve& curve : prediction_curves(Profile{}, 0)) {
    CHECK_FALSE(curve.absent.empty());
    CHECK(curve.lines.empty());
  }
}

TEST_CASE("policies are told for the memory at hand, where not all of the data fits") {
  Profile profile = made::profile_of(from_storage());
  profile.page_cache.room = 0.5;
  const auto policies = policy_hits(profile);
  REQUIRE(policies.size() == 4);
  CHECK(policies[0].mean == doctest::Approx(hit_lru(0.5)));
  CHECK(policies[1].low == doctest::Approx(policies[0].mean));
  CHECK(policies[1].high == doctest::Approx(policies[2].mean));
  CHECK(policies[3].mean == doctest::Approx(0.5));
  profile.page_cache.room = 1.2;
  CHECK(policy_hits(profile).empty());
  profile.page_cache.room = Measured<double>::absent("not known");
  CHECK(policy_hits(profile).empty());
}

}  // namespace stallcast
