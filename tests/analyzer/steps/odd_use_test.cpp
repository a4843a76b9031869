/// Loaders that are used in odd ways: samplers that take long, an iterator for each step, batches that are given again.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "analyzer/analyze.hpp"
#include "tests/analyzer/run_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

namespace {

record::ProcessRecording& consumer_of(RunData& run) {
  return *std::find_if(run.processes.begin(), run.processes.end(),
                       [](const record::ProcessRecording& process) { return !process.waits.empty(); });
}

void mark(RunData& run, const nlohmann::json& text) {
  consumer_of(run).texts.push_back({record::TextKind::mark, text.dump()});
}

}  // namespace

TEST_CASE("what the sampler takes is part of the waiting, and no part of fetch, prep or receiving") {
  const JobSpec spec = fetch_bound();
  const Profile plain = analyze_run(make_run(spec));
  RunData run = make_recordings(spec);
  for (record::WaitRecord& wait : consumer_of(run).waits) wait.begin_ns -= 20'000'000;  // of each step's computing
  const std::uint64_t iterator = consumer_of(run).waits.front().iterator_id;
  mark(run, {{"what", "sampler"}, {"iterator_id", iterator}, {"draws", 200}, {"ns", 200 * 20'000'000ULL}});
  join_run(run);
  const Profile profile = analyze_run(run);
  const double step_s = profile.resources.step->mean.value();
  REQUIRE(profile.stalls.as_is_sampler);
  CHECK(near(profile.stalls.as_is_sampler->mean * step_s, 0.020, 0.05));
  CHECK(plain.stalls.as_is_sampler->mean == doctest::Approx(0.0));
  CHECK(near(profile.stalls.as_is_wait->mean * step_s, plain.stalls.as_is_wait->mean * step_s + 0.020, 0.01));
  CHECK(near(profile.resources.compute->mean.value(), plain.resources.compute->mean.value(), 0.01));
  const double parts = profile.stalls.as_is_fetch->mean + profile.stalls.as_is_prep->mean +
                       profile.stalls.as_is_receive->mean + profile.stalls.as_is_sampler->mean;
  CHECK(parts == doctest::Approx(profile.stalls.as_is_wait->mean).epsilon(0.05));
}

TEST_CASE("an iterator for each step is named, with all that a step waits for it") {
  JobSpec spec = compute_bound();
  spec.passes = 40;
  spec.batches = 1;
  RunData run = make_recordings(spec);
  std::erase_if(consumer_of(run).waits,
                [](const auto& wait) { return wait.header.aux == record::k_wait_end_of_epoch; });
  for (int pass = 0; pass < spec.passes; ++pass) {
    mark(run, {{"what", "given up"}, {"iterator_id", pass}, {"ns", 5'000'000}});
  }
  join_run(run);
  const Profile profile = analyze_run(run);
  REQUIRE(issue_of(profile, "iterator-per-step") != nullptr);
  REQUIRE(profile.stalls.as_is_wait);
  CHECK(profile.stalls.as_is_wait->mean > 0.3);
  CHECK_FALSE(profile.stalls.as_is_prep);
  CHECK(profile.stalls.as_is_prep.reason().find("an iterator for each step") != std::string::npos);
  CHECK(issue_of(analyze_run(make_run(compute_bound())), "iterator-per-step") == nullptr);
}

TEST_CASE("a data set that takes its samples from a loader with workers is named, and its waiting not divided") {
  JobSpec spec = fetch_bound();
  RunData run = make_recordings(spec);
  const auto nested_in = [](std::uint64_t loader, int batches) {
    return nlohmann::json{{"batches", batches},

                          {"what", "nested loader"},
                          {"loader_id", loader},
                          {"num_workers", 2},
                          {"dataset_type", "Volumes"}};
  };
  RunData unrelated = run;
  mark(unrelated, nested_in(77, 128));
  join_run(unrelated);
  CHECK(issue_of(analyze_run(unrelated), "nested-loader") == nullptr);
  RunData once = run;
  mark(once, nested_in(1, 1));  // a mean was computed
  join_run(once);
  CHECK(issue_of(analyze_run(once), "nested-loader") == nullptr);
  mark(run, nested_in(1, 128));
  join_run(run);
  const Profile profile = analyze_run(run);
  const DataIssue* issue = issue_of(profile, "nested-loader");
  REQUIRE(issue != nullptr);
  CHECK(issue->detail.find("2 workers read and prepare those of Volumes") != std::string::npos);
  CHECK(profile.stalls.as_is_wait);
  CHECK_FALSE(profile.stalls.as_is_prep);
  CHECK(profile.stalls.as_is_prep.reason().find("the data set takes its samples from a loader of its own, whose") == 0);
  CHECK_FALSE(profile.rates.cached);
  CHECK(profile.rates.synthetic);
}

