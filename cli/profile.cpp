/// stallcast profile: run a command, measure it, report.
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/analyze.hpp"
#include "cli/command.hpp"
#include "cli/emulate.hpp"
#include "cli/exit_status.hpp"
#include "cli/launches.hpp"
#include "cli/phases.hpp"
#include "cli/results.hpp"
#include "cli/shared_run.hpp"
#include "cli/storage_of_run.hpp"
#include "cli/terminal.hpp"
#include "core/units.hpp"
#include "probes/collect/kernel_limits.hpp"
#include "probes/collect/record_run.hpp"

namespace stallcast::cli {
namespace {

constexpr Seconds k_storage_budget{4.0};  ///< of the budget, for the storage, where there is that much to give
constexpr double k_least_budgets = 5.0;   ///< so many times as long the run itself must have
constexpr Seconds k_default_budget{60.0};

/// Benchmarks alternate the recording for a whole run; nobody else needs to.
constexpr char k_overhead_variable[] = "STALLCAST_OVERHEAD";

/// off: no samples of CPU time, for who watches the job with perf already or wants nothing but the recording.
constexpr char k_cpu_variable[] = "STALLCAST_CPU_PROBE";

/// off: no records of the GPU, for who traces it already or doubts what it costs.
constexpr char k_gpu_variable[] = "STALLCAST_GPU_PROBE";

struct ProfileOptions {
  std::string output{};
  std::string phases = "cold,cached,synthetic,supply";
  std::string budget{};
  std::string evict = "own";
  std::string target = "2%";
  std::string strategy = "interleave";
  std::vector<std::string> emulate{};
  std::string emulate_with = "interposer";
  bool no_extras = false;
  std::string recording_budget{};
  bool force = false;
  bool quiet = false;
  bool verbose = false;
  bool phases_given = false;  ///< by the user
};

/// What the storage is looked at for, once the job has ended. None where the run is not to be told of storage, or has
/// one that is emulated.
Seconds storage_budget(const ProfileOptions& options, const collect::PhaseWants& wants) {
  const auto is_cold = [](record::Phase phase) { return phase == record::Phase::cold; };
  const bool cold = std::any_of(wants.phases.begin(), wants.phases.end(), is_cold);
  if (!cold || options.no_extras || options.evict == "none" || !options.emulate.empty()) return Seconds(0.0);
  return wants.budget >= k_storage_budget * k_least_budgets ? k_storage_budget : Seconds(0.0);
}

Status take_overhead_duty(RecordOptions& record) {
  const char* name = std::getenv(k_overhead_variable);
  if (name == nullptr) return {};
  const auto duty = collect::overhead_duty_from_name(name);
  if (!duty) {
    return Error{ErrorCode::usage, fmt::format("{}={} is not known", k_overhead_variable, name),
                 "use default, always or off"};
  }
  record.overhead = *duty;
  return {};
}

/// on (where it is not set) or off.
Result<bool> switched_on(const char* variable) {
  const char* name = std::getenv(variable);
  const std::string_view wanted = name == nullptr ? "on" : name;
  if (wanted == "on" || wanted == "off") return wanted == "on";
  return Error{ErrorCode::usage, fmt::format("{}={} is not known", variable, wanted), "use on or off"};
}

Status take_probes(RecordOptions& record) {
  const auto cpu = switched_on(k_cpu_variable);
  if (!cpu) return cpu.error();
  record.cpu_probe = cpu.value();
  const auto gpu = switched_on(k_gpu_variable);  // child_environment() reads it again
  return gpu ? Status{} : gpu.error();
}

/// What the thread that makes the estimates tells the one that shows the progress.
class SharedWords {
 public:
  void set(std::string words) {
    const std::lock_guard guard(lock_);
    words_ = std::move(words);
  }
  [[nodiscard]] std::string get() {
    const std::lock_guard guard(lock_);
    return words_;
  }

