#include "analyzer/analyze.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "analyzer/blocks/blocks.hpp"
#include "analyzer/blocks/differential.hpp"
#include "analyzer/blocks/timeline.hpp"
#include "analyzer/load/nodes.hpp"
#include "analyzer/load/received.hpp"
#include "analyzer/profile/dataset_bytes.hpp"
#include "analyzer/profile/give_reason.hpp"
#include "analyzer/ranks/clocks.hpp"
#include "analyzer/ranks/exchange.hpp"
#include "analyzer/ranks/ranks_seen.hpp"
#include "analyzer/reads/dataset.hpp"
#include "analyzer/reads/from_storage.hpp"
#include "analyzer/reads/limited_files.hpp"
#include "analyzer/reads/network.hpp"
#include "analyzer/reads/page_cache.hpp"
#include "analyzer/reads/read_beside.hpp"
#include "analyzer/reads/states.hpp"
#include "analyzer/resources/cpu.hpp"
#include "analyzer/resources/gpu.hpp"
#include "analyzer/resources/operators.hpp"
#include "analyzer/resources/overhead.hpp"
#include "analyzer/resources/resources.hpp"
#include "analyzer/stalls/odd_use.hpp"
#include "analyzer/stalls/replay_machine.hpp"
#include "analyzer/stalls/stalls.hpp"
#include "analyzer/steps/job.hpp"
#include "analyzer/steps/rank_view.hpp"
#include "analyzer/steps/traced.hpp"
#include "analyzer/storage/summary.hpp"
#include "analyzer/warnings/sightings.hpp"
#include "analyzer/warnings/warnings.hpp"

namespace stallcast {
namespace {

using sections::Launch;
using sections::RankView;

constexpr std::size_t k_timeline_rows = 2000;
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

/// A machine with a clock of its own.
using Machine = std::pair<std::size_t, std::string>;

Machine machine_of(const RankView& view) {
  return {view.run->machine, view.consumer->host};
}

/// Ranks take batches at the same time. Of processes that came one after another (a sweep, training and then a test, a
/// restart) only those beside the longest are this job's ranks: the rates of the others must not be added to it.
std::vector<RankView> at_the_same_time(std::vector<RankView> views, std::vector<DataIssue>& issues) {
  std::map<Machine, SteadyWindow> longest;
  for (const RankView& view : views) {
    SteadyWindow& most = longest[machine_of(view)];
    if (view.window.deliveries > most.deliveries) most = view.window;
  }
  const auto left_out = std::erase_if(
      views, [&](const RankView& view) { return overlap(view.window, longest[machine_of(view)]) < k_beside; });
  if (left_out > 0) {
    add_issue(issues, {"other-processes", Severity::warning, static_cast<std::int64_t>(left_out),
                       "processes took batches at another time than the one that took most; they were left out",
                       "profile one training command at a time"});
  }
  return views;
}

/// Of all nodes, in the order of their rank.
std::vector<RankView> views_of(std::span<const RunData> nodes, std::vector<DataIssue>& issues) {
  std::vector<RankView> views;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    for (const Consumer& consumer : nodes[node].consumers) {
      RankView view{&consumer, steady_window(consumer, found_between_blocks(consumer, nodes[node].processes)),
                    &nodes[node], node};
      set_traced_apart(nodes[node].gpus, consumer.pid, view.window);
      if (view.window.steps.size() >= k_fewest_steps) views.push_back(std::move(view));
    }
  }
  std::stable_sort(views.begin(), views.end(),
                   [](const RankView& a, const RankView& b) { return a.consumer->rank < b.consumer->rank; });
  return at_the_same_time(std::move(views), issues);
}

std::vector<Launch> launches_of(std::span<const RunData> nodes, const std::vector<RankView>& ranks) {
  std::vector<Launch> launches;
  for (const RunData& run : nodes) launches.push_back({&run, {}});
  for (const RankView& rank : ranks) launches[rank.node].ranks.push_back(rank);
  return launches;
}

/// What the replay takes each node's machine for; one without ranks has none.
std::vector<ReplayMachine> machines_of(const std::vector<Launch>& nodes) {
  std::vector<ReplayMachine> machines;
  for (const Launch& node : nodes) {
    if (node.ranks.empty()) {
      machines.emplace_back();
      continue;
    }
    const std::string& host = node.ranks.front().consumer->host;
    const auto beside = std::count_if(node.ranks.begin(), node.ranks.end(),
                                      [&](const RankView& rank) { return rank.consumer->host == host; });
    machines.push_back(sections::replay_machine(*node.run, node.ranks, static_cast<std::size_t>(beside)));
  }
  return machines;
}

/// Machines that ranks were seen on; without ranks, those whose recordings are there.
int hosts_seen(std::span<const RunData> nodes, const std::vector<RankView>& ranks) {
  std::set<Machine> machines;
  for (const RankView& rank : ranks) machines.insert(machine_of(rank));
  std::set<std::size_t> recorded;
  for (const RunData& run : nodes) recorded.insert(run.machine);
  return static_cast<int>(machines.empty() ? recorded.size() : machines.size());
}

constexpr const char* k_too_few_steps = "a loader was seen, but too few steps to measure";

bool is_loader_found(std::span<const RunData> nodes) {
  return std::any_of(nodes.begin(), nodes.end(), [](const RunData& run) { return !run.consumers.empty(); });
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
                    (loader_found ? "; what was measured until then is reported" : " before stallcast saw a batch");
  } else if (!loader_found) {
    outcome.status = "no_loader";
    outcome.words = "no data loader was seen; only what shows from outside was measured";
  } else if (!enough) {
    outcome.status = "not_enough_data";
    outcome.words = k_too_few_steps;
  } else if (log.ended_by_us) {
    outcome.words = "the run was measured, then ended as asked";
  } else {
    outcome.words = "the run was measured";
  }
  return outcome;
}

