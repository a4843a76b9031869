#include "analyzer/load/queue.hpp"

#include <algorithm>
#include <map>

namespace stallcast {
namespace {

struct Makings {
  std::size_t batches = 0;
  double made_s = 0.0;
  double passed_s = 0.0;
};

/// Of one pass, from where the first of its batches was begun to where the last was handed over.
void add_pass(const Pass& pass, Makings& makings) {
  std::uint64_t begin_ns = UINT64_MAX;
  std::uint64_t end_ns = 0;
  for (const Delivery& delivery : pass.deliveries) {
    if (!delivery.made_known || delivery.made.header.aux == UINT32_MAX) continue;
    begin_ns = std::min(begin_ns, delivery.made.begin_ns);
    end_ns = std::max(end_ns, handed_over_ns(delivery.made));
    makings.made_s += static_cast<double>(delivery.made.end_ns - delivery.made.begin_ns) * 1e-9;
    ++makings.batches;
  }
  if (end_ns > begin_ns) makings.passed_s += static_cast<double>(end_ns - begin_ns) * 1e-9;
}

std::optional<LoaderBehind> loader_behind(const Consumer& consumer) {
  std::map<std::uint64_t, Makings> of_loaders;
  for (const Pass& pass : consumer.passes) {
    if (consumer.loaders.contains(pass.loader_id)) add_pass(pass, of_loaders[pass.loader_id]);
  }
  const auto most = std::max_element(of_loaders.begin(), of_loaders.end(),
                                     [](const auto& a, const auto& b) { return a.second.batches < b.second.batches; });
  if (most == of_loaders.end() || most->second.batches == 0) return std::nullopt;
  LoaderBehind behind{consumer.loaders.at(most->first)};
  const double crew_s = most->second.passed_s * static_cast<double>(behind.facts.num_workers);
  if (crew_s > 0.0) behind.busy = std::min(1.0, most->second.made_s / crew_s);
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
