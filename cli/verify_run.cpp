#include <fmt/core.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "analyzer/analyze.hpp"
#include "analyzer/load/run_data.hpp"
#include "analyzer/ranks/ranks_seen.hpp"
#include "cli/command.hpp"
#include "cli/emulate.hpp"
#include "cli/exit_status.hpp"
#include "cli/profile.hpp"
#include "cli/results.hpp"
#include "cli/terminal.hpp"
#include "cli/verify.hpp"
#include "model/predict/predict.hpp"
#include "probes/collect/launch/child_environment.hpp"
#include "probes/collect/launch/run_folder.hpp"
#include "probes/collect/run/record_run.hpp"
#include "probes/collect/system/host_facts.hpp"

namespace stallcast::cli {
namespace {

namespace fs = std::filesystem;

/// A folder for a run of which nothing is kept; gone at the end of its life.
class PassingFolder {
 public:
  static Result<PassingFolder> make() {
    std::string name = (collect::temporary_folder() / "stallcast-verify-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      return Error{ErrorCode::environment, fmt::format("cannot create {}: {}", name, std::strerror(errno)),
                   "set TMPDIR to a folder on a local disk that you may write to"};
    }
    return PassingFolder(name);
  }
  PassingFolder(PassingFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  PassingFolder& operator=(PassingFolder&&) = delete;
  PassingFolder(const PassingFolder&) = delete;
  PassingFolder& operator=(const PassingFolder&) = delete;
  ~PassingFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }

  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  explicit PassingFolder(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

template <class T>
std::optional<T> optional_of(const Measured<T>& measured) {
  return measured ? std::optional<T>(*measured) : std::nullopt;
}

/// The training loader is recognised by what the profile says of it.
std::optional<collect::LoaderOverride> loader_override_of(const AppliedSettings& applied, const Job& job) {
  if (!applied.workers && !applied.prefetch) return std::nullopt;
  collect::LoaderOverride asked;
  asked.workers = applied.workers;
  asked.prefetch = applied.prefetch;
  asked.dataset_type = job.dataset_type;
  asked.dataset_samples = optional_of(job.dataset_samples);
  asked.batch_size = optional_of(job.batch_size);
  asked.shuffled = optional_of(job.shuffled);
  asked.drop_last = optional_of(job.drop_last);
  return asked;
}

Result<RecordOptions> record_options(const VerifyRequest& request, const AppliedSettings& applied,
                                     const Profile& profile, const fs::path& output) {
  RecordOptions record;
  record.command = request.command;
  record.output = output;
  record.force = request.force;
  record.tool_version = tool_version();
  record.time_budget = request.budget.value_or(k_default_budget);
  record.stop_at_budget = true;  // nobody trains with a change on trial
  record.output_to_stderr = request.output_to_stderr;
  record.loader = loader_override_of(applied, profile.job);
  record.cpus = applied.cpus;
  if (applied.emulated.empty()) return record;
  auto emulation = parse_emulation(applied.emulated, request.emulate_with);
  if (!emulation) return emulation.error();
  record.emulation = std::move(emulation).value();
  return record;
}

std::vector<RankSetting> settings_seen(const RunData& run) {
  std::vector<RankSetting> settings;
  for (const RankSeen& rank : ranks_seen(run)) {
    settings.push_back({.num_workers = rank.loader.num_workers,
                        .fewest_workers = rank.fewest_workers,
                        .most_workers = rank.most_workers,
                        .prefetch_factor = rank.loader.prefetch_factor,
                        .cpus = rank.cpus});
  }
  return settings;
}

int status_of(const Verification& verification) {
  switch (verification.verdict) {
    case Verdict::agrees:
      return k_exit_ok;
    case Verdict::disagrees:
      return k_exit_said_no;
    default:
      return exit_status(ErrorCode::not_enough_data);
  }
}

/// What came of a run that was recorded. Errors are ours: the command has run.
Result<Verification> compare(const RecordedRun& run, const Profile& profile, const Prediction& prediction,
                             const AppliedSettings& applied, bool keep) {
  const auto data = load_run(run.recordings);
  if (!data) return data.error();
  Profile measured = analyze_run(data.value());
  Verification verification = verify(profile, prediction, applied, measured, settings_seen(data.value()));
  measured.points.push_back(verified_point(verification));
  if (keep) STALLCAST_RETURN_IF_ERROR(deliver(measured, run.output, /*quiet=*/true));
  return verification;
}

Verified conclude(const RecordedRun& run, Result<Verification> compared) {
  Verified verified;
  if (run.collect_error) print_error(*run.collect_error);
  if (compared.ok()) {
    verified.verification = std::move(compared).value();
    verified.status = run.collect_error ? k_exit_wrapper : status_of(*verified.verification);
  } else {
    print_error(compared.error());
    verified.status = k_exit_wrapper;
  }
  if (run.exit_code != 0 && !run.ended_by_us) verified.status = run.exit_code;
  return verified;
}

}  // namespace

Result<Verified> run_verification(const Profile& profile, const Scenario& scenario, const VerifyRequest& request) {
  if (request.command.empty()) {
    return Error{ErrorCode::usage, "there is no command to run", "put it behind --, as in: -- python train.py"};
  }
  const auto applied =
      applied_settings(scenario, profile, collect::read_host_facts("/", collect::own_environment()).usable_cpus,
                       request.emulate_with == "kernel");
  if (!applied) return applied.error();
  const auto prediction = predict(profile, scenario);
  if (!prediction) return prediction.error();
  std::optional<PassingFolder> passing;
  if (request.output.empty()) {
    auto made = PassingFolder::make();
    if (!made) return made.error();
    passing.emplace(std::move(made).value());
  }
  const fs::path output = passing ? passing->path() : request.output;
  const auto record = record_options(request, applied.value(), profile, output);
  if (!record) return record.error();
  const auto recorded = record_run(record.value());
  if (!recorded) return recorded.error();
  const RecordedRun& run = recorded.value();
  if (!run.launched) {
    print_error(
        {ErrorCode::environment, fmt::format("cannot run {}: {}", request.command.front(), run.launch_failure), ""});
    return Verified{std::nullopt, run.exit_code};
  }
  return conclude(run, compare(run, profile, prediction.value(), applied.value(), !passing));
}

}  // namespace stallcast::cli
