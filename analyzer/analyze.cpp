#include "analyzer/analyze.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "analyzer/phase_blocks.hpp"
#include "analyzer/sections.hpp"
#include "analyzer/storage_summary.hpp"
#include "analyzer/warnings.hpp"

namespace stallcast {
namespace {

using sections::Launch;
using sections::RankView;

constexpr std::size_t k_timeline_rows = 2000;
constexpr std::size_t k_fewest_steps = 4;
constexpr double k_beside = 0.5;  ///< share of the shorter process that must lie beside the longest

/// Share of the shorter of two windows that lies in the other. Clocks of one host only.
double overlap(const SteadyWindow& a, const SteadyWindow& b) {
  const std::uint64_t begin = std::max(a.steps.front().begin_ns, b.steps.front().begin_ns);
  const std::uint64_t end = std::min(a.steps.back().end_ns, b.steps.back().end_ns);
  const std::uint64_t shorter =
      std::min(a.steps.back().end_ns - a.steps.front().begin_ns, b.steps.back().end_ns - b.steps.front().begin_ns);
  return begin < end ? static_cast<double>(end - begin) / static_cast<double>(std::max<std::uint64_t>(shorter, 1))
                     : 0.0;
}

/// Ranks take batches at the same time. Of processes that came one after another (a sweep, training and then a test, a
/// restart) only those beside the longest are this job's ranks: the rates of the others must not be added to it.
std::vector<RankView> at_the_same_time(std::vector<RankView> views, std::vector<DataIssue>& issues) {
  std::map<std::string, SteadyWindow> longest;
  for (const RankView& view : views) {
    SteadyWindow& most = longest[view.consumer->host];
    if (view.window.deliveries > most.deliveries) most = view.window;
  }
  const auto left_out = std::erase_if(
      views, [&](const RankView& view) { return overlap(view.window, longest[view.consumer->host]) < k_beside; });
  if (left_out > 0) {
    add_issue(issues, {"other-processes", Severity::warning, static_cast<std::int64_t>(left_out),
                       "processes took batches at another time than the one that took most; they were left out",
                       "profile one training command at a time"});
  }
  return views;
}

std::vector<RankView> views_of(const RunData& run, std::vector<DataIssue>& issues) {
  std::vector<RankView> views;
  for (const Consumer& consumer : run.consumers) {
    RankView view{&consumer, steady_window(consumer, found_between_blocks(consumer, run.processes))};
    if (view.window.steps.size() >= k_fewest_steps) views.push_back(std::move(view));
  }
  return at_the_same_time(std::move(views), issues);
}

std::size_t ranks_beside(const std::vector<RankView>& ranks, const RankView& rank) {
  return static_cast<std::size_t>(std::count_if(
      ranks.begin(), ranks.end(), [&](const RankView& other) { return other.consumer->host == rank.consumer->host; }));
}

Outcome outcome_of(const RunData& run, bool loader_found, bool enough) {
  Outcome outcome;
  const RunLog& log = run.log;
  outcome.child_exit_code = log.signal != 0 ? 128 + log.signal : log.exit_code;
  if (log.interrupted) {
    outcome.status = "interrupted";
    outcome.words = "the run was interrupted; what was measured until then is reported";
  } else if (run.has_log && log.ended && outcome.child_exit_code != 0 && !log.ended_by_us) {
    outcome.status = "child_failed";
    outcome.words = "the command ended with status " + std::to_string(outcome.child_exit_code) +
                    "; what was measured until then is reported";
  } else if (!loader_found) {
    outcome.status = "no_loader";
    outcome.words = "no data loader was seen; only what shows from outside was measured";
  } else if (!enough) {
    outcome.status = "not_enough_data";
    outcome.words = "a loader was seen, but too few steps to measure";
  } else if (log.ended_by_us) {
    outcome.words = "the command hung and was ended; what was measured until then is reported";
  } else {
    outcome.words = "the run was measured";
  }
  return outcome;
}

void mark_absent(Profile& profile, const std::string& reason) {
  auto& rates = profile.rates;
  for (auto* rate :
       {&rates.synthetic, &rates.cached, &rates.cold, &rates.as_is, &rates.supply_cached, &rates.supply_cold}) {
    *rate = MeasuredEstimate<SamplesPerSecond>::absent(reason);
  }
  auto& stalls = profile.stalls;
  for (auto* stall : {&stalls.prep, &stalls.fetch, &stalls.as_is_prep, &stalls.as_is_fetch, &stalls.as_is_wait,
                      &stalls.interference, &stalls.as_is_interference}) {
    *stall = MeasuredEstimate<Fraction>::absent(reason);
  }
  profile.page_cache.hit = MeasuredEstimate<Fraction>::absent(reason);
  profile.page_cache.room = Measured<double>::absent(reason);
}

double window_length(const std::vector<RankView>& ranks) {
  double sum = 0.0;
  for (const SteadyStep& step : ranks.front().window.steps) sum += step.step_s();
  return sum;
}

/// A further launch adds blocks and issues; what was found is that of the first.
void add_launch(const RunData& run, std::vector<Launch>& launches, Profile& profile) {
  for (const DataIssue& issue : run.issues) add_issue(profile.issues, issue);
  std::vector<RankView> ranks = views_of(run, profile.issues);
  const Outcome outcome = outcome_of(run, !run.consumers.empty(), !ranks.empty());
  if (profile.outcome.status == "measured" && outcome.status != "measured") profile.outcome = outcome;
  launches.push_back({&run, std::move(ranks)});
}

/// Launches follow each other: what drifts meanwhile is part of their difference.
void note_launches(std::size_t launches, Profile& profile) {
  if (launches < 2) return;
  add_issue(profile.issues, {"separate-launches", Severity::info, static_cast<std::int64_t>(launches),
                             "each phase was measured in a launch of its own: the intervals hold what varied within a "
                             "launch, and not what changed between them",
                             "the default, --strategy interleave, measures all phases side by side"});
}

void note_missing_end(const RunData& run, Profile& profile) {
  if (!run.has_log || run.log.ended) return;
  add_issue(profile.issues,
            {"tool-ended-early", Severity::warning, 1,
             "stallcast ended before the command did; this profile was recovered from its recordings", ""});
}

}  // namespace

Profile analyze_run(const RunData& run) {
  return analyze_launches({&run, 1});
}

Profile analyze_launches(std::span<const RunData> launches) {
  const RunData& run = launches.front();
  Profile profile;
  profile.issues = run.issues;
  const std::vector<RankView> ranks = views_of(run, profile.issues);
  profile.tool_version = run.log.tool_version;
  profile.command = run.log.command;
  profile.host = run.log.host.value_or(Host{});
  profile.emulation = run.log.emulation;
  profile.outcome = outcome_of(run, !run.consumers.empty(), !ranks.empty());
  profile.job = sections::job_of(run, ranks);
  profile.overhead = sections::overhead_of(run);
  profile.dataset = sections::dataset_of(run, ranks);
  sections::check_limited_files(run, profile);
  note_missing_end(run, profile);
  note_launches(launches.size(), profile);
  if (ranks.empty()) {
    mark_absent(profile, profile.outcome.words);
    return profile;
  }
  const ReplayMachine machine = sections::replay_machine(run, ranks, ranks_beside(ranks, ranks.front()));
  profile.measured_s = window_length(ranks);
  profile.resources = sections::resources_of(run, ranks, machine);
  profile.page_cache = sections::page_cache_of(run, ranks, profile.dataset, profile.resources);
  profile.operators = sections::operators_of(run, ranks, profile.issues);
  profile.ranks = sections::ranks_of(ranks);
  profile.timeline = sections::timeline_of(ranks, k_timeline_rows);
  sections::add_phases(run, ranks.front(), k_timeline_rows, profile);
  sections::fill_rates_and_stalls(ranks, machine, profile);
  std::vector<Launch> phased{{&run, ranks}};
  for (const RunData& further : launches.subspan(1)) add_launch(further, phased, profile);
  sections::fill_differential(phased, profile);
  profile.cpu = sections::cpu_of(phased);
  profile.gpu = sections::gpu_of(run, ranks, static_cast<double>(profile.job.batches_per_step.value_or(1)));
  sections::add_warnings(run, ranks, profile);
  sections::check_page_cache(profile.page_cache, profile.issues);
  return profile;
}

Result<Profile> analyze(const std::filesystem::path& folder) {
  const auto launches = load_launches(folder);
  if (!launches.ok()) return launches.error();
  Profile profile = analyze_launches(launches.value());
  profile.storage = load_storage(recordings_of(folder), profile.issues);
  return profile;
}

}  // namespace stallcast
