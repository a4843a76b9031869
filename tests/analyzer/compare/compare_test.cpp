// What differs between two profiles, and that noise is not taken for a change.
#include "analyzer/compare/compare.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "analyzer/analyze.hpp"
#include "analyzer/compare/fail_condition.hpp"
#include "analyzer/statistics/statistics.hpp"
#include "tests/analyzer/run_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

namespace {

template <class Q>
Estimate<Q> about(double mean, double half, std::int64_t n = 400) {
  return {Q(mean), Q(mean - half), Q(mean + half), n};
}

Profile with_rate(double mean, double half) {
  Profile profile;
  profile.rates.as_is = about<SamplesPerSecond>(mean, half);
  return profile;
}

const ComparedNumber& number(const Comparison& comparison, const std::string& key) {
  const auto found = std::find_if(comparison.numbers.begin(), comparison.numbers.end(),
                                  [&](const ComparedNumber& n) { return n.key == key; });
  REQUIRE(found != comparison.numbers.end());
  return *found;
}

const std::string* value_after(const Comparison& comparison, const std::string& key) {
  for (const SettingChange& change : comparison.settings) {
    if (change.key == key) return &change.after;
  }
  return nullptr;
}

bool any_changed(const Comparison& comparison) {
  return std::any_of(comparison.numbers.begin(), comparison.numbers.end(),
                     [](const ComparedNumber& n) { return n.verdict == ChangeVerdict::changed; });
}

ConditionState state_of(const Comparison& comparison, const std::string& text) {
  const auto condition = parse_fail_condition(text);
  REQUIRE_MESSAGE(condition.ok(), text);
  return judge(comparison, std::vector{condition.value()}).front().state;
}

/// Samples per second and the share that waits, as an analyser would estimate them from `n` noisy blocks.
Profile drawn(std::mt19937_64& random, double rate, double fetch, std::size_t n) {
  std::normal_distribution<double> normal(0.0, 1.0);
  Profile profile;
  const auto estimate = [&](double mean, double sd) {
    std::vector<double> values(n);
    for (double& value : values) value = mean + sd * normal(random);
    return mean_of(values);
  };
  const auto speed = [&] {
    const Estimate<double> e = estimate(rate, 0.1 * rate);
    return about<SamplesPerSecond>(e.mean, e.mean - e.ci95_low, e.n);
  };
  profile.rates.as_is = speed();
  profile.rates.cold = speed();
  profile.rates.cached = speed();
  profile.rates.synthetic = speed();
  profile.stalls.fetch = estimate(fetch, 0.05);
  profile.stalls.prep = estimate(0.02, 0.05);
  profile.stalls.as_is_wait = estimate(0.1, 0.05);
  return profile;
}

}  // namespace

TEST_CASE("the worked example of the header") {
  const Comparison c = compare(with_rate(400.0, 10.0), with_rate(360.0, 15.0));
  const ComparedNumber& rate = number(c, "as_is_samples_per_s");
  REQUIRE(rate.change.has_value());
  CHECK(rate.change->kind == ChangeKind::ratio);
  CHECK(rate.change->mean == doctest::Approx(-0.10));
  CHECK(rate.change->ci95_low == doctest::Approx(-0.143).epsilon(0.01));
  CHECK(rate.change->ci95_high == doctest::Approx(-0.055).epsilon(0.02));
  CHECK(rate.verdict == ChangeVerdict::changed);
}

TEST_CASE("a profile does not differ from itself") {
  Profile profile = with_rate(400.0, 10.0);
  profile.stalls.as_is_fetch = about<Fraction>(0.1, 0.02);
  const Comparison c = compare(profile, profile);
  CHECK(c.settings.empty());
  CHECK_FALSE(any_changed(c));
  CHECK(number(c, "as_is_samples_per_s").verdict == ChangeVerdict::within_noise);
  CHECK(number(c, "as_is_fetch_frac").change->mean == 0.0);
}

TEST_CASE("overlapping intervals may still differ, and a wide interval hides a large change") {
  // 400 +- 20 and 440 +- 25 overlap; the difference, +- 32, leaves 0 out.
  CHECK(number(compare(with_rate(400.0, 20.0), with_rate(440.0, 25.0)), "as_is_samples_per_s").verdict !=
        ChangeVerdict::within_noise);
  CHECK(number(compare(with_rate(400.0, 200.0), with_rate(520.0, 150.0)), "as_is_samples_per_s").verdict ==
        ChangeVerdict::within_noise);
}

