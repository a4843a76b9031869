#include "probes/collect/phased_run.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "probes/collect/stage_place.hpp"

namespace stallcast::collect {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t k_progress_ns = 1'000'000'000ULL;

/// As the user would give it: with room for what costs more next time and for the look at the storage, in steps of 10
/// s.
std::string budget_words(Seconds needed) {
  constexpr double k_more = 1.1;
  constexpr double k_storage_s = 4.0;
  constexpr double k_step_s = 10.0;
  const double seconds = std::ceil((needed.value() * k_more + k_storage_s) / k_step_s) * k_step_s;
  return "--budget " + std::to_string(static_cast<std::int64_t>(seconds)) + "s";
}

}  // namespace

PhasedRun::PhasedRun(const RunFolder& folder, const PhasedOptions& options)
    : options_(options), schedule_(folder.control(), options.wants), run_folder_(folder.path()) {
  record::ControlBlock& control = folder.control();
  control.evict = static_cast<std::uint32_t>(options.evict);
  control.mode = static_cast<std::uint32_t>(record::RunMode::phased);
  make_stage(control, folder.run_id());
}

void PhasedRun::make_stage(record::ControlBlock& control, const std::string& run_id) {
  for (const StagePlace& place : stage_places()) {
    const fs::path stage = place.folder / ("stallcast-stage-" + run_id);
    std::error_code failed;
    if (stage.string().size() >= sizeof(control.stage_dir) || !fs::create_directory(stage, failed)) continue;
    fs::permissions(stage, fs::perms::owner_all, failed);
    stage_ = stage;
    std::memcpy(control.stage_dir, stage.c_str(), stage.string().size() + 1);
    control.stage_budget_bytes = place.free_bytes / 2;  // the other half is the loader's own shared memory
    return;
  }
  issues_.push_back(
      {"no-stage", Severity::warning, 1,
       "no file system in memory has room for the bytes of a block, so cached blocks depend on the page cache",
       "give /dev/shm more room (docker: --shm-size)"});
}

Result<std::unique_ptr<PhasedRun>> PhasedRun::begin(const RunFolder& folder, const PhasedOptions& options) {
  std::unique_ptr<PhasedRun> run(new PhasedRun(folder, options));
  std::vector<fs::path> folders{folder.path()};
  if (!run->stage_.empty()) folders.push_back(run->stage_);
  auto guardian = Guardian::post(folder.path(), folders);
  if (!guardian) return guardian.error();
  run->guardian_ = std::make_unique<Guardian>(std::move(guardian).value());
  return run;
}

PhasedRun::~PhasedRun() {
  if (asking_.joinable()) asking_.join();
  std::error_code failed;
  if (!stage_.empty()) fs::remove_all(stage_, failed);
}

void PhasedRun::beat(std::uint64_t now_ns) {
  if (is_enough_.load(std::memory_order_acquire)) schedule_.finish();
  schedule_.step(now_ns);
  ask_for_enough();
  if (!options_.on_progress || now_ns < next_progress_ns_) return;
  next_progress_ns_ = now_ns + k_progress_ns;
  options_.on_progress(schedule_.progress(now_ns));
}

/// The estimates take longer than a beat: they are made beside the loop, which must not be late with the schedule.
void PhasedRun::ask_for_enough() {
  const int rounds = schedule_.complete_rounds();
  if (!options_.enough || rounds < options_.wants.fewest_rounds || rounds <= rounds_asked_) return;
  if (asked_.load(std::memory_order_acquire)) return;
  if (asking_.joinable()) asking_.join();
  rounds_asked_ = rounds;
  asked_.store(true, std::memory_order_release);
  asking_ = std::thread([this] {
    if (options_.enough(run_folder_)) is_enough_.store(true, std::memory_order_release);
    asked_.store(false, std::memory_order_release);
  });
}

bool PhasedRun::must_end(std::uint64_t now_ns) {
  if (over_ || !hung_.empty()) return true;
  over_ = schedule_.is_over(now_ns);
  if (over_) return true;
  const auto overdue = schedule_.overdue(now_ns);
  if (overdue) hung_ = *overdue;
  return overdue.has_value();
}

std::vector<DataIssue> PhasedRun::issues_at_end() const {
  std::vector<DataIssue> issues;
  if (!hung_.empty()) {
    issues.push_back({"job-hung", Severity::error, 1, hung_,
                      "if it took no batches, a worker or the script hangs: DataLoader(timeout=60) makes that an "
                      "error; if it is only slow, raise --budget"});
  }
  if (over_) {
    issues.push_back({"launcher-stayed", Severity::info, 1,
                      "every rank had come to the end of the run; what had started them stayed, and was ended",
                      "nothing to do: it waits for results that a throwaway run does not have"});
  }
  if (!schedule_.obstacle().empty()) {
    issues.push_back({"phases-impossible", Severity::warning, 1, "no phases: " + schedule_.obstacle(),
                      "profile with fewer workers or a smaller prefetch factor, or with more data an epoch"});
  }
  if (const std::uint64_t length = schedule_.joined_epochs(); length > 0) {
    issues.push_back({"epochs-joined", Severity::info, 1,
                      "epochs of " + std::to_string(length) +
                          " batches are too short for blocks: while phases were run, the loader's workers went on from "
                          "one to the next",
                      "rates are those of steps; what the beginning of an epoch costs comes on top of them"});
  }
  if (const auto needed = schedule_.budget_needed()) {
    issues.push_back({"budget-short", Severity::warning, 1,
                      "the budget ended after " + std::to_string(schedule_.complete_rounds()) +
                          " rounds of blocks, and three are the fewest that tell anything of their spread",
                      "batches of this job take their time: " + budget_words(*needed) + " gives three"});
  }
  if (const std::uint64_t missed = schedule_.missed(); missed > 0) {
    issues.push_back({"phases-missed", Severity::info, static_cast<std::int64_t>(missed),
                      "blocks that a rank read of too late and left out",
                      "the machine was too busy for the tool itself"});
  }
  return issues;
}

std::vector<std::pair<std::string, std::string>> PhasedRun::variables(const fs::path& run_folder) {
  return {{"WANDB_MODE", "offline"},
          {"WANDB_DIR", (run_folder / "discard").string()},
          {"MLFLOW_TRACKING_URI", "file:" + (run_folder / "discard" / "mlruns").string()},
          {"NEPTUNE_MODE", "offline"},
          {"COMET_START_MODE", "offline"},
          {"COMET_OFFLINE_DIRECTORY", (run_folder / "discard").string()},
          {"CLEARML_OFFLINE_MODE", "1"}};
}

}  // namespace stallcast::collect
