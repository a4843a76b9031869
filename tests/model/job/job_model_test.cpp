#include "model/job/job_model.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "model/predict/calibrate.hpp"
#include "tests/model/made_profile.hpp"

namespace stallcast {
namespace {

using made::profile_of;
using made::TrueJob;

JobModel read(const Profile& profile) {
  auto job = job_model(profile);
  REQUIRE(job.ok());
  return job.value();
}

bool misses(const JobModel& job, Input input) {
  return std::any_of(job.missing.begin(), job.missing.end(),
                     [&](const MissingInput& m) { return m.input == input && !m.unlocked_by.empty(); });
}

TEST_CASE("the demands of a job come back out of its profile") {
  TrueJob truth;
  truth.workers = 4;
  truth.cores = 3.0;
  truth.device_s = 0.04;
  truth.step_cpu_s = 0.01;
  truth.cpu_s = 0.005;
  truth.disk_s = 0.002;
  truth.latency_s = 0.001;
  truth.miss = 0.7;
  const JobModel job = read(profile_of(truth));
  CHECK(job.workers == 4);
  CHECK(job.cores == 3.0);
  CHECK(job.cpu_s == doctest::Approx(truth.cpu_s).epsilon(0.01));
  CHECK(job.other_s == doctest::Approx(truth.other_s).epsilon(0.05));
  CHECK(job.miss == doctest::Approx(0.7));
  CHECK(job.disturbance == 1.0);
  CHECK(job.device_s + job.step_cpu_s == doctest::Approx(0.05).epsilon(0.05));
  CHECK(job.step_cpu_s == doctest::Approx(0.01).epsilon(0.02));
  CHECK(*job.storage_s > truth.disk_s + truth.latency_s);  // with the queueing of four readers
  CHECK(job.cv_make == doctest::Approx(truth.cv_make).epsilon(0.15));
  CHECK(job.attributed);
  CHECK(job.observations.size() == 1);
}

TEST_CASE("without workers the consumer's CPU time holds the making, which is taken out") {
  TrueJob truth;
  truth.workers = 0;
  truth.step_cpu_s = 0.02;
  const JobModel job = read(profile_of(truth));
  CHECK(job.workers == 0);
  CHECK(job.step_cpu_s == doctest::Approx(0.02).epsilon(0.02));
  CHECK(job.device_s == doctest::Approx(0.1).epsilon(0.05));
}

TEST_CASE("other jobs on the cores are seen, and said") {
  TrueJob truth;
  truth.workers = 1;
  Profile profile = profile_of(truth);
  profile.resources.worker_run_delay = Estimate<SecondsPerSample>{SecondsPerSample(truth.cpu_s), {}, {}, 300};
  profile.resources.worker_wall.value().mean += SecondsPerSample(truth.cpu_s);
  const JobModel job = read(profile);
  CHECK(job.disturbance == doctest::Approx(2.0).epsilon(0.02));
  CHECK(job.cpu_s == doctest::Approx(2.0 * truth.cpu_s).epsilon(0.02));
  REQUIRE_FALSE(job.notes.empty());
  CHECK(job.notes.back().find("other jobs") != std::string::npos);
  profile.resources.other_cpus = 0.3 * profile.host.usable_cpus;
  CHECK(read(profile).disturbance == doctest::Approx(2.0).epsilon(0.02));
  // Nobody else ran: it was the scheduler, and holds for this job alone.
  profile.resources.other_cpus = 0.01 * profile.host.usable_cpus;
  CHECK(read(profile).disturbance == 1.0);
  CHECK(read(profile).cpu_s == doctest::Approx(truth.cpu_s).epsilon(0.02));
}

TEST_CASE("what the consumer computes for a batch that came just now is the step's, but for receiving it") {
  TrueJob truth;  // a step of 80 ms on a core, of which a synthetic one takes 60; the consumer computes 85 in all
  truth.cores = 8.0;
  truth.device_s = 0.001;
  truth.step_cpu_s = 0.08;
  Profile profile = profile_of(truth);
  profile.resources.step_cpu = Estimate<SecondsPerSample>{SecondsPerSample(0.06 / truth.batch), {}, {}, 30};
  profile.resources.consumer_cpu.value().mean = SecondsPerSample(0.085 / truth.batch);
  for (int i = 0; i < 400; ++i) profile.resources.distributions["wait_s"].add(0.0005);
  const JobModel job = read(profile);
  const double receive_s = job.receive_s;
  REQUIRE(receive_s < 0.005);
  CHECK(job.receive_cpu_s == doctest::Approx(std::max(receive_s, 0.085 - job.compute_s)).epsilon(0.03));
  CHECK(job.receive_cpu_s + job.step_cpu_s == doctest::Approx(0.085).epsilon(0.01));
  Setting setting = as_found(job);
  const double beside = demands(job, setting, {}, {}).step_cpu_s;
  setting.loads = false;
  CHECK(demands(job, setting, {}, {}).step_cpu_s == doctest::Approx(0.06).epsilon(0.01));
  CHECK(beside == doctest::Approx(job.step_cpu_s));
  // The thread that pins computes beside the step, not in it.
  profile.job.pin_memory = true;
  CHECK(read(profile).step_cpu_s == doctest::Approx(0.06).epsilon(0.01));
}

TEST_CASE("bursts show what a step takes of a core and of a device, cached ones what is computed beside it") {
  TrueJob truth;
  truth.cores = 2.0;
  truth.device_s = 0.05;  // as found, some of it waiting for cores
  truth.step_cpu_s = 0.02;
  Profile profile = profile_of(truth);
  const double batch = truth.batch;
  const auto per_sample = [&](double seconds) {
    return Estimate<SecondsPerSample>{SecondsPerSample(seconds / batch), {}, {}, 5};
  };
  profile.resources.step_cpu = per_sample(0.030);
  profile.rates.synthetic = Estimate<SamplesPerSecond>{SamplesPerSecond(batch / 0.040), SamplesPerSecond(batch / 0.041),
                                                       SamplesPerSecond(batch / 0.039), 5};
  profile.resources.consumer_cpu = per_sample(0.050);
  CHECK(read(profile).device_s == doctest::Approx(0.010).epsilon(0.01));
  const double found = read(profile).step_cpu_s + read(profile).receive_cpu_s;
  CHECK(found == doctest::Approx(0.050).epsilon(0.01));
  profile.resources.consumer_cpu_cached = per_sample(0.036);  // in the rounds of the bursts
  const JobModel job = read(profile);
  CHECK(job.step_cpu_s + job.receive_cpu_s == doctest::Approx(0.036).epsilon(0.01));
  CHECK(job.step_cpu_s * job.step_cpu_alone == doctest::Approx(0.030).epsilon(0.01));
  CHECK(job.device_s == doctest::Approx(0.010).epsilon(0.01));
  CHECK(job.compute_relative_sd == doctest::Approx(0.025 / 1.96).epsilon(0.05));
  profile.gpu.busy_time = Estimate<Seconds>{Seconds(0.045), Seconds(0.044), Seconds(0.046), 100};  // who knows better
  CHECK(read(profile).device_s >= 0.045);
}

TEST_CASE("what it costs to receive a ready batch is the shortest waits") {
  TrueJob truth;
  Profile profile = profile_of(truth);
  const double wait = truth.batch / made::play(truth).rate - profile.resources.compute->mean.value();
  for (int i = 0; i < 100; ++i) profile.resources.distributions["wait_s"].add(0.0001);
  CHECK(read(profile).receive_s <= std::max(0.0, wait) + 1e-12);
  profile.resources.compute.value().mean -= Seconds(0.001);
  CHECK(read(profile).receive_s == doctest::Approx(0.0001).epsilon(0.05));
  for (int i = 0; i < 2000; ++i) profile.resources.distributions["wait_s"].add(1.0);  // no batch is ever ready
  CHECK(read(profile).receive_s == 0.0);
}

TEST_CASE("where the run as found was divided, receiving is what that says, and computes as the step does") {
  Profile profile = profile_of(TrueJob{});
  const JobModel before = read(profile);
  const double step_s = before.batch / before.rate;
  profile.stalls.as_is_receive = Estimate<Fraction>{0.2, 0.18, 0.22, 100};
  for (int i = 0; i < 100; ++i) profile.resources.distributions["wait_s"].add(0.0001);
  const JobModel job = read(profile);
  CHECK(job.receive_s == doctest::Approx(0.2 * step_s));
  CHECK(job.receive_cpu_s > 0.0);
  CHECK(job.receive_cpu_s / job.step_cpu_s == doctest::Approx(job.receive_s / job.compute_s).epsilon(0.01));
  profile.job.num_workers = 0;  // who makes its batches itself takes none over
  CHECK(read(profile).receive_s == 0.0);
}

TEST_CASE("what is missing is named with what would unlock it") {
  TrueJob truth;
  truth.miss = 0.0;
  Profile profile = profile_of(truth);
  CHECK(misses(read(profile), Input::storage_cost));
  profile.dataset.bytes_total = Measured<Bytes>::absent("no length");
  profile.dataset.bytes_per_sample = Measured<BytesPerSample>::absent("mapped");
  profile.host.usable_cpus = 0.0;
  profile.resources.distributions.clear();
  const JobModel job = read(profile);
  CHECK(misses(job, Input::dataset_bytes));
  CHECK(misses(job, Input::sample_bytes));
  CHECK(misses(job, Input::cores));
  CHECK(misses(job, Input::making_times));
}

TEST_CASE("of two batches a step, of which one has all of it, steps are not taken to vary by that") {
  Profile profile = profile_of(TrueJob{});
  Distribution& compute = profile.resources.distributions["compute_s"];
  compute = {};
  for (int i = 0; i < 100; ++i) compute.add(i % 2 == 0 ? 0.0001 : 0.2);
  CHECK(read(profile).cv_step > 0.9);
  profile.job.batches_per_step = 2;
  CHECK(read(profile).cv_step == doctest::Approx(0.05));
  CHECK(read(profile).batches_at_once == 2.0);
  CHECK(misses(read(profile), Input::step_times));
  compute = {};
  for (int i = 0; i < 100; ++i) compute.add(i % 2 == 0 ? 0.1 : 0.12);  // gradients that add up over like batches
  CHECK(read(profile).cv_step == doctest::Approx(0.09).epsilon(0.1));
  CHECK(read(profile).batches_at_once == 1.0);
}

TEST_CASE("a profile without the essentials predicts nothing and says what is needed") {
  const auto refused = [](auto spoil, const char* words) {
    Profile profile = profile_of(TrueJob{});
    spoil(profile);
    const auto job = job_model(profile);
    REQUIRE_FALSE(job.ok());
    CHECK(job.error().code == ErrorCode::not_enough_data);
    CHECK(job.error().what.find(words) != std::string::npos);
    CHECK_FALSE(job.error().hint.empty());
  };
  refused([](Profile& p) { p.rates.as_is = MeasuredEstimate<SamplesPerSecond>::absent("no loader"); }, "no loader");
  refused([](Profile& p) { p.resources.compute = MeasuredEstimate<Seconds>::absent("x"); }, "step");
  refused([](Profile& p) { p.resources.worker_wall = MeasuredEstimate<SecondsPerSample>::absent("unseen"); }, "unseen");
  CHECK_FALSE(job_model(Profile{}).ok());
}

TEST_CASE("differential points are observations; others are not") {
  TrueJob truth;
  truth.workers = 2;
  truth.disk_s = 0.002;
  truth.miss = 0.5;
  Profile profile = profile_of(truth);
  made::add_differential(profile, truth, "cold", {{"workers", "2"}});
  TrueJob one = truth;
  one.workers = 1;
  made::add_differential(profile, one, "cached", {{"workers", "1"}});
  made::add_differential(profile, truth, "perturb_read", {{"added_s_per_read", "0.0005"}});  // reads are not counted
  made::add_differential(profile, truth, "cold", {{"unheard_of", "1"}});
  profile.points.push_back(profile.points.front());
  profile.points.back().method = "attributed";
  const JobModel job = read(profile);
  CHECK_FALSE(job.attributed);
  REQUIRE(job.observations.size() == 3);
  CHECK_FALSE(job.observations[1].workers.has_value());  // the job's own
  CHECK(*job.observations[2].workers == 1);
}

TEST_CASE("blocks that ran as the job was found are further windows of it") {
  TrueJob truth;
  truth.disk_s = 0.002;
  truth.miss = 1.0;
  Profile profile = profile_of(truth);
  const double found = profile.rates.as_is->mean.value();
  profile.rates.as_is = Estimate<SamplesPerSecond>{SamplesPerSecond(found), SamplesPerSecond(0.9 * found),
                                                   SamplesPerSecond(1.1 * found), 50};
  const double passive_sd = read(profile).rate_relative_sd;
  made::add_differential(profile, truth, "cached", {{"workers", "2"}});
  CHECK(read(profile).rate == doctest::Approx(found));  // all of it came from storage: these blocks are another job
  made::add_differential(profile, truth, "cold", {{"workers", "2"}});
  auto& cold = profile.points.back().estimate.value();
  cold = {SamplesPerSecond(1.06 * found), SamplesPerSecond(1.03 * found), SamplesPerSecond(1.09 * found), 7};
  JobModel job = read(profile);
  CHECK(job.rate > 1.045 * found);  // three times as precise, so nine times as heavy
  CHECK(job.rate < 1.06 * found);
  CHECK(job.rate_relative_sd < 0.3 * passive_sd);
  CHECK(job.observations.front().rate == job.rate);
  CHECK(job.observations.front().relative_sd == job.rate_relative_sd);

  cold = {SamplesPerSecond(2.0 * found), SamplesPerSecond(1.94 * found), SamplesPerSecond(2.06 * found), 7};
  job = read(profile);
  CHECK(job.rate_relative_sd > 0.1);  // they cannot both be right

  // What was found from memory counts as much as the window that found it: nothing for the rate of these blocks.
  profile.resources.bytes_from_storage = 0.96;
  cold = {SamplesPerSecond(1.06 * found), SamplesPerSecond(1.03 * found), SamplesPerSecond(1.09 * found), 7};
  CHECK(read(profile).miss > 0.99);
  cold = {SamplesPerSecond(1.06 * found), SamplesPerSecond(0.5 * found), SamplesPerSecond(1.6 * found), 7};
  CHECK(read(profile).miss < 0.97);
}

TEST_CASE("a run that was found partly in memory does not say how far windows of one state lie apart") {
  TrueJob truth;
  truth.disk_s = 0.002;
  truth.miss = 0.5;
  Profile profile = profile_of(truth);
  const double found = profile.rates.as_is->mean.value();
  profile.rates.as_is = Estimate<SamplesPerSecond>{SamplesPerSecond(found), SamplesPerSecond(0.5 * found),
                                                   SamplesPerSecond(1.5 * found), 50};
  CHECK(read(profile).window_relative_sd == read(profile).rate_relative_sd);
  made::add_differential(profile, truth, "cold", {{"workers", "2"}});
  made::add_differential(profile, truth, "cached", {{"workers", "2"}});
  CHECK(read(profile).window_relative_sd < 0.1 * read(profile).rate_relative_sd);
  profile.resources.bytes_from_storage = 1.0;  // as cold as its cold blocks: both are windows of one state
  CHECK(read(profile).window_relative_sd == read(profile).rate_relative_sd);
}

TEST_CASE("a sample from memory computes less where cached blocks show it") {
  TrueJob truth;
  truth.latency_s = 0.004;
  truth.miss = 0.8;
  Profile profile = profile_of(truth);
  CHECK_FALSE(read(profile).cpu_of_cached);
  const SecondsPerSample collate(0.1 * truth.cpu_s);
  profile.resources.collate = Estimate<SecondsPerSample>{collate, collate, collate, 5};
  CHECK(read(profile).collate_s == doctest::Approx(0.1 * truth.cpu_s));
  profile.resources.worker_cpu_cached =
      Estimate<SecondsPerSample>{SecondsPerSample(0.6 * truth.cpu_s), SecondsPerSample(0.59 * truth.cpu_s),
                                 SecondsPerSample(0.61 * truth.cpu_s), 5};
  const JobModel job = read(profile);
  CHECK(job.cpu_of_cached);
  CHECK(job.cpu_s == doctest::Approx(0.6 * truth.cpu_s).epsilon(0.01));
  CHECK(job.collate_s == doctest::Approx(0.06 * truth.cpu_s).epsilon(0.01));  // timed as found, and part of that
  CHECK(job.cpu_s + 0.8 * job.miss_cpu_s == doctest::Approx(truth.cpu_s).epsilon(0.01));
  // One who is served from memory needs the lesser, one who is not both; the waiting held the difference.
  Setting setting = as_found(job);
  setting.miss = 0.0;
  CHECK(demands(job, setting, {}, {}).cpu_s == doctest::Approx(job.batch * job.cpu_s));
  setting.miss = 1.0;
  const ServiceDemands cold = demands(job, setting, {}, {});
  CHECK(cold.cpu_s == doctest::Approx(job.batch * (job.cpu_s + job.miss_cpu_s)));
  setting.latency_s = *job.storage_s;  // given from outside: that holds no computing
  CHECK(demands(job, setting, {}, {}).latency_s > cold.latency_s);
  // Cold blocks ran beside the cached ones, and know it better than what ran before them.
  profile.resources.worker_cpu_cold =
      Estimate<SecondsPerSample>{SecondsPerSample(0.65 * truth.cpu_s), SecondsPerSample(0.64 * truth.cpu_s),
                                 SecondsPerSample(0.66 * truth.cpu_s), 5};
  CHECK(read(profile).miss_cpu_s == doctest::Approx(0.05 * truth.cpu_s).epsilon(0.01));
}

TEST_CASE("receiving a batch is what cached blocks wait for beyond its making") {
  Profile profile = profile_of(TrueJob{});
  profile.rates.cold =
      Estimate<SamplesPerSecond>{SamplesPerSecond(200.0), SamplesPerSecond(198.0), SamplesPerSecond(202.0), 5};
  profile.stalls.receive = Estimate<Fraction>{0.05, 0.02, 0.08, 5};
  CHECK(read(profile).receive_s == 0.0);  // attributed: a split of another kind
  profile.stalls.method = "differential";
  CHECK(read(profile).receive_s == doctest::Approx(0.05 * 32.0 / 200.0));
  profile.stalls.receive = Estimate<Fraction>{0.05, 0.0, 0.1, 5};
  CHECK(read(profile).receive_s == 0.0);  // it may be nothing
}

TEST_CASE("storage gives whole pages") {
  Profile profile = profile_of(TrueJob{});
  profile.dataset.layout = "files";
  Distribution sizes;
  for (int i = 0; i < 400; ++i) sizes.add(20'000.0);
  profile.dataset.file_size_bytes = sizes;
  profile.dataset.bytes_per_sample = BytesPerSample(20'000.0);
  CHECK(*read(profile).stored_bytes == 20'480.0);
  CHECK(*read(profile).sample_bytes == 20'000.0);
  for (int i = 0; i < 400; ++i) sizes.add(1000.0 * i);
  profile.dataset.file_size_bytes = sizes;
  profile.dataset.bytes_per_sample = BytesPerSample(sizes.mean);
  CHECK(*read(profile).stored_bytes == doctest::Approx(sizes.mean + 2048.0));  // half a page more, on average
  profile.dataset.layout = "tar";
  CHECK(*read(profile).stored_bytes == sizes.mean);  // one sample's last page is the next one's first
}

TEST_CASE("the cost of storage comes from blocks where the run as found read nothing from it") {
  TrueJob warm;
  warm.workers = 1;
  warm.device_s = 0.01;
  TrueJob cold = warm;
  cold.miss = 1.0;
  cold.latency_s = 0.004;
  Profile profile = profile_of(warm);
  REQUIRE(misses(read(profile), Input::storage_cost));
  made::add_differential(profile, cold, "cold", {{"workers", "1"}});
  made::add_differential(profile, warm, "cached", {{"workers", "1"}});
  const JobModel training = read(profile);
  CHECK_FALSE(misses(training, Input::storage_cost));
  CHECK(*training.storage_s == doctest::Approx(cold.latency_s).epsilon(0.1));

  // The loader alone, whose rates are so noisy that cold looks faster: the training's say it.
  made::add_differential(profile, cold, "supply_cold", {{"workers", "1"}});
  made::add_differential(profile, cold, "supply_cached", {{"workers", "1"}});
  for (auto point = profile.points.end() - 2; point != profile.points.end(); ++point) {
    const double mean = point->estimate->mean.value();
    const double low = point->phase == "supply_cold" ? 1.0 : 0.98;
    point->estimate = Estimate<SamplesPerSecond>{SamplesPerSecond(low * mean), SamplesPerSecond(0.7 * low * mean),
                                                 SamplesPerSecond(1.3 * low * mean), 3};
  }
  CHECK(*read(profile).storage_s == doctest::Approx(cold.latency_s).epsilon(0.1));
}

TEST_CASE("storage that no block finds slow costs little against their noise") {
  TrueJob warm;
  warm.workers = 1;
  Profile profile = profile_of(warm);
  made::add_differential(profile, warm, "cold", {{"workers", "1"}});
  made::add_differential(profile, warm, "cached", {{"workers", "1"}});
  const JobModel job = read(profile);
  REQUIRE(job.storage_s.has_value());
  CHECK(*job.storage_s > 0.0);
  CHECK(*job.storage_s < 0.05 / job.rate);
}

TEST_CASE("the fit reproduces what was measured, and blocks predicted from the rest are reported") {
  TrueJob truth;
  truth.workers = 4;
  truth.cores = 8.0;
  truth.cpu_s = 0.02;
  truth.disk_s = 0.002;
  truth.miss = 0.5;
  Profile profile = profile_of(truth);
  profile.resources.read.value().mean = SecondsPerSample(0.5 * profile.resources.read->mean.value());  // a wrong start
  for (const char* phase : {"cold", "cached", "synthetic", "supply_cold", "supply_cached"}) {
    made::add_differential(profile, truth, phase, {});
  }
  TrueJob two = truth;
  two.workers = 2;
  made::add_differential(profile, two, "cached", {{"workers", "2"}});
  StallCurves curves;
  const Calibration calibration = calibrate(read(profile), curves);
  CHECK(calibration.misfit < 0.02);
  REQUIRE(calibration.backtests.size() == 1);
  const Backtest& test = calibration.backtests.front();
  CHECK(test.predicted_rate == doctest::Approx(test.seen.rate).epsilon(0.03));
  CHECK(calibration.error_scale <= 1.2);
}

TEST_CASE("others are expected to slow computing down a little, until blocks with fewer workers say that they do not") {
  TrueJob truth;
  truth.workers = 4;
  truth.device_s = 0.01;
  Profile profile = profile_of(truth);
  for (const char* phase : {"cached", "synthetic"}) made::add_differential(profile, truth, phase, {});
  StallCurves curves;
  const JobModel job = read(profile);
  const double expected = calibrate(job, curves).best.beside;
  CHECK(expected == doctest::Approx(0.05).epsilon(0.01));
  Parameters beside;
  beside.beside = expected;
  Setting alone = as_found(job);
  alone.workers = 1;
  CHECK(demands(job, alone, beside, {}).cpu_s < 0.97 * demands(job, as_found(job), beside, {}).cpu_s);
  // On one core of several nothing computes at the same time, whoever else wants that core.
  Setting in_turn = as_found(job);
  in_turn.cores = 1.0;
  CHECK(demands(job, in_turn, beside, {}).cpu_s ==
        doctest::Approx(demands(job, alone, beside, {}).cpu_s).epsilon(0.001));

  TrueJob one = truth;
  one.workers = 1;
  made::add_differential(profile, one, "cached", {{"workers", "1"}});
  StallCurves others;
  CHECK(calibrate(read(profile), others).best.beside < 0.6 * expected);
}

}  // namespace
}  // namespace stallcast
