#include "analyzer/reads/states.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analyzer/load/no_files.hpp"
#include "analyzer/reads/constants.hpp"
#include "analyzer/reads/page_cache.hpp"
#include "analyzer/steps/job.hpp"
#include "analyzer/steps/makings.hpp"

namespace stallcast {
namespace {

enum class Source { storage, memory, both };

Source source_of(Fraction hit) {
  const double stored = 1.0 - hit;
  return stored >= k_epoch_from_storage  ? Source::storage
         : stored <= k_epoch_from_memory ? Source::memory
                                         : Source::both;
}

bool has_phases(const RunData& run) {
  return std::any_of(run.consumers.begin(), run.consumers.end(),
                     [](const Consumer& consumer) { return consumer.phases_begin_ns != UINT64_MAX; });
}

std::string epochs_in_words(const StateSpan& span) {
  const std::string first = std::to_string(span.first_epoch);
  return span.first_epoch == span.last_epoch ? "epoch " + first
                                             : "epochs " + first + " to " + std::to_string(span.last_epoch);
}

State row_of(const StateSpan& span, const Profile& profile) {
  State row;
  row.first_epoch = span.first_epoch;
  row.last_epoch = span.last_epoch;
  row.rate = profile.rates.as_is;
  row.wait = profile.stalls.as_is_wait;
  row.from_storage = profile.resources.bytes_from_storage;
  row.storage_bandwidth = profile.resources.storage_bandwidth;
  if (span.making_s >= 0.0) row.making = SecondsPerSample(span.making_s);
  return row;
}

/// What was found in epochs that read everything from storage is the cold rate, as in a run that did so all along.
void take_cold(const StateSpan& span, const Profile& cold, Profile& profile) {
  profile.rates.cold = cold.rates.as_is;
  profile.rates.supply_cold = cold.rates.supply_cold;
  profile.stalls.prep = cold.stalls.as_is_prep;
  profile.stalls.fetch = cold.stalls.as_is_fetch;
  profile.stalls.receive = cold.stalls.as_is_receive;
  profile.stalls.interference = cold.stalls.as_is_interference;
  profile.resources.worker_wall_cold = cold.resources.worker_wall;
  profile.resources.worker_cpu_cold = cold.resources.worker_cpu;
  std::erase_if(profile.premises, [](const Premise& premise) { return premise.phase == "cold"; });
  Point point;
  point.phase = "cold";
  point.method = "plain";
  point.estimate = profile.rates.cold;
  if (profile.job.num_workers) point.setting["workers"] = std::to_string(*profile.job.num_workers);
  for (const Premise& seen : cold.premises) {
    if (seen.phase != "cold") continue;
    Premise premise = seen;
    premise.seen += " in " + epochs_in_words(span);
    profile.premises.insert(profile.premises.begin(), premise);
    point.premises.push_back(std::move(premise));
  }
  std::erase_if(profile.points, [](const Point& other) { return other.phase == "cold"; });
  profile.points.push_back(std::move(point));
}

void take_issues(const Profile& of_state, Profile& profile) {
  std::erase_if(profile.issues, [](const DataIssue& issue) {
    return issue.id == "drift" || issue.id == "blocks-rejected" || issue.id == "outlier-round";
  });
  for (const DataIssue& issue : of_state.issues) {
    const bool known = std::any_of(profile.issues.begin(), profile.issues.end(),
                                   [&](const DataIssue& other) { return other.id == issue.id; });
    if (!known) profile.issues.push_back(issue);
  }
}

}  // namespace

std::vector<StateSpan> states_of(sections::Nodes nodes, const std::vector<sections::RankView>& ranks) {
  if (nodes.size() != 1 || ranks.empty() || has_phases(*nodes.front().run)) return {};
  std::vector<StateSpan> states;
  Source before = Source::both;
  for (const sections::EpochSeen& epoch : sections::epochs_seen(nodes, ranks, k_fewest_ticks_for_state)) {
    const Source source = source_of(epoch.cache.hit);
    if (states.empty() || source != before) {
      states.push_back({epoch.cache.epoch, epoch.cache.epoch, epoch.begin_ns, epoch.end_ns});
    }
    states.back().last_epoch = epoch.cache.epoch;
    states.back().end_ns = epoch.end_ns;
    before = source;
  }
  if (states.size() < 2 || states.size() > k_most_states) states.clear();
  return states;
}

std::vector<StateSpan> states_by_making(sections::Nodes nodes, const std::vector<sections::RankView>& ranks) {
  if (nodes.size() != 1 || ranks.empty()) return {};
  const SteadyWindow& window = ranks.front().window;
  double steps_s = 0.0;
  double samples = 0.0;
  for (const SteadyStep& step : window.steps) {
    steps_s += step.step_s();
    samples += step.samples;
  }
  const auto steps = static_cast<double>(window.steps.size());
  const std::vector<sections::EpochMaking> epochs = sections::makings_by_epoch(ranks);
  std::vector<StateSpan> states;
  for (const sections::MakingLevel& level :
       sections::levels_of(epochs, steps_s / steps, samples / steps, static_cast<double>(window.loader.num_workers))) {
    const sections::EpochMaking& last = epochs[level.last];
    StateSpan span{epochs[level.first].epoch, last.epoch, epochs[level.first].begin_ns, last.end_ns};
    for (std::size_t i = level.first; i <= level.last; ++i) {
      span.making_s = std::max(0.0, span.making_s) +
                      epochs[i].seconds_per_sample / static_cast<double>(level.last - level.first + 1);
    }
    states.push_back(span);
  }
  return states;
}

RunData within(const RunData& run, const StateSpan& span) {
  RunData part = run;
  std::erase_if(part.log.ticks, [&](const Tick& tick) { return tick.t_ns < span.begin_ns || tick.t_ns > span.end_ns; });
  for (Consumer& consumer : part.consumers) {
    std::erase_if(consumer.passes, [&](const Pass& pass) {
      return pass.deliveries.empty() || pass.deliveries.front().wait.end_ns < span.begin_ns ||
             pass.deliveries.front().wait.end_ns > span.end_ns;
    });
    std::erase_if(consumer.steps, [&](const record::StepRecord& step) {
      return step.time_ns < span.begin_ns || step.time_ns > span.end_ns;
    });
    consumer.without_files = reads_no_file(part, consumer);
  }
  return part;
}

void join_states(const std::vector<StateSpan>& spans, const std::vector<Profile>& of_states, Profile& profile) {
  const Profile& last = of_states.back();
  profile.rates = last.rates;
  profile.stalls = last.stalls;
  profile.points = last.points;
  profile.premises = last.premises;
  profile.resources = last.resources;
  profile.ranks = last.ranks;
  profile.operators = last.operators;
  profile.measured_s = last.measured_s;
  profile.job.composition = last.job.composition;
  take_issues(last, profile);
  for (std::size_t i = 0; i < spans.size(); ++i) profile.states.push_back(row_of(spans[i], of_states[i]));
  for (std::size_t i = 0; i + 1 < spans.size(); ++i) {
    const auto& stored = of_states[i].resources.bytes_from_storage;
    if (stored && *stored >= k_cold_state && of_states[i].rates.as_is) take_cold(spans[i], of_states[i], profile);
  }
}

void note_makings(const std::vector<StateSpan>& spans, bool told, std::vector<DataIssue>& issues) {
  const StateSpan& first = spans.front();
  const StateSpan& last = spans.back();
  std::string detail = "a sample took " + sections::milliseconds(first.making_s) + " to make in " +
                       epochs_in_words(first) + ", " + sections::milliseconds(last.making_s) + " in " +
                       epochs_in_words(last) + ", its reads apart";
  if (last.making_s < first.making_s) detail += ": the data set seems to keep what it has made";
  std::string hint =
      told ? "what is told is of " + epochs_in_words(last) + " alone; a run of few epochs is like the first"
           : "what is told as found is not of those epochs alone; record the whole run: --phases as_is";
  if (told && last.first_epoch == last.last_epoch) hint += "; whether it stays so, a longer run tells";
  add_issue(issues,
            {"making-changed", told ? Severity::info : Severity::warning, 1, std::move(detail), std::move(hint)});
}

}  // namespace stallcast
