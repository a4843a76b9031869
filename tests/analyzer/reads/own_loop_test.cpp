/// Loops whose batches a function of the script makes between two steps, and runs in which no loader was found.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "analyzer/analyze.hpp"
#include "tests/analyzer/run_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

namespace {

/// The function takes 30 ms: 20 waiting for pages of a map, and 10 computing. A step computes for 50 ms.
JobSpec reads_through_maps() {
  JobSpec spec;
  spec.loader = {0, 2, true};
  spec.read_s = 0.020;
  spec.cpu_s = 0.010;
  spec.device_s = 0.050;
  return spec;
}

record::ProcessRecording& trainer_of(RunData& run) {
  return *std::find_if(run.processes.begin(), run.processes.end(),
                       [](const record::ProcessRecording& process) { return !process.waits.empty(); });
}

/// The recordings of `spec` as a function would have left them: no read() was seen.
RunData as_function(const JobSpec& spec, std::uint32_t major_faults, double mapped_bytes) {
  RunData run = make_recordings(spec);
  record::ProcessRecording& trainer = trainer_of(run);
  for (record::TextEntry& text : trainer.texts) {
    if (text.kind != record::TextKind::loader) continue;
    nlohmann::json loader = nlohmann::json::parse(text.json);
    loader["kind"] = "function";
    loader["dataset_type"] = "get_batch";
    text.json = loader.dump();
  }
  for (record::BatchRecord& batch : trainer.batches) {
    batch.io = {};
    batch.io.major_faults = major_faults;
  }
  trainer.info.mapped_bytes = static_cast<std::uint64_t>(mapped_bytes);
  join_run(run);
  return run;
}

}  // namespace

TEST_CASE("page faults that block the training thread are its reading") {
  const Profile profile = analyze_run(as_function(reads_through_maps(), 12, 1e9));
  CHECK(profile.job.loader_kind == "function");
  REQUIRE(profile.stalls.as_is_fetch);
  CHECK(near(profile.stalls.as_is_fetch->mean, 20.0 / 80.0, 0.06));
  CHECK(near(profile.stalls.as_is_prep->mean, 10.0 / 80.0, 0.06));
}

TEST_CASE("what the kernel computes for page faults from storage is reading, too") {
  JobSpec spec = reads_through_maps();
  spec.cpu_s = 0.020;  // half of it in the kernel
  RunData run = as_function(spec, 12, 1e9);
  for (record::BatchRecord& batch : trainer_of(run).batches) batch.system_ns = batch.cpu_ns / 2;
  run.consumers.clear();
  join_run(run);
  const Profile profile = analyze_run(run);
  REQUIRE(profile.stalls.as_is_fetch);
  CHECK(near(profile.stalls.as_is_fetch->mean, 30.0 / 90.0, 0.06));
  CHECK(near(profile.stalls.as_is_prep->mean, 10.0 / 90.0, 0.06));
}

TEST_CASE("what blocks a function without page faults is not told apart") {
  const Profile profile = analyze_run(as_function(reads_through_maps(), 0, 1e9));
  REQUIRE(profile.stalls.as_is_wait);
  CHECK(near(profile.stalls.as_is_wait->mean, 30.0 / 80.0, 0.05));
  REQUIRE_FALSE(profile.stalls.as_is_fetch);
  REQUIRE_FALSE(profile.stalls.as_is_prep);
  CHECK(profile.stalls.as_is_prep.reason().find("get_batch is blocked for 6") != std::string::npos);
}

TEST_CASE("a function that computes alone has a prep stall, and no fetch stall") {
  JobSpec spec = reads_through_maps();
  spec.cpu_s += spec.read_s;
  spec.read_s = 0.0;
  const Profile profile = analyze_run(as_function(spec, 0, 0.0));
  REQUIRE(profile.stalls.as_is_prep);
  CHECK(near(profile.stalls.as_is_prep->mean, 30.0 / 80.0, 0.06));
  CHECK(std::abs(profile.stalls.as_is_fetch->mean) < 0.01);
}

TEST_CASE("a run without a loader tells what was seen instead") {
  RunData run = make_recordings(reads_through_maps());
  record::ProcessRecording& trainer = trainer_of(run);
  trainer.waits.clear();
  trainer.batches.clear();
  trainer.info.other_read_bytes = 3 << 20;
  trainer.info.other_reads = 7;
  trainer.texts.push_back(
      {record::TextKind::mark, R"({"what":"no batch function","reason":"made within the loop","at":"train.py:7"})"});
  join_run(run);
  const Profile profile = analyze_run(run);
  CHECK(profile.outcome.status == "no_loader");
  REQUIRE_FALSE(profile.seen_instead.empty());
  const auto words = [&](const std::string& what) {
    for (const Sighting& seen : profile.seen_instead) {
      if (seen.what == what) return seen.words;
    }
    return std::string("(absent)");
  };
  CHECK(words("looked for") ==
        "loaders of PyTorch, TensorFlow, DALI, Grain and others; a function that makes batches between steps; marks of "
        "stallcast.wrap() and the C API");
  CHECK(words("steps").find("200 optimizer steps") == 0);
  CHECK(words("steps").find("at train.py:7") != std::string::npos);
  CHECK(words("batches") == "made within the loop");
  CHECK(words("files").find("3.0 MiB read in 7 reads") == 0);
  CHECK(words("sockets").find("none was read") == 0);
  CHECK(analyze_run(make_run(reads_through_maps())).seen_instead.empty());

  for (record::ProcessRecording& process : run.processes) process.steps.clear();
  run.log.exit_code = 1;
  run.log.ended = run.has_log = true;
  const Profile failed = analyze_run(run);
  CHECK(failed.outcome.status == "child_failed");
  CHECK(failed.outcome.words == "the command ended with status 1 before stallcast saw a batch");
  REQUIRE_FALSE(failed.seen_instead.empty());
  CHECK(failed.seen_instead[1].words == "none of an optimizer of PyTorch or Keras, and none marked");
  trainer.texts.push_back({record::TextKind::mark, R"({"what":"jax gradient","at":"train.py:9"})"});
  CHECK(analyze_run(run).seen_instead[1].words ==
        "those of JAX are seen where a jitted function takes the gradient in each; one is first taken for train.py:9");
}
