#include <doctest/doctest.h>

#include <algorithm>

#include "analyzer/analyze.hpp"
#include "tests/analyzer/run_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

TEST_CASE("distributions are of the training loader's samples as found: no evaluation, no phase") {
  JobSpec spec = fetch_bound();
  spec.samples = true;
  spec.batches = 40;
  RunData run = make_run(spec);
  record::ProcessRecording evaluation = run.processes.back();
  evaluation.info.pid += 1000;
  run.processes.push_back(evaluation);
  CHECK(analyze_run(run).resources.distributions.at("sample_read_s").n == 40 * 32);
  CHECK(near(analyze_run(run).dataset.bytes_per_sample->value(), 100e3, 1e-6));
  const Pass& pass = run.consumers.front().passes.front();
  const std::uint64_t phases_ns = run.consumers.front().phases_begin_ns = pass.deliveries[25].made.begin_ns;
  const auto before = std::count_if(pass.deliveries.begin(), pass.deliveries.end(),
                                    [&](const Delivery& each) { return each.made.begin_ns < phases_ns; });
  CHECK(before > 20);
  CHECK(before < 30);
  CHECK(analyze_run(run).resources.distributions.at("sample_read_s").n == before * 32);
}
