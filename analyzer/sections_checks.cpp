/// Warnings that follow from the figures; each says what was seen and what to do.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "analyzer/sections.hpp"
#include "analyzer/statistics.hpp"

namespace stallcast::sections {
namespace {

constexpr std::int64_t k_few_steps = 30;
constexpr double k_drift = 0.10;  ///< of the mean over the whole window
constexpr double k_epoch_pause_share = 0.05;

void issue(Profile& profile, const char* id, Severity severity, std::string detail, const char* hint) {
  add_issue(profile.issues, {id, severity, 1, std::move(detail), hint});
}

std::string number(double value, int digits) {
  char text[48];
  std::snprintf(text, sizeof(text), "%.*f", digits, value);
  return text;
}

void check_length(const std::vector<RankView>& ranks, Profile& profile) {
  std::int64_t steps = 0;
  for (const RankView& rank : ranks) steps += static_cast<std::int64_t>(rank.window.steps.size());
  if (steps >= k_few_steps) return;
  issue(profile, "few-steps", Severity::warning, "only " + std::to_string(steps) + " steady steps were seen",
        "let the command run longer; short runs give wide intervals");
}

void check_drift(const std::vector<RankView>& ranks, Profile& profile) {
  const std::vector<SteadyStep>& steps = ranks.front().window.steps;
  constexpr std::size_t k_blocks = 12;
  if (steps.size() < 5 * k_blocks) return;
  std::vector<double> means;
  for (std::size_t block = 0; block < k_blocks; ++block) {
    const std::size_t from = block * steps.size() / k_blocks;
    const std::size_t to = (block + 1) * steps.size() / k_blocks;
    double sum = 0.0;
    for (std::size_t i = from; i < to; ++i) sum += steps[i].step_s();
    means.push_back(sum / static_cast<double>(to - from));
  }
  const Estimate<double> trend = relative_trend(means);
  const bool clear = trend.ci95_low > 0.0 || trend.ci95_high < 0.0;
  if (!clear || std::abs(trend.mean) < k_drift) return;
  issue(profile, "drift", Severity::warning,
        "steps became " + number(100.0 * std::abs(trend.mean), 0) + (trend.mean > 0.0 ? " % slower" : " % faster") +
            " over the measured window",
        "the cache may be filling, or another job runs here; measure longer, or a later epoch");
}

void check_cores(const RunData& run, const std::vector<RankView>& ranks, Profile& profile) {
  if (!run.log.host || !profile.job.num_workers) return;
  const double cores = run.log.host->usable_cpus;
  const double threads = static_cast<double>(profile.job.threads_per_worker.value_or(1));
  const double wanted = static_cast<double>(*profile.job.num_workers) * threads * static_cast<double>(ranks.size());
  if (cores > 0.0 && wanted > 2.0 * cores && *profile.job.num_workers > 0) {
    issue(profile, "oversubscribed", Severity::warning,
          number(wanted, 0) + " worker threads share " + number(cores, 1) + " usable cores",
          "fewer workers, or one thread per worker (torch.set_num_threads(1), cv2.setNumThreads(0))");
  }
  if (run.log.host->usable_cpus_limited_by != "nothing" && !run.log.host->usable_cpus_limited_by.empty()) {
    issue(profile, "cores-limited", Severity::info,
          "the job may use " + number(cores, 1) + " of " + std::to_string(run.log.host->logical_cpus) +
              " cores (limited by " + run.log.host->usable_cpus_limited_by + ")",
          "ask the batch system for more cores per task if the loader needs them");
  }
}

void check_epochs(const std::vector<RankView>& ranks, Profile& profile) {
  const SteadyWindow& window = ranks.front().window;
  if (window.first_wait_s.size() < 2 || window.steps.empty()) return;
  // The first epoch's pause holds imports and cold caches; the later ones are what repeats.
  const double pauses = std::accumulate(window.first_wait_s.begin() + 1, window.first_wait_s.end(), 0.0);
  const double steady = std::accumulate(window.steps.begin(), window.steps.end(), 0.0,
                                        [](double sum, const SteadyStep& step) { return sum + step.step_s(); });
  if (pauses < k_epoch_pause_share * (steady + pauses)) return;
  const double each = pauses / static_cast<double>(window.first_wait_s.size() - 1);
  issue(profile, "epoch-pauses", Severity::warning,
        "each epoch begins with a pause of " + number(each, 2) + " s until the first batch arrives",
        "persistent_workers=True keeps the workers between epochs");
}

void check_ranks(Profile& profile) {
  if (profile.job.ranks_seen < profile.job.ranks_expected) {
    issue(profile, "ranks-missing", Severity::warning,
          "recordings of " + std::to_string(profile.job.ranks_seen) + " ranks of " +
              std::to_string(profile.job.ranks_expected) + " were seen",
          "the launcher may drop the environment; see stallcast env");
  }
}

void check_unseen_reads(const RunData& run, Profile& profile) {
  double mapped = 0.0;
  double storage = 0.0;
  for (const record::ProcessRecording& process : run.processes)
    mapped += static_cast<double>(process.info.mapped_bytes);
  for (const auto& point : run.log.ticks) storage = std::max(storage, static_cast<double>(point.tree_read_bytes));
  const bool no_reads = !profile.dataset.bytes_per_sample || profile.dataset.bytes_per_sample->value() <= 0.0;
  if (no_reads && mapped > 0.0 && storage > 1e7) {
    issue(profile, "reads-unseen", Severity::warning,
          "the data set seems to be read through mapped files: read time is inside prep here",
          "the fetch share is a lower bound; profile with phases to separate it");
  }
}

}  // namespace

void add_checks(const RunData& run, const std::vector<RankView>& ranks, Profile& profile) {
  check_length(ranks, profile);
  check_drift(ranks, profile);
  check_cores(run, ranks, profile);
  check_epochs(ranks, profile);
  check_ranks(profile);
  check_unseen_reads(run, profile);
}

}  // namespace stallcast::sections
