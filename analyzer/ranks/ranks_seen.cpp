#include "analyzer/ranks/ranks_seen.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analyzer/steps/steady.hpp"

namespace stallcast {
namespace {

/// A script may make its loader anew for every epoch: passes over what is described alike are the training loader's.
bool same_loader(const LoaderFacts& a, const LoaderFacts& b) {
  return a.kind == b.kind && a.dataset_type == b.dataset_type && a.dataset_samples == b.dataset_samples &&
         a.batch_size == b.batch_size && a.shuffled == b.shuffled && a.num_workers == b.num_workers;
}

void count_workers(const Consumer& consumer, RankSeen& seen) {
  for (const Pass& pass : consumer.passes) {
    const auto facts = consumer.loaders.find(pass.loader_id);
    if (pass.deliveries.empty() || facts == consumer.loaders.end() || !same_loader(facts->second, seen.loader))
      continue;
    const auto workers = static_cast<std::int64_t>(pass.worker_pids.size());
    seen.most_workers = std::max(seen.most_workers, workers);
    seen.fewest_workers = seen.fewest_workers < 0 ? workers : std::min(seen.fewest_workers, workers);
  }
}

std::int64_t cpus_of(const Consumer& consumer) {
  const auto text = nlohmann::json::parse(consumer.description, nullptr, /*allow_exceptions=*/false);
  if (!text.is_object()) return -1;
  const auto cpus = text.find("cpus");
  return cpus != text.end() && cpus->is_number_integer() ? cpus->get<std::int64_t>() : -1;
}

}  // namespace

std::vector<RankSeen> ranks_seen(const RunData& run) {
  std::vector<RankSeen> ranks;
  for (const Consumer& consumer : run.consumers) {
    SteadyWindow window = steady_window(consumer);
    if (window.steps.size() < k_fewest_steps) continue;
    RankSeen seen{.pid = consumer.pid, .loader = std::move(window.loader), .cpus = cpus_of(consumer)};
    count_workers(consumer, seen);
    ranks.push_back(std::move(seen));
  }
  return ranks;
}

}  // namespace stallcast
