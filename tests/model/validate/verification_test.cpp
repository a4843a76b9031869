#include "model/validate/verification.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "model/predict/predict.hpp"
#include "tests/model/made_profile.hpp"

namespace stallcast {
namespace {

using made::profile_of;
using made::TrueJob;

/// A profiled run, the prediction of `settings`, and a run that had them.
struct Case {
  Profile before{};
  Prediction prediction{};
  AppliedSettings applied{};
  Profile run{};
  std::vector<RankSetting> ranks{};

  [[nodiscard]] Verification judged() const { return verify(before, prediction, applied, run, ranks); }
};

/// Two workers that starve a step of 100 ms; three of them are asked for.
Case more_workers() {
  TrueJob job;
  job.cores = 8.0;
  job.cpu_s = 0.01;
  Case made;
  made.before = profile_of(job);
  const auto scenario = parse_scenario(std::vector<std::string>{"workers=3"});
  REQUIRE(scenario.ok());
  const auto prediction = predict(made.before, scenario.value());
  REQUIRE(prediction.ok());
  made.prediction = prediction.value();
  made.applied.workers = 3;
  made.applied.keys.push_back({"workers", "3", "num_workers=3"});
  job.workers = 3;
  job.seed = 7;
  made.run = profile_of(job);
  made.ranks = {{.num_workers = 3, .fewest_workers = 3, .most_workers = 3, .prefetch_factor = 2, .cpus = 8}};
  return made;
}

const Premise& premise(const Verification& verification, const std::string& check) {
  for (const Premise& seen : verification.premises) {
    if (seen.check == check) return seen;
  }
  FAIL("no premise " << check);
  return verification.premises.front();
}

void scale_rate(Profile& profile, double factor) {
  Estimate<SamplesPerSecond>& rate = profile.rates.as_is.value();
  rate = {rate.mean * factor, rate.ci95_low * factor, rate.ci95_high * factor, rate.n};
}

TEST_CASE("emulated storage: asked for, read through, and not outrun by the real one's slowness") {
  Case made = more_workers();
  made.applied.emulated = {"storage_bandwidth=20MB/s"};
  made.run.resources.bytes_from_storage = 0.0;  // the real storage does not matter
  CHECK(made.judged().verdict == Verdict::not_applied);
  made.run.emulation.with = "interposer";
  made.run.emulation.settings = {{"storage_bandwidth", "20MB/s"}};
  CHECK_FALSE(premise(made.judged(), "emulated_reads").holds);
  made.run.emulation.requests = 100;
  made.run.emulation.waited = Seconds(10.0);
  CHECK(made.judged().verdict == Verdict::agrees);
  made.run.emulation.late = Seconds(1.0);
  CHECK(premise(made.judged(), "real_storage").seen == "10 % slower");
  CHECK(made.judged().verdict == Verdict::not_applied);
  made.run.emulation.late = Seconds(0.0);
  made.run.emulation.mapped_files = 3;
  CHECK(made.judged().verdict == Verdict::not_applied);
  made.run.emulation.mapped_files = 0;
  made.run.emulation.settings = {{"storage_bandwidth", "30MB/s"}};
  CHECK(made.judged().verdict == Verdict::not_applied);
}

TEST_CASE("the kernel's limits: asked for, still there in the end, and on every disk that was read") {
  Case made = more_workers();
  made.applied.emulated = {"storage_bandwidth=20MB/s"};
  made.applied.by_kernel = true;
  made.run.resources.bytes_from_storage = made.before.resources.bytes_from_storage = 1.0;
  made.run.emulation.with = "interposer";
  made.run.emulation.settings = {{"storage_bandwidth", "20MB/s"}};
  CHECK_FALSE(premise(made.judged(), "kernel_limits").holds);
  made.run.emulation.with = "kernel";
  CHECK_FALSE(premise(made.judged(), "limits_at_the_end").holds);
  made.run.emulation.controls = {"io.max 254:0 rbps=20000000"};
  made.run.emulation.disks = {"254:0 vda"};
  made.run.emulation.limited_files = 1.0;
  CHECK(premise(made.judged(), "limited_reads").seen == "no read met a limited disk");
  made.run.emulation.requests = 100;
  CHECK(made.judged().verdict == Verdict::agrees);
  made.run.emulation.limited_files = 0.4;
  CHECK(premise(made.judged(), "limited_reads").seen == "40 % of the files");
  CHECK(made.judged().verdict == Verdict::not_applied);
  made.run.emulation.limited_files = Measured<Fraction>::absent("nobody looked");
  CHECK(made.judged().verdict == Verdict::not_applied);
  made.run.emulation.limited_files = 1.0;
  made.run.resources.bytes_from_storage = 0.5;  // half was in memory, where no limit holds
  CHECK(made.judged().verdict == Verdict::not_comparable);
  made.run.resources.bytes_from_storage = 1.0;
  made.run.issues.push_back({"emulation-limits-changed", Severity::error, 1, "", ""});
  CHECK(made.judged().verdict == Verdict::not_applied);
}

TEST_CASE("a prediction that is right agrees, and its error is told") {
  const Verification verification = more_workers().judged();
  CHECK(verification.verdict == Verdict::agrees);
  REQUIRE(verification.err_frac.has_value());
  CHECK(std::abs(*verification.err_frac) < 0.1);
  for (const Premise& seen : verification.premises) {
    CAPTURE(seen.check);
    CHECK(seen.holds);
  }
}

TEST_CASE("intervals that do not overlap disagree, whichever is the higher") {
  for (const double factor : {0.5, 2.0}) {
    Case made = more_workers();
    scale_rate(made.run, factor);
    const Verification verification = made.judged();
    CHECK(verification.verdict == Verdict::disagrees);
    REQUIRE(verification.err_frac.has_value());
    CHECK((*verification.err_frac > 0.0) == (factor < 1.0));
  }
}

TEST_CASE("a run that lacked a setting is no test of it: no figure at all") {
  const RankSetting good{.num_workers = 3, .fewest_workers = 3, .most_workers = 3, .prefetch_factor = 2, .cpus = 8};
  RankSetting never_set = good;
  never_set.num_workers = never_set.fewest_workers = never_set.most_workers = 2;
  RankSetting not_started = good;
  not_started.fewest_workers = 2;
  RankSetting unknown;
  for (const std::vector<RankSetting>& ranks :
       {std::vector<RankSetting>{never_set}, std::vector<RankSetting>{not_started},
        std::vector<RankSetting>{good, never_set}, std::vector<RankSetting>{unknown}, std::vector<RankSetting>{}}) {
    Case made = more_workers();
    made.ranks = ranks;
    const Verification verification = made.judged();
    CHECK(verification.verdict == Verdict::not_applied);
    CHECK_FALSE(verification.err_frac.has_value());
    CHECK_FALSE(verification.measured.has_value());
    CHECK_FALSE(verification.hint.empty());
  }
}

TEST_CASE("CPUs and a prefetch factor are looked at as well") {
  Case made = more_workers();
  made.applied.cpus = 4;
  CHECK(made.judged().verdict == Verdict::not_applied);
  made.ranks[0].cpus = 4;
  made.applied.prefetch = 8;
  CHECK(made.judged().verdict == Verdict::not_applied);
  made.ranks[0].prefetch_factor = 8;
  CHECK(made.judged().verdict == Verdict::agrees);
}

TEST_CASE("what the scenario leaves alone must be as it was") {
  const auto verdict_after = [](void (*change)(Case&)) {
    Case made = more_workers();
    change(made);
    const Verification verification = made.judged();
    CHECK_FALSE(verification.err_frac.has_value());
    CHECK(verification.measured.has_value());
    return verification.verdict;
  };
  CHECK(verdict_after([](Case& c) { c.run.job.dataset_samples = 7; }) == Verdict::not_comparable);
  CHECK(verdict_after([](Case& c) { c.run.job.batch_size = 7; }) == Verdict::not_comparable);
  CHECK(verdict_after([](Case& c) { c.run.job.ranks_seen += 1; }) == Verdict::not_comparable);
  CHECK(verdict_after([](Case& c) { c.run.host.usable_cpus = 3.0; }) == Verdict::not_comparable);
  CHECK(verdict_after([](Case& c) { c.run.host.cpu_model = "another"; }) == Verdict::not_comparable);
  CHECK(verdict_after([](Case& c) { c.ranks[0].prefetch_factor = 4; }) == Verdict::not_comparable);
}

TEST_CASE("fewer CPUs that were asked for are no other machine") {
  Case made = more_workers();
  made.applied.cpus = 4;
  made.ranks[0].cpus = 4;
  made.run.host.usable_cpus = 4.0;
  CHECK(made.judged().verdict == Verdict::agrees);
}

TEST_CASE("another state of the cache is another question") {
  Case made = more_workers();
  made.before.resources.bytes_from_storage = 0.97;
  made.run.resources.bytes_from_storage = 0.12;
  const Verification verification = made.judged();
  CHECK(verification.verdict == Verdict::not_comparable);
  CHECK(verification.words.find("97 %") != std::string::npos);
  CHECK(verification.words.find("12 %") != std::string::npos);
  made.run.resources.bytes_from_storage = 0.90;
  CHECK(made.judged().verdict != Verdict::not_comparable);
}

TEST_CASE("a state of the cache that nobody saw is not taken for the same") {
  const auto unseen = Measured<Fraction>::absent("no read of a file was seen");
  Case made = more_workers();
  made.run.resources.bytes_from_storage = unseen;
  CHECK(made.judged().verdict == Verdict::not_comparable);
  made.before.resources.bytes_from_storage = unseen;
  made.before.resources.storage_bandwidth = made.run.resources.storage_bandwidth =
      Measured<BytesPerSecond>::absent("unreadable");
  CHECK(made.judged().verdict == Verdict::not_comparable);
  // Where neither run fetched anything from storage, there is no state to differ.
  made.before.resources.storage_bandwidth = made.run.resources.storage_bandwidth = BytesPerSecond(0.0);
  CHECK(premise(made.judged(), "storage_bytes").holds);
  made.run.resources.storage_bandwidth = BytesPerSecond(50e6);
  CHECK(made.judged().verdict == Verdict::not_comparable);
}

TEST_CASE("a run without a rate says why") {
  Case made = more_workers();
  made.run.rates.as_is = MeasuredEstimate<SamplesPerSecond>::absent("too few steps");
  const Verification verification = made.judged();
  CHECK(verification.verdict == Verdict::not_measured);
  CHECK(verification.words.find("too few steps") != std::string::npos);
}

TEST_CASE("a slow run whose workers wanted for cores says so") {
  Case made = more_workers();
  scale_rate(made.run, 0.5);
  made.before.resources.worker_run_delay = Estimate<SecondsPerSample>{};
  Estimate<SecondsPerSample> much = *made.run.resources.worker_wall;
  much.mean = much.mean * 0.5;
  made.run.resources.worker_run_delay = much;
  const Verification verification = made.judged();
  REQUIRE(verification.verdict == Verdict::disagrees);
  CHECK(verification.hint.find("50 %") != std::string::npos);
}

TEST_CASE("the run's own profile gets a point") {
  const Verification verification = more_workers().judged();
  const Point point = verified_point(verification);
  CHECK(point.method == "verify");
  CHECK(point.phase == "as_is");
  CHECK(point.setting == std::map<std::string, std::string>{{"workers", "3"}});
  CHECK(point.premises.size() == verification.premises.size());
  CHECK(point.estimate->mean == verification.measured->mean);
}

TEST_CASE("as JSON: a verdict with its figures, or null with the reason") {
  Case made = more_workers();
  const auto good = to_json(made.judged());
  CHECK(good["verdict"] == "agrees");
  CHECK(good["agrees"] == true);
  CHECK(good["err_frac"].is_number());
  CHECK(good["measured_samples_per_s"]["mean"].is_number());
  CHECK(good["predicted"]["throughput_samples_per_s"]["ci90_low"].is_number());
  CHECK(good["applied"].size() == 1);
  made.ranks.clear();
  const auto bad = to_json(made.judged());
  CHECK(bad["verdict"] == "not_applied");
  CHECK(bad["agrees"].is_null());
  CHECK(bad["err_frac"].is_null());
  CHECK(bad["measured_samples_per_s"].is_null());
  CHECK(bad["measured_absent"] == bad["words"]);
}

}  // namespace
}  // namespace stallcast