/// A node that failed says so for the job; one without a loader does not, where others have one.
Outcome outcome_of(std::span<const RunData> nodes, const std::vector<RankView>& ranks) {
  const bool found = is_loader_found(nodes);
  for (const RunData& run : nodes) {
    Outcome outcome = outcome_of(run, found, !ranks.empty());
    if (outcome.status == "measured" && &run != &nodes.back()) continue;
    if (nodes.size() > 1 && outcome.status != "measured") outcome.words = run.name + ": " + outcome.words;
    return outcome;
  }
  return {};
}

void mark_absent(Profile& profile, const std::string& reason) {
  fields::ReasonGiver reasons(reason);
  describe(reasons, profile.rates);
  describe(reasons, profile.stalls);
  describe(reasons, profile.job);
  describe(reasons, profile.resources);
  describe(reasons, profile.page_cache);
}

double window_length(const std::vector<RankView>& ranks) {
  double sum = 0.0;
  for (const SteadyStep& step : ranks.front().window.steps) sum += step.step_s();
  return sum;
}

/// A further launch adds blocks and issues; what was found is that of the first.
void add_launch(const RunData& run, std::vector<Launch>& launches, Profile& profile) {
  for (const DataIssue& issue : run.issues) add_issue(profile.issues, issue);
  std::vector<RankView> ranks = views_of({&run, 1}, profile.issues);
  const Outcome outcome = outcome_of(run, !run.consumers.empty(), !ranks.empty());
  if (profile.outcome.status == "measured" && outcome.status != "measured") profile.outcome = outcome;
  launches.push_back({&run, std::move(ranks)});
}

/// Launches follow each other: what drifts meanwhile is part of their difference.
void note_launches(std::size_t launches, Profile& profile) {
  if (launches < 2) return;
  add_issue(profile.issues, {"separate-launches", Severity::info, static_cast<std::int64_t>(launches),
                             "each state was measured in a launch of its own: the intervals hold what varied within a "
                             "launch, and not what changed between them",
                             "the default, --strategy interleave, measures all states side by side"});
}

void note_missing_end(const RunData& run, Profile& profile) {
  if (!run.has_log || run.log.ended || !run.log.watched) return;
  add_issue(profile.issues,
            {"tool-ended-early", Severity::warning, 1,
             "stallcast ended before the command did; this profile was recovered from its recordings", ""});
}

void fill_facts(std::span<const RunData> nodes, const std::vector<RankView>& ranks, Profile& profile) {
  const RunData& run = ranks.empty() ? nodes.front() : *ranks.front().run;
  profile.tool_version = run.log.tool_version;
  profile.command = run.log.command;
  profile.host = run.log.host.value_or(Host{});
  profile.host.hosts_seen = hosts_seen(nodes, ranks);
  profile.host.usable_cpus = 0.0;  // launches on one machine have a share of it each
  for (const RunData& other : nodes) {
    if (other.machine == run.machine && other.log.host) profile.host.usable_cpus += other.log.host->usable_cpus;
  }
  profile.emulation = run.log.emulation;
  profile.outcome = outcome_of(nodes, ranks);
}

/// What a sample reads twice comes from storage once: of bytes counted once, more came from there.
void count_once(const RunData& run, Profile& profile) {
  auto& share = profile.resources.bytes_from_storage;
  const auto once = distinct_bytes_per_sample(profile.dataset, profile.job.dataset_samples);
  if (!share || !once || sections::storage_is_emulated(run)) return;
  share = std::min(1.0, *share * profile.dataset.bytes_per_sample->value() / once->value());
}

void fill_measured(const std::vector<Launch>& nodes, const std::vector<RankView>& ranks, Profile& profile) {
  const std::vector<ReplayMachine> machines = machines_of(nodes);
  profile.measured_s = window_length(ranks);
  profile.resources = sections::resources_of(nodes, ranks, machines);
  count_once(*nodes.front().run, profile);
  profile.page_cache = sections::page_cache_of(nodes, ranks, profile.dataset, profile.resources);
  profile.ranks = sections::ranks_of(ranks);
  sections::align_ranks(ranks, profile.ranks);
  profile.timeline = sections::timeline_of(ranks, k_timeline_rows);
  sections::add_phases(*ranks.front().run, ranks.front(), k_timeline_rows, profile);
  sections::fill_rates_and_stalls(ranks, machines, profile);
}

