#include "reports/findings/findings.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "reports/findings/derived.hpp"
#include "reports/findings/facts.hpp"
#include "tests/reports/findings/advice.hpp"
#include "tests/reports/random_profile.hpp"
#include "tests/reports/sample_profiles.hpp"

namespace stallcast::reports {
namespace {

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("levels follow the thresholds that users know") {
  CHECK(level_of(0.0) == Level::fine);
  CHECK(level_of(0.0499) == Level::fine);
  CHECK(level_of(0.05) == Level::moderate);
  CHECK(level_of(0.20) == Level::moderate);
  CHECK(level_of(0.2001) == Level::high);
  CHECK(level_of(std::numeric_limits<double>::quiet_NaN()) == Level::unknown);
}

TEST_CASE("the verdict is one sentence whose parts add up") {
  const Findings f = find(testing::multi_rank());
  CHECK(f.verdict ==
        "40 % of each step is spent waiting for data when every byte comes from storage: 34 % reading files, 6 % "
        "preparing samples; as the run was found, 21 %.");
  CHECK(f.level == Level::high);
  CHECK(find(testing::with_wait(0.31, 0.01)).verdict ==
        "31 % of each step is spent waiting for data, nearly all of it preparing samples.");
  CHECK(find(testing::with_wait(0.031, 0.004)).verdict ==
        "3.1 % of each step is spent waiting for data, nearly all of it preparing samples.");
}

TEST_CASE("waiting of which no part can be told is not called by what it is none of") {
  Profile p = testing::with_wait(0.049, 0.004);
  p.stalls.as_is_fetch = p.stalls.as_is_prep = Estimate<Fraction>{0.0, 0.0, 0.0, 4};
  p.stalls.as_is_receive = Estimate<Fraction>{0.049, -0.165, 0.263, 4};
  CHECK(find(p).verdict == "4.9 % of each step is spent waiting for data, and how it divides cannot be told.");
  p.stalls.as_is_wait = Estimate<Fraction>{0.0012, 0.0010, 0.0014, 4};
  p.stalls.as_is_receive = Estimate<Fraction>{0.0012, -0.0005, 0.0029, 4};
  CHECK(find(p).verdict == "0.1 % of each step is spent waiting for data.");
  p.stalls.as_is_wait = Estimate<Fraction>{0.011, 0.009, 0.013, 4};
  CHECK(find(p).verdict == "1.1 % of each step is spent waiting for data, and how it divides cannot be told.");
}

TEST_CASE("waiting that is not distinguishable from 0 is said so") {
  const Findings f = find(testing::with_wait(0.006, 0.008));
  CHECK(f.verdict == "No measurable waiting for data: at most 1.4 % of each step.");
  CHECK(f.level == Level::fine);
}

TEST_CASE("where phases divided the cold step, the verdict speaks of that, and of the run as found beside it") {
  Profile p = testing::multi_rank();
  CHECK(speaks_of_cold(p));
  std::vector<Breakdown> both = breakdowns_of(p);
  REQUIRE(both.size() == 2);
  CHECK(both[0].state == "cold");
  CHECK(both[0].method == "differential");
  CHECK(both[0].step->mean.value() == doctest::Approx(4 * 32 / 548.0));
  CHECK(both[0].step->ci95_high.value() == doctest::Approx(4 * 32 / 534.0));
  CHECK(both[1].title == "as the run was found, with 61 % of its bytes from storage");
  CHECK(both[1].method == "attributed");
  // A warm cache hides what storage costs: nothing may be advised from it.
  p.resources.bytes_from_storage = 0.0;
  p.stalls.as_is_wait = p.stalls.as_is_fetch = p.stalls.as_is_prep = Estimate<Fraction>{0.004, 0.001, 0.007, 100};
  CHECK(holds(find(p).verdict, "as the run was found, 0.40 %"));
  CHECK(find(p).level == Level::high);
  CHECK(holds(said(p, "faster-storage"), "as in a first epoch"));
  Profile read_ahead = p;  // what a first epoch reads for one sample serves others
  read_ahead.dataset.stored_bytes_per_sample = BytesPerSample(1e9);
  CHECK(holds(said(read_ahead, "faster-storage"), "where the data do not stay in memory"));
  CHECK(holds(said(p, "keep-in-memory"), "Keep the data set in memory, as it was found"));
  CHECK_FALSE(advises(p, "leave-it"));
  CHECK_FALSE(advises(p, "resident-reads"));
  // What was attributed, or has no cold rate, does not replace the run as found.
  p.rates.cold = MeasuredEstimate<SamplesPerSecond>::absent("no block of it counts");
  CHECK(breakdowns_of(p).front().state == "as_is");
  CHECK(advises(p, "leave-it"));
  p = testing::multi_rank();
  p.stalls.method = "attributed";
  CHECK(breakdowns_of(p).front().state == "as_is");
}

TEST_CASE("what the steps of a job without workers take longer is nobody's who shares its cores") {
  Profile p = testing::multi_rank();
  p.stalls.interference = p.stalls.as_is_interference = Estimate<Fraction>{0.05, 0.03, 0.07, 20};
  const auto slowed = [](const Profile& profile) {
    const Findings f = find(profile);
    return std::any_of(f.why.begin(), f.why.end(), [](const Fact& fact) { return fact.label == "compute"; });
  };
  CHECK(slowed(p));
  p.job.num_workers = 0;
  CHECK_FALSE(slowed(p));
}

TEST_CASE(
    "where phases do not tell that the cold step waits at all, the verdict speaks of the run as found, which does") {
  Profile p = testing::multi_rank();
  p.stalls.interference = Estimate<Fraction>{0.04, -0.64, 0.73, 2};  // two blocks from memory, far apart
  p.stalls.fetch = Estimate<Fraction>{0.34, -0.4, 1.0, 2};
  p.stalls.prep = Estimate<Fraction>{0.06, -0.6, 0.7, 2};
  CHECK_FALSE(speaks_of_cold(p));
  const Findings f = find(p);
  CHECK(holds(f.verdict, "21 % of each step is spent waiting for data"));
  CHECK(f.level == Level::high);
  REQUIRE(f.breakdowns.size() == 2);
  CHECK(f.breakdowns[0].method == "attributed");
  CHECK(f.breakdowns[0].title == "as the run was found, with 61 % of its bytes from storage");
  CHECK(f.breakdowns[1].state == "cold");
  p.stalls.as_is_wait = Estimate<Fraction>{0.2, -0.1, 0.5, 3};  // no better
  CHECK(speaks_of_cold(p));
}

TEST_CASE("a run that was found cold has one state, not two") {
  Profile p = testing::multi_rank();
  p.resources.bytes_from_storage = 0.98;
  p.stalls.as_is_wait = Estimate<Fraction>{0.41, 0.38, 0.44, 100};
  CHECK(found_is_cold(p));
  CHECK(breakdowns_of(p).size() == 1);
  CHECK(find(p).verdict == "40 % of each step is spent waiting for data: 34 % reading files, 6 % preparing samples.");
  p.stalls.as_is_wait = Estimate<Fraction>{0.21, 0.19, 0.23, 100};  // from storage too, but it waited less
  CHECK(breakdowns_of(p).size() == 2);
  p.stalls.as_is_wait = MeasuredEstimate<Fraction>::absent("the window was too short");
  CHECK(find(p).verdict ==
        "40 % of each step is spent waiting for data when every byte comes from storage: 34 % reading files, 6 % "
        "preparing samples.");
}

TEST_CASE("how much a cold step waits is known better than how that divides") {
  Profile p = testing::multi_rank();                         // 905 (899 to 911) and 548 (534 to 562) samples/s
  p.stalls.fetch = Estimate<Fraction>{0.30, 0.05, 0.55, 4};  // a cached rate that nobody could settle
  p.stalls.prep = Estimate<Fraction>{0.0945, -0.16, 0.345, 4};
  p.stalls.interference = p.stalls.receive = Estimate<Fraction>{0.0, 0.0, 0.0, 4};
  const Breakdown cold = breakdowns_of(p).front();
  CHECK(cold.wait.mean == doctest::Approx(1.0 - 548.0 / 905.0).epsilon(0.001));
  CHECK(cold.wait.ci95_high - cold.wait.mean == doctest::Approx(548.0 / 905.0 * 14.0 / 548.0).epsilon(0.05));
  CHECK(cold.slices[1].share.ci95_low == 0.05);
  // Parts that do not fit the rates are not made to look sure of themselves.
  p.stalls.fetch = Estimate<Fraction>{0.50, 0.25, 0.75, 4};
  CHECK(breakdowns_of(p).front().wait.ci95_low == doctest::Approx(1.0 - 548.0 / 905.0));
}

TEST_CASE("a cold step that does not wait distinguishably is no stall, whatever its mean") {
  Profile p = testing::multi_rank();
  p.stalls.as_is_wait = Estimate<Fraction>{0.012, 0.002, 0.022, 100};
  p.stalls.fetch = Estimate<Fraction>{0.011, -0.010, 0.032, 6};
  p.stalls.prep = Estimate<Fraction>{0.004, 0.001, 0.007, 6};
  CHECK(find(p).verdict ==
        "No measurable waiting for data when every byte comes from storage: at most 3.6 % of each step.");
  CHECK(find(p).level == Level::fine);
  CHECK(advises(p, "leave-it"));
  p.stalls.fetch = Estimate<Fraction>{-0.020, -0.030, -0.012, 6};  // noise of two rates: less than nothing
  CHECK(holds(find(p).verdict, "No measurable waiting for data"));
  CHECK_FALSE(holds(find(p).verdict, "-"));
}

TEST_CASE("one part stands for the whole only where it is nearly all of it") {
  Profile p = testing::with_wait(0.30, 0.01);
  p.stalls.as_is_fetch = Estimate<Fraction>{0.10, -0.01, 0.21, 100};
  p.stalls.as_is_prep = Estimate<Fraction>{0.20, 0.10, 0.30, 100};
  CHECK(find(p).verdict == "30 % of each step is spent waiting for data: 20 % preparing samples.");
}

TEST_CASE("waiting that could not be divided is not divided") {
  Profile p = testing::prep_bound();
  p.stalls.as_is_fetch = p.stalls.as_is_prep = MeasuredEstimate<Fraction>::absent("reads were not recorded");
  const Findings f = find(p);
  CHECK(f.verdict ==
        "38 % of each step is spent waiting for data. How the waiting divides was not measured: reads were not "
        "recorded.");
  CHECK(f.breakdowns.front().slices.size() == 2);
}

TEST_CASE("without a measurement there is a reason and no number") {
  const Findings f = find(testing::absent_heavy());
  CHECK(f.level == Level::unknown);
  CHECK(f.verdict ==
        "How much of each step is spent waiting for data could not be measured: no training loader was found in the "
        "command.");
  CHECK(f.confidence.word == "none");
  CHECK(f.breakdowns.empty());
  CHECK(advises(testing::absent_heavy(), "no-loader"));
}

TEST_CASE("a run that failed says so first") {
  Profile p = testing::prep_bound();
  p.outcome = {"child_failed", 3, "the command failed with status 3 after 90 s"};
  CHECK(find(p).outcome_note == "The command failed with status 3 after 90 s.");
  p.outcome.words.clear();
  CHECK(holds(find(p).outcome_note, "exit status 3"));
}

TEST_CASE("slices of a breakdown add up to the step") {
  for (const auto& [name, profile] : testing::sample_profiles()) {
    for (const Breakdown& b : find(profile).breakdowns) {
      double sum = 0.0;
      for (const Slice& slice : b.slices) sum += slice.share.mean;
      CHECK(sum == doctest::Approx(1.0).epsilon(0.02));
    }
  }
}

TEST_CASE("more workers only where cores are free and the workers are busy") {
  Profile p = testing::prep_bound();
  CHECK_FALSE(advises(p, "more-workers"));  // both cores are busy
  CHECK(advises(p, "cheaper-prep"));
  p.host.usable_cpus = 8.0;
  CHECK(advises(p, "more-workers"));
  CHECK_FALSE(advises(p, "cheaper-prep"));
  p.job.num_workers = 8;  // busy a quarter of the time: not what is missing
  CHECK_FALSE(advises(p, "more-workers"));
}

TEST_CASE("more cores only where this machine has them") {
  Profile p = testing::prep_bound();
  CHECK_FALSE(advises(p, "more-cores"));
  p.host.logical_cpus = 16;
  p.host.usable_cpus_limited_by = "affinity";
  CHECK(advises(p, "more-cores"));
}

TEST_CASE("advice on storage only where bytes come from storage") {
  Profile p = testing::fetch_bound();
  CHECK(advises(p, "faster-storage"));
  CHECK(advises(p, "keep-in-memory"));
  CHECK(advises(p, "larger-reads"));
  CHECK_FALSE(advises(p, "resident-reads"));
  p.resources.bytes_from_storage = 0.01;
  CHECK_FALSE(advises(p, "faster-storage"));
  CHECK_FALSE(advises(p, "keep-in-memory"));
  CHECK(advises(p, "resident-reads"));
}

TEST_CASE("data that come over the network are named as such, and no page cache is promised to hold them") {
  Profile p = testing::fetch_bound();
  p.dataset.layout = "network";
  p.dataset.received_per_sample = BytesPerSample(200e3);
  CHECK(advises(p, "keep-a-copy"));
  CHECK(advises(p, "nearer-store"));
  for (const char* of_files : {"faster-storage", "keep-in-memory", "larger-reads"}) CHECK_FALSE(advises(p, of_files));
  const Findings f = find(p);
  CHECK(f.verdict.find("fetching over the network") != std::string::npos);
  CHECK(f.verdict.find("reading files") == std::string::npos);
  CHECK(f.breakdowns.front().slices.at(1).label == "wait: the network");
}

TEST_CASE("a loader in the training process, threads, a slow rank, and a job that is fine") {
  Profile p = testing::prep_bound();
  p.job.num_workers = 0;
  CHECK(advises(p, "start-workers"));
  p.job.num_workers = 2;
  p.job.threads_per_worker = 8;
  CHECK(advises(p, "fewer-threads"));
  CHECK(find(testing::multi_rank()).next.front().key == "slow-rank");
  const Findings fine = find(testing::compute_bound());
  REQUIRE(fine.next.size() == 1);
  CHECK(fine.next.front().key == "leave-it");
}

TEST_CASE("taking over batches is a part of the waiting of its own, which no workers cure") {
  Profile p = testing::prep_bound();
  p.stalls.as_is_wait = Estimate<Fraction>{0.12, 0.11, 0.13, 100};
  p.stalls.as_is_prep = p.stalls.as_is_fetch = Estimate<Fraction>{0.0, -0.01, 0.01, 100};
  p.stalls.as_is_receive = Estimate<Fraction>{0.12, 0.11, 0.13, 100};
  const Findings f = find(p);
  CHECK(f.verdict ==
        "12 % of each step is spent waiting for data, nearly all of it receiving batches that were ready.");
  CHECK(f.next.front().key == "cheaper-handover");
  CHECK_FALSE(advises(p, "more-workers"));
  CHECK(f.breakdowns.front().slices.back().key == "receive");
  p.stalls.as_is_fetch = MeasuredEstimate<Fraction>::absent("it was not divided");
  CHECK_FALSE(advises(p, "cheaper-handover"));  // then no share of it is told
}

TEST_CASE("a waiting that cannot be told from none is called nothing") {
  Profile p = testing::with_wait(0.21, 0.03);
  p.stalls.as_is_wait = Estimate<Fraction>{0.21, -0.07, 0.48, 4};
  const Findings f = find(p);
  CHECK(f.level == Level::unknown);
  CHECK(f.verdict.find("input-bound") == std::string::npos);
  REQUIRE(f.next.size() == 1);
  CHECK(f.next.front().key == "measure-again");
}

TEST_CASE("a GPU that waits for copies is said so, and what hides them") {
  Profile p = testing::prep_bound();
  const auto nothing_missing = find(p).missing.size();
  p.gpu.source = "CUPTI";
  p.gpu.busy = Estimate<Fraction>{0.50, 0.49, 0.51, 100};
  p.gpu.exposed = Estimate<Fraction>{0.12, 0.11, 0.13, 100};
  p.gpu.idle = Estimate<Fraction>{0.38, 0.36, 0.40, 100};
  p.gpu.starved = Estimate<Fraction>{0.31, 0.30, 0.32, 100};
  p.gpu.pageable = 1.0;
  p.gpu.devices = {GpuDevice{}, GpuDevice{}};
  p.gpu.devices[0].name = p.gpu.devices[1].name = "NVIDIA H200";
  const Findings f = find(p);
  CHECK(advises(p, "hide-copies"));
  CHECK(f.missing.size() == nothing_missing - 1);
  const auto said = [&](const std::string& label) {
    const auto fact = std::find_if(f.why.begin(), f.why.end(), [&](const Fact& one) { return one.label == label; });
    return fact != f.why.end() ? fact->text : std::string();
  };
  CHECK(said("GPU").find("busy 50 % (49 to 51) of a step, copies that nothing hides 12 %") == 0);
  CHECK(said("GPU").find("of which 31 % of the step while a batch was waited for") != std::string::npos);
  CHECK(environment_facts(p)[2].text == "2 x NVIDIA H200");
  double whole = 0.0;
  for (const Slice& slice : f.breakdowns.front().slices) whole += slice.share.mean;
  CHECK(whole == doctest::Approx(1.0).epsilon(0.01));
  CHECK(f.breakdowns.front().slices[1].key == "copy");
  CHECK(f.breakdowns.front().wait.mean == doctest::Approx(p.stalls.as_is_wait->mean));
  p.gpu.exposed = Estimate<Fraction>{0.12, -0.11, 0.35, 3};
  CHECK_FALSE(advises(p, "hide-copies"));
  p.gpu = Gpu{};
  p.gpu.source = "nothing";
  p.gpu.busy = MeasuredEstimate<Fraction>::absent("held by somebody");
  const auto missing = find(p).missing;
  CHECK(std::any_of(missing.begin(), missing.end(), [](const Missing& m) { return m.reason == "held by somebody"; }));
}

TEST_CASE("workers that queue for a core need no company") {
  Profile p = testing::prep_bound();
  p.host.usable_cpus = 8.0;
  p.resources.worker_run_delay =
      Estimate<SecondsPerSample>{p.resources.worker_wall->mean * 0.5, p.resources.worker_wall->mean * 0.4,
                                 p.resources.worker_wall->mean * 0.6, 100};
  CHECK_FALSE(advises(p, "more-workers"));
  CHECK(advises(p, "contended-cores"));
}

TEST_CASE("where no rule applies, measuring again is the advice") {
  Profile p = testing::with_wait(0.09, 0.03);
  p.stalls.as_is_fetch = p.stalls.as_is_prep = MeasuredEstimate<Fraction>::absent("the replay disagrees");
  p.host.usable_cpus = 8.0;
  p.job.num_workers = 8;
  const Findings f = find(p);
  REQUIRE(f.next.size() == 1);
  CHECK(f.next.front().key == "measure-again");
}

TEST_CASE("what is missing is listed once, under its reason") {
  const Findings f = find(testing::absent_heavy());
  std::vector<std::string> all;
  for (const Missing& missing : f.missing) all.insert(all.end(), missing.what.begin(), missing.what.end());
  std::sort(all.begin(), all.end());
  CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
  const auto with_reason = [&](const std::string& reason) {
    return std::any_of(f.missing.begin(), f.missing.end(), [&](const Missing& m) { return m.reason == reason; });
  };
  CHECK(with_reason("/proc/PID/io could not be read: permission denied"));
  // What this version never measures is all that a profile with phases lacks.
  CHECK(find(testing::multi_rank()).missing.size() == 3);  // the third: perf_event_open was refused
}

TEST_CASE("rounded parts add up to the rounded whole") {
  CHECK(rounded_parts({29.45, 9.4}, 0) == std::vector<double>{30.0, 9.0});
  CHECK(rounded_parts({29.0, 9.0}, 0) == std::vector<double>{29.0, 9.0});
  std::mt19937 random(11);
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<double> values(1 + random() % 4);
    for (double& value : values) value = static_cast<double>(random() % 10000) / 250.0;
    const std::vector<double> rounded = rounded_parts(values, 0);
    const double sum = std::accumulate(values.begin(), values.end(), 0.0);
    CHECK(std::accumulate(rounded.begin(), rounded.end(), 0.0) == doctest::Approx(std::round(sum)));
    for (std::size_t i = 0; i < values.size(); ++i) CHECK(std::abs(rounded[i] - values[i]) < 1.0 + 1e-9);
  }
}

TEST_CASE("no profile, however absurd, breaks the findings") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    const Findings f = find(testing::random_profile(seed));
    CHECK_FALSE(f.verdict.empty());
    CHECK(f.next.size() <= 5);
  }
}

}  // namespace stallcast::reports
