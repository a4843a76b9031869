/// From the options of `stallcast profile` to a run.
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "cli/interim.hpp"
#include "cli/phases.hpp"
#include "cli/profile.hpp"
#include "cli/terminal.hpp"
#include "core/units.hpp"
#include "probes/collect/launch/child_environment.hpp"
#include "probes/collect/launch/command_facts.hpp"

namespace stallcast::cli {
namespace {

constexpr Seconds k_storage_budget{4.0};  ///< for the storage, of a run that is long enough
constexpr double k_least_budgets = 5.0;   ///< so many times as long it must be

/// Benchmarks alternate the recording for a whole run; nobody else needs to.
constexpr char k_overhead_variable[] = "STALLCAST_OVERHEAD";

/// off: no samples of CPU time, for who watches the job with perf already or wants nothing but the recording.
constexpr char k_cpu_variable[] = "STALLCAST_CPU_PROBE";

/// on: what happens on the GPU is recorded, in short windows. Off where it is not set: as it is now it has not run on a
/// GPU. always, often: all of the run, or windows as often as can be, for tests of the probe.
constexpr char k_gpu_variable[] = "STALLCAST_GPU_PROBE";

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

/// Whether a variable holds one of the words, or nothing.
Status is_known(const char* variable, std::initializer_list<std::string_view> words) {
  const char* set = std::getenv(variable);
  if (set == nullptr || std::find(words.begin(), words.end(), set) != words.end()) return {};
  return Error{ErrorCode::usage, fmt::format("{}={} is not known", variable, set), "use on or off"};
}

Status take_probes(RecordOptions& record) {
  if (const Status known = is_known(k_cpu_variable, {"on", "off"}); !known.ok()) return known;
  const char* cpu = std::getenv(k_cpu_variable);
  record.cpu_probe = cpu == nullptr || std::string_view(cpu) == "on";
  return is_known(k_gpu_variable, {"on", "off", "always", "often"});  // child_environment() reads it
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
    return show_progress(now.refused ? "states cannot be made with this loader: the command is only recorded"
                                     : "waiting for the first training steps ...");
  }
  if (now.ended) return show_progress("done measuring ...");
  show_progress(fmt::format("at most {:.0f} s more | {} {:.0f} batches/s | round {}{}{}", now.left_s, now.phase,
                            now.batches_per_s, now.rounds + 1, rates.empty() ? "" : " | ", rates));
}

Result<std::optional<Seconds>> budget_of(const ProfileOptions& options) {
  if (options.budget.empty()) return std::optional<Seconds>();
  const auto seconds = parse_seconds(options.budget);
  if (!seconds) return seconds.error();
  return std::optional<Seconds>(seconds.value());
}

/// "5 min", "90 s".
std::string budget_words(Seconds budget) {
  constexpr double k_minute = 60.0;
  const double minutes = budget.value() / k_minute;
  const bool whole = minutes >= 2.0 && minutes == static_cast<double>(static_cast<int>(minutes));
  return whole ? fmt::format("{:.0f} min", minutes) : fmt::format("{:.3g} s", budget.value());
}

/// Whether there is such a program: where there is none, the launch says so, and nothing is announced before it.
bool is_there(const std::vector<std::string>& command) {
  if (command.empty()) return false;
  const std::string search_path = collect::variable(collect::own_environment(), "PATH");
  std::error_code failed;
  return std::filesystem::is_regular_file(collect::examine_executable(command.front(), search_path).path, failed);
}

void announce(const ProfileOptions& options, Seconds budget) {
  if (options.stops()) {
    const char* why = options.stop ? "" : options.separate() ? " (--strategy separate)" : " (--emulate)";
    return print_note(fmt::format(
        "measuring for at most {} while the command trains; then the command is ended, as Ctrl-C would end it{}",
        budget_words(budget), why));
  }
  print_note(fmt::format(
      "measuring for at most {} while the command trains: its batches, checkpoints and exit status stay the same; then "
      "it goes on to its own end (--stop would end it)",
      budget_words(budget)));
}

/// What happens when the rates are known: where the command is ended then, its report follows at once.
std::function<void(const std::filesystem::path&)> measured_call(const ProfileOptions& options, RecordOptions& record) {
  if (options.stops()) {
    return [](const std::filesystem::path&) { print_note("done measuring: ending the command"); };
  }
  const auto interim = std::make_shared<InterimReport>();
  record.on_start = [interim](const std::filesystem::path&, const std::filesystem::path& output) {
    interim->set_output(output);
  };
  return [interim](const std::filesystem::path& folder) { interim->write(folder); };
}

/// A list of phases measures for at most --budget; as_is alone makes a passive run, which --budget only cuts short.
Status take_phases(const ProfileOptions& options, ProfilePlan& plan) {
  const auto wants = parse_phases(options.phases);
  if (!wants) return wants.error();
  const auto evict = parse_evict(options.evict);
  if (!evict) return evict.error();
  const auto target = parse_percent(options.target);
  if (!target) return target.error();
  const auto budget = budget_of(options);
  if (!budget) return budget.error();
  RecordOptions& record = plan.record;
  if (wants.value().phases.empty()) {
    record.time_budget = options.stop ? budget.value().value_or(k_default_budget) : budget.value();
    record.stop_at_budget = options.stop;
    return {};
  }
  collect::PhasedOptions phased;
  phased.wants = wants.value();
  phased.wants.extras = !options.no_extras;
  phased.wants.budget = budget.value().value_or(k_default_budget);
  phased.evict = evict.value();
  phased.wants.stop = options.stops();
  if (is_there(record.command)) announce(options, phased.wants.budget);
  plan.storage = storage_budget(options, phased.wants);
  // A command that is ended gives its user the terminal back when the budget is over.
  if (phased.wants.stop) phased.wants.budget = phased.wants.budget - plan.storage;
  const auto words = std::make_shared<SharedWords>();
  phased.estimate = [limit = target.value(), words](const std::filesystem::path& folder) {
    RatesSoFar so_far = rates_so_far(folder, limit);
    words->set(std::move(so_far.words));
    return collect::EstimatesSoFar{so_far.tight, so_far.cold_fails};
  };
  phased.on_progress = [words](const collect::PhaseProgress& now) { show_phase(now, words->get()); };
  phased.on_measured = measured_call(options, record);
  record.phased = std::move(phased);
  return {};
}

/// Besides what happens there already.
void announce_recordings(RecordOptions& record) {
  record.on_start = [before = record.on_start](const std::filesystem::path& folder,
                                               const std::filesystem::path& output) {
    if (before) before(folder, output);
    print_note("recording in " + folder.string() + " (stallcast analyze recovers it if this tool is killed)");
  };
}

}  // namespace

