#include "model/predict/predict.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/predict/prediction_json.hpp"
#include "reports/export/predictions_json.hpp"
#include "tests/model/asking.hpp"
#include "tests/model/made_profile.hpp"

namespace stallcast {
namespace {

using made::answer;
using made::ask;
using made::half_width;
using made::profile_of;
using made::TrueJob;
using Words = std::vector<std::string>;

/// Two workers that need 320 ms a batch for a step of 100 ms, on 8 cores: starved, and nothing is shared.
TrueJob starved_job() {
  TrueJob job;
  job.cores = 8.0;
  job.cpu_s = 0.01;
  return job;
}

TrueJob fetch_bound() {
  TrueJob job;
  job.cores = 8.0;
  job.cpu_s = 0.002;
  job.latency_s = 0.01;
  job.miss = 1.0;
  return job;
}

TEST_CASE("asked for nothing, or for what was measured, the measured rate comes back with its interval") {
  const Profile profile = profile_of(starved_job());
  for (const Words& settings : {Words{}, Words{"workers=2"}, Words{"cpus=8", "gpu_speedup=1", "batch=32"}}) {
    const Prediction prediction = answer(profile, settings);
    CHECK(prediction.throughput.mean == profile.rates.as_is->mean);
    CHECK(prediction.throughput.ci90_low > profile.rates.as_is->ci95_low);
    CHECK(prediction.throughput.ci90_high < profile.rates.as_is->ci95_high);
    CHECK(prediction.stall == doctest::Approx(0.38).epsilon(0.05));
    CHECK(prediction.bound == "prep");
    CHECK(prediction.next_bound == "gpu");
    CHECK_FALSE(prediction.extrapolated);
    CHECK(prediction.epoch->value() == doctest::Approx(50'000.0 / prediction.throughput.mean.value()));
  }
}

TEST_CASE(
    "as found, the share that is waited is that of the run's own window, also where all blocks tell another rate") {
  Profile profile = profile_of(starved_job());
  const double waited = answer(profile, {}).stall;
  TrueJob faster = starved_job();  // a core that is quicker in the blocks than it was as found
  faster.cpu_s *= 0.93;
  faster.device_s *= 0.93;
  made::add_differential(profile, faster, "cached", {{"workers", "2"}});
  made::add_differential(profile, faster, "synthetic", {{"workers", "2"}});
  Estimate<SamplesPerSecond> found = *profile.rates.as_is;
  found.ci95_low = SamplesPerSecond(0.85 * found.mean.value());
  found.ci95_high = SamplesPerSecond(1.15 * found.mean.value());
  profile.rates.as_is = found;
  const Prediction prediction = answer(profile, {});
  CHECK(prediction.throughput.mean.value() > 1.02 * profile.rates.as_is->mean.value());
  CHECK(prediction.stall == doctest::Approx(waited).epsilon(0.01));
}

TEST_CASE("a faster GPU shortens its kernels, where they were traced, and says what it cannot shorten") {
  TrueJob job;
  job.cores = 8.0;
  job.cpu_s = 1e-4;
  Profile profile = profile_of(job);
  const double compute = profile.resources.compute->mean.value();
  const auto gain = [&] {
    return answer(profile, {"gpu_speedup=2"}).throughput.mean.value() / answer(profile, {}).throughput.mean.value();
  };
  CHECK(gain() > 1.8);  // untraced, the device is taken for all of it
  profile.gpu.source = "CUPTI";
  profile.gpu.busy_time =
      Estimate<Seconds>{Seconds(0.7 * compute), Seconds(0.69 * compute), Seconds(0.71 * compute), 100};
  CHECK(gain() == doctest::Approx(1.0 / 0.65).epsilon(0.04));
  const auto notes = answer(profile, {"gpu_speedup=2"}).notes;
  CHECK(std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
    return note.find("kernels take 70 %") == 0 && note.find("at most 3.3x") != std::string::npos;
  }));
  // A host that spins while it waits for the device shows as computing all the time; the kernels tell it apart.
  profile.resources.step_cpu = Estimate<SecondsPerSample>{
      SecondsPerSample(compute / 32.0), SecondsPerSample(compute / 33.0), SecondsPerSample(compute / 31.0), 100};
  CHECK(gain() == doctest::Approx(1.0 / 0.65).epsilon(0.04));
}

TEST_CASE("more workers for a starved job") {
  TrueJob truth = starved_job();
  const Profile profile = profile_of(truth);
  truth.workers = 4;
  const Prediction prediction = answer(profile, {"workers=4"});
  const double rate = made::play(truth).rate;
  CHECK(prediction.throughput.mean.value() == doctest::Approx(rate).epsilon(0.01));
  CHECK(prediction.throughput.ci90_low.value() < rate);
  CHECK(prediction.throughput.ci90_high.value() > rate);
  CHECK(half_width(prediction) < 0.08);
  CHECK(prediction.bound == "gpu");
  CHECK_FALSE(prediction.extrapolated);
  CHECK(answer(profile, {"workers=5"}).extrapolated);
}

TEST_CASE("on one core, the worker that a delivery wakes computes before the consumer goes on") {
  constexpr double k_time_slice_s = 0.0028;
  TrueJob truth;
  truth.cores = 2.0;
  truth.device_s = 0.02;
  truth.step_cpu_s = 0.0002;
  truth.cv_step = truth.cv_make = 0.0;
  const auto step_s = [&](double cpu_s, const Words& settings) {
    truth.cpu_s = cpu_s;
    return answer(profile_of(truth), settings).step.value();
  };
  for (const double cpu_s : {0.01 / 32.0, 0.001 / 32.0}) {  // of a batch: longer than a slice, and shorter
    CAPTURE(cpu_s);
    const double turn_s = std::min(k_time_slice_s, 32.0 * cpu_s);
    CHECK(step_s(cpu_s, {"cpus=1"}) > step_s(cpu_s, {}) + 0.9 * turn_s);
    CHECK(step_s(cpu_s, {"cpus=1"}) < step_s(cpu_s, {}) + 1.3 * turn_s);
    CHECK(step_s(cpu_s, {"cpus=1.5"}) < step_s(cpu_s, {"cpus=1"}) - 0.4 * turn_s);
  }
  truth.cores = 1.0;  // what was measured so holds it
  CHECK(step_s(0.01 / 32.0, {"cpus=4"}) <= step_s(0.01 / 32.0, {}));
}

/// Makes its batches itself, in `making_s` each.
TrueJob without_workers(double device_s, double step_cpu_s, double making_s) {
  TrueJob truth;
  truth.workers = 0;
  truth.device_s = device_s;
  truth.step_cpu_s = step_cpu_s;
  truth.cpu_s = making_s / truth.batch;
  truth.other_s = 0.0;
  return truth;
}

TEST_CASE("a step that computes is not known to do so as quickly beside workers where the run had none") {
  TrueJob truth = without_workers(0.001, 0.04, 0.03);
  const Prediction beside = answer(profile_of(truth), {"workers=1"});
  CHECK(beside.step.value() > 1.012 * 0.041);
  CHECK(beside.step.value() < 1.10 * 0.041);
  CHECK(half_width(beside) > 0.13);
  std::swap(truth.device_s, truth.step_cpu_s);  // a device does not mind
  const Prediction device = answer(profile_of(truth), {"workers=1"});
  CHECK(device.step.value() < 1.02 * 0.041 + 0.001);  // and receiving, which the run had none of
  CHECK(half_width(device) < 0.06);
}

TEST_CASE("what a run without workers says of workers holds receiving, and doubts it where steps are short") {
  Profile profile = profile_of(without_workers(0.004, 0.0001, 0.001));
  const Prediction small = answer(profile, {"workers=2"});
  CHECK(small.step.value() > 0.0048);
  CHECK(half_width(small) > 0.05);
  CHECK(half_width(small) < 0.3);
  profile.job.prepared = BytesPerSample(4e6 / 32.0);  // 1.6 ms more for four megabytes
  CHECK(answer(profile, {"workers=2"}).step.value() - small.step.value() == doctest::Approx(0.0016).epsilon(0.2));
  profile.job.pin_memory = true;
  CHECK(answer(profile, {"workers=2"}).step.value() == doctest::Approx(small.step.value()).epsilon(0.01));
}

TEST_CASE("on several cores, it may do so until one of the others is done with its batch: that is not known") {
  TrueJob truth;
  truth.cores = 2.0;
  truth.workers = 2;
  truth.device_s = 0.02;
  truth.step_cpu_s = 0.0002;
  truth.cv_step = truth.cv_make = 0.0;
  truth.other_s = 0.0;
  truth.cpu_s = 0.016 / 32.0;  // steps that are shorter begin while the other worker computes
  const auto width = [&](const Words& settings) { return half_width(answer(profile_of(truth), settings)); };
  const double doubled = width({"gpu_speedup=2"});  // 10.2 ms, and up to 2.8 more
  CHECK(doubled > 0.08);
  CHECK(width({"gpu_speedup=2", "cpus=3"}) < 0.7 * doubled);
  CHECK(width({"gpu_speedup=1.05"}) < 0.5 * doubled);  // 19.2 ms: done before
}

TEST_CASE("leaving one core is as uncertain as coming to it") {
  TrueJob truth;
  truth.device_s = 0.02;
  truth.step_cpu_s = 0.0002;
  truth.cv_step = truth.cv_make = 0.0;
  truth.cpu_s = 0.01 / 32.0;
  truth.cores = 1.0;
  CHECK(half_width(answer(profile_of(truth), {"cpus=4"})) > 0.08);
}

TEST_CASE("a passive profile leaves open what more readers get out of the storage, and says so") {
  TrueJob truth = fetch_bound();
  Profile profile = profile_of(truth);
  auto predictor = Predictor::make(profile);
  REQUIRE(predictor.ok());
  const Scenario more = ask({"workers=4"});
  const auto passive = predictor.value().predict(more);
  REQUIRE(passive.ok());
  truth.workers = 4;
  const double rate = made::play(truth).rate;
  CHECK(passive.value().throughput.ci90_low.value() < rate);
  CHECK(passive.value().throughput.ci90_high.value() > rate);
  CHECK(half_width(passive.value()) > 0.05);
  CHECK(predictor.value().narrowed_by(more).find("storage") != std::string::npos);

  // one block with another worker count settles it
  truth = fetch_bound();
  for (const char* phase : {"cold", "cached", "synthetic", "supply_cold", "supply_cached"}) {
    made::add_differential(profile, truth, phase, {});
  }
  truth.workers = 1;
  made::add_differential(profile, truth, "supply_cold", {{"workers", "1"}});
  const Prediction sure = answer(profile, {"workers=4"});
  CHECK(sure.throughput.mean.value() == doctest::Approx(rate).epsilon(0.03));
  CHECK(half_width(sure) < 0.7 * half_width(passive.value()));
  CHECK(Predictor::make(profile).value().backtest_lines().size() == 1);
}

TEST_CASE("caches: MinIO by its share, the page cache within its band") {
  TrueJob truth = fetch_bound();
  const Profile profile = profile_of(truth);
  truth.miss = 0.5;
  const double rate = made::play(truth).rate;
  const Prediction minio = answer(profile, {"cache=50%", "cache_policy=minio"});
  CHECK(minio.throughput.mean.value() == doctest::Approx(rate).epsilon(0.02));
  const Prediction page_cache = answer(profile, {"cache=50%"});
  CHECK(page_cache.throughput.mean < minio.throughput.mean);
  CHECK(half_width(page_cache) > half_width(minio));
  CHECK_FALSE(page_cache.notes.empty());
  const double bytes = profile.dataset.bytes_total->value();
  const Prediction by_size = answer(profile, {"cache=" + std::to_string(0.5 * bytes) + "B", "cache_policy=minio"});
  CHECK(by_size.throughput.mean.value() == doctest::Approx(minio.throughput.mean.value()).epsilon(1e-6));
  CHECK(answer(profile, {"cache=100%"}).throughput.mean == answer(profile, {"cache=900GB"}).throughput.mean);
}

TEST_CASE("an input that was not measured makes its keys unavailable, with the measurement that would help") {
  TrueJob truth = starved_job();
  truth.miss = 0.0;
  Profile profile = profile_of(truth);
  const auto refused = predict(profile, ask({"cache=35%"}));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::not_enough_data);
  CHECK(refused.error().what.find("cost of reading from storage") != std::string::npos);
  CHECK(refused.error().hint.find("cold") != std::string::npos);
  // what needs no storage is answered all the same, and so is storage that is fully described
  CHECK(predict(profile, ask({"workers=4"})).ok());
  CHECK(predict(profile, ask({"cache=100%"})).ok());
  const Prediction described = answer(profile, {"cache=0%", "storage_bandwidth=20MB/s", "storage_latency=2ms"});
  truth.miss = 1.0;
  truth.disk_s = truth.sample_bytes / 20e6;
  truth.latency_s = 0.002;
  CHECK(described.throughput.mean.value() == doctest::Approx(made::play(truth).rate).epsilon(0.02));
  CHECK(described.extrapolated);

