#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "model/predict/bottleneck.hpp"
#include "model/predict/calibrate.hpp"
#include "model/predict/predict.hpp"
#include "tests/model/made_profile.hpp"

namespace stallcast {
namespace {

using made::profile_of;
using made::random_job;
using made::TrueJob;
using Words = std::vector<std::string>;

constexpr int k_jobs = 25;

Scenario ask_for(const Words& settings) {
  auto scenario = parse_scenario(settings);
  REQUIRE(scenario.ok());
  return scenario.value();
}

Predictor predictor_of(const Profile& profile) {
  auto predictor = Predictor::make(profile);
  REQUIRE(predictor.ok());
  return std::move(predictor).value();
}

/// Rates must not fall along `settings`, by either form. The recursion's finite run of batches may miss by two percent.
void check_never_lower(Predictor& predictor, const std::vector<Words>& settings) {
  double closed_before = 0.0;
  double played_before = 0.0;
  for (const Words& setting : settings) {
    CAPTURE(setting.back());
    const auto quick = predictor.closed_form_rate(ask_for(setting));
    if (!quick.ok()) return;
    CHECK(quick.value() >= closed_before * 0.998);
    closed_before = std::max(closed_before, quick.value());
    const auto played = predictor.predict(ask_for(setting));
    REQUIRE(played.ok());
    CHECK(played.value().throughput.mean.value() >= played_before * 0.975);
    played_before = std::max(played_before, played.value().throughput.mean.value());
  }
}

TEST_CASE("more cache, cores, accelerator or bandwidth never lowers the rate") {
  std::mt19937_64 random(101);
  for (int trial = 0; trial < k_jobs; ++trial) {
    CAPTURE(trial);
    Predictor predictor = predictor_of(profile_of(random_job(random)));
    check_never_lower(predictor, {{"cache=0%"}, {"cache=30%"}, {"cache=60%"}, {"cache=90%"}, {"cache=100%"}});
    check_never_lower(predictor, {{"cpus=1"}, {"cpus=2"}, {"cpus=4"}, {"cpus=16"}});
    check_never_lower(predictor, {{"gpu_speedup=0.5"}, {"gpu_speedup=0.9"}, {"gpu_speedup=1.5"}, {"gpu_speedup=4"}});
    check_never_lower(predictor, {{"cache=0%", "storage_latency=1ms", "storage_bandwidth=5MB/s"},
                                  {"cache=0%", "storage_latency=1ms", "storage_bandwidth=50MB/s"},
                                  {"cache=0%", "storage_latency=1ms", "storage_bandwidth=500MB/s"}});
    check_never_lower(predictor, {{"cache=0%", "storage_bandwidth=100MB/s", "storage_latency=50ms"},
                                  {"cache=0%", "storage_bandwidth=100MB/s", "storage_latency=5ms"},
                                  {"cache=0%", "storage_bandwidth=100MB/s", "storage_latency=0.1ms"}});
  }
}

TEST_CASE("the rate never exceeds that of the slowest stage") {
  std::mt19937_64 random(102);
  StallCurves curves;
  for (int trial = 0; trial < k_jobs; ++trial) {
    CAPTURE(trial);
    const auto job = job_model(profile_of(random_job(random)));
    REQUIRE(job.ok());
    const Calibration calibration = calibrate(job.value(), curves);
    for (const Words& settings : {Words{"workers=3"}, Words{"cpus=1"}, Words{"gpu_speedup=8"}, Words{"cache=100%"}}) {
      const auto setting = resolve(job.value(), ask_for(settings));
      REQUIRE(setting.ok());
      for (const Draw& truth : calibration.draws) {
        const ServiceDemands input = demands(job.value(), setting.value(), truth.parameters, truth.error);
        CHECK(evaluate(input, curves).step_s >= slowest_stage_s(input) * (1.0 - 1e-6));
      }
    }
  }
}

TEST_CASE("a compute-bound job gains nothing from cache, cores, workers or storage") {
  std::mt19937_64 random(103);
  int seen = 0;
  while (seen < 10) {
    TrueJob job = random_job(random);
    if (job.workers == 0) continue;
    job.cores = 12.0;
    job.device_s = 0.4;
    job.cpu_s = job.other_s = 0.2 * job.device_s * job.workers / job.batch;
    job.disk_s = 0.2 * job.device_s / job.batch;
    job.latency_s = 0.1 * job.device_s * job.workers / job.batch;
    job.miss = 0.8;
    ++seen;
    Predictor predictor = predictor_of(profile_of(job));
    CAPTURE(seen);
    for (const Words& settings : {Words{"cache=100%"}, Words{"cpus=24"}, Words{"workers=16"},
                                  Words{"storage_bandwidth=10GB/s"}, Words{"prefetch=8"}}) {
      CAPTURE(settings.front());
      const auto gain = predictor.gain(ask_for(settings), {});
      REQUIRE(gain.ok());
      CHECK(std::abs(gain.value().mean) < 0.01);
      CHECK(gain.value().ci90_low <= 0.0);
      CHECK(gain.value().ci90_high < 0.03);
    }
  }
}

TEST_CASE("scaling all times by k scales rates by 1/k") {
  std::mt19937_64 random(104);
  for (int trial = 0; trial < 10; ++trial) {
    const TrueJob job = random_job(random);
    TrueJob slow = job;
    constexpr double k = 4.0;
    for (double* time : {&slow.device_s, &slow.step_cpu_s, &slow.cpu_s, &slow.other_s, &slow.disk_s, &slow.latency_s}) {
      *time *= k;
    }
    Profile profile = profile_of(job);
    Profile slowed = profile_of(slow);
    // what a recording would have seen of resident reads does not scale in the made profiles
    slowed.resources.read.value().mean += SecondsPerSample((k - 1.0) * 5e-5);
    slowed.resources.read_from_memory.value().mean = SecondsPerSample(k * 5e-5);
    Predictor fast = predictor_of(profile);
    Predictor other = predictor_of(slowed);
    for (const Words& settings : {Words{"workers=3"}, Words{"cpus=2"}, Words{"cache=100%"}, Words{"gpu_speedup=2"}}) {
      // What receiving takes, where the run did none, is taken from other jobs, and does not scale with this one.
      if (job.workers == 0 && settings.front() == "workers=3") continue;
      const auto a = fast.predict(ask_for(settings));
      const auto b = other.predict(ask_for(settings));
      REQUIRE(a.ok());
      REQUIRE(b.ok());
      CHECK(a.value().throughput.mean / b.value().throughput.mean == doctest::Approx(k).epsilon(0.005));
    }
  }
}

TEST_CASE("the order of the blocks does not matter") {
  TrueJob job;
  job.cpu_s = 0.01;
  job.disk_s = 0.003;
  job.miss = 1.0;
  Profile profile = profile_of(job);
  for (const char* phase : {"cold", "cached", "synthetic", "supply_cold", "supply_cached"}) {
    made::add_differential(profile, job, phase, {});
  }
  Predictor forwards = predictor_of(profile);
  std::reverse(profile.points.begin(), profile.points.end());
  Predictor backwards = predictor_of(profile);
  const Scenario question = ask_for({"workers=4", "cache=50%"});
  CHECK(forwards.closed_form_rate(question).value() ==
        doctest::Approx(backwards.closed_form_rate(question).value()).epsilon(1e-6));
  // sharing takes another history after the smallest rounding
  CHECK(forwards.predict(question).value().throughput.mean.value() ==
        doctest::Approx(backwards.predict(question).value().throughput.mean.value()).epsilon(0.005));
}

/// Truth and prediction over many jobs and changes.
struct Score {
  std::vector<double> errors{};
  int inside = 0;