Status take_shared(const SharedRun& shared, ProfileOptions& options) {
  const auto wants = parse_phases(options.phases);
  if (!wants) return wants.error();
  if (options.phases_given && !wants.value().phases.empty()) return phases_refused(shared);
  if (options.stop) return stop_refused(shared);
  options.phases = "as_is";
  options.output = shared.part.string();
  options.quiet = true;
  if (!speaks(shared)) return {};
  print_note(
      fmt::format("this is one of several stallcast processes for one job ({}): each only records its own ranks, "
                  "to a folder in {}",
                  shared.task.reason, shared.folder.string()));
  return {};
}

Result<ProfilePlan> plan_profile(const ProfileOptions& options, const Session& session) {
  ProfilePlan plan;
  RecordOptions& record = plan.record;
  record.command = session.command;
  record.output = options.output;
  record.force = options.force;
  record.tool_version = tool_version();
  STALLCAST_RETURN_IF_ERROR(take_phases(options, plan));
  if (!options.recording_budget.empty()) {
    const auto bytes = parse_bytes(options.recording_budget);
    if (!bytes) return bytes.error();
    record.recording_budget = bytes.value();
  }
  STALLCAST_RETURN_IF_ERROR(take_overhead_duty(record));
  STALLCAST_RETURN_IF_ERROR(take_probes(record));
  if (options.verbose) announce_recordings(record);
  return plan;
}

}  // namespace stallcast::cli
