#include "analyzer/load/nodes.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "analyzer/load/machines.hpp"

namespace stallcast {
namespace {

constexpr const char* k_one_by_one =
    "pass what the nodes of one job left, each once; stallcast analyze DIR reads one by itself";

std::string run_id_of(const RunData& run) {
  if (!run.log.run_id.empty() || run.processes.empty()) return run.log.run_id;
  return run.processes.front().info.run_id;
}

/// What launchers call the job, by variable, as the tool and the processes found it.
using JobNames = std::map<std::string, std::string>;

JobNames job_names(const RunData& run) {
  JobNames names;
  const auto take = [&names](const std::string& text) {
    const std::size_t sign = text.find('=');
    if (sign != std::string::npos) names[text.substr(0, sign)] = text.substr(sign + 1);
  };
  take(run.log.job);
  for (const record::ProcessRecording& process : run.processes) take(process.info.job);
  return names;
}

std::int64_t world_of(const RunData& run) {
  std::int64_t world = 0;
  for (const Consumer& consumer : run.consumers) world = std::max(world, consumer.world_size);
  return world;
}

bool is_phased(const RunData& run) {
  return std::any_of(run.consumers.begin(), run.consumers.end(),
                     [](const Consumer& consumer) { return consumer.phases_begin_ns != UINT64_MAX; });
}

std::set<std::int64_t> ranks_in(const RunData& run) {
  std::set<std::int64_t> ranks;
  for (const Consumer& consumer : run.consumers) {
    if (consumer.rank >= 0) ranks.insert(consumer.rank);
  }
  return ranks;
}

/// What decides whether two nodes are of one job.
struct Identity {
  std::string name{};
  std::string run_id{};
  JobNames job{};
  std::int64_t world = 0;
  std::set<std::int64_t> ranks{};
  std::vector<std::string> command{};
};

Identity identity_of(const RunData& run) {
  return {run.name, run_id_of(run), job_names(run), world_of(run), ranks_in(run), command_of_any_node(run.log.command)};
}

Error refuse(const Identity& a, const Identity& b, const std::string& why) {
  return {ErrorCode::bad_input, a.name + " and " + b.name + " " + why, k_one_by_one};
}

/// A variable that both know decides; otherwise the world and the command do.
Status same_job(const Identity& a, const Identity& b) {
  bool named_alike = false;
  for (const auto& [variable, value] : b.job) {
    const auto known = a.job.find(variable);
    if (known == a.job.end()) continue;
    if (known->second != value) {
      return refuse(a, b, "are of different jobs: " + variable + " is " + known->second + " and " + value);
    }
    named_alike = true;
  }
  if (a.world > 0 && b.world > 0 && a.world != b.world) {
    const std::string worlds = std::to_string(a.world) + " ranks, the other " + std::to_string(b.world);
    return refuse(a, b, "are of different jobs: one has " + worlds);
  }
  if (named_alike || a.command.empty() || b.command.empty() || a.command == b.command) return {};
  return refuse(a, b, "are of different jobs: the commands differ, and no launcher says that they belong together");
}

Status fit_together(const Identity& a, const Identity& b) {
  if (!a.run_id.empty() && a.run_id == b.run_id) return refuse(a, b, "are the same run (" + a.run_id + ")");
  STALLCAST_RETURN_IF_ERROR(same_job(a, b));
  const auto twice = std::find_if(a.ranks.begin(), a.ranks.end(), [&](auto rank) { return b.ranks.contains(rank); });
  if (twice == a.ranks.end()) return {};
  return refuse(
      a, b, "both hold rank " + std::to_string(*twice) + ": each ran a job of its own, or one is of an earlier run");
}

/// Ranks in step take the phases of one tool with them, and every tool has its own schedule.
Status undisturbed(const std::vector<RunData>& nodes) {
  for (const RunData& run : nodes) {
    if (is_phased(run)) {
      const bool all = std::all_of(nodes.begin(), nodes.end(), is_phased);
      const char* others = nodes.size() == 1 ? ""
                           : all             ? ", as were others by their own schedules"
                                             : ", others were not";
      return Error{ErrorCode::bad_input,
                   run.name + " was measured in states (without --phases as_is)" + others +
                       ": ranks that wait for those of other nodes show no state that their own stallcast has made",
                   "record all nodes with --phases as_is, or start stallcast around the launcher on one node"};
    }
    if (run.log.emulation.with != "nothing") {
      return Error{ErrorCode::bad_input,
                   run.name + " was recorded with emulated hardware, which several nodes do not share",
                   "record the nodes as they are; whatif says what other hardware would bring"};
    }
  }
  return {};
}

/// From the first to the last batch, in seconds of the machine's clock of the day.
struct Extent {
  double begin_s = 0.0;
  double end_s = 0.0;
};

std::optional<Extent> extent_of(const RunData& run) {
  const auto boot = boot_s(run);
  std::uint64_t begin_ns = UINT64_MAX;
  std::uint64_t end_ns = 0;
  for (const Consumer& consumer : run.consumers) {
    for (const Pass& pass : consumer.passes) {
      if (pass.deliveries.empty()) continue;
      begin_ns = std::min(begin_ns, pass.deliveries.front().wait.begin_ns);
      end_ns = std::max(end_ns, pass.deliveries.back().wait.end_ns);
    }
  }
  if (!boot || begin_ns >= end_ns) return std::nullopt;
  return Extent{*boot + static_cast<double>(begin_ns) * 1e-9, *boot + static_cast<double>(end_ns) * 1e-9};
}

std::string duration_words(double seconds) {
  const bool hours = seconds >= 5400.0;
  const auto count = static_cast<std::int64_t>(seconds / (hours ? 3600.0 : 60.0) + 0.5);
  return count < 1 ? "less than a minute" : std::to_string(count) + (hours ? " h" : " min");
}

/// Of one job, all take batches at the same time. Where the clocks say otherwise, they or the choice of folders are
/// wrong; rates need neither.
void note_clocks(const std::vector<RunData>& nodes, bool named, std::vector<DataIssue>& issues) {
  std::pair<double, const RunData*> first_end{1e300, nullptr};
  std::pair<double, const RunData*> last_begin{-1e300, nullptr};
  for (const RunData& run : nodes) {
    const auto extent = extent_of(run);
    if (!extent) continue;
    first_end = std::min(first_end, {extent->end_s, &run});
    last_begin = std::max(last_begin, {extent->begin_s, &run});
  }
  if (last_begin.first < first_end.first) return;
  add_issue(issues,
            {"clocks-apart", named ? Severity::info : Severity::warning, 1,
             "by their clocks " + first_end.second->name + " had taken its last batch " +
                 duration_words(last_begin.first - first_end.first) + " before " + last_begin.second->name +
                 " took its first: the clocks differ" + (named ? "" : ", or these are not of one run"),
             named ? "" : "make sure that the folders are of one run: rates add up only of ranks that train together"});
}

/// By what the launcher says, not by what two nodes happen to share.
bool all_named_alike(const std::vector<RunData>& nodes) {
  const JobNames first = job_names(nodes.front());
  return std::all_of(nodes.begin(), nodes.end(), [&](const RunData& run) {
    const JobNames names = job_names(run);
    return std::any_of(names.begin(), names.end(), [&](const auto& name) { return first.contains(name.first); });
  });
}

void note_machines(const std::vector<RunData>& nodes, std::vector<DataIssue>& issues) {
  std::set<std::size_t> machines;
  for (const RunData& run : nodes) machines.insert(run.machine);
  if (machines.size() < 2) return;
  add_issue(issues,
            {"nodes-not-aligned", Severity::info, static_cast<std::int64_t>(machines.size()),
             "each node has a clock of its own, and times of one are never set against times of another: rates, "
             "waits and shares are of each rank by itself, the timeline is the first rank's, and which node was "
             "late to a collective is not known",
             ""});
}

void note_twins(const RunData& run, std::vector<DataIssue>& issues) {
  std::map<std::int64_t, int> count;
  for (const Consumer& consumer : run.consumers) ++count[consumer.rank];
  for (const auto& [rank, processes] : count) {
    if (rank < 0 || processes < 2) continue;
    add_issue(issues, {"rank-number-twice", Severity::warning, 1,
                       std::to_string(processes) + " processes of " + run.name + " call themselves rank " +
                           std::to_string(rank),
                       "set RANK in the environment of each process before it takes its first batch"});
  }
}

std::int64_t least_rank(const RunData& run) {
  const std::set<std::int64_t> ranks = ranks_in(run);
  return ranks.empty() ? INT64_MAX : *ranks.begin();
}

bool differs_by_node(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  for (const char* part : {"rank", "node-id", "local-addr", "node-name", "process-id"}) {
    if (name.find(part) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> command_of_any_node(const std::vector<std::string>& command) {
  std::vector<std::string> words;
  bool value_follows = false;
  for (const std::string& word : command) {
    const bool option = word.size() > 1 && word.front() == '-';
    if (value_follows && !option) {
      value_follows = false;
      continue;
    }
    const std::size_t sign = word.find('=');
    value_follows = option && sign == std::string::npos && differs_by_node(word);
    const bool cut = option && sign != std::string::npos && differs_by_node(word.substr(0, sign));
    words.push_back(cut || value_follows ? word.substr(0, sign) + "=" : word);
  }
  return words;
}

Result<std::vector<RunData>> one_job(std::vector<RunData> nodes) {
  STALLCAST_RETURN_IF_ERROR(undisturbed(nodes));
  std::vector<Identity> identities;
  for (const RunData& run : nodes) identities.push_back(identity_of(run));
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) STALLCAST_RETURN_IF_ERROR(fit_together(identities[j], identities[i]));
  }
  std::stable_sort(nodes.begin(), nodes.end(), [](const RunData& a, const RunData& b) {
    return std::pair(least_rank(a), a.name) < std::pair(least_rank(b), b.name);
  });
  number_machines(nodes);
  share_machines(nodes);
  return nodes;
}

void note_job(std::vector<RunData>& nodes) {
  std::vector<DataIssue> issues;
  for (const RunData& run : nodes) note_twins(run, issues);
  note_clocks(nodes, all_named_alike(nodes), issues);
  note_machines(nodes, issues);
  for (DataIssue& issue : issues) add_issue(nodes.front().issues, std::move(issue));
}

}  // namespace stallcast