TEST_CASE("where each step takes from several loaders their waits add, and each is told") {
  JobSpec spec = fetch_bound();
  const Profile plain = analyze_run(make_run(spec));
  spec.evaluate_every = 1;
  spec.evaluation_batches = 1;
  const Profile both = analyze_run(make_run(spec));
  const DataIssue* issue = issue_of(both, "several-loaders");
  REQUIRE(issue != nullptr);
  CHECK(issue->detail.find("a step waits ") == 0);
  const double beyond_s = both.resources.compute->mean.value() - plain.resources.compute->mean.value();
  CHECK(beyond_s < 0.9 * spec.evaluation_s);  // part of that is waiting
  CHECK_FALSE(both.stalls.as_is_prep);
  CHECK(both.stalls.as_is_prep.reason() == "each step takes batches of several loaders, whose waits add");
  CHECK(issue_of(plain, "several-loaders") == nullptr);
}

TEST_CASE("loaders alike that each step takes from are two: their waits add") {
  JobSpec spec = fetch_bound();
  spec.evaluate_every = 1;
  spec.evaluation_batches = 1;
  const Profile apart = analyze_run(make_run(spec));
  RunData run = make_recordings(spec);
  for (record::TextEntry& text : consumer_of(run).texts) {
    if (text.kind != record::TextKind::loader) continue;
    for (const auto& [from, to] : {std::pair<std::string, std::string>{"EvaluationSet", "TrainSet"},
                                   {"\"shuffled\":false", "\"shuffled\":true"},
                                   {"\"num_workers\":0", "\"num_workers\":2"}}) {
      if (const auto at = text.json.find(from); at != std::string::npos) text.json.replace(at, from.size(), to);
    }
  }
  join_run(run);
  const Profile alike = analyze_run(run);
  CHECK(alike.job.loaders_seen == 2);
  REQUIRE(issue_of(alike, "several-loaders") != nullptr);
  CHECK(issue_of(alike, "several-loaders")->detail.find("a step waits ") == 0);
  CHECK(near(alike.stalls.as_is_wait->mean, apart.stalls.as_is_wait->mean, 0.03));
}

namespace {

/// The run whose every `nth` batch, or `in_row` of `nth` times so many, or for 0 those after three fifths, come from
/// another loader, alike or of another data set.
RunData by_turns(RunData run, std::size_t nth, const std::string& dataset, std::size_t in_row = 1) {
  constexpr std::uint64_t k_iterator = 70, k_loader = 7;
  record::ProcessRecording& consumer = consumer_of(run);
  nlohmann::json loader;
  for (const record::TextEntry& text : consumer.texts) {
    if (text.kind == record::TextKind::loader) loader = nlohmann::json::parse(text.json);
  }
  loader["loader_id"] = k_loader;
  loader["dataset_type"] = dataset;
  consumer.texts.push_back({record::TextKind::loader, loader.dump()});
  const nlohmann::json iterator = {
      {"iterator_id", k_iterator}, {"loader_id", k_loader}, {"epoch", 0}, {"worker_pids", nlohmann::json::array()}};
  consumer.texts.push_back({record::TextKind::iterator, iterator.dump()});
  std::uint64_t of_first = 0, of_other = 0;
  std::size_t number = 0;
  for (record::WaitRecord& wait : consumer.waits) {
    ++number;
    const bool is_other = nth > 0 ? ((number - 1) / in_row + 1) % nth == 0 : 5 * number > 3 * consumer.waits.size();
    if (is_other) wait.iterator_id = k_iterator;
    wait.batch = is_other ? of_other++ : of_first++;
  }
  join_run(run);
  return run;
}

}  // namespace

