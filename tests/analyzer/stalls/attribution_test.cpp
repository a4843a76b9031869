#include "analyzer/stalls/attribution.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "analyzer/analyze.hpp"
#include "tests/analyzer/run_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

namespace {

struct JobState {
  const char* name;
  JobSpec spec;
};

std::vector<JobState> states() {
  return {{"compute-bound", compute_bound()}, {"prep-bound", prep_bound()}, {"fetch-bound", fetch_bound()}};
}

}  // namespace

TEST_CASE("attributed shares are within 2 points of the simulated truth") {
  for (const JobState& state : states()) {
    for (const int workers : {0, 1, 2, 4}) {
      for (const double cores : {1.0, 2.0, 8.0}) {
        for (const bool in_order : {true, false}) {
          JobSpec spec = state.spec;
          spec.loader = {workers, 2, in_order};
          spec.cores = cores;
          spec.host_s = 0.02;
          spec.batches = 1500;
          const Truth truth = truth_of(spec);
          const Profile profile = analyze_run(make_run(spec));
          CAPTURE(state.name);
          CAPTURE(workers);
          CAPTURE(cores);
          CAPTURE(in_order);
          CAPTURE(profile.stalls.as_is_fetch.reason());
          REQUIRE(profile.stalls.as_is_fetch.has_value());
          REQUIRE(profile.stalls.as_is_prep.has_value());
          CHECK(std::abs(profile.stalls.as_is_fetch->mean - truth.fetch()) < 0.02);
          CHECK(std::abs(beyond_synthetic(profile) - truth.prep()) < 0.02);
          CHECK(std::abs(profile.rates.as_is->mean.value() * truth.step_s / spec.batch_size - 1.0) < 0.02);
        }
      }
    }
  }
}

TEST_CASE("what the kernel computes for reads goes with them") {
  for (const int workers : {0, 2, 4}) {
    for (const double cores : {1.0, 2.0, 8.0}) {
      JobSpec spec = prep_bound();
      spec.loader.workers = workers;
      spec.cores = cores;
      spec.read_s = 0.05;
      spec.read_cpu_s = 0.1;
      spec.batches = 1500;
      const Truth truth = truth_of(spec);
      const Profile profile = analyze_run(make_run(spec));
      CAPTURE(workers);
      CAPTURE(cores);
      REQUIRE(profile.stalls.as_is_fetch.has_value());
      CHECK(truth.fetch() > 0.1);  // above a third of it is computing
      CHECK(std::abs(profile.stalls.as_is_fetch->mean - truth.fetch()) < 0.03);
    }
  }
}

TEST_CASE("a compute-bound job shows intervals that hold 0") {
  for (const int workers : {1, 2, 4}) {
    JobSpec spec = compute_bound();
    spec.loader.workers = workers;
    if (workers == 1) spec.read_s = 0.02;  // one worker alone must keep up, too
    const Profile profile = analyze_run(make_run(spec));
    REQUIRE(profile.stalls.as_is_fetch.has_value());
    CHECK(profile.stalls.as_is_fetch->ci95_low == 0.0);
    CHECK(profile.stalls.as_is_prep->ci95_low == 0.0);
    CHECK(profile.stalls.as_is_fetch->ci95_high < 0.05);
    CHECK(profile.stalls.as_is_prep->ci95_high < 0.05);
    CHECK(near(profile.rates.as_is->mean.value(), profile.rates.synthetic->mean.value(), 0.01));
    CHECK(profile.rates.supply_cached->mean.value() > 1.2 * profile.rates.as_is->mean.value());
  }
}

TEST_CASE("the example of attribution.hpp comes out as it says") {
  JobSpec spec = fetch_bound();
  spec.read_cv = spec.cpu_cv = spec.step_cv = 0.0;
  const RunData run = make_run(spec);
  const SteadyWindow window = steady_window(run.consumers.at(0));
  const auto found = attribute(window, ReplayMachine{64.0, k_resident_s_per_call, k_resident_s_per_byte, 0.0});
  REQUIRE(found.has_value());
  CHECK(near(found->step_s, 0.23, 0.01));
  CHECK(near(found->cached_step_s, 0.1, 0.01));
  CHECK(near(found->synthetic_step_s, 0.1, 0.01));
  CHECK(near(found->supply_step_s, 0.23, 0.01));
  CHECK(near(found->supply_cached_step_s, 0.08, 0.01));
  CHECK(near(found->storage_read_s, 0.3, 0.001));
  CHECK(found->replay_error < 0.01);
}

