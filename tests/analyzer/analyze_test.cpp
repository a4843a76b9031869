#include "analyzer/analyze.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <random>
#include <string>

#include "analyzer/profile/json.hpp"
#include "tests/analyzer/run_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

namespace {

bool has_issue(const Profile& profile, const std::string& id) {
  return std::any_of(profile.issues.begin(), profile.issues.end(),
                     [&](const DataIssue& issue) { return issue.id == id; });
}

template <class Q>
void check_scaled(const MeasuredEstimate<Q>& scaled, const MeasuredEstimate<Q>& plain, double factor) {
  REQUIRE(scaled.has_value());
  REQUIRE(plain.has_value());
  if constexpr (std::is_same_v<Q, Fraction>) {
    CHECK(std::abs(scaled->mean - plain->mean) < 1e-4);
    CHECK(std::abs(scaled->ci95_high - plain->ci95_high) < 1e-4);
  } else {
    CHECK(near(scaled->mean.value(), plain->mean.value() * factor, 1e-4));
    CHECK(near(scaled->ci95_low.value(), plain->ci95_low.value() * factor, 1e-3));
  }
}

/// Everything that the profile says, numbers to nine digits: sums depend on their order in the last few.
std::map<std::string, std::string> facts_of(const Profile& profile) {
  std::map<std::string, std::string> facts;
  const auto flat = to_json(profile).flatten();
  for (const auto& [path, value] : flat.items()) {
    char number[32] = "";
    if (value.is_number_float()) std::snprintf(number, sizeof(number), "%.9g", value.get<double>());
    facts[path] = value.is_number_float() ? number : value.dump();
  }
  return facts;
}

}  // namespace

TEST_CASE("a run that ended well was measured") {
  const Profile profile = analyze_run(make_run(fetch_bound()));
  CHECK(profile.outcome.status == "measured");
  CHECK(profile.outcome.words == "the run was measured");
  CHECK(profile.outcome.child_exit_code == 0);
  CHECK(profile.command == std::vector<std::string>{"python", "train.py"});
  CHECK(profile.tool_version == "0.1.0");
  CHECK(profile.job.framework == "pytorch");
  CHECK(profile.job.framework_version == "2.1.0");
  CHECK(profile.job.loader_kind == "map");
  CHECK(*profile.job.num_workers == 2);
  CHECK(*profile.job.threads_per_worker == 1);
  CHECK(*profile.job.batches_per_step == 1);
  CHECK(profile.job.ranks_seen == 1);
  CHECK(profile.issues.empty());
}

TEST_CASE("a command that failed is reported with its status and what was measured") {
  RunData run = make_run(fetch_bound());
  run.log.exit_code = 3;
  const Profile profile = analyze_run(run);
  CHECK(profile.outcome.status == "child_failed");
  CHECK(profile.outcome.child_exit_code == 3);
  CHECK(profile.outcome.words.find("3") != std::string::npos);
  CHECK(profile.rates.as_is.has_value());
  run.log.exit_code = 0;
  run.log.signal = 9;
  CHECK(analyze_run(run).outcome.child_exit_code == 137);
  CHECK(analyze_run(run).outcome.status == "child_failed");
}

TEST_CASE("a run that was ended as asked was measured, whatever status that gave the command") {
  RunData run = make_run(fetch_bound());
  run.log.ended_by_us = true;
  run.log.signal = 15;
  CHECK(analyze_run(run).outcome.status == "measured");
  CHECK(analyze_run(run).outcome.words == "the run was measured, then ended as asked");
}

TEST_CASE("an interrupted run says so") {
  RunData run = make_run(fetch_bound());
  run.log.interrupted = true;
  run.log.signal = 2;
  const Profile profile = analyze_run(run);
  CHECK(profile.outcome.status == "interrupted");
  CHECK(profile.outcome.words == "the run was interrupted; what was measured until then is reported");
  CHECK(profile.rates.as_is.has_value());
}