Profile analyze_job(std::span<const RunData> nodes, std::span<const RunData> further, bool is_part = false);

std::vector<Profile> profiles_of(const std::vector<StateSpan>& spans, const RunData& run) {
  std::vector<Profile> of_states;
  for (const StateSpan& span : spans) {
    const RunData part = within(run, span);
    of_states.push_back(analyze_job({&part, 1}, {}, /*is_part=*/true));
  }
  return of_states;
}

/// A run that went through several states is each of them, and not their mean.
void tell_states(const std::vector<Launch>& launches, const std::vector<RankView>& ranks, Profile& profile) {
  const RunData& run = *launches.front().run;
  const bool by_turns =
      std::any_of(ranks.begin(), ranks.end(), [](const RankView& rank) { return rank.window.by_turns; });
  if (by_turns) return;  // passes are no epochs, one after the other
  const std::vector<StateSpan> stored = states_of(launches, ranks);
  if (!stored.empty()) {
    const std::vector<Profile> of_states = profiles_of(stored, run);
    const bool all = std::all_of(of_states.begin(), of_states.end(), [](const Profile& p) { return !!p.rates.as_is; });
    if (all) join_states(stored, of_states, profile);
    return;
  }
  const std::vector<StateSpan> made = states_by_making(launches, ranks);
  if (made.empty()) return;
  const std::vector<Profile> of_states = profiles_of(made, run);
  const bool told = !!of_states.back().rates.as_is;
  if (told) join_states(made, of_states, profile);
  note_makings(made, told, profile.issues);
}

/// `nodes` ran at the same time, `further` launches of the first one came after it. `is_part`: of a run whose other
/// parts are other states.
Profile analyze_job(std::span<const RunData> nodes, std::span<const RunData> further, bool is_part) {
  Profile profile;
  for (const RunData& run : nodes) {
    for (const DataIssue& issue : run.issues) add_issue(profile.issues, issue);
  }
  const std::vector<RankView> ranks = views_of(nodes, profile.issues);
  std::vector<Launch> launches = launches_of(nodes, ranks);
  fill_facts(nodes, ranks, profile);
  profile.job = sections::job_of(launches, ranks);
  profile.overhead = sections::overhead_of(launches);
  profile.dataset = sections::dataset_of(launches, ranks);
  sections::add_network_issues(nodes.front(), ranks, profile.issues);
  sections::check_limited_files(nodes.front(), profile);
  for (const RunData& run : nodes) note_missing_end(run, profile);
  note_launches(1 + further.size(), profile);
  if (ranks.empty()) {
    const bool loader_found = is_loader_found(nodes);
    mark_absent(profile, loader_found ? k_too_few_steps : profile.outcome.words);
    if (!loader_found) profile.seen_instead = sightings_of(nodes);
    return profile;
  }
  const auto beside = is_part ? std::nullopt : sections::read_beside(ranks);
  if (beside) sections::note_read_beside(*beside, profile);
  fill_measured(launches, ranks, profile);
  if (beside) sections::leave_out_shares(profile);
  for (const RunData& run : further) add_launch(run, launches, profile);
  if (!sections::takes_oddly(ranks)) sections::fill_differential(launches, profile);
  profile.cpu = sections::cpu_of(launches, nodes.size());
  profile.gpu = sections::gpu_of(ranks, static_cast<double>(profile.job.batches_per_step.value_or(1)));
  profile.exchange = sections::exchange_of(ranks, profile.job.ranks_expected);
  if (!profile.exchange.backend.empty()) profile.job.ranks_together = true;
  launches.resize(nodes.size());
  profile.operators = sections::operators_of(launches, ranks, profile.premises, profile.issues);
  sections::add_warnings(launches, ranks, profile);
  sections::check_page_cache(profile.page_cache, profile.issues);
  // Which state a run is in shows in what batches read.
  if (!is_part && further.empty() && !beside) tell_states(launches, ranks, profile);
  return profile;
}

}  // namespace

Profile analyze_run(const RunData& run) {
  return analyze_job({&run, 1}, {});
}

Profile analyze_launches(std::span<const RunData> launches) {
  return analyze_job(launches.first(1), launches.subspan(1));
}

Profile analyze_nodes(std::span<const RunData> nodes) {
  return analyze_job(nodes, {});
}

Result<Profile> analyze(const std::filesystem::path& folder) {
  auto launches = load_launches(folder);
  if (!launches.ok()) return launches.error();
  if (holds_nodes(folder)) {
    auto nodes = one_job(std::move(launches).value());
    if (!nodes.ok()) return nodes.error();
    note_job(nodes.value());
    return analyze_nodes(nodes.value());
  }
  Profile profile = analyze_launches(launches.value());
  profile.storage = load_storage(recordings_of(folder), profile.issues);
  check_supply(profile);
  return profile;
}

}  // namespace stallcast
