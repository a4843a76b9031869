#include "tests/analyzer/tool_watch.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/check.hpp"
#include "tests/analyzer/job_draws.hpp"
#include "tests/record/encode_recording.hpp"

namespace stallcast::synthetic {
namespace {

using nlohmann::json;

json rank_json(const RankTick& rank) {
  return {{"pid", rank.pid},
          {"rank", rank.rank < 0 ? json(nullptr) : json(rank.rank)},
          {"batches", rank.batches},
          {"samples", rank.samples},
          {"waited_ns", rank.waited_ns},
          {"delivered_ns", rank.delivered_ns},
          {"steps", rank.steps}};
}

json process_json(const ProcessTick& process) {
  return {{"pid", process.pid},
          {"ppid", process.parent_pid},
          {"cpu_ns", process.cpu_ns},
          {"run_delay_ns", process.run_delay_ns},
          {"anon_bytes", process.anon_bytes},
          {"pss_bytes", process.pss_bytes}};
}

json tick_json(const Tick& tick) {
  json line{{"kind", "tick"},
            {"t_ns", tick.t_ns},
            {"recording", tick.recording ? 1 : 0},
            {"ranks", json::array()},
            {"processes", json::array()},
            {"tree_cpu_ns", tick.tree_cpu_ns},
            {"read_bytes_tree", tick.tree_read_bytes}};
  for (const RankTick& rank : tick.ranks) line["ranks"].push_back(rank_json(rank));
  for (const ProcessTick& process : tick.processes) line["processes"].push_back(process_json(process));
  return line;
}

json host_json(const RunLog& log) {
  return {{"kind", "host"},
          {"name", log.host->name},
          {"logical_cpus", log.host->logical_cpus},
          {"usable_cpus", log.host->usable_cpus},
          {"usable_cpus_limited_by", log.host->usable_cpus_limited_by},
          {"memory_bytes", log.host->memory.value()},
          {"resident_read_s_per_call", log.resident_read->seconds_per_call},
          {"resident_read_s_per_byte", log.resident_read->seconds_per_byte}};
}

}  // namespace

void Watched::add(const Happened& what, Sums& sums) const {
  sums.cpu_s += what.cpu_s;
  sums.bytes += what.bytes * spec_.storage_share;
  if (what.rank < 0) return;
  RankTick& rank = sums.ranks[static_cast<std::size_t>(what.rank)];
  sums.delay_s[static_cast<std::size_t>(what.rank)] += what.delay_s;
  rank.steps += static_cast<std::uint64_t>(what.steps);
  if (what.samples == 0) return;
  ++rank.batches;
  rank.samples += static_cast<std::uint64_t>(what.samples);
  rank.waited_ns += ns(what.waited_s);
  rank.delivered_ns = k_start_ns + ns(what.at_s);
}

Tick Watched::tick_of(double at_s, const Sums& sums) const {
  Tick tick;
  tick.t_ns = k_start_ns + ns(at_s);
  tick.recording = is_recorded(spec_, at_s);
  tick.ranks = sums.ranks;
  tick.tree_cpu_ns = static_cast<std::int64_t>(ns(sums.cpu_s));
  tick.tree_read_bytes = static_cast<std::int64_t>(sums.bytes);
  for (std::size_t i = 0; i < sums.ranks.size(); ++i) {
    ProcessTick consumer;
    consumer.pid = sums.ranks[i].pid;
    consumer.run_delay_ns = static_cast<std::int64_t>(ns(sums.delay_s[i]));
    consumer.anon_bytes = 2'000'000'000;
    consumer.pss_bytes = 2'100'000'000;
    ProcessTick worker;
    worker.pid = consumer.pid + 1;
    worker.parent_pid = consumer.pid;
    worker.anon_bytes = 300'000'000;
    worker.pss_bytes = 350'000'000;
    tick.processes.push_back(consumer);
    if (spec_.loader.workers > 0) tick.processes.push_back(worker);
  }
  return tick;
}

std::vector<double> Watched::tick_times() const {
  std::vector<double> times;
  for (double at = 0.0; at <= happened_.back().at_s + spec_.tick_s; at += spec_.tick_s) times.push_back(at);
  for (const Off& off : spec_.off) {
    times.push_back(off.from_s);
    times.push_back(off.to_s);
  }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  return times;
}

RunLog Watched::log() {
  std::stable_sort(happened_.begin(), happened_.end(),
                   [](const Happened& a, const Happened& b) { return a.at_s < b.at_s; });
  RunLog log;
  log.run_id = "synthetic";
  log.tool_version = "0.1.0";
  log.command = {"python", "train.py"};
  log.start_monotonic_ns = k_start_ns;
  log.ranks_expected = spec_.ranks;
  Host host;
  host.name = "node0";
  host.logical_cpus = 64;
  host.usable_cpus = spec_.cores * spec_.ranks;
  host.memory = Bytes(64e9);
  log.host = host;
  log.resident_read = ResidentRead{k_resident_s_per_call * spec_.scale, k_resident_s_per_byte * spec_.scale};
  log.ended = true;
  Sums sums;
  for (int rank = 0; rank < spec_.ranks; ++rank) {
    RankTick slot;
    slot.pid = k_first_consumer_pid * (rank + 1);
    slot.rank = spec_.ranks > 1 ? rank : -1;
    sums.ranks.push_back(slot);
    sums.delay_s.push_back(0.0);
  }
  auto next = happened_.begin();
  for (const double at : tick_times()) {
    for (; next != happened_.end() && next->at_s <= at; ++next) add(*next, sums);
    log.ticks.push_back(tick_of(at, sums));
  }
  return log;
}

std::string log_text(const RunLog& log) {
  json run{{"kind", "run"},
           {"version", 1},
           {"run_id", log.run_id},
           {"tool_version", log.tool_version},
           {"command", log.command},
           {"job", log.job},
           {"start_monotonic_ns", log.start_monotonic_ns},
           {"start_realtime_ns", log.start_realtime_ns},
           {"ranks_expected", log.ranks_expected}};
  std::string text = run.dump() + "\n" + host_json(log).dump() + "\n";
  for (const Tick& tick : log.ticks) text += tick_json(tick).dump() + "\n";
  if (log.ended) {
    const json end{
        {"kind", "end"}, {"exit_code", log.exit_code}, {"signal", log.signal}, {"interrupted", log.interrupted}};
    text += end.dump() + "\n";
  }
  return text;
}

void write_run(const RunData& run, const std::filesystem::path& folder) {
  if (run.has_log) std::ofstream(folder / "tool.jsonl", std::ios::binary) << log_text(run.log);
  for (const record::ProcessRecording& process : run.processes) {
    const std::vector<std::byte> bytes = record::encode(process);
    std::ofstream file(folder / ("synthetic.0." + process.info.host + "." + std::to_string(process.info.pid) + ".rec"),
                       std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    STALLCAST_CHECK(file.good());
  }
}

}  // namespace stallcast::synthetic