TEST_CASE("among many numbers, one at the edge of its interval is only perhaps a change") {
  Profile before = with_rate(400.0, 10.0);
  Profile after = with_rate(415.5, 10.0);
  CHECK(number(compare(before, after), "as_is_samples_per_s").verdict == ChangeVerdict::changed);
  for (Profile* profile : {&before, &after}) {
    profile->rates.cold = profile->rates.cached = profile->rates.synthetic = about<SamplesPerSecond>(500.0, 10.0);
    profile->stalls.prep = profile->stalls.fetch = about<Fraction>(0.2, 0.05);
  }
  CHECK(number(compare(before, after), "as_is_samples_per_s").verdict == ChangeVerdict::perhaps);
}

TEST_CASE("shares of the step are compared in points, also around 0") {
  Profile before;
  Profile after;
  before.stalls.fetch = about<Fraction>(-0.01, 0.02);
  after.stalls.fetch = about<Fraction>(0.11, 0.02);
  const Comparison c = compare(before, after);
  CHECK(number(c, "fetch_frac").change->kind == ChangeKind::difference);
  CHECK(number(c, "fetch_frac").change->mean == doctest::Approx(0.12));
  CHECK(state_of(c, "fetch_frac>+10%") == ConditionState::holds);
  CHECK(state_of(c, "fetch_frac>+13%") == ConditionState::not_exceeded);
}

TEST_CASE("a number cut off at 0 counts with the wide side of its interval") {
  Profile before;
  Profile after;
  before.stalls.fetch = Estimate<Fraction>{0.0, 0.0, 0.04, 50};
  after.stalls.fetch = Estimate<Fraction>{0.03, 0.0, 0.09, 50};
  CHECK(number(compare(before, after), "fetch_frac").verdict == ChangeVerdict::within_noise);
}

TEST_CASE("what is absent on a side is not comparable, and says why") {
  Profile before = with_rate(400.0, 10.0);
  Profile after;
  after.rates.as_is = MeasuredEstimate<SamplesPerSecond>::absent("the run was too short");
  const Comparison c = compare(before, after);
  const ComparedNumber& rate = number(c, "as_is_samples_per_s");
  CHECK(rate.verdict == ChangeVerdict::not_comparable);
  CHECK(rate.reason == "not measured after: the run was too short");
  CHECK(rate.before.has_value());
  CHECK_FALSE(rate.after.has_value());
  CHECK(state_of(c, "as_is_samples_per_s<-5%") == ConditionState::not_enough_data);
  CHECK(number(compare(with_rate(400.0, 0.0), before), "as_is_samples_per_s").verdict == ChangeVerdict::not_comparable);
}

TEST_CASE("settings of job, machine and software are listed where they differ") {
  Profile before;
  before.job.num_workers = 2;
  before.host.usable_cpus = 4.0;
  before.dataset.files_seen = 100;
  Profile after = before;
  after.job.num_workers = 8;
  after.job.batch_size = 64;
  after.job.framework_version = "2.1";
  after.host.usable_cpus = 1.5;
  after.host.shm_free = Bytes(1e9);
  after.dataset.files_seen = 120;
  after.command = {"python", "train.py"};
  after.issues.push_back({"few-steps"});
  const Comparison c = compare(before, after);
  REQUIRE(value_after(c, "num_workers") != nullptr);
  CHECK(*value_after(c, "num_workers") == "8");
  CHECK(*value_after(c, "batch_size") == "64");
  CHECK(*value_after(c, "framework_version") == "2.1");
  CHECK(*value_after(c, "usable_cpus") == "1.5");
  CHECK(*value_after(c, "command") == "python train.py");
  CHECK(c.settings.size() == 5);  // neither what a run leaves free nor how far it came
  CHECK(c.new_issues == std::vector<std::string>{"few-steps"});
}

TEST_CASE("conditions: a change beyond noise and larger than asked") {
  const Comparison slower = compare(with_rate(400.0, 8.0), with_rate(360.0, 8.0));
  CHECK(state_of(slower, "as_is_samples_per_s<-5%") == ConditionState::holds);
  CHECK(state_of(slower, "rates.as_is_samples_per_s<-5%") == ConditionState::holds);
  CHECK(state_of(slower, "as_is_samples_per_s<-15%") == ConditionState::not_exceeded);
  CHECK(state_of(slower, "as_is_samples_per_s>5%") == ConditionState::not_exceeded);
  const Comparison vague = compare(with_rate(400.0, 80.0), with_rate(360.0, 80.0));
  CHECK(state_of(vague, "as_is_samples_per_s<-5%") == ConditionState::within_noise);
  CHECK(state_of(slower, "step_s>5%") == ConditionState::not_enough_data);
}

