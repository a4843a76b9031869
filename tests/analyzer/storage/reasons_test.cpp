/// Why a value of a probe is absent: each reason in the situation that it names, and not beside it.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "analyzer/storage/fit.hpp"
#include "analyzer/storage/probe_result.hpp"
#include "tests/analyzer/storage/storage_simulation.hpp"

namespace stallcast::testing {
namespace {

using record::StorageWindow;

/// Of cold whole files, one reader alone.
const StoragePoint& alone(const StorageProfile& profile) {
  for (const StoragePoint& point : profile.points) {
    if (point.read == "whole_file" && point.state == "cold" && point.in_flight == 1) return point;
  }
  FAIL("no such point");
  return profile.points.front();
}

/// Whole files that take a millisecond and what 200 MB/s take for them. `seconds`: of each window, which lasts as long
/// as a throttle lets it, whatever its four reads take.
record::StorageRecording in_windows_of(const std::vector<double>& seconds) {
  record::StorageRecording recording;
  for (std::size_t round = 0; round < seconds.size(); ++round) {
    const double bytes = round % 2 == 0 ? 100e3 : 10e3;
    StorageWindow window;
    window.round = static_cast<int>(round);
    window.stop_s = window.end_s = seconds[round];
    window.reads = 4.0;
    window.bytes = 4.0 * bytes;
    window.evidence.storage_bytes = window.bytes;
    window.progress = {{window.end_s, window.reads, window.bytes}};
    window.sampled.assign(4, {window.end_s, bytes, 1e-3 + bytes / 200e6});
    recording.windows.push_back(window);
  }
  return recording;
}

}  // namespace

TEST_CASE("too few looks at files tell no mean of them") {
  record::StorageRecording recording = simulate_probe({}, 100e3, false);
  CHECK(analyze_storage(recording).fit.open);
  CHECK(analyze_storage(recording).fit.stat);
  recording.files.open_s.resize(1);
  CHECK(analyze_storage(recording).fit.open.reason() == "fewer than two files were opened");
  CHECK(analyze_storage(recording).fit.stat);
  recording.files.stat_s.clear();
  CHECK(analyze_storage(recording).fit.stat.reason() == "fewer than two files were looked at");
}

TEST_CASE("a stream whose reads take a latency alone has no bandwidth") {
  SimulatedStorage storage;
  storage.stream_bandwidth_bytes_per_s = 1e15;
  const StorageFit fit = analyze_storage(simulate_probe(storage, 100e3, true)).fit;
  CHECK(fit.latency);
  CHECK(fit.stream_bandwidth.reason() == "larger reads do not take measurably longer than small ones");
  CHECK(analyze_storage(simulate_probe({}, 100e3, true)).fit.stream_bandwidth);
}

TEST_CASE("a single stream of which too few reads were timed is another one than none") {
  record::StorageRecording recording = simulate_probe({}, 100e3, false);
  for (StorageWindow& window : recording.windows) window.sampled.clear();
  CHECK(analyze_storage(recording).fit.latency.reason() == "too few reads of a single stream were timed one by one");
  std::erase_if(recording.windows, [](const StorageWindow& window) { return window.in_flight == 1; });
  CHECK(analyze_storage(recording).fit.latency.reason() == "no single stream was measured");
}

TEST_CASE("a ceiling needs the rates of two numbers in flight, which points without evidence do not have") {
  record::StorageRecording recording = simulate_probe({}, 100e3, false);
  CHECK(analyze_storage(recording).fit.ceiling_files.reason().find("not reached: with") == 0);
  for (StorageWindow& window : recording.windows) {
    if (window.in_flight > 1) window.evidence.storage_bytes = 0.1 * window.bytes;
  }
  CHECK(analyze_storage(recording).fit.ceiling_files.reason() ==
        "fewer than two numbers of reads in flight have a rate");
}

TEST_CASE("the longest of a hundred is told of a hundred") {
  SimulatedStorage slow;
  slow.latency_s = 0.03;
  const StorageProfile few = analyze_storage(simulate_probe(slow, 100e3, false));
  CHECK(alone(few).latency);
  CHECK(alone(few).latency_p99.reason() == "fewer than 100 reads were timed one by one");
  CHECK(alone(analyze_storage(simulate_probe({}, 100e3, false))).latency_p99);
}

TEST_CASE("a read or two that ended in time are no rate") {
  SimulatedStorage slow;
  slow.latency_s = 0.3;
  const StorageProfile profile = analyze_storage(simulate_probe(slow, 100e3, false, 1, 0.5));
  CHECK(alone(profile).rate.reason() == "too few reads ended in time to tell a rate");
  CHECK(alone(profile).bandwidth.reason() == "too few reads ended in time to tell a rate");
  CHECK(alone(analyze_storage(simulate_probe(slow, 100e3, false, 4, 0.5))).rate);
}

TEST_CASE("what was fitted is held against rates, where there are any") {
  const StorageProfile even = analyze_storage(in_windows_of({0.1, 0.1, 0.1, 0.1, 0.1, 0.1}));
  REQUIRE(even.fit.latency);
  CHECK(even.fit.residual_frac);
  const StorageProfile uneven = analyze_storage(in_windows_of({0.001, 0.3, 0.001, 0.3, 0.001, 0.001}));
  REQUIRE(uneven.fit.latency);
  REQUIRE(uneven.fit.stream_bandwidth);
  CHECK(alone(uneven).rate.reason() == "its stretches of reading differ too much to tell a rate");
  CHECK(uneven.fit.residual_frac.reason() == "no point that was read cold has a rate");
}

}  // namespace stallcast::testing