  const auto keys = Predictor::make(profile).value().keys();
  REQUIRE(keys.size() == scenario_keys().size());
  for (const KeyAvailability& key : keys) {
    CAPTURE(key.key);
    // with nothing read from storage, faster storage changes nothing, which is an answer
    CHECK(key.available == (key.key != "cache" && key.key != "prep_cpus" && key.key != "shared_storage_files_per_s" &&
                            key.key != "shared_storage_metadata_per_s" && key.key != "shared_storage_contention" &&
                            key.key != "shared_storage_coherence" && key.key != "operator"));
    if (!key.available) CHECK_FALSE(key.unlocked_by.empty());
  }
}

TEST_CASE("a prefetch factor for a job without workers is refused") {
  TrueJob truth;
  truth.workers = 0;
  const auto refused = predict(profile_of(truth), ask({"prefetch=4"}));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::usage);
}

TEST_CASE("a window that varies makes every prediction vary") {
  Profile profile = profile_of(starved_job());
  const double before = half_width(answer(profile, {"workers=4"}));
  const double rate = profile.rates.as_is->mean.value();
  profile.rates.as_is.value().ci95_low = SamplesPerSecond(0.8 * rate);
  profile.rates.as_is.value().ci95_high = SamplesPerSecond(1.2 * rate);
  const Prediction wide = answer(profile, {"workers=4"});
  CHECK(half_width(wide) > 0.15);
  CHECK(half_width(wide) > 2.0 * before);
  CHECK(half_width(answer(profile, {})) == doctest::Approx(0.168).epsilon(0.05));
}

