// Any text as the tool's log, beside a valid recording, leads to a profile that can be written and read.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/analyze.hpp"
#include "analyzer/load/nodes.hpp"
#include "analyzer/profile/json.hpp"
#include "probes/record/reader.hpp"
#include "tests/fuzz/example_recording.hpp"

namespace {

/// The same log as that of another node: refused, or a profile that can be written and read.
void merge_with_another(stallcast::RunData run) {
  stallcast::RunData other = run;
  run.name = "a-0";
  other.name = "b-0";
  other.log.run_id += "b";
  for (stallcast::Consumer& consumer : other.consumers) ++consumer.rank;
  std::vector<stallcast::RunData> nodes;
  nodes.push_back(std::move(run));
  nodes.push_back(std::move(other));
  auto job = stallcast::one_job(std::move(nodes));
  if (!job.ok()) return;
  stallcast::note_job(job.value());
  const stallcast::Profile merged = stallcast::analyze_nodes(job.value());
  if (!stallcast::profile_from_json(stallcast::to_json(merged)).ok()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  stallcast::RunData run;
  run.log = stallcast::parse_run_log(std::string(reinterpret_cast<const char*>(data), size));
  run.has_log = true;
  auto recording = stallcast::record::parse_recording(stallcast::fuzz::example_recording().bytes());
  if (!recording.ok()) std::abort();
  run.processes.push_back(std::move(recording).value());
  stallcast::join_run(run);
  const stallcast::Profile profile = stallcast::analyze_run(run);
  if (!stallcast::profile_from_json(stallcast::to_json(profile)).ok()) std::abort();
  merge_with_another(std::move(run));
  return 0;
}
