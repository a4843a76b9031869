/// stallcast profile: run a command, measure it, report.
#include "cli/profile.hpp"

#include <fmt/core.h>

#include <memory>
#include <optional>
#include <utility>

#include "analyzer/analyze.hpp"
#include "cli/emulate.hpp"
#include "cli/exit_status.hpp"
#include "cli/launches.hpp"
#include "cli/results.hpp"
#include "cli/storage_of_run.hpp"
#include "cli/terminal.hpp"
#include "probes/collect/emulation/kernel_limits.hpp"

namespace stallcast::cli {
namespace {

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
    probe_storage_of(profile, launches.value(), recordings, {storage, options.evict, run.populated_pages});
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
  const auto shared = shared_run(options.output, session.command);
  const Status ready = !shared.ok()     ? Status(shared.error())
                       : shared.value() ? take_shared(*shared.value(), options)
                                        : Status();
  if (!ready.ok()) {
    print_error(ready.error());
    return k_exit_wrapper;
  }
  auto plan = plan_profile(options, session);
  if (!plan) {
    print_error(plan.error());
    return k_exit_wrapper;
  }
  const auto emulation = emulation_of(options);
  if (!emulation) {
    print_error(emulation.error());
    return exit_status(emulation.error().code);
  }
  plan.value().record.emulation = emulation.value();
  const Launched all = run_launches(launches_of(plan.value().record, options.separate()));
  if (!all.run.launched) return *all.status;
  const int status = conclude(all.run, all.recordings, options, plan.value().storage);
  if (shared.value() && speaks(*shared.value())) {
    print_note(fmt::format("when all have ended: stallcast merge {}", shared.value()->folder.string()));
  }
  return all.status.value_or(status);
}

/// What is measured, how, and for how long.
void add_measuring(CLI::App* command, const std::shared_ptr<ProfileOptions>& options) {
  command
      ->add_option("--phases", options->phases,
                   "States to measure: a list of cold, cached, synthetic, supply (default: all of them, in turn,\n"
                   "while the job trains); or as_is: only record the job")
      ->type_name("LIST");
  command
      ->add_option("--budget", options->budget,
                   "Measure for at most this long, from the first training steps on; the command then goes on\n"
                   "(default: 5min; with --phases as_is: to its end)")
      ->type_name("TIME");
  command->add_flag("--stop", options->stop,
                    "End the command once the rates are known: as Ctrl-C would, by force if that is not enough\n"
                    "(default with --emulate and --strategy separate)");
  command
      ->add_option("--target", options->target,
                   "Stop measuring once the interval of every rate is within +- this (default: 2%)")
      ->type_name("PERCENT");
  command
      ->add_option("--evict", options->evict,
                   "What may be dropped from memory so that reads come from storage: own (what this run brought in;\n"
                   "default), all (of the files it reads) or none")
      ->type_name("WHICH");
  command
      ->add_option("--strategy", options->strategy,
                   "interleave: all states in one run, in turn (default)\n"
                   "separate: the command is launched once for each state, with its share of the budget")
      ->check(CLI::IsMember({"interleave", "separate"}))
      ->type_name("HOW");
  command->add_flag("--no-extras", options->no_extras,
                    "Measure the named states alone, and not the storage; predictions are then less certain");
}

void add_emulation(CLI::App* command, const std::shared_ptr<ProfileOptions>& options) {
  command
      ->add_option("--emulate", options->emulate,
                   "Emulate other hardware, without root: storage_bandwidth=200MB/s, storage_latency=2ms,\n"
                   "storage_iops=500/s, cache=35% or 100GiB, cache_policy=minio|lru|random, cpus=4 (repeatable)")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->take_all();
  command
      ->add_option("--emulate-with", options->emulate_with,
                   "interposer (default): inside the job's processes, without root\n"
                   "kernel: enforced by control groups, needs root: storage_bandwidth, storage_iops (all local\n"
                   "disks), cpus (also fractions)")
      ->type_name("WHAT");
}

}  // namespace

void add_profile(CLI::App& app, Session& session) {
  auto options = std::make_shared<ProfileOptions>();
  CLI::App* command = app.add_subcommand("profile", "Run a command and measure how long it waits for data, and why");
  command->add_option("-o,--output", options->output, "Folder for the results (default: ./stallcast-profile)")
      ->type_name("DIR");
  add_measuring(command, options);
  add_emulation(command, options);
  command
      ->add_option("--recording-budget", options->recording_budget,
                   "Largest size of the recordings on this machine (default: 256MiB)")
      ->type_name("SIZE");
  command->add_flag("--force", options->force, "Replace the results of an earlier run in DIR");
  command->add_flag("-q,--quiet", options->quiet,
                    "Print no report, only write the files; stdout is left to the command");
  command->add_flag("-v,--verbose", options->verbose, "Say where the recordings are while the command runs");
  command->footer(
      "Measuring does not change the training: same batches, checkpoints and output. Once the rates are known, the\n"
      "report so far is written and a summary is printed on stderr; the whole report follows when the command ends.\n"
      "Exit status: the command's own (128 + N for signal N), 0 if it was measured and ended by --stop,\n"
      "125 if stallcast failed, 126 if the command cannot be executed, 127 if it was not found.");
  command->callback([options, command, &session] {
    options->phases_given = command->get_option("--phases")->count() > 0;
    session.exit_status = run_profile(*options, session);
  });
}

}  // namespace stallcast::cli
