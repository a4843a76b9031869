#include "cli/launches.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "analyzer/load/phase_name.hpp"
#include "cli/exit_status.hpp"
#include "cli/phases.hpp"
#include "cli/terminal.hpp"

namespace stallcast::cli {
namespace {

/// Starts `launch` behind those of `all`. False: no further one.
bool run_launch(const RecordOptions& launch, Launched& all) {
  auto recorded = record_run(launch);
  if (!recorded) {
    print_error(recorded.error());
    all.status = k_exit_wrapper;
    return false;
  }
  if (!recorded.value().launched) {
    const std::string& failure = recorded.value().launch_failure;
    print_error({ErrorCode::environment, fmt::format("cannot run {}: {}", launch.command.front(), failure), ""});
    all.status = recorded.value().exit_code;
    return false;
  }
  recorded.value().populated_pages.add(all.run.populated_pages);
  all.run = std::move(recorded).value();
  all.recordings = all.run.recordings;
  if (all.run.collect_error) {
    print_error(*all.run.collect_error);
    return false;
  }
  if (!launch.part.empty()) all.recordings = all.run.recordings.parent_path();
  return (all.run.exit_code == 0 || all.run.ended_by_us) && !all.run.interrupted;
}

}  // namespace

std::vector<RecordOptions> launches_of(const RecordOptions& record, bool separate) {
  if (!separate || !record.phased) return {record};
  std::vector<RecordOptions> launches;
  const std::vector<record::Phase>& phases = record.phased->wants.phases;
  for (const record::Phase phase : phases) {
    if (block_of(phase) != phase) continue;  // in the launch of that state
    RecordOptions launch = record;
    launch.part = phase_name(phase);
    launch.beside_earlier = !launches.empty();
    launch.phased->wants.phases.clear();
    std::copy_if(phases.begin(), phases.end(), std::back_inserter(launch.phased->wants.phases),
                 [&](record::Phase wanted) { return block_of(wanted) == phase; });
    launch.phased->wants.extras = false;
    launches.push_back(std::move(launch));
  }
  for (RecordOptions& launch : launches) {
    launch.phased->wants.budget = record.phased->wants.budget / static_cast<double>(launches.size());
  }
  return launches;
}

Launched run_launches(std::vector<RecordOptions> launches) {
  Launched all;
  for (RecordOptions& launch : launches) {
    if (launch.beside_earlier) {
      launch.output = all.run.output;
      launch.force = true;
    }
    if (!launch.part.empty()) print_note("launch for the state " + launch.part);
    if (!run_launch(launch, all)) break;
  }
  return all;
}

}  // namespace stallcast::cli