TEST_CASE("ranks add up") {
  Profile profile = profile_of(starved_job());
  const double one = answer(profile, {"workers=4"}).throughput.mean.value();
  profile.job.ranks_seen = 4;
  profile.host.usable_cpus *= 4.0;
  Estimate<SamplesPerSecond>& rate = profile.rates.as_is.value();
  for (auto* end : {&rate.mean, &rate.ci95_low, &rate.ci95_high}) {
    *end = 4.0 * *end;
  }
  CHECK(answer(profile, {"workers=4"}).throughput.mean.value() == doctest::Approx(4.0 * one).epsilon(0.001));
}

TEST_CASE("several questions keep their order; one that cannot be answered fails them all") {
  const Profile profile = profile_of(starved_job());
  const std::vector<Scenario> questions{ask({"workers=4"}), ask({}), ask({"workers=1"})};
  const auto answers = predict_all(profile, questions);
  REQUIRE(answers.ok());
  REQUIRE(answers.value().size() == 3);
  CHECK(answers.value()[0].throughput.mean > answers.value()[1].throughput.mean);
  CHECK(answers.value()[2].throughput.mean < answers.value()[1].throughput.mean);
  TrueJob dry = starved_job();
  CHECK_FALSE(predict_all(profile_of(dry), std::vector<Scenario>{ask({}), ask({"cache=10%"})}).ok());
}

