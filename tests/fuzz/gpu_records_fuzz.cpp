// Any bytes as the recording of a GPU, beside a valid recording, lead to a profile that can be written and read.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

#include "analyzer/analyze.hpp"
#include "analyzer/profile/json.hpp"
#include "probes/record/reader.hpp"
#include "tests/fuzz/example_recording.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  stallcast::RunData run;
  auto recording = stallcast::record::parse_recording(stallcast::fuzz::example_recording().bytes());
  if (!recording.ok()) std::abort();
  run.processes.push_back(std::move(recording).value());
  run.gpus.push_back(stallcast::parse_gpu_recording(std::string(reinterpret_cast<const char*>(data), size)));
  stallcast::join_run(run);
  if (!run.consumers.empty()) run.gpus[0].pid = run.consumers[0].pid;
  const stallcast::Profile profile = stallcast::analyze_run(run);
  if (!stallcast::profile_from_json(stallcast::to_json(profile)).ok()) std::abort();
  return 0;
}
