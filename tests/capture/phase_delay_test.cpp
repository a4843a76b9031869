/// Perturbations, the schedule and the consumer's line of the control block.
#include <doctest/doctest.h>

#include <sstream>

#include "tests/capture/phase_run.hpp"

namespace stallcast::test {
namespace {

constexpr std::uint64_t k_ms = 1'000'000;

struct Times {
  std::uint64_t wall_ns = 0;
  std::uint64_t cpu_ns = 0;
};

Times times_of(const std::string& line) {
  Times times;
  std::istringstream(line) >> times.wall_ns >> times.cpu_ns;
  return times;
}

TEST_CASE("every read of a sample is delayed, and the reads outside of it are not") {
  const TemporaryFolder folder;
  const auto file = make_file(folder.path(), "a", 1000);
  PhasedRun run;
  const std::string keep = "keep:" + file.string();
  std::vector<std::string> commands{keep, begin(Phase::perturb_read, 0, 0, 0, 5 * k_ms), "sample", "time"};
  commands.insert(commands.end(), 6, "pread:0:100");
  commands.insert(commands.end(),
                  {"time", "done", "end", begin(Phase::perturb_read, 0, 0, 1, 3600'000 * k_ms), "pread:0:100", "end",
                   begin(Phase::cached, 1, 0, 2, 3600'000 * k_ms), "sample", "pread:0:100", "done", "end"});
  const auto lines = run.guest(commands);
  // The last sleep may have been cut short by what the others overslept; their sum is right.
  CHECK(times_of(lines.at(7)).wall_ns >= 25 * k_ms);
  const auto recording = run.folder().recording();
  REQUIRE(!recording.samples.empty());
  CHECK(recording.samples[0].read_ns >= 25 * k_ms);
  CHECK(recording.samples[0].reads == 6);
}

TEST_CASE("streams are delayed where they read, not where their buffer serves") {
  const TemporaryFolder folder;
  const auto file = make_file(folder.path(), "a", 3000);
  PhasedRun run;
  const auto lines =
      run.guest({"stream:" + file.string(), begin(Phase::perturb_read, 0, 0, 0, 20 * k_ms), "sample", "time",
                 "fread:1000", "time", "done", "end", begin(Phase::perturb_read, 1, 0, 0, 3600'000 * k_ms), "sample",
                 "fread:1000", "done", "end"});
  CHECK(times_of(lines.at(2)).wall_ns >= 20 * k_ms);
}

TEST_CASE("each sample costs the extra work") {
  PhasedRun run;
  const auto lines = run.guest(
      {begin(Phase::perturb_cpu, 0, 0, 0, 5 * k_ms), "time", "sample", "done", "sample", "done", "time", "end"});
  CHECK(times_of(lines.at(1)).cpu_ns >= 10 * k_ms);
  const auto recording = run.folder().recording();
  REQUIRE(recording.samples.size() == 2);
  CHECK(recording.samples[0].wall_ns >= 5 * k_ms);
  CHECK(recording.batches.at(0).cpu_ns >= 10 * k_ms);
}

TEST_CASE("what a program computes that a batch starts and waits for is the batch's") {
  PhasedRun run;
  const std::string child = "child:" + std::to_string(60 * k_ms);
  run.guest({child, "batch", "sample", child, "done", "done_batch", "batch", "sample", "done", "done_batch"});
  const auto recording = run.folder().recording();
  REQUIRE(recording.batches.size() == 2);
  CHECK(recording.batches[0].cpu_ns >= 55 * k_ms);
  CHECK(recording.batches[0].cpu_ns < 110 * k_ms);  // not what ran before it
  CHECK(recording.batches[1].cpu_ns < 20 * k_ms);
}

TEST_CASE("what other threads of a worker read and compute for a batch is the batch's") {
  const TemporaryFolder folder;
  const auto file = make_file(folder.path(), "a", 300'000);
  PhasedRun run;
  run.guest({"batch", "sample", "aside:" + file.string() + ":" + std::to_string(40 * k_ms), "done", "done_batch",
             "batch", "sample", "done", "done_batch"});
  const auto recording = run.folder().recording();
  REQUIRE(recording.batches.size() == 2);
  CHECK(recording.batches[0].cpu_ns >= 38 * k_ms);
  CHECK(recording.batches[0].io.read_bytes == 300'000);
  CHECK(recording.batches[0].io.opens == 1);
  CHECK(recording.batches[0].io.read_ns > 0);
  CHECK(recording.batches[1].cpu_ns < 20 * k_ms);
  CHECK(recording.batches[1].io.read_bytes == 0);
  REQUIRE(recording.files.size() == 1);
  CHECK(recording.files[0].read_bytes == 300'000);
  REQUIRE(recording.paths.size() == 1);
  CHECK(recording.paths[0].size_bytes == 300'000);  // which the guest did not ask for
}

TEST_CASE("a segment is seen once it is published") {
  PhasedRun run;
  record::ControlBlock& control = run.control();
  control.segments[0] = {
      .first = 40, .argument = 7, .batches = 12, .phase = 8, .round = 3, .at_once = 2, .seed = 9, .made_as = 1};
  control.segment_count.store(1, std::memory_order_release);
  const auto lines = run.guest({"phased", "segment:0", "segment:1"});
  CHECK(lines == std::vector<std::string>{"1", "1 40 12 8 3 2 7 9 1", "0"});
  control.mode = static_cast<std::uint32_t>(record::RunMode::passive);
  CHECK(run.guest({"phased", "segment:0"}) == std::vector<std::string>{"0", "0"});
}

TEST_CASE("the consumer's line has what it said") {
  PhasedRun run;
  run.guest({"slot:20:8:108:5:4:2:3:0"});
  const record::PhaseSlot& slot = run.control().phases[0];
  CHECK(slot.armed.load() == 1);
  CHECK(slot.turns.load() == 20);
  CHECK(slot.pass_first.load() == 8);
  CHECK(slot.pass_end.load() == 108);
  CHECK(slot.passes.load() == 5);
  CHECK(slot.workers.load() == 4);
  CHECK(slot.prefetch.load() == 2);
  CHECK(slot.missed.load() == 3);
  CHECK(slot.support.load() == 0);
  CHECK(run.control().ranks[0].pid.load() != 0);
}

}  // namespace
}  // namespace stallcast::test
