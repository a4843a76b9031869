/// Measured runs that found their files in memory, whose recorded times do not explain the steps.
#include <doctest/doctest.h>

#include <cmath>
#include <utility>

#include "analyzer/analyze.hpp"
#include "tests/analyzer/phased_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

namespace {

/// Steps of 100 ms against makings of 0.3 s in two workers; nothing can be made cold.
PhasedSpec job_in_memory() {
  PhasedSpec spec;
  spec.job.read_s = 0.01;
  spec.job.cpu_s = 0.3;
  spec.job.read_cv = spec.job.cpu_cv = spec.job.step_cv = 0.0;
  spec.as_is = 200;
  spec.as_is_reads = 0.0;
  spec.cold_resident_share = 1.0;
  spec.cold_storage_share = 0.0;
  return spec;
}

/// `bytes` came from storage until the phases began, by the kernel's count.
void read_from_storage(RunData& run, std::int64_t bytes) {
  const Consumer& consumer = run.consumers.front();
  const auto& deliveries = consumer.passes.front().deliveries;
  const auto tick_at = [&](std::uint64_t t_ns, std::int64_t read) {
    Tick tick;
    tick.t_ns = t_ns;
    tick.recording = true;
    RankTick rank;
    rank.pid = consumer.pid;
    for (const Delivery& delivery : deliveries) {
      if (delivery.wait.end_ns > t_ns) continue;
      ++rank.batches;
      rank.samples += delivery.wait.samples;
    }
    tick.ranks = {rank};
    tick.tree_read_bytes = read;
    return tick;
  };
  run.log.ticks = {tick_at(deliveries[9].wait.end_ns, 0), tick_at(consumer.phases_begin_ns - 1, bytes)};
}

/// As found, the workers' records tell of a tenth of what making a batch took.
void leave_unexplained(RunData& run) {
  Consumer& consumer = run.consumers.front();
  for (Delivery& delivery : consumer.passes.front().deliveries) {
    if (delivery.wait.end_ns >= consumer.phases_begin_ns) continue;
    record::BatchRecord& made = delivery.made;
    made.begin_ns = made.end_ns - (made.end_ns - made.begin_ns) / 10;
    made.cpu_ns /= 10;
  }
}

}  // namespace

TEST_CASE("a run that found its files in memory divides by its blocks where its records do not explain the steps") {
  const PhasedSpec spec = job_in_memory();
  const PhasedTruth truth = truth_of(spec);
  const double prep = (truth.cached_s - truth.synthetic_s) / truth.cached_s;
  RunData run = make_phased_run(spec);
  read_from_storage(run, 0);

  const Profile explained = analyze_run(run);
  CHECK(issue_of(explained, "replay-disagrees") == nullptr);
  REQUIRE(explained.stalls.as_is_prep);  // attributed

  leave_unexplained(run);
  const Profile profile = analyze_run(run);
  const DataIssue* issue = issue_of(profile, "replay-disagrees");
  REQUIRE(issue != nullptr);
  CHECK(issue->hint.find("--phases as_is") == std::string::npos);  // it was none
  REQUIRE(profile.stalls.as_is_prep);
  CHECK(std::abs(profile.stalls.as_is_prep->mean - prep) < 0.03);
  CHECK(profile.stalls.as_is_fetch->mean == 0.0);
  CHECK(profile.stalls.as_is_fetch->ci95_high < 0.1);
  CHECK_FALSE(profile.stalls.prep);

  RunData slower = run;
  for (Delivery& delivery : slower.consumers.front().passes.front().deliveries) {
    if (delivery.wait.end_ns >= slower.consumers.front().phases_begin_ns) continue;
    delivery.wait.samples = delivery.wait.samples * 9 / 10;  // a tenth fewer samples a second than from memory
  }
  CHECK_FALSE(analyze_run(slower).stalls.as_is_prep);

  read_from_storage(run, 1'000'000'000'000);
  const Profile stored = analyze_run(run);
  REQUIRE(issue_of(stored, "replay-disagrees") != nullptr);
  CHECK_FALSE(stored.stalls.as_is_prep);
}
