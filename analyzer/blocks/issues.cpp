/// What a reader should know of a phased run's blocks beside its figures.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/blocks/constants.hpp"
#include "analyzer/blocks/rounds.hpp"
#include "analyzer/load/phase_name.hpp"
#include "analyzer/statistics/statistics.hpp"

namespace stallcast::sections {
namespace {

using record::Phase;

std::string percent_of(double share) {
  return std::to_string(std::lround(100.0 * share)) + " %";
}

/// What blocks held beside the mean of all samples, where their times were moved to that.
void name_adjusted(const PhaseRounds& data, Profile& profile) {
  std::string settings;
  double least = 1.0;
  double most = 1.0;
  bool told = false;
  for (const auto& [setting, share] : data.elasticities) {
    for (const auto& [round, cell] : data.settings.at(setting)) {
      const double held = cell.content.bytes / cell.samples / data.content.bytes;
      least = std::min(least, held);
      most = std::max(most, held);
      told = told || share * std::abs(held - 1.0) > k_told_content;
    }
    if (setting.at_once != 0 || setting.argument != 0) continue;
    settings += std::string(settings.empty() ? "" : ", ") + phase_name(setting.phase) + " by " + percent_of(share);
  }
  if (!told || settings.empty()) return;
  add_issue(
      profile.issues,
      {"content-adjusted", Severity::info, static_cast<std::int64_t>(data.elasticities.size()),
       "the samples of a round hold " + percent_of(least) + " to " + percent_of(most) +
           " of the average bytes of a sample; times were adjusted to the average, as far as they depend on bytes (" +
           settings + " of the difference)",
       ""});
}

/// "12 % more" than the others, or "5 to 60 % less" of several.
std::string range_of(std::vector<double> shares, const char* words) {
  if (shares.empty()) return {};
  const auto [least, most] = std::minmax_element(shares.begin(), shares.end());
  const std::string low = std::to_string(std::lround(100.0 * *least));
  const std::string high = std::to_string(std::lround(100.0 * *most));
  return (low == high ? low : low + " to " + high) + " % " + words;
}

/// Rounds that stand out are named, at most a few by number; they stay in the estimate, whose interval shows them.
void name_outliers(const PhaseRounds& data, Profile& profile) {
  for (const auto& [setting, rounds] : data.settings) {
    if (rounds.size() < k_fewest_rounds_for_outlier) continue;
    const double median = median_of(log_rates(rounds));
    std::string numbers;
    std::vector<double> more;
    std::vector<double> less;
    for (const auto& [round, cell] : rounds) {
      const double off = median - std::log(cell.samples / cell.seconds);
      if (std::abs(off) < k_outlier_round) continue;
      (off > 0.0 ? more : less).push_back(std::abs(std::expm1(off)));
      numbers += (numbers.empty() ? "" : ", ") + std::to_string(round);
    }
    const std::size_t count = more.size() + less.size();
    if (count == 0) continue;
    const std::string which = count == 1 ? "round " + numbers
                              : count <= k_outliers_by_name
                                  ? "rounds " + numbers
                                  : std::to_string(count) + " of " + std::to_string(rounds.size()) + " rounds";
    const std::string longer = range_of(more, "more");
    const std::string shorter = range_of(less, "less");
    add_issue(profile.issues,
              {"outlier-round", Severity::warning, static_cast<std::int64_t>(count),
               which + " of the state " + phase_name(setting.phase) + " took " + longer +
                   (longer.empty() || shorter.empty() ? "" : " or ") + shorter + " time than the others",
               "another job on this machine or its storage? see the timeline"});
  }
}

/// Blocks stand for the job as found only where the script's own part of a step is the same in both: in those that
/// differ from it by where bytes come from, and not by how much is waited.
void name_step_changed(const PhaseRounds& data, Profile& profile) {
  const auto& found = profile.resources.consumer_cpu;
  const auto& compute = profile.resources.compute;
  if (!found || !compute || data.all_workers == 0 || profile.job.batch_size.value_or(0) <= 0) return;
  const double each_step_s = found->mean.value() * static_cast<double>(*profile.job.batch_size);
  if (!(each_step_s > k_step_computes * compute->mean.value())) return;
  std::string changes;
  for (const Phase phase : {Phase::cold, Phase::cached}) {
    const Rounds* rounds = rounds_of(data, phase);
    if (rounds == nullptr) continue;
    double cpu_s = 0.0;
    double samples = 0.0;
    for (const auto& [round, cell] : *rounds) {
      if (cell.cpu_seconds < 0.0) return;
      cpu_s += cell.cpu_seconds;
      samples += cell.samples;
    }
    const double each_s = cpu_s / samples;
    const double change = each_s / found->mean.value() - 1.0;
    const bool within = each_s >= found->ci95_low.value() && each_s <= found->ci95_high.value();
    if (within || std::abs(change) < k_told_step_change) continue;
    changes += std::string(changes.empty() ? "" : ", ") + percent_of(std::abs(change)) +
               (change < 0.0 ? " less in " : " more in ") + phase_name(phase) + " ones";
  }
  if (changes.empty()) return;
  add_issue(profile.issues,
            {"step-changed", Severity::warning, 1,
             "the training process takes more or less CPU time for a sample in blocks than it did as found: " + changes,
             "its step changed within the run (a heap that keeps its memory or gives it back, another batch size or "
             "model): rates of blocks are of the step as it was in them"});
}

/// What was run and counts for nothing, by phase, with the last reason.
void name_rejected(const PhaseRounds& data, Profile& profile) {
  std::map<Phase, std::pair<int, int>> counts;  // rejected, all
  for (const PhaseBlock& block : data.blocks) {
    auto& [rejected, all] = counts[block.run.phase];
    rejected += block.rejected.empty() ? 0 : 1;
    ++all;
  }
  for (const auto& [phase, count] : counts) {
    // A hold that begins with a full queue tells no supply, and is none the worse for it.
    const bool supply = phase == Phase::supply_cached || phase == Phase::supply_cold;
    if (count.first == 0 || (supply && rounds_of(data, phase) != nullptr)) continue;
    add_issue(profile.issues,
              {"blocks-rejected", Severity::info, count.first,
               std::to_string(count.first) + " of " + std::to_string(count.second) + " blocks of the state " +
                   phase_name(phase) + " do not count: " + data.rejected.at(phase),
               "see the premises for what was found"});
  }
}

/// Cold blocks that failed because pages lay in memory which this run had not brought there, and which it left alone.
void name_foreign_pages(const PhaseRounds& data, Profile& profile) {
  int blocks = 0;
  for (const PhaseBlock& block : data.blocks) {
    const bool cold = block.run.phase == Phase::cold || block.run.phase == Phase::supply_cold;
    blocks += cold && block.evidence.foreign_bytes > k_most_foreign_unnamed * block.evidence.opened_bytes ? 1 : 0;
  }
  if (blocks == 0) return;
  add_issue(profile.issues, {"cold-not-ours", Severity::warning, blocks,
                             "files of cold blocks were in memory before this run read them, and stayed there",
                             "if nothing else on this machine needs them in memory, profile with --evict all"});
}

/// Where there is no cold rate, what came nearest to it.
void name_first_touch(const PhaseRounds& data, Profile& profile) {
  const Rounds* first = rounds_of(data, Phase::first_touch);
  if (first == nullptr || rounds_of(data, Phase::cold) != nullptr) return;
  const auto rate = rate_of(*first, data.correlation);
  if (!rate) return;
  if (!data.stream.empty()) {
    add_issue(profile.issues,
              {"first-touch", Severity::info, rate->n,
               "blocks as found whose bytes came from storage ran at " +
                   std::to_string(std::lround(rate->mean.value())) + " samples/s (phase first_touch of the points)",
               ""});
    return;
  }
  add_issue(profile.issues,
            {"first-touch", Severity::info, rate->n,
             "cold could not be proven here; samples that this run had not read before came at " +
                 std::to_string(std::lround(rate->mean.value())) +
                 " samples/s (phase first_touch of the points). Others may have read them before",
             "/proc/PID/io tells nothing of FUSE and object stores: clear their own caches to be sure"});
}

}  // namespace

void add_phase_issues(const PhaseRounds& data, Profile& profile) {
  name_adjusted(data, profile);
  name_outliers(data, profile);
  name_step_changed(data, profile);
  name_rejected(data, profile);
  name_foreign_pages(data, profile);
  name_first_touch(data, profile);
}

}  // namespace stallcast::sections