TEST_CASE("a job that something else holds back gets no split but the reason") {
  RunData run = make_recordings(prep_bound());
  for (auto& process : run.processes) {
    for (auto& batch : process.batches) {  // each was made in half the time before it was there
      batch.begin_ns = batch.end_ns - (batch.end_ns - batch.begin_ns) / 2;
      batch.cpu_ns /= 2;
    }
  }
  join_run(run);
  const Profile profile = analyze_run(run);
  CHECK_FALSE(profile.stalls.as_is_fetch.has_value());
  CHECK_FALSE(profile.stalls.as_is_prep.has_value());
  CHECK_FALSE(profile.rates.cached.has_value());
  CHECK(profile.stalls.as_is_fetch.reason().find("misses the measured step by") != std::string::npos);
  CHECK(std::any_of(profile.issues.begin(), profile.issues.end(),
                    [](const DataIssue& issue) { return issue.id == "replay-disagrees"; }));
  CHECK(profile.rates.as_is.has_value());
  CHECK(profile.stalls.as_is_wait.has_value());
}

namespace {

/// Each batch is `seconds` on its way to a script that waits for it: made, and not yet there.
RunData with_latency(const JobSpec& spec, double seconds) {
  RunData run = make_run(spec);
  const auto latency = static_cast<std::uint64_t>(seconds * 1e9);
  for (Pass& pass : run.consumers.at(0).passes) {
    for (Delivery& delivery : pass.deliveries) delivery.made.put_ns = delivery.made.end_ns -= latency;
    for (Delivery& delivery : pass.deliveries) delivery.made.begin_ns -= latency;
  }
  return run;
}

}  // namespace

TEST_CASE("what pins a batch while the consumer computes is no turn of its") {
  JobSpec spec = fetch_bound();
  spec.loader.workers = 1;  // no batch lies ready
  spec.cpu_s = 0.02;
  RunData run = with_latency(spec, 0.04);
  const double without = attribute(steady_window(run.consumers.at(0)), ReplayMachine{64.0})->cached_step_s;
  for (auto& [id, facts] : run.consumers.at(0).loaders) facts.pin_memory = 1;
  const auto pinned = attribute(steady_window(run.consumers.at(0)), ReplayMachine{64.0});
  REQUIRE(pinned.has_value());
  CHECK(pinned->receive_s == doctest::Approx(0.04).epsilon(0.01));
  CHECK(pinned->synthetic_step_s == doctest::Approx(0.1).epsilon(0.05));
  CHECK(pinned->cached_step_s < without - 0.03);
  for (auto& [id, facts] : run.consumers.at(0).loaders) facts.pins_memory = 0;  // it was asked to, and has no device
  CHECK(attribute(steady_window(run.consumers.at(0)), ReplayMachine{64.0})->cached_step_s == doctest::Approx(without));
}

TEST_CASE("what a loader does in next() with a batch that is there is preparing it") {
  RunData run = with_latency(compute_bound(), 0.02);
  REQUIRE(analyze_run(run).stalls.as_is_prep.has_value());
  for (auto& [id, facts] : run.consumers.at(0).loaders) facts.works_in_next = true;
  CHECK(analyze_run(run).stalls.as_is_receive->mean == 0.0);
}