TEST_CASE("several conditions share one error") {
  const Comparison c = compare(with_rate(400.0, 10.0), with_rate(384.5, 10.0));
  const auto condition = parse_fail_condition("as_is_samples_per_s<-1%");
  REQUIRE(condition.ok());
  CHECK(judge(c, std::vector{condition.value()}).front().state == ConditionState::holds);
  CHECK(judge(c, std::vector(8, condition.value())).front().state == ConditionState::within_noise);
}

TEST_CASE("a condition that cannot be read says what to write") {
  for (const char* text : {"", "fetch_frac", ">5%", "fetch_frac>", "fetch_frac>5", "fetch_frac>-5%", "fetch_frac<5%",
                           "fetch_frac<+5%", "fetch_frac>x%", "fetch_frac>nan%", "fetch_frac>inf%", "fetch_frac>5%%",
                           "fetch_frac>+-5%", "fetch_frac>1e99%", "fetch>5%", "fetch_frac>=5%", "num_workers>5%"}) {
    const auto condition = parse_fail_condition(text);
    REQUIRE_MESSAGE(!condition.ok(), text);
    CHECK(condition.error().code == ErrorCode::usage);
    CHECK_FALSE(condition.error().hint.empty());
  }
  CHECK(parse_fail_condition("fetch>5%").error().hint.find("fetch_frac") != std::string::npos);
  CHECK(parse_fail_condition("fetch_frac<5%").error().hint == "write 'fetch_frac<-N%'");
}

TEST_CASE("pairs from one distribution are rarely told apart; a change of three intervals nearly always is") {
  std::mt19937_64 random(5);
  constexpr int k_pairs = 2000;
  int false_alarms = 0;
  int failed = 0;
  int found = 0;
  const auto condition = parse_fail_condition("fetch_frac>+0%");
  REQUIRE(condition.ok());
  for (int i = 0; i < k_pairs; ++i) {
    const std::size_t n = 4 + random() % 40;
    const Profile before = drawn(random, 300.0, 0.1, n);
    const Comparison same = compare(before, drawn(random, 300.0, 0.1, n));
    false_alarms += any_changed(same) ? 1 : 0;
    failed += judge(same, std::vector{condition.value()}).front().state == ConditionState::holds ? 1 : 0;
    const double half = student_t(0.95, static_cast<double>(n) - 1.0) * 0.1 / std::sqrt(static_cast<double>(n));
    found += any_changed(compare(before, drawn(random, 300.0 * (1.0 + 3.0 * half), 0.1, n))) ? 1 : 0;
  }
  MESSAGE(false_alarms << " false changes, " << failed << " false failures, " << found << " true ones found, of "
                       << k_pairs);
  CHECK(false_alarms <= 0.05 * k_pairs);
  CHECK(failed <= 0.05 * k_pairs);
  CHECK(found >= 0.9 * k_pairs);
}

TEST_CASE("two runs of one job, through the analyser, are rarely told apart") {
  constexpr int k_pairs = 200;
  int false_alarms = 0;
  int failed = 0;
  int found = 0;
  const auto condition = parse_fail_condition("as_is_wait_frac>+0%");
  REQUIRE(condition.ok());
  for (std::uint64_t i = 0; i < k_pairs; ++i) {
    JobSpec spec = i % 3 == 0 ? compute_bound() : i % 3 == 1 ? prep_bound() : fetch_bound();
    spec.batches = i % 2 == 0 ? 200 : 500;
    spec.seed = 2 * i + 1;
    const Profile before = analyze_run(make_run(spec));
    spec.seed = 2 * i + 2;
    const Comparison same = compare(before, analyze_run(make_run(spec)));
    false_alarms += any_changed(same) ? 1 : 0;
    failed += judge(same, std::vector{condition.value()}).front().state == ConditionState::holds ? 1 : 0;
    spec.device_s *= 1.3;
    spec.read_s *= 1.3;
    spec.cpu_s *= 1.3;
    found += any_changed(compare(before, analyze_run(make_run(spec)))) ? 1 : 0;
  }
  MESSAGE(false_alarms << " false changes, " << failed << " false failures, " << found << " true ones found, of "
                       << k_pairs);
  CHECK(false_alarms <= 0.05 * k_pairs);
  CHECK(failed <= 0.05 * k_pairs);
  CHECK(found >= 0.95 * k_pairs);
}