 private:
  std::mutex lock_{};
  std::string words_{};
};

void show_phase(const collect::PhaseProgress& now, const std::string& rates) {
  if (!now.armed) {
    show_progress(now.refused ? "no phases with this loader: the job goes on to its own end, and is recorded"
                              : "waiting for the first training steps ...");
    return;
  }
  const std::string phase = now.ended ? "ending" : now.phase;
  show_progress(fmt::format("{:.0f} s left | {} {:.0f} batches/s | round {}{}{}", now.left_s, phase, now.batches_per_s,
                            now.rounds + 1, rates.empty() ? "" : " | ", rates));
}

/// A list of phases makes a phased run of at most --budget; as_is alone a passive one, which --budget only cuts short.
/// `storage`: the part of the budget that is the storage's.
Status take_phases(const ProfileOptions& options, RecordOptions& record, Seconds& storage) {
  const auto wants = parse_phases(options.phases);
  if (!wants) return wants.error();
  const auto evict = parse_evict(options.evict);
  if (!evict) return evict.error();
  const auto target = parse_percent(options.target);
  if (!target) return target.error();
  std::optional<Seconds> budget;
  if (!options.budget.empty()) {
    const auto seconds = parse_seconds(options.budget);
    if (!seconds) return seconds.error();
    budget = seconds.value();
  }
  if (wants.value().phases.empty()) {
    record.time_budget = budget;
    return {};
  }
  collect::PhasedOptions phased;
  phased.wants = wants.value();
  phased.wants.extras = !options.no_extras;
  phased.wants.budget = budget.value_or(k_default_budget);
  storage = storage_budget(options, phased.wants);
  phased.evict = evict.value();
  const auto words = std::make_shared<SharedWords>();
  phased.enough = [limit = target.value(), words](const std::filesystem::path& folder) {
    RatesSoFar so_far = rates_so_far(folder, limit);
    words->set(std::move(so_far.words));
    return so_far.tight;
  };
  phased.on_progress = [words](const collect::PhaseProgress& now) { show_phase(now, words->get()); };
  print_note(
      fmt::format("this is a throwaway run: from its first training steps on it trains on repeated and replayed "
                  "batches, keeps no checkpoint, and is ended within {:.0f} s (--phases as_is leaves it alone)",
                  phased.wants.budget.value()));
  phased.wants.budget = phased.wants.budget - storage;
  record.phased = std::move(phased);
  return {};
}

/// One of several tools: each writes to a part of its own, and none of them can make phases.
Status take_shared(const SharedRun& shared, ProfileOptions& options) {
  const auto wants = parse_phases(options.phases);
  if (!wants) return wants.error();
  if (options.phases_given && !wants.value().phases.empty()) return phases_refused(shared);
  options.phases = "as_is";
  options.output = shared.part.string();
  options.quiet = true;
  if (!speaks(shared)) return {};
  print_note(
      fmt::format("this is one of several tools for one job ({}): each records its own ranks passively, without "
                  "phases, to a folder in {}",
                  shared.task.reason, shared.folder.string()));
  return {};
}

Result<RecordOptions> record_options(const ProfileOptions& options, const Session& session, Seconds& storage) {
  RecordOptions record;
  record.command = session.command;
  record.output = options.output;
  record.force = options.force;
  record.tool_version = tool_version();
  STALLCAST_RETURN_IF_ERROR(take_phases(options, record, storage));
  if (!options.recording_budget.empty()) {
    const auto bytes = parse_bytes(options.recording_budget);
    if (!bytes) return bytes.error();
    record.recording_budget = bytes.value();
  }
  STALLCAST_RETURN_IF_ERROR(take_overhead_duty(record));
  STALLCAST_RETURN_IF_ERROR(take_probes(record));
  if (options.verbose) {
    record.on_start = [](const std::filesystem::path& folder) {
      print_note("recording in " + folder.string() + " (stallcast analyze recovers it if this tool is killed)");
    };
  }
  return record;
}

/// The recordings are safe; what can be said of them is said. A failure of ours must not hide the command's own status.
/// Returns the status in the profile's outcome.
Result<std::string> report_run(const RecordedRun& run, const std::filesystem::path& recordings,
                               const ProfileOptions& options, Seconds storage) {
  show_progress("reading the recordings ...");
  const auto launches = load_launches(recordings);
  if (!launches) return launches.error();
  Profile profile = analyze_launches(launches.value());
  clear_progress();
  if (storage > Seconds(0.0) && profile.outcome.status == "measured" && !run.interrupted) {
    probe_storage_of(profile, launches.value(), recordings, {storage, options.evict, run.own_pages});
  }
  STALLCAST_RETURN_IF_ERROR(deliver(profile, run.output, options.quiet));
  return profile.outcome.status;
}

/// Reports what was recorded and gives the status to end with. `recordings`: of all launches; `run`: the last one.
int conclude(const RecordedRun& run, const std::filesystem::path& recordings, const ProfileOptions& options,
             Seconds storage) {
  const Result<std::string> reported = report_run(run, recordings, options, storage);
  if (!reported.ok()) print_error(reported.error());
  const bool failed = !reported.ok() || run.collect_error.has_value();
  if (failed) {
    print_note(fmt::format("the recordings are in {0}: try `stallcast analyze {0} -o OTHER`", recordings.string()));
  }
  const bool measured = run.ended_by_us && reported.ok() && reported.value() == "measured";
  if (run.exit_code != 0 && !measured) return run.exit_code;
  return failed ? k_exit_wrapper : k_exit_ok;
}

/// Nothing where the hardware is to be as it is. What the kernel is to limit is tried before anything is made.
Result<std::optional<collect::EmulationOptions>> emulation_of(const ProfileOptions& options) {
  if (options.emulate.empty() && options.emulate_with == "interposer") {
    return std::optional<collect::EmulationOptions>();
  }
  auto emulation = parse_emulation(options.emulate, options.emulate_with);
  if (!emulation) return emulation.error();
  if (emulation.value().needs_groups()) {
    const auto tried = collect::try_kernel_limits(emulation.value());
    if (!tried) return tried.error();
  }
  return std::optional<collect::EmulationOptions>(std::move(emulation).value());
}

int run_profile(ProfileOptions options, const Session& session) {
  Seconds storage{0.0};
  const auto shared = shared_run(options.output, session.command);
  const Status ready = !shared.ok()     ? Status(shared.error())
                       : shared.value() ? take_shared(*shared.value(), options)
                                        : Status();
  if (!ready.ok()) {
    print_error(ready.error());
    return k_exit_wrapper;
  }
  auto record = record_options(options, session, storage);
  if (!record) {
    print_error(record.error());
    return k_exit_wrapper;
  }
  const auto emulation = emulation_of(options);
  if (!emulation) {
    print_error(emulation.error());
    return exit_status(emulation.error().code);
  }
  record.value().emulation = emulation.value();
  const Launched all = run_launches(launches_of(record.value(), options.strategy == "separate"));
  if (!all.run.launched) return *all.status;
  const int status = conclude(all.run, all.recordings, options, storage);
  if (shared.value() && speaks(*shared.value())) {
    print_note(fmt::format("when all have ended: stallcast merge {}", shared.value()->folder.string()));
  }
  return all.status.value_or(status);
}

}  // namespace

void add_profile(CLI::App& app, Session& session) {
  auto options = std::make_shared<ProfileOptions>();
  CLI::App* command = app.add_subcommand("profile", "Run a command and measure how long it waits for data, and why");
  command->add_option("-o,--output", options->output, "Folder for the results (default: ./stallcast-profile)")
      ->type_name("DIR");
  command
      ->add_option("--phases", options->phases,
                   "What to measure: cold,cached,synthetic,supply (the default, a throwaway run)\n"
                   "or as_is (a passive one, the job goes on undisturbed)")
      ->type_name("LIST");
  command
      ->add_option("--budget", options->budget,
                   "Measure for at most this long (default: 60s with phases, then the run is ended)")
      ->type_name("TIME");
  command->add_option("--target", options->target, "End earlier once every rate is known to +- this (default: 2%)")
      ->type_name("PERCENT");
  command->add_option("--evict", options->evict, "Pages that cold blocks may drop: own (default), all or none")
      ->type_name("WHICH");
  command
      ->add_option("--strategy", options->strategy,
                   "interleave: all phases in one run, block by block (default)\n"
                   "separate: the command is launched once a phase, each with its share of the budget")
      ->check(CLI::IsMember({"interleave", "separate"}))
      ->type_name("HOW");
  command->add_flag("--no-extras", options->no_extras,
                    "Only the phases named: no blocks for the model to be fitted on, no look at the storage");
  command
      ->add_option("--emulate", options->emulate,
                   "Give the job other hardware, without root: storage_bandwidth=200MB/s, storage_latency=2ms,\n"
                   "storage_iops=500/s, cache=35% or 100GiB, cache_policy=minio|lru|random, cpus=4 (repeatable)")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->take_all();
  command
      ->add_option("--emulate-with", options->emulate_with,
                   "interposer (default): inside the job's processes, without root\n"
                   "kernel: by control groups, as root: storage_bandwidth, storage_iops of all local disks,\n"
                   "cpus, also 1.5")
      ->type_name("WHAT");
  command
      ->add_option("--recording-budget", options->recording_budget,
                   "Most bytes of recordings on this machine (default: 256MiB)")
      ->type_name("SIZE");
  command->add_flag("--force", options->force, "Replace the results of an earlier run in DIR");
  command->add_flag("-q,--quiet", options->quiet, "Write the files only; stdout is the command's alone");
  command->add_flag("-v,--verbose", options->verbose, "Say where the recordings are while the command runs");
  command->footer(
      "Exit status: the command's own if it failed (128 + N for signal N), 0 if it was measured,\n"
      "125 if stallcast failed, 126 if the command cannot be executed, 127 if it was not found.");
  command->callback([options, command, &session] {
    options->phases_given = command->get_option("--phases")->count() > 0;
    session.exit_status = run_profile(*options, session);
  });
}

}  // namespace stallcast::cli