TEST_CASE("taking over a batch that is made is no waiting for the workers, and explains its part of the step") {
  JobSpec spec = compute_bound();
  const double step_s = truth_of(spec).step_s;
  RunData run = make_recordings(spec);
  constexpr std::uint64_t k_receive_ns = 60'000'000;  // in a pipe or a queue, after each batch was made
  std::uint64_t later = 0;
  for (auto& wait : run.processes[0].waits) {
    wait.begin_ns += later;
    if (wait.header.aux == 0) later += k_receive_ns;
    wait.end_ns += later;
  }
  for (auto& process : run.processes) {
    for (auto& batch : process.batches) {
      const std::uint64_t shift = batch.batch * k_receive_ns;
      batch.begin_ns += shift;
      batch.end_ns += shift;
      batch.put_ns += batch.put_ns == 0 ? 0 : shift;
    }
  }
  join_run(run);
  const Profile profile = analyze_run(run);
  REQUIRE(profile.stalls.as_is_receive.has_value());
  const double expected = 0.06 / (step_s + 0.06);
  CHECK(std::abs(profile.stalls.as_is_receive->mean - expected) < 0.02);
  CHECK(profile.stalls.as_is_prep->mean < 0.02);
  CHECK(near(profile.rates.synthetic->mean.value(), spec.batch_size / step_s, 0.02));
}

TEST_CASE("with half of the makings lost the split is there, with more it is absent") {
  JobSpec spec = prep_bound();
  spec.loader.workers = 4;
  spec.cpu_s = 1.0;
  spec.batches = 600;
  const Truth truth = truth_of(spec);
  spec.lost_workers = {k_first_consumer_pid + 1, k_first_consumer_pid + 3};
  const Profile half = analyze_run(make_run(spec));
  REQUIRE(half.stalls.as_is_prep.has_value());
  CHECK(std::abs(beyond_synthetic(half) - truth.prep()) < 0.03);
  spec.lost_workers.insert(k_first_consumer_pid + 2);
  const Profile quarter = analyze_run(make_run(spec));
  CHECK_FALSE(quarter.stalls.as_is_prep.has_value());
  CHECK(quarter.stalls.as_is_prep.reason().find("too few batches") != std::string::npos);
  CHECK(quarter.rates.as_is.has_value());
}

TEST_CASE("stretches without recording do not bias rates or shares") {
  for (JobSpec spec : {prep_bound(), fetch_bound()}) {
    spec.batches = 600;
    const Truth truth = truth_of(spec);
    for (int i = 0; i < 12; ++i) spec.off.push_back({5.0 + 8.0 * i, 8.0 + 8.0 * i});
    const Profile profile = analyze_run(make_run(spec));
    REQUIRE(profile.stalls.as_is_fetch.has_value());
    CHECK(near(profile.rates.as_is->mean.value(), spec.batch_size / truth.step_s, 0.02));
    CHECK(std::abs(profile.stalls.as_is_fetch->mean - truth.fetch()) < 0.02);
    CHECK(std::abs(beyond_synthetic(profile) - truth.prep()) < 0.02);
  }
}

TEST_CASE("several passes give the same shares as one, whether workers persist or not") {
  for (const bool persistent : {true, false}) {
    JobSpec spec = fetch_bound();
    spec.passes = 5;
    spec.batches = 120;
    spec.persistent = persistent;
    spec.startup_s = 1.0;
    const Truth truth = truth_of(spec);
    const Profile profile = analyze_run(make_run(spec));
    REQUIRE(profile.stalls.as_is_fetch.has_value());
    CHECK(std::abs(profile.stalls.as_is_fetch->mean - truth.fetch()) < 0.02);
    CHECK(near(profile.rates.as_is->mean.value(), spec.batch_size / truth.step_s, 0.02));
    CHECK(profile.stalls.epoch_pause.has_value());
    spec.passes = 2;
    CHECK(analyze_run(make_run(spec)).stalls.epoch_pause.reason() == "fewer than three epochs began as found");
  }
}

TEST_CASE("how many threads a worker uses is what one of them says") {
  RunData run = make_run(fetch_bound());
  REQUIRE(analyze_run(run).job.threads_per_worker);
  for (record::ProcessRecording& process : run.processes) {
    std::erase_if(process.texts, [](const auto& text) { return text.json.find("worker") != std::string::npos; });
  }
  CHECK(analyze_run(run).job.threads_per_worker.reason() == "no worker process described itself");
}

