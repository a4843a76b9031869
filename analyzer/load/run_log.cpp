#include "analyzer/load/run_log.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "analyzer/profile/json_fields.hpp"

namespace stallcast {
namespace {

using nlohmann::json;

/// What no counter can hold reads as not known: casting it would be undefined.
int small_integer(const json& object, const char* key, int fallback) {
  const std::int64_t value = integer(object, key, fallback);
  const bool fits = value >= std::numeric_limits<int>::min() && value <= std::numeric_limits<int>::max();
  return fits ? static_cast<int>(value) : fallback;
}

double number(const json& object, const char* key, double fallback) {
  const auto field = object.find(key);
  return field != object.end() && field->is_number() ? field->get<double>() : fallback;
}

Measured<Bytes> bytes_or(const json& object, const char* key, const char* reason) {
  const double value = number(object, key, -1.0);
  return value >= 0.0 ? Measured<Bytes>(Bytes(value)) : Measured<Bytes>::absent(reason);
}

void take_run(const json& line, RunLog& log) {
  log.run_id = word(line, "run_id");
  log.tool_version = word(line, "tool_version");
  log.job = word(line, "job");
  log.watched = word(line, "mode") != "unwatched";
  log.start_monotonic_ns = natural(line, "start_monotonic_ns");
  log.start_realtime_ns = natural(line, "start_realtime_ns");
  log.ranks_expected = small_integer(line, "ranks_expected", 1);
  const auto command = line.find("command");
  if (command == line.end() || !command->is_array()) return;
  for (const json& word : *command) {
    if (word.is_string()) log.command.push_back(word.get<std::string>());
  }
}

void take_host(const json& line, RunLog& log) {
  Host host;
  host.name = word(line, "name");
  host.kernel = word(line, "kernel");
  host.cpu_model = word(line, "cpu_model");
  host.logical_cpus = small_integer(line, "logical_cpus", 0);
  host.physical_cpus = small_integer(line, "physical_cpus", 0);
  host.usable_cpus = number(line, "usable_cpus", 0.0);
  host.usable_cpus_limited_by = word(line, "usable_cpus_limited_by");
  host.memory = Bytes(number(line, "memory_bytes", 0.0));
  host.memory_limit = bytes_or(line, "memory_limit_bytes", "no memory limit below the machine's memory was found");
  host.shm_free = bytes_or(line, "shm_free_bytes", "/dev/shm could not be examined");
  log.host = host;
  log.fresh_page_s = number(line, "fresh_page_s", -1.0);
  const double per_byte = number(line, "resident_read_s_per_byte", -1.0);
  const double per_call = number(line, "resident_read_s_per_call", -1.0);
  if (per_byte >= 0.0 && per_call >= 0.0) log.resident_read = ResidentRead{per_call, per_byte};
}

void take_filesystems(const json& line, RunLog& log) {
  const auto types = line.find("types");
  if (types == line.end() || !types->is_object()) return;
  for (const auto& [device, type] : types->items()) {
    std::uint64_t number = 0;
    const auto parsed = std::from_chars(device.data(), device.data() + device.size(), number);
    if (parsed.ec == std::errc() && type.is_string()) log.filesystems[number] = type.get<std::string>();
  }
}

/// The line of the run's start has no counts, nor has any where there is no storage to count at.
void take_uncounted(Emulation& emulation) {
  const bool has_storage = std::any_of(emulation.settings.begin(), emulation.settings.end(),
                                       [](const auto& item) { return item.first.starts_with("storage_"); });
  const char* reason = "no storage is emulated";
  if (has_storage) reason = "the run was cut off before its reads at the emulated storage were counted";
  emulation.hits = emulation.misses = emulation.requests = emulation.mapped_files =
      Measured<std::int64_t>::absent(reason);
  emulation.hit_bytes = Measured<Fraction>::absent(reason);
  emulation.request_bytes = Measured<Bytes>::absent(reason);
  emulation.waited = emulation.late = emulation.stored_hits = Measured<Seconds>::absent(reason);
}

void take_interposer(const json& line, Emulation& emulation) {
  if (!line.contains("hits")) return take_uncounted(emulation);
  emulation.hits = integer(line, "hits", 0);
  emulation.misses = integer(line, "misses", 0);
  const double hit = number(line, "hit_bytes", 0.0);
  const double read = hit + number(line, "miss_bytes", 0.0);
  emulation.hit_bytes = read > 0.0 ? Measured<Fraction>(Fraction(hit / read))
                                   : Measured<Fraction>::absent("no read met the emulated storage");
  emulation.requests = integer(line, "requests", 0);
  emulation.request_bytes = Bytes(number(line, "request_bytes", 0.0));
  emulation.waited = Seconds(number(line, "waited_s", 0.0));
  emulation.late = Seconds(number(line, "late_s", 0.0));
  emulation.stored_hits = Seconds(number(line, "stored_hit_s", 0.0));
  emulation.mapped_files = integer(line, "mapped_files", 0);
}

/// The disks, and in `devices` the file systems on them.
void take_disks(const json& line, Emulation& emulation, std::set<std::uint64_t>& devices) {
  const auto disks = line.find("disks");
  if (disks == line.end() || !disks->is_array()) return;
  for (const json& disk : *disks) {
    if (!disk.is_object()) continue;
    emulation.disks.push_back(word(disk, "disk") + " " + word(disk, "name"));
    const auto systems = disk.find("st_devs");
    if (systems == disk.end() || !systems->is_array()) continue;
    for (const json& device : *systems) {
      if (device.is_number_unsigned()) devices.insert(device.get<std::uint64_t>());
    }
  }
}

std::string why_no_throttling(const json& line, const Emulation& emulation) {
  if (!line.contains("cpu_throttled_ns"))
    return "the run was cut off before the kernel was asked what a CPU quota took";
  const bool quota = std::any_of(emulation.controls.begin(), emulation.controls.end(),
                                 [](const std::string& control) { return control.starts_with("cpu."); });
  const char* reason = "no CPU quota was set";
  if (quota) reason = "the kernel does not say how long the CPU quota held the job back";
  return reason;
}

void take_kernel(const json& line, RunLog& log, Emulation& emulation) {
  const char* no_cache = "the kernel emulates no cache";
  emulation.hits = emulation.misses = Measured<std::int64_t>::absent(no_cache);
  emulation.hit_bytes = Measured<Fraction>::absent(no_cache);
  emulation.waited = emulation.late = Measured<Seconds>::absent("the kernel does not say how long it holds reads back");
  emulation.stored_hits = Measured<Seconds>::absent(no_cache);
  emulation.mapped_files = Measured<std::int64_t>::absent("the kernel limits reads of mapped files as any others");
  take_disks(line, emulation, log.limited_devices);
  const auto controls = line.find("controls");
  if (controls != line.end() && controls->is_array()) {
    for (const json& control : *controls) {
      if (control.is_string()) emulation.controls.push_back(control.get<std::string>());
    }
  }
  const char* uncounted = "the kernel's counters could not be read: no storage is limited, or the run was cut off";
  const std::int64_t requests = integer(line, "requests");
  const double bytes = number(line, "request_bytes", -1.0);
  emulation.requests = requests >= 0 ? Measured<std::int64_t>(requests) : Measured<std::int64_t>::absent(uncounted);
  emulation.request_bytes = bytes >= 0.0 ? Measured<Bytes>(Bytes(bytes)) : Measured<Bytes>::absent(uncounted);
  const double throttled = number(line, "cpu_throttled_ns", -1.0);
  emulation.cpu_throttled = throttled >= 0.0 ? Measured<Seconds>(Seconds(throttled * 1e-9))
                                             : Measured<Seconds>::absent(why_no_throttling(line, emulation));
}

/// Once as asked for, and once more, with what became of it, when the command has ended.
void take_emulation(const json& line, RunLog& log) {
  Emulation emulation;
  emulation.with = word(line, "with");
  if (const auto settings = line.find("settings"); settings != line.end() && settings->is_object()) {
    for (const auto& [key, value] : settings->items()) {
      if (value.is_string()) emulation.settings[key] = value.get<std::string>();
    }
  }
  if (emulation.with == "kernel") {
    take_kernel(line, log, emulation);
  } else {
    take_interposer(line, emulation);
  }
  log.emulation = std::move(emulation);
}

RankTick rank_tick(const json& item) {
  RankTick rank;
  rank.pid = integer(item, "pid", 0);
  rank.rank = integer(item, "rank");
  rank.batches = natural(item, "batches");
  rank.samples = natural(item, "samples");
  rank.waited_ns = natural(item, "waited_ns");
  rank.delivered_ns = natural(item, "delivered_ns");
  rank.steps = natural(item, "steps");
  return rank;
}

ProcessTick process_tick(const json& item) {
  ProcessTick process;
  process.pid = integer(item, "pid", 0);
  process.parent_pid = integer(item, "ppid", 0);
  process.cpu_ns = integer(item, "cpu_ns");
  process.run_delay_ns = integer(item, "run_delay_ns");
  process.read_bytes = integer(item, "read_bytes");
  process.rchar = integer(item, "rchar");
  process.minor_faults = integer(item, "minor_faults");
  process.major_faults = integer(item, "major_faults");
  process.rss_bytes = integer(item, "rss_bytes");
  process.anon_bytes = integer(item, "anon_bytes");
  process.pss_bytes = integer(item, "pss_bytes");
  process.pss_anon_bytes = integer(item, "pss_anon_bytes");
  process.pss_swap_bytes = integer(item, "pss_swap_bytes");
  process.swap_bytes = integer(item, "swap_bytes");
  process.cpus = word(item, "cpus");
  process.name = word(item, "name");
  return process;
}

void take_tick(const json& line, RunLog& log) {
  Tick tick;
  tick.t_ns = natural(line, "t_ns");
  tick.recording = integer(line, "recording", 1) != 0;
  tick.tree_cpu_ns = integer(line, "tree_cpu_ns");
  tick.tree_read_bytes = integer(line, "read_bytes_tree");
  tick.shm_free_bytes = integer(line, "shm_free_bytes");
  tick.quota_periods = integer(line, "quota_periods");
  tick.quota_throttled = integer(line, "quota_throttled");
  tick.quota_throttled_ns = integer(line, "quota_throttled_ns");
  tick.machine_cpus = integer(line, "machine_cpus");
  tick.machine_idle_ns = integer(line, "machine_idle_ns");
  tick.machine_stolen_ns = integer(line, "machine_stolen_ns");
  tick.tool_cpu_ns = integer(line, "tool_cpu_ns");
  if (const auto ranks = line.find("ranks"); ranks != line.end() && ranks->is_array()) {
    for (const json& item : *ranks) tick.ranks.push_back(rank_tick(item));
  }
  if (const auto processes = line.find("processes"); processes != line.end() && processes->is_array()) {
    for (const json& item : *processes) tick.processes.push_back(process_tick(item));
  }
  log.ticks.push_back(std::move(tick));
}

bool flag(const json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_boolean() && found->get<bool>();
}

void take_end(const json& line, RunLog& log) {
  log.ended = true;
  log.exit_code = small_integer(line, "exit_code", 0);
  log.signal = small_integer(line, "signal", 0);
  log.interrupted = flag(line, "interrupted");
  log.ended_by_us = flag(line, "ended_by_us");
}

void take_line(const json& line, RunLog& log) {
  const std::string kind = word(line, "kind");
  if (kind == "run") take_run(line, log);
  if (kind == "host") take_host(line, log);
  if (kind == "filesystems") take_filesystems(line, log);
  if (kind == "emulation") take_emulation(line, log);
  if (kind == "tick") take_tick(line, log);
  if (kind == "end") take_end(line, log);
  if (kind == "issue") {
    add_issue(log.issues, {word(line, "id"), severity_from_name(word(line, "severity")), integer(line, "count", 1),
                           word(line, "detail"), word(line, "hint")});
  }
}

}  // namespace

RunLog parse_run_log(const std::string& content) {
  RunLog log;
  std::istringstream lines(content);
  std::string line;
  while (std::getline(lines, line)) {
    if (line.empty()) continue;
    const json parsed = json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!parsed.is_object()) {
      ++log.bad_lines;
      continue;
    }
    take_line(parsed, log);
  }
  return log;
}

Result<RunLog> read_run_log(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{ErrorCode::bad_input, "cannot read " + path.string(), "pass a folder written by stallcast"};
  std::ostringstream content;
  content << file.rdbuf();
  return parse_run_log(content.str());
}

}  // namespace stallcast
