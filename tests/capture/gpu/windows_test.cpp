/// When CUPTI records: jobs of fast and of slow steps, beside blocks, and what a window may cost.
#include "probes/capture/gpu/windows.hpp"

#include <doctest/doctest.h>

#include <memory>

namespace stallcast::gpu {
namespace {

constexpr std::uint64_t k_millisecond = 1'000'000;
constexpr std::uint64_t k_start = 1'000'000 * k_millisecond;

/// A job whose steps take `step_ms` and have 400 kernels each, looked at as it waits for a batch, in steps of 20 ms.
struct Job {
  double step_ms;
  TraceWindows windows{false};
  std::uint64_t first_batch_ms = 2'000;
  std::uint64_t at_ms = 0;
  std::uint64_t kernels = 0;
  std::uint64_t counted = 0;
  int begun = 0;

  [[nodiscard]] std::uint64_t batches() const {
    return at_ms < first_batch_ms ? 0 : 1 + static_cast<std::uint64_t>(double(at_ms - first_batch_ms) / step_ms);
  }

  /// Until that time; what was changed last.
  Change run_until(std::uint64_t until_ms, bool as_found = true) {
    Change last = Change::none;
    for (; at_ms < until_ms; at_ms += 20) {
      if (batches() == counted) continue;
      if (windows.open()) kernels += (batches() - counted) * 400;
      counted = batches();
      const Change change =
          windows.next({k_start + at_ms * k_millisecond, as_found && batches() > 0, batches(), kernels});
      if (change == Change::begin) ++begun;
      if (change != Change::none) last = change;
    }
    return last;
  }
};

TEST_CASE("nothing is recorded before the first batch; the first window is of the job's first steps") {
  Job job{.step_ms = 20.0};
  CHECK(job.run_until(2'000) == Change::none);
  CHECK(job.run_until(2'020) == Change::begin);
  CHECK(job.run_until(2'200) == Change::none);
  CHECK(job.run_until(2'400) == Change::end);
}

TEST_CASE("three short windows soon, then rests of 250 times what the kernels of one can have cost") {
  Job job{.step_ms = 20.0};
  job.run_until(6'000);
  CHECK(job.begun >= 2);
  const int soon = job.begun;
  // 0.26 s have 13 steps of 400 kernels: 5,200 * 8 us * 250 = 10 s
  job.run_until(66'000);
  CHECK(job.begun - soon >= 4);
  CHECK(job.begun - soon <= 7);
}

TEST_CASE("for tests of switching there are windows as often as can be") {
  Job job{.step_ms = 8.0, .windows = TraceWindows(true)};
  job.run_until(62'000);
  CHECK(job.begun > 300);
}

TEST_CASE("in an hour, what recording can have cost stays below half a percent") {
  for (const double step_ms : {2.0, 8.0, 250.0}) {
    CAPTURE(step_ms);
    Job job{.step_ms = step_ms};
    job.run_until(3'600'000);
    CHECK(job.begun > 20);
    CHECK(double(job.kernels) * 0.008 / 3'600'000 < 0.005);
  }
}

TEST_CASE("slow steps: a window has eight, or ends with the wait after ten seconds; most steps are without one") {
  Job job{.step_ms = 250.0};
  job.run_until(9'000);
  CHECK(job.begun == 2);
  CHECK(job.windows.open());
  job.run_until(11'000);
  CHECK(!job.windows.open());
  Job slower{.step_ms = 4'000.0};
  slower.run_until(14'100);
  CHECK(slower.begun == 1);
  CHECK(!slower.windows.open());
  slower.run_until(37'000);
  CHECK(slower.begun == 1);
  slower.run_until(40'000);
  CHECK(slower.begun == 2);
  for (const double step_ms : {72.0, 250.0, 4'000.0}) {
    CAPTURE(step_ms);
    Job any{.step_ms = step_ms};
    any.run_until(300'000);
    CHECK(double(any.kernels) / 400.0 < 0.4 * double(any.batches()));
  }
}

TEST_CASE("a block ends a window, and none begins beside it") {
  Job job{.step_ms = 20.0};
  job.run_until(3'000);
  const int before = job.begun;
  job.run_until(3'020, /*as_found=*/false);
  CHECK(!job.windows.open());
  CHECK(job.run_until(20'000, /*as_found=*/false) == Change::none);
  CHECK(job.begun == before);
  CHECK(job.run_until(21'000) != Change::none);
  CHECK(job.begun > before);
}

TEST_CASE("a job that rests is not recorded") {
  Job job{.step_ms = 20.0};
  job.run_until(2'100);
  while (job.windows.open()) job.run_until(job.at_ms + 20);
  const std::uint64_t batches = job.counted;
  for (int i = 0; i < 500; ++i)
    CHECK(job.windows.next({k_start + (3'000 + 20 * i) * k_millisecond, true, batches, 0}) == Change::none);
}

struct Run {
  std::unique_ptr<record::ControlBlock> control = std::make_unique<record::ControlBlock>();

  Run() {
    control->recording = 1;
    control->ranks[3].pid = 77;
    control->ranks[3].batches = 100;
    control->phases[3].turns = 100;
    control->phases[3].workers = 4;
    control->phases[3].prefetch = 2;
  }

  void add(std::uint64_t first, std::uint32_t batches, record::Phase phase) {
    const std::uint32_t count = control->segment_count;
    control->segments[count] = {first, 0, batches, static_cast<std::uint32_t>(phase), 0, 0, 0, 0};
    control->segment_count = count + 1;
  }

  [[nodiscard]] bool as_found(std::uint64_t turns) const {
    control->phases[3].turns = turns;
    std::optional<std::uint32_t> slot;
    return look_at(*control, 77, k_start, slot).as_found;
  }
};

TEST_CASE("a look finds the process's own slot, and what it was given") {
  Run run;
  std::optional<std::uint32_t> slot;
  const Look look = look_at(*run.control, 77, k_start, slot);
  CHECK(look.batches == 100);
  CHECK(look.as_found);
  CHECK(slot == 3);
  CHECK(!look_at(*run.control, 78, k_start, slot).as_found);
  CHECK(!slot);
}

TEST_CASE("as found is what no block is under way or soon to be") {
  Run run;
  run.add(150, 10, record::Phase::cold);
  run.add(160, 5, record::Phase::synthetic);
  CHECK(run.as_found(100));
  CHECK(run.as_found(137));
  CHECK(!run.as_found(138));  // 8 under way and 4 more
  CHECK(!run.as_found(155));
  CHECK(!run.as_found(164));
  CHECK(run.as_found(165));
  run.add(300, 10, record::Phase::as_is);
  CHECK(run.as_found(305));
}

TEST_CASE("nothing is recorded where recording is off, over, or the job was let go of") {
  Run run;
  run.control->recording = 0;
  CHECK(!run.as_found(100));
  run.control->recording = 1;
  run.control->let_go = 1;
  CHECK(!run.as_found(100));
  run.control->let_go = 0;
  run.control->stop = 1;
  CHECK(!run.as_found(100));
  run.control->stop = 0;
  CHECK(run.as_found(100));
}

}  // namespace
}  // namespace stallcast::gpu