TEST_CASE("storage's share of reading is what a resident file does not cost") {
  const ReplayMachine machine{4.0, 2e-6, 1e-9, 0.0};
  record::BatchRecord made{};
  made.begin_ns = 1'000'000'000;
  made.end_ns = 2'000'000'000;
  made.cpu_ns = 100'000'000;
  made.io.read_ns = 400'000'000;
  made.io.meta_ns = 50'000'000;
  made.io.reads = 60;
  made.io.opens = 30;
  made.io.stats = 10;
  made.io.read_bytes = 10'000'000;
  CHECK(near(storage_seconds(made, machine), 0.45 - 100 * 2e-6 - 0.01, 1e-9));
  made.io.read_ns = 5'000'000;
  made.io.meta_ns = 0;
  CHECK(storage_seconds(made, machine) == 0.0);  // faster than a resident file is no negative wait
}

TEST_CASE("reads that were slow for want of a core are no wait for storage") {
  const ReplayMachine machine{4.0, 2e-6, 0.2e-9, 0.0};
  record::BatchRecord made{};
  made.begin_ns = 1'000'000'000;
  made.end_ns = 2'000'000'000;
  made.cpu_ns = 500'000'000;
  made.run_delay_ns = 500'000'000;
  made.io.read_ns = 300'000'000;
  CHECK(storage_seconds(made, machine) == 0.0);
  made.run_delay_ns = 400'000'000;
  CHECK(near(storage_seconds(made, machine), 0.1, 1e-6));
  ReplayMachine stored = machine;
  stored.storage_share = 1.0;  // every byte was fetched: the core that was lacking after it belongs to the fetch
  CHECK(near(storage_seconds(made, stored), 0.3, 1e-3));
  made.run_delay_ns = UINT64_MAX;  // not known: what was not computing may have been storage
  CHECK(near(storage_seconds(made, machine), 0.3, 1e-3));
}

TEST_CASE("times that nothing can have taken give no split") {
  RunData run = make_recordings(fetch_bound());
  for (auto& process : run.processes) {
    for (auto& wait : process.waits) wait.begin_ns = wait.end_ns = k_start_ns;
    for (auto& batch : process.batches) batch.begin_ns = batch.end_ns = batch.put_ns = k_start_ns;
  }
  join_run(run);
  CHECK_FALSE(analyze_run(run).stalls.as_is_fetch.has_value());
}

TEST_CASE("a device that computes while the job waits hides G unless some steps did not wait") {
  JobSpec spec = prep_bound();
  spec.loader.workers = 1;  // more would deliver in bunches, in which most steps do not wait
  RunData run = make_recordings(spec);
  for (auto& text : run.processes[0].texts) {
    const auto at = text.json.find("\"cuda\":false");
    if (at != std::string::npos) text.json.replace(at, 12, "\"cuda\":true");
  }
  join_run(run);
  const Profile profile = analyze_run(run);
  CHECK(profile.rates.synthetic.reason() ==
        "the device may still compute while the job waits, and fewer than 10 % of the steps did not wait");
  CHECK(profile.stalls.as_is_prep.reason() == profile.rates.synthetic.reason());
  CHECK(profile.stalls.as_is_fetch.has_value());
  CHECK(analyze_run(make_run(spec)).rates.synthetic.has_value());  // a processor does not
}

TEST_CASE("reads that all came from memory are no fetch stall, however many there are") {
  JobSpec spec = prep_bound();
  spec.batch_size = 1024;  // 4096 calls and 100 MB a batch: 28 ms of reading, all of it computing
  spec.read_s = 0.0;
  spec.cpu_s = 0.3;
  spec.storage_share = 0.0;
  const Profile profile = analyze_run(make_run(spec));
  REQUIRE(profile.stalls.as_is_fetch.has_value());
  CHECK(profile.stalls.as_is_fetch->mean < 0.001);
  CHECK(profile.stalls.as_is_fetch->ci95_low == 0.0);
  CHECK(std::abs(beyond_synthetic(profile) - truth_of(spec).prep()) < 0.02);
  CHECK(profile.resources.read->mean.value() * 1024 > 0.02);
}
