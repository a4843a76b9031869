// Any bytes as samples of CPU time, beside a valid recording, lead to a profile that can be written and read.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "analyzer/analyze.hpp"
#include "analyzer/profile/json.hpp"
#include "probes/record/reader.hpp"
#include "tests/fuzz/example_recording.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto samples = stallcast::record::parse_cpu_recording({reinterpret_cast<const char*>(data), size});
  if (!samples.ok()) return 0;
  stallcast::RunData run;
  auto recording = stallcast::record::parse_recording(stallcast::fuzz::example_recording().bytes());
  if (!recording.ok()) std::abort();
  run.processes.push_back(std::move(recording).value());
  run.cpu = std::move(samples).value();
  stallcast::join_run(run);
  const stallcast::Profile profile = stallcast::analyze_run(run);
  if (!stallcast::profile_from_json(stallcast::to_json(profile)).ok()) std::abort();
  return 0;
}