TEST_CASE("a sweep answers by the analytic form, near the recursion") {
  const Profile profile = profile_of(fetch_bound());
  auto predictor = Predictor::make(profile);
  REQUIRE(predictor.ok());
  for (const char* setting : {"workers=4", "cpus=2", "gpu_speedup=3", "cache=60%", "batch=48"}) {
    CAPTURE(setting);
    const auto exact = predictor.value().predict(ask({setting}));
    const auto quick = predictor.value().predict_closed_form(ask({setting}));
    REQUIRE(exact.ok());
    REQUIRE(quick.ok());
    CHECK(quick.value().throughput.mean.value() ==
          doctest::Approx(exact.value().throughput.mean.value()).epsilon(0.03));
  }
}

TEST_CASE("the same question has the same answer") {
  const Profile profile = profile_of(fetch_bound());
  const Prediction first = answer(profile, {"workers=3", "cache=40%"});
  const Prediction second = answer(profile, {"workers=3", "cache=40%"});
  CHECK(first.throughput.mean == second.throughput.mean);
  CHECK(first.throughput.ci90_low == second.throughput.ci90_low);
}

TEST_CASE("profiles with odd numbers give an error or finite numbers, never a crash") {
  const double odd[] = {
      0.0, -1.0, 1e-300, 1e300, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()};
  for (const double value : odd) {
    for (int field = 0; field < 9; ++field) {
      Profile profile = profile_of(fetch_bound());
      Resources& r = profile.resources;
      double targets[9] = {};
      targets[field] = 1.0;
      if (targets[0] > 0) profile.rates.as_is.value().mean = SamplesPerSecond(value);
      if (targets[1] > 0) r.compute.value().mean = Seconds(value);
      if (targets[2] > 0) r.worker_wall.value().mean = SecondsPerSample(value);
      if (targets[3] > 0) r.worker_cpu.value().mean = SecondsPerSample(value);
      if (targets[4] > 0) r.read.value().mean = SecondsPerSample(value);
      if (targets[5] > 0) r.consumer_cpu.value().mean = SecondsPerSample(value);
      if (targets[6] > 0) r.bytes_from_storage = value;
      if (targets[7] > 0) profile.host.usable_cpus = value;
      if (targets[8] > 0) r.worker_run_delay.value().mean = SecondsPerSample(value);
      CAPTURE(field);
      CAPTURE(value);
      const auto prediction = predict(profile, ask({"workers=4", "gpu_speedup=2"}));
      if (!prediction.ok()) continue;
      CHECK(std::isfinite(prediction.value().throughput.mean.value()));
      CHECK(prediction.value().throughput.mean.value() > 0.0);
      CHECK(prediction.value().stall >= 0.0);
      CHECK(prediction.value().stall <= 1.0);
    }
  }
}

TEST_CASE("a prediction as JSON, the same as in the report") {
  const Profile profile = profile_of(starved_job());
  Prediction prediction = answer(profile, {"workers=4"});
  const auto json = predictions_to_json(std::vector<Prediction>{prediction});
  CHECK(json["schema_version"] == 1);
  const auto& one = json["predictions"][0];
  CHECK(one["scenario"]["workers"] == "4");
  CHECK(one["throughput_samples_per_s"]["mean"].get<double>() == prediction.throughput.mean.value());
  CHECK(one["throughput_samples_per_s"]["ci90_low"].get<double>() <
        one["throughput_samples_per_s"]["mean"].get<double>());
  for (const char* key : {"step_s", "epoch_s", "stall_frac", "bound", "next_bound", "headroom_frac", "extrapolated"}) {
    CHECK(one.contains(key));
  }
  CHECK(one == predictions_json(std::vector<Prediction>{prediction})["predictions"][0]);
  prediction.epoch = Measured<Seconds>::absent("no length");
  CHECK(to_json(prediction) == predictions_json(std::vector<Prediction>{prediction})["predictions"][0]);
  CHECK(to_json(prediction)["epoch_s"].is_null());
}

}  // namespace
}  // namespace stallcast
