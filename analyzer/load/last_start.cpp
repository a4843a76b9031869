/// Elastic restarts: which consumers are of the job's last start.
///
/// Worked example. An agent starts ranks 0 and 1, rank 1 dies after 300 batches, and the agent starts both anew
/// (TORCHELASTIC_RESTART_COUNT is 1 then). All four processes left recordings. The two that were born last count; the
/// other two had taken their last batch before these were born.
#include <algorithm>
#include <utility>

#include "analyzer/load/run_data.hpp"

namespace stallcast {
namespace {

std::uint64_t last_delivery_ns(const Consumer& consumer) {
  std::uint64_t last_ns = 0;
  for (const Pass& pass : consumer.passes) {
    for (const Delivery& delivery : pass.deliveries) last_ns = std::max(last_ns, delivery.wait.end_ns);
  }
  return last_ns;
}

std::int64_t batches_of(const Consumer& consumer) {
  std::size_t batches = 0;
  for (const Pass& pass : consumer.passes) batches += pass.deliveries.size();
  return static_cast<std::int64_t>(batches);
}

/// The count alone does not do: an agent whose own ranks are well starts them anew, too, and does not count it. Ranks
/// are the agent's own children; what a rank starts at its end (a test of the model) is no restart.
bool is_earlier(const Consumer& consumer, const std::vector<Consumer>& all) {
  if (!consumer.elastic) return false;
  const std::uint64_t ended_ns = last_delivery_ns(consumer);
  return std::any_of(all.begin(), all.end(), [&](const Consumer& other) {
    if (!other.elastic || other.host != consumer.host) return false;
    const bool sibling = other.parent_pid == consumer.parent_pid;
    return other.restart > consumer.restart || (sibling && ended_ns > 0 && other.born_ns > ended_ns);
  });
}

std::string words_of(const Consumer& consumer) {
  return "rank " + (consumer.rank >= 0 ? std::to_string(consumer.rank) : "?") + " of start " +
         std::to_string(consumer.restart + 1) + " (" + std::to_string(batches_of(consumer)) + " batches)";
}

}  // namespace

void keep_last_start(RunData& run) {
  std::vector<Consumer> kept;
  std::vector<std::size_t> last;
  std::string named;
  std::int64_t left_out = 0;
  for (std::size_t i = 0; i < run.consumers.size(); ++i) {
    if (!is_earlier(run.consumers[i], run.consumers)) {
      last.push_back(i);
    } else {
      named += (left_out++ > 0 ? ", " : "") + words_of(run.consumers[i]);
    }
  }
  if (left_out == 0) return;
  for (const std::size_t i : last) kept.push_back(std::move(run.consumers[i]));
  run.consumers = std::move(kept);
  add_issue(run.issues, {"elastic-restart", Severity::warning, left_out,
                         "the launcher started its ranks anew; the last start counts, left out were " + named,
                         "look at why ranks failed: the work since their last checkpoint was done twice"});
}

}  // namespace stallcast