TEST_CASE("where the steps take batches of several loaders by turns, each is a step") {
  const JobSpec spec = fetch_bound();
  const Profile plain = analyze_run(make_run(spec));
  struct Case {
    std::size_t nth;
    const char* dataset;
  };
  for (const Case& by : {Case{2, "TrainSet"}, Case{2, "Other"}, Case{7, "Other"}}) {
    CAPTURE(by.nth);
    CAPTURE(by.dataset);
    const Profile profile = analyze_run(by_turns(make_recordings(spec), by.nth, by.dataset));
    REQUIRE(profile.rates.as_is);
    CHECK(near(profile.rates.as_is->mean.value(), plain.rates.as_is->mean.value(), 0.03));
    CHECK(near(profile.stalls.as_is_wait->mean, plain.stalls.as_is_wait->mean, 0.03));
    const DataIssue* issue = issue_of(profile, "several-loaders");
    REQUIRE(issue != nullptr);
    CHECK(issue->detail.find("the steps take batches of several loaders by turns (") == 0);
    CAPTURE(issue->detail);
    CHECK(issue->detail.find(by.nth == 2 ? "in 50 % of the steps" : "in 13 % of the steps") != std::string::npos);
    CHECK_FALSE(profile.stalls.as_is_prep);
    CHECK_FALSE(profile.job.dataset_samples);
    CHECK(profile.job.dataset_samples.reason() == "the steps take batches of several loaders by turns");
  }
}

TEST_CASE("loaders take turns with steps on several batches of one of them, too") {
  JobSpec spec = fetch_bound();
  spec.accumulate = 4;
  const Profile plain = analyze_run(make_run(spec));
  const Profile profile = analyze_run(by_turns(make_recordings(spec), 2, "Other", 4));
  REQUIRE(issue_of(profile, "several-loaders") != nullptr);
  CHECK(issue_of(profile, "several-loaders")->detail.find("the steps take batches of several loaders by turns (") == 0);
  CHECK(near(profile.rates.as_is->mean.value(), plain.rates.as_is->mean.value(), 0.03));
  CHECK(near(profile.resources.step->mean.value(), plain.resources.step->mean.value(), 0.03));
}

TEST_CASE("steps on batches of another loader, in another phase of the training, are not told as its own") {
  const RunData run = make_recordings(fetch_bound());
  const Profile profile = analyze_run(by_turns(run, 0, "Other"));
  const DataIssue* issue = issue_of(profile, "trained-elsewhere");
  REQUIRE(issue != nullptr);
  CHECK(issue->detail.find("40 % of the steps were made on batches of other loaders (of Other)") == 0);
  CHECK(issue_of(analyze_run(make_run(fetch_bound())), "trained-elsewhere") == nullptr);
  CHECK(issue_of(analyze_run(by_turns(run, 2, "Other")), "trained-elsewhere") == nullptr);
}

TEST_CASE("loaders that are asked before a step, or without one, take no turns") {
  JobSpec spec = fetch_bound();
  spec.accumulate = 2;  // zip(a, b)
  const Profile both = analyze_run(by_turns(make_recordings(spec), 2, "Other"));
  REQUIRE(issue_of(both, "several-loaders") != nullptr);
  CHECK(issue_of(both, "several-loaders")->detail.find("a step waits ") == 0);
  spec.accumulate = 1;
  spec.evaluate_every = 20;
  CHECK(issue_of(analyze_run(make_run(spec)), "several-loaders") == nullptr);
}

namespace {

/// The training thread waits in `place` for 10 ms each time.
void hand_over_by(RunData& run, const std::string& place) {
  record::ProcessRecording& process = consumer_of(run);
  const nlohmann::json text = {{"kind", "queue"},
                               {"loader_id", 77},
                               {"composition", "unknown"},
                               {"batch_size", nullptr},
                               {"dataset_type", place}};
  process.texts.push_back({record::TextKind::loader, text.dump()});
  process.texts.push_back({record::TextKind::iterator, R"({"iterator_id": 77, "loader_id": 77, "epoch": 0})"});
  const std::vector<record::WaitRecord> waits = process.waits;
  for (record::WaitRecord wait : waits) {
    if ((wait.header.aux & record::k_wait_end_of_epoch) != 0) continue;
    wait.iterator_id = 77;
    wait.begin_ns = wait.end_ns - 10'000'000;
    process.waits.push_back(wait);
  }
}

}  // namespace

