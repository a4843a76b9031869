// Which launches of a job ran on one machine, and what of it each had.
#include "analyzer/load/machines.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "analyzer/analyze.hpp"
#include "tests/analyzer/node_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

TEST_CASE("launches on one machine share its cores") {
  JobSpec both = prep_bound();
  both.loader.workers = 4;
  both.cores = 2.0;
  both.ranks = 2;  // on 4 cores
  const Profile one = analyze_run(make_run(both));
  JobSpec each = both;
  each.ranks = 1;
  std::vector<RunData> nodes;
  for (int number = 0; number < 2; ++number) {
    RunData run = node(each, number, 2);
    run.log.host->name = "node0";
    run.log.host->usable_cpus = 4.0;
    for (auto& process : run.processes) {
      process.info.host = "node0";
    }
    run.consumers.clear();
    join_run(run);
    nodes.push_back(std::move(run));
  }
  const Profile job = merged(nodes);
  CHECK(job.host.hosts_seen == 1);
  CHECK(job.job.ranks_seen == 2);
  CHECK(issue_of(job, "nodes-not-aligned") == nullptr);
  REQUIRE(job.stalls.as_is_prep.has_value());
  CHECK(std::abs(job.stalls.as_is_prep->mean - one.stalls.as_is_prep->mean) < 0.03);
  CHECK(job.resources.page_cache_available->value() < analyze_run(nodes[0]).resources.page_cache_available->value());
}

TEST_CASE("launches that are bound to cores of their own keep them") {
  JobSpec spec = prep_bound();
  spec.loader.workers = 4;
  spec.cores = 2.0;
  const auto bound = [&](const char* first, const char* second) {
    std::vector<RunData> nodes;
    for (int number = 0; number < 2; ++number) {
      RunData run = node(spec, number, 2);
      run.log.host->name = "node0";
      run.log.host->usable_cpus_limited_by = "affinity";
      for (auto& process : run.processes) process.info.host = "node0";
      for (Tick& tick : run.log.ticks) {
        for (ProcessTick& process : tick.processes) process.cpus = number == 0 ? first : second;
      }
      nodes.push_back(std::move(run));
    }
    return joined(std::move(nodes));
  };
  for (const RunData& run : bound("0-1", "2-3")) CHECK(run.log.host->usable_cpus == 2.0);
  for (const RunData& run : bound("0-1", "0-1")) CHECK(run.log.host->usable_cpus == 1.0);
  for (const RunData& run : bound("garbage", "")) CHECK(run.log.host->usable_cpus == 1.0);
  CHECK(analyze_nodes(bound("0-1", "2-3")).host.usable_cpus == 4.0);
}

TEST_CASE("machines that are called alike are told apart by when they were started") {
  std::vector<RunData> nodes = two_nodes(two_ranks());
  for (RunData& run : nodes) {
    run.log.host->name = "localhost";
    for (auto& process : run.processes) process.info.host = "localhost";
    for (Consumer& consumer : run.consumers) consumer.host = "localhost";
  }
  CHECK(merged(nodes).host.hosts_seen == 1);
  nodes[1].log.start_realtime_ns -= 600'000'000'000ULL;
  CHECK(merged(nodes).host.hosts_seen == 2);
}
