/// Processes beside the training: what a script starts once it trains is no rank of it.
///
/// Worked example. A script has made 5 steps and forks: the child trains a second model for 100 batches. As ranks of
/// one job they would wait 41 % of a step; the script itself waits 3 %. Ranks that a script starts are there before its
/// first step, and a launcher numbers them.
#include <algorithm>
#include <string>
#include <utility>

#include "analyzer/load/run_data.hpp"

namespace stallcast {
namespace {

bool started(const Consumer& parent, const Consumer& child) {
  return parent.rank == child.rank && parent.host == child.host && child.parent_pid == parent.pid;
}

/// A script that trains no more has started the ranks of its next stage.
bool trains_on(const Consumer& parent, const Consumer& child) {
  if (parent.steps.empty() || parent.steps.front().time_ns >= child.born_ns) return false;
  const std::uint64_t begun_ns = child.steps.empty() ? child.born_ns : child.steps.front().time_ns;
  return parent.steps.back().time_ns > begun_ns;
}

/// It makes batches for the training that gets them from a queue, and makes no step itself.
bool fills_queue(const Consumer& one, const Consumer& training) {
  return one.steps.empty() && !one.sees_queue && training.sees_queue && !training.steps.empty();
}

bool is_beside(const Consumer& one, const std::vector<Consumer>& all) {
  return std::any_of(all.begin(), all.end(), [&](const Consumer& other) {
    if (started(other, one)) return trains_on(other, one) || fills_queue(one, other);
    return started(one, other) && fills_queue(one, other);
  });
}

}  // namespace

void leave_out_beside(RunData& run) {
  std::vector<bool> beside;
  for (const Consumer& consumer : run.consumers) beside.push_back(is_beside(consumer, run.consumers));
  const auto left_out = std::count(beside.begin(), beside.end(), true);
  if (left_out == 0) return;
  std::vector<Consumer> kept;
  for (std::size_t i = 0; i < run.consumers.size(); ++i) {
    if (!beside[i]) kept.push_back(std::move(run.consumers[i]));
  }
  run.consumers = std::move(kept);
  add_issue(run.issues,
            {"processes-beside", Severity::info, static_cast<std::int64_t>(left_out),
             "processes beside the training took batches from loaders, too (they were started once it trained, "
             "or fill its queue): they are none of its ranks, and were left out",
             "profile the command of such a process by itself"});
}

}  // namespace stallcast