  void add(const Prediction& prediction, double truth) {
    errors.push_back(std::abs(prediction.throughput.mean.value() / truth - 1.0));
    const bool in = prediction.throughput.ci90_low.value() <= truth && truth <= prediction.throughput.ci90_high.value();
    inside += in ? 1 : 0;
  }
};

TEST_CASE("predictions of made jobs are near their truth, which the intervals cover") {
  std::mt19937_64 random(105);
  Score score;
  for (int trial = 0; trial < k_jobs; ++trial) {
    const TrueJob job = random_job(random);
    Predictor predictor = predictor_of(profile_of(job));
    const auto check = [&](const Words& settings, const TrueJob& truth) {
      const auto prediction = predictor.predict(ask_for(settings));
      if (prediction.ok()) score.add(prediction.value(), made::play(truth).rate);
    };
    TrueJob changed = job;
    changed.workers = job.workers + 2;
    check({"workers=" + std::to_string(changed.workers)}, changed);
    changed = job;
    changed.cores = 2.0;
    check({"cpus=2"}, changed);
    changed = job;
    changed.device_s *= 0.5;
    check({"gpu_speedup=2"}, changed);
    changed = job;
    changed.miss = 0.0;
    check({"cache=100%"}, changed);
    changed.miss = 0.5;
    check({"cache=50%", "cache_policy=minio"}, changed);
  }
  std::sort(score.errors.begin(), score.errors.end());
  const std::size_t n = score.errors.size();
  REQUIRE(n > 80);
  CHECK(score.errors[n / 2] < 0.01);
  CHECK(score.errors[n * 9 / 10] < 0.10);
  CHECK(score.inside >= static_cast<int>(0.85 * static_cast<double>(n)));
}

}  // namespace
}  // namespace stallcast
