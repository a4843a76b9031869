#include "probes/collect/run/record_run.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/clock.hpp"
#include "probes/collect/launch/child_environment.hpp"
#include "probes/collect/launch/command_facts.hpp"
#include "probes/collect/launch/installation.hpp"
#include "probes/collect/launch/launch.hpp"
#include "probes/collect/launch/launcher.hpp"
#include "probes/collect/launch/output_folder.hpp"
#include "probes/collect/launch/run_folder.hpp"
#include "probes/collect/launch/signal_gate.hpp"
#include "probes/collect/pages/fresh_page.hpp"
#include "probes/collect/pages/resident_read.hpp"
#include "probes/collect/run/log_lines.hpp"
#include "probes/collect/run/run_extras.hpp"
#include "probes/collect/run/run_findings.hpp"
#include "probes/collect/run/tool_log.hpp"
#include "probes/collect/run/watch.hpp"
#include "probes/collect/system/mounts.hpp"
#include "probes/collect/system/text_file.hpp"

namespace stallcast {
namespace {

namespace fs = std::filesystem;
using namespace collect;

/// A run folder with its log begun.
struct Begun {
  RunFolder folder;
  ToolLog log;
};

void log_start(Begun& begun, const std::vector<std::string>& command, const std::string& tool_version,
               const std::vector<std::string>& environment, const std::optional<double>& cpu_quota,
               const char* mode = "passive") {
  RunLine run;
  run.run_id = begun.folder.run_id();
  run.job = job_name(environment);
  run.mode = mode;
  run.tool_version = tool_version;
  run.command = command;
  run.start_monotonic_ns = monotonic_ns();
  run.start_realtime_ns = clock_ns(CLOCK_REALTIME);
  run.ranks_expected = expected_ranks(command, environment);
  begun.log.append(to_line(run));
  HostFacts host = read_host_facts("/", environment);
  if (cpu_quota) limit_by_quota(*cpu_quota, host);
  begun.log.append(to_line(host, measure_resident_read(begun.folder.path()), measure_fresh_page()));
  const std::string mounts = read_text("/proc/self/mountinfo", 16U << 20U).value_or("");
  begun.log.append(to_line(parse_mountinfo(mounts)));
}

/// Half of what is free is left to the job, which may write to the same disk.
Result<Begun> begin(const fs::path& parent, Bytes budget) {
  RunFolderPlan plan;
  plan.parent = parent;
  plan.budget_bytes = static_cast<std::uint64_t>(budget.value());
  auto folder = RunFolder::create(plan);
  if (!folder) return folder.error();
  auto log = ToolLog::create(folder.value().path() / k_tool_log_file);
  if (!log) {
    folder.value().remove();
    return log.error();
  }
  Begun begun{std::move(folder).value(), std::move(log).value()};
  record::ControlBlock& control = begun.folder.control();
  const std::uint64_t most = begun.folder.free_bytes() / 2;
  if (most < control.budget_bytes) {
    begun.log.append(DataIssue{
        "recording-budget-reduced", Severity::warning, 1,
        fmt::format("{} has {} bytes free, so recordings may take {} instead of {} bytes",
                    begun.folder.path().parent_path().string(), begun.folder.free_bytes(), most, control.budget_bytes),
        "set TMPDIR to a local disk with more free space"});
    control.budget_bytes = most;
  }
  return begun;
}

/// Where the recordings cannot be brought to the output folder, they stay: a run of hours is not thrown away.
void collect_run(Begun& begun, const OutputFolder& output, const RecordOptions& options, RecordedRun& run) {
  Status brought = options.beside_earlier ? Status() : clear_recordings(output);
  if (brought.ok()) brought = collect_recordings(begun.folder.path(), output, options.part);
  if (!brought.ok()) {
    run.collect_error = brought.error();
    run.recordings = begun.folder.path();
    return;
  }
  run.recordings = output.path / k_recordings_folder;
  if (!options.part.empty()) run.recordings /= options.part;
  run.populated_pages = PopulatedPages::load(begun.folder.path());
  begun.log.append_kept(run.recordings / k_tool_log_file);
  begun.folder.remove();
}

RecordedRun undo(Begun& begun, const OutputFolder& output, RecordedRun run) {
  begun.folder.remove();
  drop_unused(output);
  return run;
}

WatchOptions watch_options(const RecordOptions& options, const RunExtras& extras, ToolLog& log) {
  WatchOptions watching;
  watching.duty = options.overhead;
  if (extras.phased || extras.emulation || extras.kernel || extras.cpu) {
    watching.on_beat = beat_of(options, extras, log);
  }
  if (extras.kernel) watching.on_loading = [&extras] { extras.kernel->begin(); };
  if (extras.cpu) watching.on_recording = [&extras](bool recording) { extras.cpu->set_recording(recording); };
  if (extras.phased) {
    watching.duty = OverheadDuty::off;  // a stretch without records would be a hole in a block
    watching.wants_stop = [&extras](std::uint64_t now_ns) { return extras.phased->wants_stop(now_ns); };
  }
  if (options.time_budget) {
    watching.recording_limit_ns = static_cast<std::uint64_t>(options.time_budget->value() * 1e9);
    watching.stop_at_limit = options.stop_at_budget;
  }
  return watching;
}

/// True if somebody asked us to end before there was a command to pass it on to.
bool cancelled(SignalGate& gate, RecordedRun& run) {
  while (const auto signal = gate.next()) {
    const int number = static_cast<int>(signal->ssi_signo);
    if (!asks_to_end(number)) continue;
    run.signal = number;
    run.exit_code = 128 + number;
    run.interrupted = true;
    run.launch_failure = "interrupted before the command started";
    return true;
  }
  return false;
}

void take_end(const WatchEnd& end, RecordedRun& run) {
  run.exit_code = end.exit_code;
  run.signal = end.signal;
  run.interrupted = end.interrupted;
  run.ended_by_us = end.ended_by_us;
}

}  // namespace

Result<RecordedRun> record_run(const RecordOptions& options) {
  if (options.command.empty()) {
    return Error{ErrorCode::usage, "there is no command to run", "put it behind --, as in: -- python train.py"};
  }
  const auto installation = find_installation();
  if (!installation) return installation.error();
  SignalGate gate;  // from here on nothing can end us between two files
  auto cpus = limit_cpus(options);
  if (!cpus) return cpus.error();
  const auto output = prepare_output_folder(options.output, options.force);
  if (!output) return output.error();
  auto begun = begin({}, options.recording_budget);
  if (!begun) {
    drop_unused(output.value());
    return begun.error();
  }
  RunFolder& folder = begun.value().folder;
  ToolLog& log = begun.value().log;
  const std::vector<std::string> own = own_environment();
  const ChildEnvironment child = child_environment(own, installation.value(), folder.path());
  log_start(begun.value(), options.command, options.tool_version, own,
            options.emulation ? options.emulation->cpu_quota : std::nullopt);
  for (const DataIssue& issue : child.issues) log.append(issue);
  const auto extras = begin_extras(options, folder, log);
  if (!extras) {
    begun.value().folder.remove();
    drop_unused(output.value());
    return extras.error();
  }
  if (options.on_start) options.on_start(folder.path(), output.value().path);

  RecordedRun run;
  run.output = output.value().path;
  if (cancelled(gate, run)) return undo(begun.value(), output.value(), run);
  const Launched launched = launch_with(extras.value(), [&] {
    return launch(options.command, merged_environment(own, child.added), gate.original_mask(), options.output_to_stderr,
                  joins_of(extras.value()));
  });
  cpus.value().reset();  // ours again: what watches the job takes none of its time where there are others
  if (launched.pid < 0) {
    run.exit_code = launched.exit_code;
    run.launch_failure = launched.reason;
    return undo(begun.value(), output.value(), run);
  }
  run.launched = true;
  const WatchEnd end = watch(launched.pid, folder.control(), log, gate, ProcessTree(ProcessReader("/proc"), getpid()),
                             watch_options(options, extras.value(), log));
  if (extras.value().phased) extras.value().phased->command_ended();
  log_missing_consumer(end, options.command, variable(own, "PATH"), log);
  log_losses(end, folder.control(), log);
  log_extras(options, extras.value(), folder, log);
  log.append(to_line(EndLine{monotonic_ns(), end.exit_code, end.signal, end.interrupted, end.ended_by_us}));
  take_end(end, run);
  collect_run(begun.value(), output.value(), options, run);
  return run;
}

Result<PreparedRun> prepare_run(const fs::path& parent, const std::string& tool_version) {
  const auto installation = find_installation();
  if (!installation) return installation.error();
  auto begun = begin(parent, RecordOptions().recording_budget);
  if (!begun) return begun.error();
  const std::vector<std::string> own = own_environment();
  log_start(begun.value(), {}, tool_version, own, std::nullopt, "unwatched");
  ChildEnvironment child = child_environment(own, installation.value(), begun.value().folder.path());
  for (const DataIssue& issue : child.issues) begun.value().log.append(issue);
  return PreparedRun{begun.value().folder.path(), std::move(child.added), std::move(child.issues)};
}

}  // namespace stallcast