TEST_CASE("without a loader everything of it is absent with the reason") {
  RunData run = make_recordings(fetch_bound());
  for (auto& process : run.processes) process.waits.clear();
  join_run(run);
  const Profile profile = analyze_run(run);
  CHECK(profile.outcome.status == "no_loader");
  CHECK(profile.outcome.words == "no data loader was seen; only what shows from outside was measured");
  CHECK(profile.job.loader_kind == "none");
  CHECK_FALSE(profile.rates.as_is.has_value());
  CHECK(profile.rates.as_is.reason() == profile.outcome.words);
  CHECK(profile.stalls.as_is_wait.reason() == profile.outcome.words);
  CHECK(profile.host.name == "node0");
}

TEST_CASE("too few steps are no measurement") {
  JobSpec spec = fetch_bound();
  spec.batches = 4;
  const Profile profile = analyze_run(make_run(spec));
  CHECK(profile.outcome.status == "not_enough_data");
  CHECK_FALSE(profile.rates.as_is.has_value());
}

TEST_CASE("few steps are measured, and warned of") {
  JobSpec spec = fetch_bound();
  spec.batches = 30;
  const Profile profile = analyze_run(make_run(spec));
  CHECK(profile.outcome.status == "measured");
  CHECK(has_issue(profile, "few-steps"));
}

TEST_CASE("a log without an end says that the tool ended early") {
  RunData run = make_run(fetch_bound());
  run.log.ended = false;
  const Profile profile = analyze_run(run);
  CHECK(profile.outcome.status == "measured");
  CHECK(has_issue(profile, "tool-ended-early"));
}

TEST_CASE("recordings alone are enough for the split") {
  RunData run = make_recordings(fetch_bound());
  run.log = RunLog{};
  run.has_log = false;
  join_run(run);
  const Truth truth = truth_of(fetch_bound());
  const Profile profile = analyze_run(run);
  REQUIRE(profile.stalls.as_is_fetch.has_value());
  CHECK(std::abs(profile.stalls.as_is_fetch->mean - truth.fetch()) < 0.02);
  CHECK_FALSE(profile.rates.cold.has_value());
}

TEST_CASE("every time scaled by k scales rates by 1/k and leaves shares") {
  for (JobSpec spec : {compute_bound(), prep_bound(), fetch_bound()}) {
    for (const double k : {0.1, 7.0}) {
      JobSpec scaled_spec = spec;
      scaled_spec.scale = k;
      scaled_spec.tick_s = k;
      const Profile plain = analyze_run(make_run(spec));
      const Profile scaled = analyze_run(make_run(scaled_spec));
      check_scaled(scaled.rates.as_is, plain.rates.as_is, 1.0 / k);
      check_scaled(scaled.rates.cached, plain.rates.cached, 1.0 / k);
      check_scaled(scaled.rates.synthetic, plain.rates.synthetic, 1.0 / k);
      check_scaled(scaled.rates.supply_cached, plain.rates.supply_cached, 1.0 / k);
      check_scaled(scaled.resources.step, plain.resources.step, k);
      check_scaled(scaled.resources.worker_cpu, plain.resources.worker_cpu, k);
      check_scaled(scaled.stalls.as_is_fetch, plain.stalls.as_is_fetch, 1.0);
      check_scaled(scaled.stalls.as_is_prep, plain.stalls.as_is_prep, 1.0);
      check_scaled(scaled.stalls.as_is_wait, plain.stalls.as_is_wait, 1.0);
    }
  }
}

TEST_CASE("the order of recordings does not matter") {
  JobSpec spec = fetch_bound();
  spec.ranks = 3;
  spec.passes = 2;
  spec.batches = 60;
  spec.samples = true;
  const auto expected = facts_of(analyze_run(make_run(spec)));
  std::mt19937 random(9);
  for (int round = 0; round < 3; ++round) {
    RunData run = make_recordings(spec);
    std::shuffle(run.processes.begin(), run.processes.end(), random);
    join_run(run);
    CHECK((facts_of(analyze_run(run)) == expected));
  }
}

