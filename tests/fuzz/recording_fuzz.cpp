// The input is a list of edits {offset: 3 bytes, value: 1 byte} of a small valid recording, so that headers and lengths
// are met often. From any bytes the way leads to a profile that can be written and read, or to an error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "analyzer/analyze.hpp"
#include "analyzer/profile/json.hpp"
#include "probes/record/reader.hpp"
#include "tests/fuzz/example_recording.hpp"

namespace {

namespace record = stallcast::record;

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::byte> bytes = stallcast::fuzz::example_recording().bytes();
  for (std::size_t at = 0; at + 4 <= size; at += 4) {
    const std::size_t offset =
        data[at] | static_cast<std::size_t>(data[at + 1]) << 8U | static_cast<std::size_t>(data[at + 2]) << 16U;
    bytes[offset % bytes.size()] = static_cast<std::byte>(data[at + 3]);
  }
  auto recording = record::parse_recording(bytes);
  if (!recording.ok()) {
    require(!recording.error().what.empty());
    return 0;
  }
  stallcast::RunData run;
  run.processes.push_back(std::move(recording).value());
  stallcast::join_run(run);
  const stallcast::Profile profile = stallcast::analyze_run(run);
  require(stallcast::profile_from_json(stallcast::to_json(profile)).ok());
  return 0;
}
