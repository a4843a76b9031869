#include "tests/analyzer/node_builder.hpp"

#include <algorithm>
#include <utility>

#include "analyzer/analyze.hpp"
#include "analyzer/load/nodes.hpp"
#include "core/check.hpp"

namespace stallcast::synthetic {
namespace {

constexpr std::uint64_t k_boot_ns = 1'700'000'000'000'000'000ULL;

}  // namespace

JobSpec two_ranks() {
  JobSpec spec = fetch_bound();
  spec.ranks = 2;
  return spec;
}

RunData node(JobSpec spec, int number, int world) {
  spec.seed += static_cast<std::uint64_t>(number);
  RunData run = make_recordings(spec);
  const std::string host = "node" + std::to_string(number);
  run.name = host + "-0";
  run.log.run_id = "run-of-" + host;
  run.log.host->name = host;
  run.log.ranks_expected = world;
  run.log.start_realtime_ns = k_boot_ns + run.log.start_monotonic_ns;
  for (auto& process : run.processes) {
    process.info.run_id = run.log.run_id;
    process.info.host = host;
    const int own = spec.ranks > 1 ? static_cast<int>(process.info.rank) : 0;
    process.info.rank = static_cast<std::uint32_t>(own + number * spec.ranks);
    process.info.world_size = static_cast<std::uint32_t>(world);
    process.info.start_realtime_ns = k_boot_ns + process.info.start_monotonic_ns;
  }
  join_run(run);
  return run;
}

std::vector<RunData> two_nodes(const JobSpec& spec) {
  std::vector<RunData> nodes;
  nodes.push_back(node(spec, 0));
  nodes.push_back(node(spec, 1));
  return nodes;
}

std::vector<RunData> joined(std::vector<RunData> nodes) {
  auto job = one_job(std::move(nodes));
  STALLCAST_CHECK(job.ok());
  note_job(job.value());
  return std::move(job).value();
}

Profile merged(std::vector<RunData> nodes) {
  return analyze_nodes(joined(std::move(nodes)));
}

}  // namespace stallcast::synthetic
