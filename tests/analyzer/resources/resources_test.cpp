#include <doctest/doctest.h>

#include <algorithm>

#include "analyzer/analyze.hpp"
#include "tests/analyzer/phased_builder.hpp"
#include "tests/analyzer/run_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

TEST_CASE("the costs of a sample are what was drawn") {
  JobSpec spec = fetch_bound();
  spec.host_s = 0.02;
  spec.other_s = 0.03;
  const Profile profile = analyze_run(make_run(spec));
  const Resources& resources = profile.resources;
  CHECK(near(resources.worker_cpu->mean.value() * 32, 0.16, 0.03));
  CHECK(near(resources.worker_wall->mean.value() * 32, 0.49, 0.03));
  const double resident = 128 * k_resident_s_per_call + 3.2e6 * k_resident_s_per_byte;
  CHECK(near(resources.read->mean.value() * 32, 0.3 + resident, 0.03));
  CHECK(near(resources.read_from_memory->mean.value() * 32, resident, 0.01));
  CHECK(near(resources.consumer_cpu->mean.value() * 32, 0.02, 0.03));
  CHECK(near(resources.tree_cpu->mean.value() * 32, 0.18, 0.03));
  CHECK(near(resources.compute->mean.value(), 0.12, 0.03));
  CHECK(near(resources.step->mean.value(), resources.compute->mean.value() + resources.wait->mean.value(), 1e-6));
  CHECK(resources.worker_memory->value() == 350e6);
  CHECK(resources.anonymous_memory->value() == 2.3e9);
  CHECK(resources.page_cache_available->value() == doctest::Approx(61.7e9));
  CHECK(near(resources.storage_bandwidth->value(), profile.rates.as_is->mean.value() * k_bytes_per_sample, 0.05));
}

TEST_CASE("what a state costs is told where it was made, and says else that it was not") {
  const Resources passive = analyze_run(make_run(fetch_bound())).resources;
  CHECK(passive.worker_cpu_cold.reason() == "no cold blocks were run");
  CHECK(passive.worker_wall_cold.reason() == "no cold blocks were run");
  CHECK(passive.worker_cpu_cached.reason() == "no cached blocks were run");
  CHECK(passive.worker_wall_cached.reason() == "no cached blocks were run");
  CHECK(passive.consumer_cpu_cached.reason() == "no cached blocks were run");
  CHECK(passive.step_cpu.reason() == "no synthetic blocks were run");
  const Resources phased = analyze_run(make_phased_run({})).resources;
  for (const auto* cost :
       {&phased.worker_cpu_cold, &phased.worker_wall_cold, &phased.worker_cpu_cached, &phased.worker_wall_cached}) {
    CHECK(cost->has_value());
  }
  // Its consumer wrote no CPU times.
  CHECK(phased.consumer_cpu_cached.reason() == "fewer than two cached blocks show the CPU clock of the consumer");
  CHECK(phased.consumer_cpu_cached.reason().find("fewer than two") == 0);
  CHECK(phased.step_cpu.reason() == "fewer than two synthetic blocks show the CPU clock of the consumer");
}

TEST_CASE("the memory of workers is absent where there are none, and where it cannot be read") {
  const std::string reason = "no worker process was seen, or its memory could not be read";
  RunData run = make_run(fetch_bound());
  CHECK(analyze_run(run).resources.worker_memory.has_value());
  for (Tick& tick : run.log.ticks) {
    for (ProcessTick& process : tick.processes) process.pss_bytes = -1;
  }
  CHECK(analyze_run(run).resources.worker_memory.reason() == reason);
  CHECK(analyze_run(run).resources.anonymous_memory.has_value());
  JobSpec alone = fetch_bound();
  alone.loader.workers = 0;
  CHECK(analyze_run(make_run(alone)).resources.worker_memory.reason() == reason);
}

TEST_CASE("workers that wait for cores show it") {
  JobSpec spec = prep_bound();
  spec.loader.workers = 4;
  spec.cores = 2.0;
  const Profile profile = analyze_run(make_run(spec));
  CHECK(profile.resources.worker_run_delay->mean.value() * 32 > 0.3);  // 4 workers on 2 cores, 0.5 s each
  spec.run_delay_known = false;
  const Profile unknown = analyze_run(make_run(spec));
  CHECK_FALSE(unknown.resources.worker_run_delay.has_value());
  CHECK(unknown.resources.worker_run_delay.reason().find("schedstat") != std::string::npos);
}

TEST_CASE("a step of several batches is as long as these") {
  JobSpec spec = compute_bound();
  spec.accumulate = 4;
  const Profile profile = analyze_run(make_run(spec));
  CHECK(*profile.job.batches_per_step == 4);
  CHECK(near(profile.resources.step->mean.value(), 0.4, 0.03));
  spec.accumulate = 0;
  const Profile none = analyze_run(make_run(spec));
  CHECK_FALSE(none.job.batches_per_step.has_value());
  CHECK(near(none.resources.step->mean.value(), 0.1, 0.03));
}
