/// Reads a run's folder: the tool's log and every recording in it.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "analyzer/load/phase_name.hpp"
#include "analyzer/load/run_data.hpp"
#include "probes/record/gpu_file.hpp"

namespace stallcast {
namespace {

namespace fs = std::filesystem;
using record::ProcessRecording;

constexpr const char* k_unreadable = "unreadable-recording";

/// Regular files only: opening a pipe that happens to be called .rec would wait for ever.
std::vector<fs::path> recordings_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed); !failed && entry != fs::directory_iterator();
       entry.increment(failed)) {
    std::error_code unknown;
    if (entry->path().extension() == ".rec" && entry->is_regular_file(unknown)) files.push_back(entry->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

void read_folder(const fs::path& folder, RunData& run) {
  const std::vector<fs::path> files = recordings_in(folder);
  for (const fs::path& file : files) {
    auto recording = record::read_recording(file);
    if (!recording.ok()) {
      add_issue(run.issues, {k_unreadable, Severity::error, 1, recording.error().what, recording.error().hint});
      continue;
    }
    run.processes.push_back(std::move(recording).value());
  }
}

/// A log without its first line (an empty file, something else of that name) tells nothing and counts as missing.
void take_log(const fs::path& path, RunData& run) {
  std::error_code failed;
  if (!fs::is_regular_file(path, failed)) return;
  auto log = read_run_log(path);
  if (!log.ok() || log.value().run_id.empty()) return;
  run.log = std::move(log).value();
  run.has_log = true;
  run.issues = run.log.issues;
  if (run.log.bad_lines == 0) return;
  add_issue(run.issues, {"torn-log", Severity::info, run.log.bad_lines,
                         "lines of tool.jsonl are cut off or no JSON; the others are whole", ""});
}

/// Samples of another run are left out as its recordings are: pids mean other processes there.
void take_cpu_samples(const fs::path& path, RunData& run) {
  std::error_code failed;
  if (!fs::is_regular_file(path, failed)) return;
  std::ifstream stream(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  auto recording = record::parse_cpu_recording(bytes);
  if (!recording.ok()) {
    add_issue(run.issues,
              {"unreadable-cpu-samples", Severity::warning, 1, recording.error().what, recording.error().hint});
  } else if (run.log.run_id == recording.value().run_id) {
    run.cpu = std::move(recording).value();
  }
}

/// The recordings of GPUs that lie there; those of another run are left out.
void take_gpus(const fs::path& place, RunData& run) {
  std::error_code failed;
  for (fs::directory_iterator entry(place, failed), end; !failed && entry != end; entry.increment(failed)) {
    if (!record::is_gpu_file(entry->path().filename().string())) continue;
    std::ifstream stream(entry->path(), std::ios::binary);
    GpuRecording gpu = parse_gpu_recording(std::string{std::istreambuf_iterator<char>(stream), {}});
    if (gpu.run_folder == "stallcast-" + run.log.run_id) run.gpus.push_back(std::move(gpu));
  }
  std::sort(run.gpus.begin(), run.gpus.end(),
            [](const GpuRecording& a, const GpuRecording& b) { return a.pid < b.pid; });
}

/// Recordings of another run (a stale or mixed folder) would corrupt every figure: they are left out, and counted.
void drop_foreign(RunData& run) {
  std::string id = run.log.run_id;
  if (id.empty() && !run.processes.empty()) id = run.processes.front().info.run_id;
  const auto foreign = std::remove_if(run.processes.begin(), run.processes.end(),
                                      [&](const ProcessRecording& process) { return process.info.run_id != id; });
  const auto count = static_cast<std::int64_t>(std::distance(foreign, run.processes.end()));
  run.processes.erase(foreign, run.processes.end());
  if (count > 0) {
    add_issue(run.issues, {"foreign-recordings", Severity::warning, count,
                           "recordings of another run lie in the same folder and were left out",
                           "keep each run's recordings in a folder of their own"});
  }
}

/// A launch of --strategy separate is called as its phase.
bool is_phase(const std::string& name) {
  for (const auto phase : {record::Phase::cold, record::Phase::cached, record::Phase::synthetic,
                           record::Phase::supply_cached, record::Phase::supply_cold, record::Phase::half_cached}) {
    if (name == phase_name(phase)) return true;
  }
  return false;
}

/// Folders of launches, where `place` itself holds no log.
std::vector<fs::path> parts_of(const fs::path& place) {
  std::vector<fs::path> parts;
  std::error_code failed;
  if (fs::exists(place / "tool.jsonl", failed)) return parts;
  for (fs::directory_iterator entry(place, failed); !failed && entry != fs::directory_iterator();
       entry.increment(failed)) {
    std::error_code unknown;
    if (fs::is_regular_file(entry->path() / "tool.jsonl", unknown)) parts.push_back(entry->path());
  }
  return parts;
}

}  // namespace

fs::path recordings_of(const fs::path& folder) {
  std::error_code failed;
  const fs::path inner = folder / "recordings";
  return fs::is_directory(inner, failed) ? inner : folder;
}

bool holds_nodes(const fs::path& folder) {
  const std::vector<fs::path> parts = parts_of(recordings_of(folder));
  return std::any_of(parts.begin(), parts.end(), [](const fs::path& part) { return !is_phase(part.filename()); });
}

Result<std::vector<RunData>> load_launches(const fs::path& folder) {
  std::vector<RunData> launches;
  for (const fs::path& part : parts_of(recordings_of(folder))) {
    auto run = load_run(part);
    if (!run) return run.error();
    run.value().name = part.filename().string();
    launches.push_back(std::move(run).value());
  }
  std::sort(launches.begin(), launches.end(),
            [](const RunData& a, const RunData& b) { return a.log.start_monotonic_ns < b.log.start_monotonic_ns; });
  if (!launches.empty()) return launches;
  auto run = load_run(folder);
  if (!run) return run.error();
  launches.push_back(std::move(run).value());
  return launches;
}

Result<RunData> load_run(const fs::path& folder) {
  std::error_code failed;
  if (!fs::is_directory(folder, failed)) {
    return Error{ErrorCode::bad_input, folder.string() + " is not a folder of recordings",
                 "pass the folder given to profile -o, its recordings/ folder, or a run folder ($TMPDIR/stallcast-*)"};
  }
  const fs::path place = recordings_of(folder);
  RunData run;
  take_log(place / "tool.jsonl", run);
  read_folder(place, run);
  take_cpu_samples(place / record::k_cpu_file, run);
  take_gpus(place, run);
  if (run.processes.empty()) {
    // Recordings that cannot be read (of a newer version, say) are another matter than a job that left none.
    const auto refused = std::find_if(run.issues.begin(), run.issues.end(),
                                      [](const DataIssue& issue) { return issue.id == k_unreadable; });
    if (refused != run.issues.end()) return Error{ErrorCode::bad_input, refused->detail, refused->hint};
  }
  if (!run.has_log && run.processes.empty()) {
    return Error{ErrorCode::bad_input, "no recording in " + folder.string(),
                 "after a crash of the tool, look for $TMPDIR/stallcast-* and pass that folder"};
  }
  if (!run.has_log) {
    add_issue(run.issues, {"no-run-log", Severity::warning, 1, "tool.jsonl is missing: nothing is known of the machine",
                           "analyse the whole run folder, not a part of it"});
  }
  drop_foreign(run);
  join_run(run);
  keep_last_start(run);
  leave_out_beside(run);
  return run;
}

}  // namespace stallcast
