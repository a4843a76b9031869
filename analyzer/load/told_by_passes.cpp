#include "analyzer/load/told_by_passes.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "analyzer/load/constants.hpp"

namespace stallcast {
namespace {

/// Samples of a pass that was recorded from its first batch to its end; -1 of any other.
std::int64_t samples_of_whole(const Pass& pass) {
  if (!pass.is_over || pass.deliveries.empty()) return -1;
  if (pass.deliveries.back().wait.batch + 1 != pass.deliveries.size()) return -1;
  std::int64_t samples = 0;
  for (const Delivery& delivery : pass.deliveries) {
    if (delivery.wait.samples == 0) return -1;
    samples += delivery.wait.samples;
  }
  return samples;
}

/// By data set and the batch size that the loader says.
using StreamKey = std::pair<std::string, std::int64_t>;

StreamKey stream_key(const LoaderFacts& loader) {
  return {loader.dataset_type, loader.batch_size};
}

std::map<StreamKey, std::int64_t> lengths_of(const Consumer& consumer) {
  constexpr std::int64_t k_differ = -2;
  std::map<StreamKey, std::int64_t> lengths;
  for (const Pass& pass : consumer.passes) {
    const auto loader = consumer.loaders.find(pass.loader_id);
    const std::int64_t samples = samples_of_whole(pass);
    if (loader == consumer.loaders.end() || !loader->second.is_stream() || samples < 0) continue;
    const auto [found, is_new] = lengths.try_emplace(stream_key(loader->second), samples);
    if (!is_new && found->second != samples) found->second = k_differ;
  }
  return lengths;
}

/// Samples of most batches; -1 where they differ.
std::map<StreamKey, std::int64_t> batch_sizes_of(const Consumer& consumer) {
  std::map<StreamKey, std::map<std::int64_t, std::int64_t>> counts;
  for (const Pass& pass : consumer.passes) {
    const auto loader = consumer.loaders.find(pass.loader_id);
    if (loader == consumer.loaders.end() || !loader->second.is_stream()) continue;
    for (const Delivery& delivery : pass.deliveries) ++counts[stream_key(loader->second)][delivery.wait.samples];
  }
  std::map<StreamKey, std::int64_t> sizes;
  for (const auto& [key, by_size] : counts) {
    std::int64_t all = 0;
    for (const auto& [size, count] : by_size) all += count;
    const auto most = std::max_element(by_size.begin(), by_size.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    sizes[key] = 4 * most->second >= 3 * all && most->first > 0 ? most->first : -1;
  }
  return sizes;
}

std::int64_t found_or_unknown(const std::map<StreamKey, std::int64_t>& values, const StreamKey& key) {
  const auto found = values.find(key);
  return found != values.end() ? found->second : -1;
}

}  // namespace

void tell_of_streams(Consumer& consumer) {
  const std::map<StreamKey, std::int64_t> lengths = lengths_of(consumer);
  const std::map<StreamKey, std::int64_t> sizes = batch_sizes_of(consumer);
  for (auto& [id, loader] : consumer.loaders) {
    if (!loader.is_stream()) continue;
    const StreamKey key = stream_key(loader);
    const std::int64_t length = found_or_unknown(lengths, key);
    if (consumer.world_size <= 1 && loader.dataset_samples < 0 && length > 0) loader.dataset_samples = length;
    if (loader.batch_size < 0) loader.batch_size = found_or_unknown(sizes, key);
  }
}

void tell_filling(const Consumer& consumer, Pass& pass) {
  if (pass.deliveries.size() < 2 * k_fewest_filling_batches || pass.deliveries.front().wait.batch != 0) return;
  const auto after = [&](std::uint64_t time_ns) {
    return std::upper_bound(consumer.steps.begin(), consumer.steps.end(), time_ns,
                            [](std::uint64_t t, const record::StepRecord& step) { return t < step.time_ns; });
  };
  const auto first = after(pass.deliveries.front().wait.end_ns);
  const auto steps = static_cast<double>(std::distance(first, after(pass.deliveries.back().wait.end_ns)));
  if (steps < 2.0) return;
  const auto trained = std::find_if(pass.deliveries.begin(), pass.deliveries.end(),
                                    [&](const Delivery& delivery) { return delivery.wait.end_ns > first->time_ns; });
  const auto before = static_cast<std::size_t>(trained - pass.deliveries.begin());
  const auto rest = static_cast<double>(pass.deliveries.size() - before);
  if (before >= k_fewest_filling_batches && static_cast<double>(before) > k_filling_times_usual * rest / steps)
    pass.filling = before;
}

}  // namespace stallcast
