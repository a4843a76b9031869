#include "analyzer/load/queue.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "analyzer/load/constants.hpp"

namespace stallcast {
namespace {

struct Makings {
  std::size_t batches = 0;
  double made_s = 0.0;
  double passed_s = 0.0;
};

/// Of one pass, from where the first batch of its workers was begun to where the last was handed over.
void add_pass(const Pass& pass, Makings& makings) {
  std::uint64_t begin_ns = UINT64_MAX;
  std::uint64_t end_ns = 0;
  for (const Delivery& delivery : pass.deliveries) {
    if (!delivery.made_known || delivery.made.header.aux == UINT32_MAX) continue;
    begin_ns = std::min(begin_ns, delivery.made.begin_ns);
    end_ns = std::max(end_ns, handed_over_ns(delivery.made));
    makings.made_s += static_cast<double>(delivery.made.end_ns - delivery.made.begin_ns) * 1e-9;
  }
  makings.batches += pass.deliveries.size();
  if (end_ns > begin_ns) makings.passed_s += static_cast<double>(end_ns - begin_ns) * 1e-9;
}

/// What a loader says of itself: a script may make it anew for each epoch.
using Said = std::tuple<std::string, std::int64_t, std::int64_t, int>;

Said said_by(const LoaderFacts& facts) {
  return {facts.dataset_type, facts.batch_size, facts.num_workers, facts.shuffled};
}

/// Of several that gave a fair part of the batches, one evaluates: the one that shuffles is taken, or none.
std::optional<LoaderBehind> loader_behind(const Consumer& consumer) {
  std::map<Said, std::pair<LoaderBehind, Makings>> found;
  std::size_t most = 0;
  for (const Pass& pass : consumer.passes) {
    const auto loader = consumer.loaders.find(pass.loader_id);
    if (loader == consumer.loaders.end()) continue;
    auto& [behind, makings] = found[said_by(loader->second)];
    behind.facts = loader->second;
    add_pass(pass, makings);
    most = std::max(most, makings.batches);
  }
  std::erase_if(found, [&](const auto& one) {
    return one.second.second.batches == 0 || one.second.second.batches < most / k_part_of_batches;
  });
  if (found.size() > 1) std::erase_if(found, [](const auto& one) { return one.second.first.facts.shuffled != 1; });
  if (found.size() != 1) return std::nullopt;
  auto [behind, makings] = found.begin()->second;
  const double crew_s = makings.passed_s * static_cast<double>(behind.facts.num_workers);
  if (crew_s > 0.0) behind.busy = std::min(1.0, makings.made_s / crew_s);
  return behind;
}

}  // namespace

void leave_to_queue(Consumer& consumer) {
  const auto is_queue = [&](const Pass& pass) {
    const auto loader = consumer.loaders.find(pass.loader_id);
    return loader != consumer.loaders.end() && loader->second.kind == "queue" && !pass.deliveries.empty();
  };
  consumer.sees_queue = std::any_of(consumer.passes.begin(), consumer.passes.end(), is_queue);
  if (!consumer.sees_queue) return;
  if (consumer.takes_in_thread) consumer.behind = loader_behind(consumer);
  std::erase_if(consumer.passes, [&](const Pass& pass) { return !is_queue(pass); });
}

}  // namespace stallcast
