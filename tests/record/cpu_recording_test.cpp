/// The file of samples: what is written comes back, damage is told, nothing of it is believed.
#include "probes/record/cpu_recording.hpp"

#include <doctest/doctest.h>

namespace stallcast::record {
namespace {

CpuRecording example() {
  CpuRecording recording;
  recording.run_id = "run-1";
  recording.hz = 97.0;
  recording.kernel = true;
  recording.lost = 3;
  recording.keep_one_in = 2;
  recording.counters = {{"task_clock_ns", ""}, {"cycles", "this machine has no such counter"}};
  recording.readings = {{10, {{1, 2, 3}, {0, 0, 0}}}, {20, {{4, 5, 6}, {0, 0, 0}}}};
  recording.names = {{4711, "python3"}};
  recording.symbols = {{"libjpeg.so.62", ""}, {"libc.so.6", "memmove"}};
  recording.samples = {{100, 4711, 4712, 1}, {200, 4711, 4711, 0}};
  return recording;
}

TEST_CASE("what was written comes back") {
  const auto read = parse_cpu_recording(encode_cpu_recording(example()));
  REQUIRE(read.ok());
  const CpuRecording& back = read.value();
  CHECK(back.run_id == "run-1");
  CHECK(back.absent.empty());
  CHECK(back.hz == 97.0);
  CHECK(back.kernel);
  CHECK(back.lost == 3);
  CHECK(back.keep_one_in == 2);
  REQUIRE(back.counters.size() == 2);
  CHECK(back.counters[1].absent == "this machine has no such counter");
  REQUIRE(back.readings.size() == 2);
  CHECK(back.readings[1].t_ns == 20);
  CHECK(back.readings[1].counts[0].running_ns == 6);
  REQUIRE(back.names.size() == 1);
  CHECK(back.names[0].name == "python3");
  REQUIRE(back.samples.size() == 2);
  CHECK(back.samples[0].tid == 4712);
  CHECK(back.symbols[back.samples[0].symbol].function == "memmove");
}

TEST_CASE("a file that is cut off anywhere is bad input, and so is one of a newer version") {
  const std::string whole = encode_cpu_recording(example());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto read = parse_cpu_recording(std::string_view(whole).substr(0, size));
    REQUIRE_FALSE(read.ok());
    CHECK(read.error().code == ErrorCode::bad_input);
  }
  std::string newer = whole;
  newer[8] = 2;
  const auto read = parse_cpu_recording(newer);
  REQUIRE_FALSE(read.ok());
  CHECK(read.error().what.find("version 2") != std::string::npos);
}

TEST_CASE("a sample that names no symbol is damage") {
  CpuRecording recording = example();
  recording.samples[1].symbol = 2;
  CHECK_FALSE(parse_cpu_recording(encode_cpu_recording(recording)).ok());
}

}  // namespace
}  // namespace stallcast::record
