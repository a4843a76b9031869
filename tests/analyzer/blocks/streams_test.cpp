/// Iterable data sets: how long they are, and what cold blocks tell of them although the kernel reads ahead.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "analyzer/analyze.hpp"
#include "analyzer/steps/steady.hpp"
#include "tests/analyzer/phased_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

namespace {

/// Sets a field of all texts of that kind.
void set(RunData& run, record::TextKind kind, const char* field, const nlohmann::json& value) {
  for (record::ProcessRecording& process : run.processes) {
    for (record::TextEntry& entry : process.texts) {
      if (entry.kind != kind) continue;
      nlohmann::json text = nlohmann::json::parse(entry.json);
      text[field] = value;
      entry.json = text.dump();
    }
  }
}

/// The run with a data set that is a stream and does not say how long it is. `ended`: the script saw the ends of its
/// passes.
RunData streaming(const JobSpec& job, bool ended, const char* kind = "iterable") {
  RunData run = make_recordings(job);
  set(run, record::TextKind::loader, "kind", kind);
  set(run, record::TextKind::loader, "dataset_samples", nullptr);
  for (record::ProcessRecording& process : run.processes) {
    process.info.world_size = static_cast<std::uint32_t>(job.ranks);
    if (ended) continue;
    std::erase_if(process.waits, [](const auto& wait) { return wait.header.aux == record::k_wait_end_of_epoch; });
  }
  join_run(run);
  return run;
}

JobSpec passes_of(int passes, int ranks = 1) {
  JobSpec job;
  job.passes = passes;
  job.batches = 120;
  job.ranks = ranks;
  return job;
}

}  // namespace

TEST_CASE("a stream is as long as its whole passes") {
  for (const int passes : {1, 3}) {
    const Profile profile = analyze_run(streaming(passes_of(passes), true));
    REQUIRE(profile.job.dataset_samples);
    CHECK(*profile.job.dataset_samples == 120 * 32);
  }
  CHECK(analyze_run(streaming(passes_of(1), true, "keras")).job.dataset_samples);  // torch's loader within it is one
  CHECK_FALSE(analyze_run(streaming(passes_of(1), true, "grain")).job.dataset_samples);
}

TEST_CASE("of a pass whose end was not seen, and of one rank among several, the length is not known") {
  for (const RunData& run : {streaming(passes_of(2), false), streaming(passes_of(1, 2), true)}) {
    const Profile profile = analyze_run(run);
    REQUIRE_FALSE(profile.job.dataset_samples);
    CHECK(profile.job.dataset_samples.reason().find("no whole pass") != std::string::npos);
  }
}

TEST_CASE("the time of a stream's cold block is that of the bytes that came from storage in it") {
  PhasedSpec spec;
  spec.job.read_s = 0.6;
  spec.job.cpu_s = 0.05;
  spec.file_batches = 100.0;
  const auto cold = [&](double from_storage, bool iterable) {
    spec.cold_storage_share = from_storage;
    RunData run = make_phased_run(spec);
    if (iterable) set(run, record::TextKind::segment, "iterable", 1);
    const Profile profile = analyze_run(run);
    REQUIRE(profile.rates.cold);
    return profile.rates.cold->mean.value();
  };
  const double plain = cold(1.0, false);
  CHECK(near(cold(1.0, true), plain, 0.001));
  CHECK(near(cold(1.1, true), 1.1 * plain, 0.01));  // it waited for 10 % more than it read
  CHECK(near(cold(0.95, true), 0.95 * plain, 0.01));
  CHECK(near(cold(1.1, false), plain, 0.001));  // samples that are read one by one: no reading ahead
  spec.job.cpu_s = 0.7;                         // it waits for computing
  CHECK(near(cold(1.1, true), cold(1.0, true), 0.001));
}

TEST_CASE("a block that storage gave far more for than it read says nothing, nor one from memory; each says why") {
  for (const auto& [from_storage, why] : {std::pair(1.5, "reads ahead"), std::pair(0.5, "from storage")}) {
    PhasedSpec spec;
    spec.job.read_s = 0.6;
    spec.job.cpu_s = 0.05;
    spec.cold_storage_share = from_storage;
    spec.file_batches = 100.0;
    RunData run = make_phased_run(spec);
    set(run, record::TextKind::segment, "iterable", 1);
    const Profile profile = analyze_run(run);
    REQUIRE_FALSE(profile.rates.cold);
    CHECK(profile.rates.cold.reason().find(why) != std::string::npos);
    CHECK((profile.rates.cold.reason().find("reads ahead") != std::string::npos) == (from_storage > 1.0));
  }
}

namespace {

/// The recordings of a loader that leaves batching to its data set.
RunData unbatched(bool alike) {
  RunData run = make_recordings(passes_of(1));
  set(run, record::TextKind::loader, "kind", "iterable");
  set(run, record::TextKind::loader, "batch_size", nullptr);
  for (record::ProcessRecording& process : run.processes) {
    for (record::WaitRecord& wait : process.waits) {
      if (!alike && wait.samples > 0) wait.samples = 16 + static_cast<std::uint32_t>(wait.batch % 32);
    }
  }
  join_run(run);
  return run;
}

}  // namespace

TEST_CASE("the batch size of a loader that does not say it is that of most batches, where these are alike") {
  const Profile alike = analyze_run(unbatched(true));
  REQUIRE(alike.job.batch_size);
  CHECK(*alike.job.batch_size == 32);
  CHECK_FALSE(analyze_run(unbatched(false)).job.batch_size);
}

TEST_CASE("batches that fill a buffer before the first step are no steps") {
  RunData run = make_recordings(passes_of(1));
  for (record::ProcessRecording& process : run.processes) {
    std::sort(process.steps.begin(), process.steps.end(),
              [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
    if (process.steps.size() > 20) process.steps.erase(process.steps.begin(), process.steps.begin() + 20);
  }
  join_run(run);
  const Consumer& filled = run.consumers.front();
  CHECK(filled.passes.front().filling >= 20);
  CHECK(filled.passes.front().filling <= 24);
  const SteadyWindow window = steady_window(filled);
  CHECK(window.steps.front().delivery->wait.batch > 20);
  RunData plain = make_recordings(passes_of(1));
  join_run(plain);
  CHECK(plain.consumers.front().passes.front().filling == 0);
}