TEST_CASE("rates of ranks add up and their stalls average") {
  JobSpec spec = fetch_bound();
  const Profile one = analyze_run(make_run(spec));
  spec.ranks = 4;
  const Profile four = analyze_run(make_run(spec));
  CHECK(four.job.ranks_seen == 4);
  CHECK(four.job.ranks_expected == 4);
  REQUIRE(four.ranks.size() == 4);
  CHECK(four.ranks[2].rank == 2);
  CHECK(near(four.rates.as_is->mean.value(), 4.0 * one.rates.as_is->mean.value(), 0.02));
  CHECK(std::abs(four.stalls.as_is_fetch->mean - one.stalls.as_is_fetch->mean) < 0.02);
  CHECK_FALSE(has_issue(four, "ranks-missing"));
}

TEST_CASE("missing ranks are named") {
  JobSpec spec = fetch_bound();
  spec.ranks = 2;
  RunData run = make_recordings(spec);
  run.log.ranks_expected = 4;
  join_run(run);
  const Profile profile = analyze_run(run);
  CHECK(profile.job.ranks_seen == 2);
  CHECK(profile.job.ranks_expected == 4);
  CHECK(has_issue(profile, "ranks-missing"));
}

TEST_CASE("processes that came one after another are not ranks of one job") {
  JobSpec spec = fetch_bound();
  const Profile alone = analyze_run(make_run(spec));
  RunData run = make_recordings(spec);
  JobSpec shorter = spec;
  shorter.batches = 100;
  for (record::ProcessRecording process : make_recordings(shorter).processes) {
    constexpr std::uint64_t k_later_ns = 500'000'000'000ULL;
    process.info.pid += 500;
    for (auto& text : process.texts) {
      for (const char* pid : {"1001", "1002"}) {
        if (const auto at = text.json.find(pid); at != std::string::npos) text.json.replace(at, 2, "15");
      }
    }
    for (auto& wait : process.waits) {
      wait.begin_ns += k_later_ns;
      wait.end_ns += k_later_ns;
    }
    run.processes.push_back(process);
  }
  join_run(run);
  REQUIRE(run.consumers.size() == 2);
  const Profile profile = analyze_run(run);
  CHECK(profile.job.ranks_seen == 1);
  CHECK(profile.rates.as_is->mean.value() == alone.rates.as_is->mean.value());
  CHECK(has_issue(profile, "other-processes"));
}

TEST_CASE("cores are shared by the ranks of a host, not by those of all hosts") {
  JobSpec spec = prep_bound();
  spec.loader.workers = 4;
  spec.cores = 2.0;
  RunData run = make_recordings(spec);  // the log says: 2 cores
  for (record::ProcessRecording process : make_recordings(spec).processes) {
    process.info.host = "node1";
    run.processes.push_back(process);
  }
  join_run(run);
  const Profile two = analyze_run(run);
  const Profile one = analyze_run(make_run(spec));
  REQUIRE(two.stalls.as_is_prep.has_value());
  CHECK(two.job.ranks_seen == 2);
  CHECK(std::abs(two.stalls.as_is_prep->mean - one.stalls.as_is_prep->mean) < 1e-6);
}

TEST_CASE("each rank of a host has its share of the cores") {
  JobSpec spec = prep_bound();
  spec.loader.workers = 4;
  spec.cores = 2.0;
  spec.ranks = 2;  // on 4 cores
  const Truth truth = truth_of(spec);
  const Profile profile = analyze_run(make_run(spec));
  REQUIRE(profile.stalls.as_is_prep.has_value());
  CHECK(std::abs(beyond_synthetic(profile) - truth.prep()) < 0.02);
}