TEST_CASE("what a thread waits for that takes batches ahead is no waiting of the training") {
  const JobSpec spec = fetch_bound();
  const Profile plain = analyze_run(make_run(spec));
  RunData run = make_recordings(spec);
  mark(run, {{"what", "loader in thread"}});
  RunData with_queue = run;
  join_run(run);
  const Profile unseen = analyze_run(run);
  CHECK_FALSE(unseen.stalls.as_is_wait);
  CHECK(unseen.stalls.as_is_wait.reason() ==
        "another thread than the one whose optimizer steps takes the batches from the loader");
  REQUIRE(issue_of(unseen, "loader-in-thread") != nullptr);
  CHECK(unseen.rates.as_is);
  hand_over_by(with_queue, "queue.Queue.get");
  join_run(with_queue);
  const Profile seen = analyze_run(with_queue);
  REQUIRE(seen.stalls.as_is_wait);
  CHECK(near(seen.resources.wait->mean.value(), 0.010, 0.02));
  CHECK(seen.rates.synthetic->mean.value() > seen.rates.as_is->mean.value());
  CHECK_FALSE(seen.stalls.as_is_fetch);
  CHECK(plain.resources.wait->mean.value() > 0.05);
  REQUIRE(issue_of(seen, "loader-in-thread") != nullptr);
  CHECK(issue_of(seen, "loader-in-thread")->detail.ends_with("waits for them in queue.Queue.get"));
  // What is known of the loader behind it.
  CHECK(seen.job.num_workers.value_or(-1) == plain.job.num_workers.value_or(-2));
  CHECK(seen.job.batch_size.value_or(-1) == plain.job.batch_size.value_or(-2));
  CHECK(seen.job.dataset_samples.value_or(-1) == plain.job.dataset_samples.value_or(-2));
  REQUIRE(issue_of(seen, "busy-loader-in-thread") != nullptr);
  CHECK(issue_of(seen, "busy-loader-in-thread")->detail.starts_with("the 2 workers of the loader behind that thread"));
}

TEST_CASE("workers that rest are not what the training waits for behind a thread") {
  RunData run = make_recordings(compute_bound());
  mark(run, {{"what", "loader in thread"}});
  hand_over_by(run, "queue.Queue.get");
  join_run(run);
  const Profile seen = analyze_run(run);
  REQUIRE(issue_of(seen, "loader-in-thread") != nullptr);
  CHECK(issue_of(seen, "busy-loader-in-thread") == nullptr);
}

TEST_CASE("batches that another process hands over are waited for where it does") {
  RunData run = make_recordings(fetch_bound());
  hand_over_by(run, "multiprocessing.queues.Queue.get");
  join_run(run);
  const Profile seen = analyze_run(run);
  REQUIRE(seen.stalls.as_is_wait);
  CHECK(near(seen.resources.wait->mean.value(), 0.010, 0.02));
  CHECK_FALSE(seen.stalls.as_is_prep);
  CHECK(seen.stalls.as_is_prep.reason() == "batches are handed over to the training by another process or thread");
  REQUIRE(issue_of(seen, "batches-handed-over") != nullptr);
  CHECK(issue_of(seen, "loader-in-thread") == nullptr);
}

TEST_CASE("steps on batches that are given again count: the verdict is over all of them") {
  const JobSpec spec = fetch_bound();
  const Profile plain = analyze_run(make_run(spec));
  RunData run = make_recordings(spec);
  record::ProcessRecording& process = consumer_of(run);
  std::uint64_t time_ns = 0;
  for (const record::StepRecord& step : process.steps) time_ns = std::max(time_ns, step.time_ns);
  const std::size_t own = process.steps.size();
  record::StepRecord step = process.steps.back();
  for (std::size_t i = 0; i < 9 * own; ++i) {
    step.time_ns = time_ns += 100'000'000;
    process.steps.push_back(step);
  }
  join_run(run);
  const Profile profile = analyze_run(run);
  REQUIRE(issue_of(profile, "batches-given-again") != nullptr);
  const double waited_s = plain.stalls.as_is_wait->mean * plain.resources.step->mean.value();
  const auto steps = static_cast<double>(own);
  const double all_s = steps * plain.resources.step->mean.value() + 9.0 * steps * 0.1;
  CHECK(near(profile.stalls.as_is_wait->mean, steps * waited_s / all_s, 0.05));
  CHECK(profile.stalls.as_is_fetch.reason().find("the loader gave batches for the first ") == 0);
  CHECK(profile.stalls.as_is_fetch.reason() == issue_of(profile, "batches-given-again")->detail);
  CHECK(plain.stalls.as_is_fetch);
  CHECK(issue_of(plain, "batches-given-again") == nullptr);
}
