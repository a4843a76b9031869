// Clocks of several machines against each other, by the steps that a job's ranks end together.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "analyzer/analyze.hpp"
#include "tests/analyzer/node_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

namespace {

constexpr double k_step_s = 0.1;
constexpr double k_ahead_s = 5000.0;  // the second machine's wall clock

/// Two nodes of two ranks whose steps end at the same true time, but for what `jitter_s(rank, step)` says; rank 2 gets
/// its batches 30 ms after the others.
std::vector<RunData> in_step(const std::function<double(std::size_t, std::size_t)>& jitter_s) {
  std::vector<RunData> nodes = two_nodes(two_ranks());
  nodes[1].log.start_realtime_ns = nodes[0].log.start_realtime_ns + ns(k_ahead_s);
  for (std::size_t node = 0; node < 2; ++node) {
    RunData& run = nodes[node];
    for (std::size_t i = 0; i < run.consumers.size(); ++i) {
      const std::size_t rank = 2 * node + i;
      for (auto& process : run.processes) {
        if (process.info.pid != run.consumers[i].pid) continue;
        const double begin_s = static_cast<double>(run.log.start_monotonic_ns) * 1e-9 + 1.0;
        for (std::size_t k = 0; k < process.steps.size(); ++k) {
          process.steps[k].step = k;
          process.steps[k].time_ns = ns(begin_s + k_step_s * static_cast<double>(k + 1) + jitter_s(rank, k));
        }
        for (std::size_t k = 0; k < process.waits.size(); ++k) {
          process.waits[k].begin_ns = ns(begin_s + k_step_s * static_cast<double>(k) + 0.005);
          process.waits[k].end_ns = process.waits[k].begin_ns + ns(rank == 2 ? 0.040 : 0.010);
        }
      }
    }
    run.consumers.clear();
    join_run(run);
  }
  return nodes;
}

}  // namespace

TEST_CASE("ranks that end their steps together tell how far their machines' clocks are apart, and who comes last") {
  const Profile job =
      merged(in_step([](std::size_t rank, std::size_t k) { return 0.001 * static_cast<double>((3 * k + rank) % 4); }));
  REQUIRE(job.ranks.size() == 4);
  CHECK(job.ranks[0].clock_offset->value() == 0.0);
  CHECK(job.ranks[1].clock_offset->value() == 0.0);  // one machine, one clock
  CHECK(job.ranks[2].clock_offset->value() == doctest::Approx(k_ahead_s).epsilon(1e-6));
  CHECK(job.ranks[3].clock_offset->value() == doctest::Approx(k_ahead_s).epsilon(1e-6));
  REQUIRE(job.ranks[2].last.has_value());
  CHECK(*job.ranks[2].last == doctest::Approx(1.0));
  CHECK(*job.ranks[0].last == doctest::Approx(0.0));
  CHECK(job.ranks[2].late->mean.value() == doctest::Approx(0.030).epsilon(0.1));
  CHECK(job.ranks[0].late->mean.value() < 0.004);
}

TEST_CASE("nothing is said of the clocks of ranks that do not wait for each other") {
  // Rank 3 falls behind by a tenth of a step in each step.
  const Profile job = merged(in_step(
      [](std::size_t rank, std::size_t k) { return rank == 3 ? 0.1 * k_step_s * static_cast<double>(k) : 0.0; }));
  CHECK_FALSE(job.ranks[3].clock_offset.has_value());
  CHECK(job.ranks[3].clock_offset.reason().find("do not end their steps together") != std::string::npos);
  for (const Rank& rank : job.ranks) {
    CHECK_FALSE(rank.last.has_value());
    CHECK_FALSE(rank.late.has_value());
  }
}

TEST_CASE("too few steps, and one rank alone") {
  CHECK(analyze_run(make_run(fetch_bound())).ranks[0].clock_offset.reason() == "one rank has nobody's clock to go by");
  std::vector<RunData> nodes = in_step([](std::size_t, std::size_t) { return 0.0; });
  for (auto& process : nodes[1].processes) process.steps.resize(std::min<std::size_t>(process.steps.size(), 5));
  nodes[1].consumers.clear();
  join_run(nodes[1]);
  const Profile job = merged(std::move(nodes));
  CHECK_FALSE(job.ranks[2].clock_offset.has_value());
  CHECK(job.ranks[2].clock_offset.reason().find("too few steps") != std::string::npos);
}
