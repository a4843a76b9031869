#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <random>

#include "analyzer/resources/overhead.hpp"
#include "analyzer/steps/rank_view.hpp"
#include "tests/analyzer/run_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

namespace {

Overhead overhead_of(const RunData& run) {
  const sections::Launch launch{&run, {}};
  return sections::overhead_of({&launch, 1});
}

/// Ticks of a job that delivers a sample at a time: one tick at the edge of each stretch of one second.
struct Ticker {
  double on_rate = 1000.0;  ///< samples per second
  double off_rate = 1000.0;
  double on_cpu = 2e-3;  ///< CPU seconds per sample
  double off_cpu = 2e-3;
  double drift_per_stretch = 0;  ///< share by which both rates grow a stretch
  double noise = 0.0;
  int stretches = 20;
  /// As the tool's schedule: on off off on, repeated.
  std::function<bool(int)> records = [](int stretch) { return stretch % 4 == 0 || stretch % 4 == 3; };
};

RunData ticked(const Ticker& ticker) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal(0.0, 1.0);
  RunData run;
  run.has_log = true;
  double samples = 5000.0;
  double cpu_s = 10.0;
  for (int i = 0; i <= ticker.stretches; ++i) {
    Tick tick;
    tick.t_ns = k_start_ns + static_cast<std::uint64_t>(i) * 1'000'000'000ULL;
    tick.recording = ticker.records(i);
    RankTick rank;
    rank.pid = 7;
    rank.samples = static_cast<std::uint64_t>(std::llround(samples));
    rank.batches = rank.samples / 10;
    rank.delivered_ns = tick.t_ns;
    tick.ranks.push_back(rank);
    tick.tree_cpu_ns = std::llround(cpu_s * 1e9);
    run.log.ticks.push_back(tick);
    const double grown = std::pow(1.0 + ticker.drift_per_stretch, i) * (1.0 + ticker.noise * normal(random));
    const double done = (tick.recording ? ticker.on_rate : ticker.off_rate) * grown;
    samples += done;
    cpu_s += done * (tick.recording ? ticker.on_cpu : ticker.off_cpu);
  }
  return run;
}

}  // namespace

TEST_CASE("the cost of recording is the rate lost and the CPU added while it was on") {
  Ticker ticker;
  ticker.on_rate = 990.0;
  ticker.on_cpu = 2.02e-3;
  const Overhead overhead = overhead_of(ticked(ticker));
  REQUIRE(overhead.throughput.has_value());
  CHECK(near(overhead.throughput->mean, 10.0 / 990.0, 0.02));
  REQUIRE(overhead.cpu.has_value());
  CHECK(near(overhead.cpu->mean, 0.01, 0.02));
}

TEST_CASE("a recording that costs nothing shows an interval around 0") {
  Ticker ticker;
  ticker.noise = 0.01;
  const Overhead overhead = overhead_of(ticked(ticker));
  REQUIRE(overhead.throughput.has_value());
  CHECK(overhead.throughput->ci95_low < 0.0);
  CHECK(overhead.throughput->ci95_high > 0.0);
  CHECK(overhead.throughput->ci95_high - overhead.throughput->ci95_low < 0.05);
}

TEST_CASE("a job that becomes faster or slower is not taken for the cost of recording") {
  for (const double drift : {0.01, -0.01}) {
    Ticker ticker;
    ticker.drift_per_stretch = drift;
    const Overhead overhead = overhead_of(ticked(ticker));
    REQUIRE(overhead.throughput.has_value());
    CHECK(std::abs(overhead.throughput->mean) < 0.001);  // unpaired, it would be 0.02
    CHECK(std::abs(overhead.cpu->mean) < 0.001);
  }
}

TEST_CASE("sparse pairs are compared with their neighbours, not with the long stretch between") {
  Ticker ticker;
  ticker.stretches = 100;
  ticker.drift_per_stretch = 0.005;
  ticker.on_rate = 990.0;
  ticker.records = [](int stretch) { return stretch % 15 != 14; };
  const Overhead overhead = overhead_of(ticked(ticker));
  REQUIRE(overhead.throughput.has_value());
  CHECK(overhead.throughput->n == 6);
  CHECK(near(overhead.throughput->mean, 10.0 / 990.0, 0.05));
}

TEST_CASE("too few switches give no figure but a reason") {
  Ticker ticker;
  ticker.stretches = 5;
  const Overhead overhead = overhead_of(ticked(ticker));
  CHECK_FALSE(overhead.throughput.has_value());
  CHECK(overhead.throughput.reason().find("short") != std::string::npos);
  CHECK_FALSE(overhead.cpu.has_value());
  CHECK_FALSE(overhead_of(RunData{}).throughput.has_value());
}

TEST_CASE("nodes that switch at times of their own tell no rate lost, those that did not switch say that") {
  const RunData run = ticked(Ticker{});
  const sections::Launch nodes[] = {{&run, {}}, {&run, {}}};
  CHECK(sections::overhead_of({nodes, 1}).throughput.has_value());
  const Overhead together = sections::overhead_of({nodes, 2});
  CHECK(together.throughput.reason() ==
        "each node switched its recording at times of its own, and ranks in step wait for each other");
  CHECK(together.cpu.has_value());
  Ticker ticker;
  ticker.records = [](int) { return true; };
  const RunData steady = ticked(ticker);
  const sections::Launch unswitched[] = {{&steady, {}}, {&steady, {}}};
  CHECK(sections::overhead_of({unswitched, 2}).throughput.reason().find("the run was too short to switch") == 0);
}

TEST_CASE("only stretches without recording that have both neighbours count") {
  Ticker ticker;
  ticker.stretches = 20;
  CHECK(overhead_of(ticked(ticker)).throughput->n == 5);
  ticker.stretches = 19;  // the last tick switches recording on again, and nothing is known of what follows
  CHECK(overhead_of(ticked(ticker)).throughput->n == 4);
  ticker.records = [](int stretch) { return stretch % 4 == 1 || stretch % 4 == 2; };  // begins without recording
  CHECK(overhead_of(ticked(ticker)).throughput->n == 4);
}

TEST_CASE("CPU times that could not be read leave the rate") {
  Ticker ticker;
  RunData run = ticked(ticker);
  for (Tick& tick : run.log.ticks) tick.tree_cpu_ns = -1;
  const Overhead overhead = overhead_of(run);
  CHECK(overhead.throughput.has_value());
  CHECK_FALSE(overhead.cpu.has_value());
}

TEST_CASE("stretches in which the job did not deliver (evaluation, a checkpoint) are not compared") {
  RunData run = ticked(Ticker{});
  for (std::size_t i = 6; i < run.log.ticks.size(); ++i) {
    run.log.ticks[i].ranks[0].samples -= 1000;  // nothing was delivered between tick 5 and tick 6
    if (i == 6) run.log.ticks[i].ranks[0].delivered_ns -= 1'000'000'000ULL;
  }
  const Overhead overhead = overhead_of(run);
  REQUIRE(overhead.throughput.has_value());
  CHECK(std::abs(overhead.throughput->mean) < 1e-6);
}

TEST_CASE("what was written and what did not fit is summed over processes") {
  RunData run = make_recordings(fetch_bound());
  run.processes[0].info.dropped_records = 4;
  run.processes[1].info.dropped_records = 5;
  const Overhead overhead = overhead_of(run);
  CHECK(overhead.dropped_records == 9);
  CHECK(overhead.recording->value() == 300'000.0);
}
