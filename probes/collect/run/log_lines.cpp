#include "probes/collect/run/log_lines.hpp"

#include <sys/sysmacros.h>

#include <nlohmann/json.hpp>

#include "probes/collect/system/or_null.hpp"
#include "probes/collect/system/text_file.hpp"

namespace stallcast::collect {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& object) {
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json rank_json(const RankReading& rank) {
  return {{"slot", rank.slot},
          {"pid", rank.pid},
          {"rank", rank.rank == UINT32_MAX ? Json(nullptr) : Json(rank.rank)},
          {"batches", rank.batches},
          {"samples", rank.samples},
          {"waited_ns", rank.waited_ns},
          {"delivered_ns", rank.delivered_ns},
          {"steps", rank.steps},
          {"state", rank_state_name(rank.state)}};
}

Json process_json(const Process& process) {
  return {{"pid", process.pid},
          {"ppid", process.stat.parent_pid},
          {"name", process.stat.name},
          {"cpu_ns", process.cpu_ns},
          {"run_delay_ns", or_null(process.run_delay_ns)},
          {"read_bytes", process.io ? Json(process.io->read_bytes) : Json(nullptr)},
          {"rchar", process.io ? Json(process.io->rchar) : Json(nullptr)},
          {"minor_faults", process.stat.minor_faults},
          {"major_faults", process.stat.major_faults},
          {"rss_bytes", process.stat.rss_bytes},
          {"anon_bytes", or_null(process.anonymous_bytes)},
          {"pss_bytes", process.proportional ? Json(process.proportional->bytes) : Json(nullptr)},
          {"pss_anon_bytes", process.proportional ? or_null(process.proportional->anonymous_bytes) : Json(nullptr)},
          {"pss_swap_bytes", process.proportional ? or_null(process.proportional->swap_bytes) : Json(nullptr)},
          {"swap_bytes", process.status ? Json(process.status->swap_bytes) : Json(nullptr)},
          {"cpus", process.status ? Json(process.status->cpus) : Json(nullptr)}};
}

}  // namespace

std::string to_line(const RunLine& run) {
  return text_of({{"kind", "run"},
                  {"version", k_log_version},
                  {"run_id", run.run_id},
                  {"tool_version", run.tool_version},
                  {"command", run.command},
                  {"mode", run.mode},
                  {"restart", run.restart},
                  {"job", run.job},
                  {"start_monotonic_ns", run.start_monotonic_ns},
                  {"start_realtime_ns", run.start_realtime_ns},
                  {"ranks_expected", run.ranks_expected}});
}

std::string to_line(const HostFacts& host, const std::optional<ResidentReadCost>& resident_read,
                    const std::optional<double>& fresh_page_s) {
  return text_of({{"kind", "host"},
                  {"name", host.name},
                  {"kernel", host.kernel},
                  {"cpu_model", host.cpu_model},
                  {"logical_cpus", host.logical_cpus},
                  {"physical_cpus", host.physical_cpus},
                  {"usable_cpus", host.usable_cpus},
                  {"usable_cpus_limited_by", host.usable_cpus_limited_by},
                  {"memory_bytes", host.memory_bytes},
                  {"memory_limit_bytes", or_null(host.memory_limit_bytes)},
                  {"shm_free_bytes", or_null(host.shm_free_bytes)},
                  {"resident_read_s_per_call", resident_read ? Json(resident_read->seconds_per_call) : Json(nullptr)},
                  {"resident_read_s_per_byte", resident_read ? Json(resident_read->seconds_per_byte) : Json(nullptr)},
                  {"fresh_page_s", or_null(fresh_page_s)},
                  {"environment", Json(host.environment)}});
}

std::string to_line(const std::vector<Mount>& mounts) {
  Json types = Json::object();  // by st_dev, as the recordings have it
  for (const Mount& mount : mounts) {
    const auto numbers = split_fields(mount.device, ':');
    const auto major = numbers.size() == 2 ? parse_u64(numbers[0]) : std::nullopt;
    const auto minor = numbers.size() == 2 ? parse_u64(numbers[1]) : std::nullopt;
    if (!major || !minor) continue;
    types[std::to_string(makedev(static_cast<unsigned>(*major), static_cast<unsigned>(*minor)))] = mount.type;
  }
  return text_of({{"kind", "filesystems"}, {"types", std::move(types)}});
}

std::string to_line(const TickLine& tick) {
  Json ranks = Json::array();
  for (const RankReading& rank : tick.ranks) ranks.push_back(rank_json(rank));
  Json processes = Json::array();
  if (tick.processes != nullptr) {
    for (const Process& process : *tick.processes) processes.push_back(process_json(process));
  }
  return text_of({{"kind", "tick"},
                  {"t_ns", tick.t_ns},
                  {"recording", tick.recording ? 1 : 0},
                  {"ranks", std::move(ranks)},
                  {"processes", std::move(processes)},
                  {"tree_cpu_ns", tick.tree_cpu_ns},
                  {"read_bytes_tree", or_null(tick.tree_read_bytes)},
                  {"shm_free_bytes", or_null(tick.shm_free_bytes)},
                  {"quota_periods", tick.throttling ? Json(tick.throttling->periods) : Json(nullptr)},
                  {"quota_throttled", tick.throttling ? Json(tick.throttling->throttled) : Json(nullptr)},
                  {"quota_throttled_ns", tick.throttling ? Json(tick.throttling->time_ns) : Json(nullptr)},
                  {"machine_cpus", tick.machine ? Json(tick.machine->cpus) : Json(nullptr)},
                  {"machine_idle_ns", tick.machine ? Json(tick.machine->idle_ns) : Json(nullptr)},
                  {"machine_stolen_ns", tick.machine ? Json(tick.machine->stolen_ns) : Json(nullptr)},
                  {"tool_cpu_ns", tick.tool_cpu_ns}});
}

std::string to_line(const DataIssue& issue) {
  return text_of({{"kind", "issue"},
                  {"id", issue.id},
                  {"severity", severity_name(issue.severity)},
                  {"count", issue.count},
                  {"detail", issue.detail},
                  {"hint", issue.hint}});
}

std::string to_line(const EndLine& end) {
  return text_of({{"kind", "end"},
                  {"t_ns", end.t_ns},
                  {"exit_code", end.exit_code},
                  {"signal", end.signal},
                  {"interrupted", end.interrupted},
                  {"ended_by_us", end.ended_by_us}});
}

}  // namespace stallcast::collect