TEST_CASE("batches of unknown size are timed and divided, but not counted in samples") {
  RunData run = make_recordings(fetch_bound());
  for (auto& wait : run.processes[0].waits) wait.samples = 0;
  for (auto& text : run.processes[0].texts) {
    const auto at = text.json.find("\"batch_size\":32");
    if (at != std::string::npos) text.json.replace(at, 15, "\"batch_size\":null");
  }
  join_run(run);
  const Profile profile = analyze_run(run);
  CHECK(profile.outcome.status == "measured");
  CHECK_FALSE(profile.rates.as_is.has_value());
  CHECK_FALSE(profile.rates.cached.has_value());
  CHECK(profile.rates.as_is.reason() == "the loader does not say how many samples a batch has");
  CHECK(profile.ranks.at(0).rate.reason() == profile.rates.as_is.reason());
  for (const Point& point : profile.points) CHECK_FALSE(point.estimate.has_value());
  REQUIRE(profile.stalls.as_is_fetch.has_value());
  CHECK(std::abs(profile.stalls.as_is_fetch->mean - truth_of(fetch_bound()).fetch()) < 0.02);
  CHECK(profile.resources.step.has_value());
}

TEST_CASE("an evaluation inside the epoch is not part of the step") {
  JobSpec spec = compute_bound();
  const Profile plain = analyze_run(make_run(spec));
  spec.evaluate_every = 20;
  const Profile profile = analyze_run(make_run(spec));
  CHECK(profile.job.loaders_seen == 2);
  CHECK(profile.job.dataset_type == "TrainSet");
  CHECK(near(profile.resources.step->mean.value(), plain.resources.step->mean.value(), 0.01));
}

TEST_CASE("profiles of analysed runs go through JSON unchanged") {
  JobSpec ranks = fetch_bound();
  ranks.ranks = 2;
  ranks.samples = true;
  ranks.batches = 60;
  JobSpec gaps = prep_bound();
  for (int i = 0; i < 5; ++i) gaps.off.push_back({4.0 + 4.0 * i, 5.0 + 4.0 * i});
  JobSpec few = fetch_bound();
  few.batches = 4;
  JobSpec own = compute_bound();
  own.loader.workers = 0;
  for (const JobSpec& spec : {ranks, gaps, few, own}) {
    const Profile profile = analyze_run(make_run(spec));
    const auto json = to_json(profile);
    const auto read = profile_from_json(json);
    REQUIRE(read.ok());
    CHECK(to_json(read.value()) == json);
    const auto parsed = parse_profile(profile_text(json), "profile.json");
    REQUIRE(parsed.ok());
    CHECK(to_json(parsed.value()) == json);
  }
}

TEST_CASE("reads through maps leave open what was waited for, but not what the steps alone would give") {
  RunData run = make_run(fetch_bound());
  const Profile seen = analyze_run(run);
  for (Consumer& consumer : run.consumers) {
    for (Pass& pass : consumer.passes) {
      for (Delivery& delivery : pass.deliveries) delivery.made.io = {};
    }
  }
  CHECK(analyze_run(run).stalls.as_is_prep.has_value());  // nothing is mapped: time of the makers that no file explains
  run.processes.front().info.mapped_bytes = std::uint64_t{1} << 30U;
  const Profile mapped = analyze_run(run);
  CHECK(mapped.stalls.as_is_wait->mean == doctest::Approx(seen.stalls.as_is_wait->mean));
  CHECK_FALSE(mapped.stalls.as_is_fetch.has_value());
  CHECK_FALSE(mapped.stalls.as_is_prep.has_value());
  CHECK(mapped.stalls.as_is_prep.reason().find("maps") != std::string::npos);
  CHECK_FALSE(mapped.rates.cached.has_value());
  CHECK_FALSE(mapped.rates.supply_cached.has_value());
  REQUIRE(mapped.rates.synthetic.has_value());
  CHECK(mapped.rates.synthetic->mean.value() == doctest::Approx(seen.rates.synthetic->mean.value()).epsilon(0.02));
  CHECK(has_issue(mapped, "reads-unseen"));
  for (Tick& tick : run.log.ticks) tick.tree_read_bytes = 0;  // all of it was in memory: there was no reading to tell
  CHECK(analyze_run(run).stalls.as_is_prep.has_value());
}
