#include "probes/collect/schedule/phased_run.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "probes/collect/schedule/constants.hpp"
#include "probes/collect/system/cgroup_limits.hpp"
#include "probes/collect/system/cpu_limit.hpp"

namespace stallcast::collect {
namespace {

namespace fs = std::filesystem;

PhaseWants with_cores(PhaseWants wants) {
  const double quota = read_cgroup_limits("/").cpus.value_or(static_cast<double>(allowed_cpus().size()));
  const double usable = std::min(quota, static_cast<double>(allowed_cpus().size()));
  wants.cores = std::max<std::size_t>(1, static_cast<std::size_t>(usable));
  return wants;
}

}  // namespace

PhasedRun::PhasedRun(const RunFolder& folder, const PhasedOptions& options)
    : options_(options),
      control_(folder.control()),
      files_(std::make_unique<RecordedFiles>(folder.path(), folder.control())),
      schedule_(folder.control(), with_cores(options.wants), files_.get()),
      run_folder_(folder.path()) {
  control_.evict = static_cast<std::uint32_t>(options.evict);
  control_.mode = static_cast<std::uint32_t>(record::RunMode::phased);
}

Result<std::unique_ptr<PhasedRun>> PhasedRun::begin(const RunFolder& folder, const PhasedOptions& options) {
  return std::unique_ptr<PhasedRun>(new PhasedRun(folder, options));
}

PhasedRun::~PhasedRun() {
  command_ended();
}

void PhasedRun::command_ended() {
  over_ = true;
  files_->release_all();
  if (asking_.joinable()) asking_.join();
  if (telling_.joinable()) telling_.join();
}

void PhasedRun::beat(std::uint64_t now_ns) {
  if (over_) return;
  schedule_.set_enough(is_enough_.load(std::memory_order_acquire));
  if (cold_fails_.load(std::memory_order_acquire)) schedule_.give_up_cold("none of those so far was cold");
  files_->poll();
  schedule_.step(now_ns);
  ask_for_estimates();
  tell_when_over(now_ns);
  if (over_ || !options_.on_progress || now_ns < next_progress_ns_) return;
  next_progress_ns_ = now_ns + k_progress_every_ns;
  options_.on_progress(schedule_.progress(now_ns));
}

/// The estimates take longer than a beat: they are made beside the loop, which must not be late with the schedule.
void PhasedRun::ask_for_estimates() {
  const int rounds = schedule_.complete_rounds();
  if (!options_.estimate || rounds < options_.wants.fewest_rounds || rounds <= rounds_asked_) return;
  if (asked_.load(std::memory_order_acquire)) return;
  if (asking_.joinable()) asking_.join();
  rounds_asked_ = rounds;
  asked_.store(true, std::memory_order_release);
  asking_ = std::thread([this] {
    const EstimatesSoFar so_far = options_.estimate(run_folder_);
    is_enough_.store(so_far.tight, std::memory_order_release);
    cold_fails_.store(so_far.cold_fails, std::memory_order_release);
    asked_.store(false, std::memory_order_release);
  });
}

/// A job of whose loader no states can be made is recorded for as long as the budget says, where it is to be ended
/// then.
bool PhasedRun::is_over(std::uint64_t now_ns) {
  if (schedule_.is_over(now_ns)) return true;
  if (!options_.wants.stop || !schedule_.progress(now_ns).refused) return false;
  if (refused_ns_ == 0) refused_ns_ = now_ns;
  return static_cast<double>(now_ns - refused_ns_) * 1e-9 >= options_.wants.budget.value();
}

/// Ranks that wait to be ended go on doing so; all others are left alone from here on.
void PhasedRun::tell_when_over(std::uint64_t now_ns) {
  if (!is_over(now_ns)) return;
  over_ = true;
  files_->release_all();
  if (!options_.wants.stop) control_.let_go.store(1, std::memory_order_release);
  telling_ = std::thread([this] {
    if (options_.on_measured) options_.on_measured(run_folder_);
    told_.store(true, std::memory_order_release);
  });
}

bool PhasedRun::wants_stop(std::uint64_t /*now_ns*/) const {
  return options_.wants.stop && told_.load(std::memory_order_acquire);
}

std::vector<DataIssue> PhasedRun::issues_at_end() const {
  std::vector<DataIssue> issues;
  if (!schedule_.obstacle().empty()) {
    issues.push_back({"phases-impossible", Severity::warning, 1, "no states were made: " + schedule_.obstacle(), ""});
  }
  if (control_.shared_reads.load(std::memory_order_relaxed) >= record::k_files_shared) {
    issues.push_back(
        {"files-shared", Severity::info, 1, "several processes read the same files of a stream at a time",
         "what one brings into memory is there for the others: no cold blocks after the first epoch. Split "
         "the files by worker and by rank if each is to read its own"});
  }
  if (!schedule_.why_not_cached().empty()) {
    issues.push_back({"no-cached-blocks", Severity::info, 1, "no blocks from memory: " + schedule_.why_not_cached(),
                      "what a cache would bring is then told by how long reads took"});
  }
  if (!schedule_.why_not_cold().empty()) {
    issues.push_back(
        {"no-cold-blocks", Severity::info, 1, "no further blocks from storage: " + schedule_.why_not_cold(),
         "the premises say what was found: pages that stay in memory are those that the kernel reads around others "
         "(read_ahead_kb of the device), that other processes have mapped, or that were there before"});
  }
  if (const auto few = schedule_.fell_short()) {
    const auto minutes = static_cast<std::int64_t>(std::ceil(few->budget.value() / 60.0));
    issues.push_back({"few-rounds", Severity::info, few->rounds,
                      std::to_string(few->rounds) + " of " + std::to_string(few->of) +
                          " rounds of blocks from memory fitted into the budget",
                      "at this pace --budget " + std::to_string(minutes) + "m holds them all"});
  }
  if (const std::uint64_t missed = schedule_.missed(); missed > 0) {
    issues.push_back({"phases-missed", Severity::info, static_cast<std::int64_t>(missed),
                      "blocks of which a rank learned too late, so that it left them out",
                      "the machine was too busy for stallcast itself"});
  }
  return issues;
}

}  // namespace stallcast::collect
