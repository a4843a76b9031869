/// What is told of the job, and why not, where its loader, its optimizer or its batches do not say.
#include "analyzer/steps/job.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "analyzer/analyze.hpp"
#include "tests/analyzer/run_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

namespace {

/// The job whose loader says nothing of `fields`.
Job silent_about(const JobSpec& spec, std::initializer_list<const char*> fields) {
  RunData run = make_recordings(spec);
  for (record::ProcessRecording& process : run.processes) {
    for (record::TextEntry& entry : process.texts) {
      if (entry.kind != record::TextKind::loader) continue;
      nlohmann::json text = nlohmann::json::parse(entry.json);
      for (const char* field : fields) text[field] = nullptr;
      entry.json = text.dump();
    }
  }
  join_run(run);
  return analyze_run(run).job;
}

}  // namespace

TEST_CASE("what a loader does not say is absent, and what it says is not") {
  const Job job = silent_about(compute_bound(), {"batch_size", "num_workers", "pin_memory", "prefetch_factor"});
  CHECK(job.batch_size.reason() == "the loader does not say");
  CHECK(job.num_workers.reason() == "the loader does not say");
  CHECK(job.pin_memory.reason() == "the loader does not say");
  CHECK(job.prefetch_factor.reason() == "the loader does not say");
  CHECK(job.in_order.has_value());
  CHECK(silent_about(compute_bound(), {}).prefetch_factor.value_or(0) == 2);
}

TEST_CASE("a loader without workers prefetches nothing, which is not left unsaid") {
  JobSpec spec = compute_bound();
  spec.loader.workers = 0;
  CHECK(silent_about(spec, {}).prefetch_factor.reason() == "a loader without workers does not prefetch");
}

TEST_CASE("without an optimizer's steps a batch is a step, and that is said") {
  JobSpec spec = compute_bound();
  CHECK(*analyze_run(make_run(spec)).job.batches_per_step == 1);
  spec.accumulate = 0;
  CHECK(analyze_run(make_run(spec)).job.batches_per_step.reason() ==
        "no optimizer step was seen; a batch is taken for a step");
}

TEST_CASE("how large a prepared sample is, the first batch of tensors of the training loader says") {
  const auto prepared = [](const char* mark) {
    RunData run = make_run(compute_bound());
    run.processes.front().texts.push_back({record::TextKind::mark, mark});
    return analyze_run(run).job.prepared;
  };
  CHECK(prepared(R"({"what":"prepared","loader_id":1,"bytes":40960,"samples":10})")->value() == 4096.0);
  CHECK(prepared(R"({"what":"prepared","loader_id":2,"bytes":40960,"samples":10})").reason() ==
        "no batch of tensors or arrays was seen");
  CHECK(prepared(R"({"what":"sampler"})").reason() == "no batch of tensors or arrays was seen");
}
