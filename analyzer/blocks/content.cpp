#include "analyzer/blocks/content.hpp"

#include <algorithm>
#include <cmath>

#include "analyzer/blocks/constants.hpp"

namespace stallcast {

void add_groups(std::span<const ContentGroup> groups, BlockContent& content) {
  if (groups.size() < 2) return;
  double bytes = 0.0;
  double seconds = 0.0;
  for (const ContentGroup& group : groups) {
    bytes += group.bytes / static_cast<double>(groups.size());
    seconds += group.seconds / static_cast<double>(groups.size());
  }
  for (const ContentGroup& group : groups) {
    content.squares_x += (group.bytes - bytes) * (group.bytes - bytes);
    content.products += (group.bytes - bytes) * (group.seconds - seconds);
    content.squares_t += (group.seconds - seconds) * (group.seconds - seconds);
  }
  content.groups += groups.size();
  ++content.blocks;
}

void add_content(const BlockContent& block, BlockContent& sum) {
  sum.bytes = sum.bytes < 0.0 || block.bytes < 0.0 ? -1.0 : sum.bytes + block.bytes;
  sum.squares_x += block.squares_x;
  sum.products += block.products;
  sum.squares_t += block.squares_t;
  sum.groups += block.groups;
  sum.blocks += block.blocks;
}

double elasticity(const BlockContent& content, double bytes, double seconds) {
  if (!(bytes > 0.0) || !(seconds > 0.0) || content.groups < k_fewest_content_groups + content.blocks) return 0.0;
  const auto groups = static_cast<double>(content.groups);
  if (std::sqrt(content.squares_x / groups) < k_least_content_spread * bytes) return 0.0;
  const double slope = content.products / content.squares_x;
  const double residual = std::max(0.0, content.squares_t - slope * content.products);
  const double freedom = groups - static_cast<double>(content.blocks) - 1.0;
  const double variance = residual / freedom / content.squares_x;
  if (!(slope > 0.0) || variance >= slope * slope) return 0.0;
  return std::min(1.0, slope * (1.0 - variance / (slope * slope)) * bytes / seconds);
}

namespace {

bool is_whole(const Pass& pass) {
  return pass.is_over && !pass.deliveries.empty() && pass.deliveries.back().wait.batch + 1 == pass.deliveries.size();
}

bool is_stream(const Consumer& consumer, const Pass& pass) {
  const auto loader = consumer.loaders.find(pass.loader_id);
  return loader != consumer.loaders.end() && loader->second.is_stream();
}

/// Mean and its error of batches of `bytes` per sample, `samples` in all.
MeanContent mean_of_batches(const std::vector<double>& bytes, double samples, double dataset_samples) {
  if (bytes.size() < 2) return {};
  double mean = 0.0;
  for (const double value : bytes) mean += value / static_cast<double>(bytes.size());
  double squares = 0.0;
  for (const double value : bytes) squares += (value - mean) * (value - mean);
  const auto n = static_cast<double>(bytes.size());
  const double variance = squares / (n - 1.0) / n;
  const double not_drawn = dataset_samples > 0.0 ? std::max(0.0, 1.0 - samples / dataset_samples) : 1.0;
  return {mean, mean > 0.0 ? std::sqrt(variance * not_drawn) / mean : 0.0};
}

}  // namespace

MeanContent mean_content(const Consumer& consumer, double dataset_samples) {
  std::vector<double> bytes;
  double samples = 0.0;
  const bool has_whole = std::any_of(consumer.passes.begin(), consumer.passes.end(), is_whole);
  for (const Pass& pass : consumer.passes) {
    std::span<const Delivery> counted = pass.deliveries;
    if (is_stream(consumer, pass)) {
      if (has_whole && !is_whole(pass)) continue;
      if (!has_whole) counted = counted.last(counted.size() / 2);
    }
    for (const Delivery& delivery : counted) {
      if (!delivery.made_known || delivery.wait.samples == 0) continue;
      bytes.push_back(static_cast<double>(delivery.made.io.read_bytes) / delivery.wait.samples);
      samples += delivery.wait.samples;
    }
  }
  return mean_of_batches(bytes, samples, dataset_samples);
}

}  // namespace stallcast
