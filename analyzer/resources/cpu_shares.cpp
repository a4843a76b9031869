#include "analyzer/resources/cpu_shares.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analyzer/resources/constants.hpp"
#include "analyzer/resources/cpu_names.hpp"

namespace stallcast {
namespace {

constexpr double k_z95 = 1.959963984540054;

/// How many times the variance of a binomial share the clusters show, at least 1.
double design_effect(std::span<const CpuCluster> clusters, double share, double samples) {
  const double binomial = share * (1.0 - share) / samples;
  if (clusters.size() < k_fewest_cpu_clusters || binomial <= 0.0) return 1.0;
  double squares = 0.0;
  for (const CpuCluster& cluster : clusters) {
    const double off = cluster.hits - share * cluster.samples;
    squares += off * off;
  }
  const auto count = static_cast<double>(clusters.size());
  return std::max(1.0, squares * count / (count - 1.0) / (samples * samples) / binomial);
}

std::string most_frequent(const std::map<std::string, std::int64_t>& counts) {
  std::string best;
  std::int64_t most = 0;
  for (const auto& [name, count] : counts) {
    if (count > most && !name.empty()) {
      best = name;
      most = count;
    }
  }
  return best;
}

}  // namespace

Estimate<Fraction> share_of_samples(std::span<const CpuCluster> clusters) {
  double hits = 0.0;
  double samples = 0.0;
  for (const CpuCluster& cluster : clusters) {
    hits += cluster.hits;
    samples += cluster.samples;
  }
  const double share = hits / samples;
  const double n = samples / design_effect(clusters, share, samples);
  const double middle = (share + k_z95 * k_z95 / (2.0 * n)) / (1.0 + k_z95 * k_z95 / n);
  const double half =
      k_z95 / (1.0 + k_z95 * k_z95 / n) * std::sqrt(share * (1.0 - share) / n + k_z95 * k_z95 / (4.0 * n * n));
  return {share, std::min(share, std::max(0.0, middle - half)), std::max(share, std::min(1.0, middle + half)),
          static_cast<std::int64_t>(samples)};
}

void CpuTally::Work::absorb(const Work& other) {
  samples += other.samples;
  for (const auto& [cluster, count] : other.by_cluster) by_cluster[cluster] += count;
  for (const auto& [name, count] : other.libraries) libraries[name] += count;
}

void CpuTally::add(std::uint64_t cluster, const record::CpuSymbol& symbol) {
  Work& work = works_[cpu_work_name(symbol.library, symbol.function)];
  ++work.samples;
  ++work.by_cluster[cluster];
  ++work.libraries[symbol.library];
  ++work.functions[symbol.function];
  ++clusters_[cluster];
  ++samples_;
}

CpuFunctions CpuTally::row(const std::string& name, const Work& work) const {
  std::vector<CpuCluster> clusters;
  clusters.reserve(clusters_.size());
  for (const auto& [cluster, samples] : clusters_) {
    const auto hits = work.by_cluster.find(cluster);
    const std::int64_t seen = hits == work.by_cluster.end() ? 0 : hits->second;
    clusters.push_back({static_cast<double>(seen), static_cast<double>(samples)});
  }
  return {name, most_frequent(work.libraries), most_frequent(work.functions), share_of_samples(clusters)};
}

std::vector<CpuFunctions> CpuTally::functions() const {
  std::vector<std::pair<std::string, const Work*>> order;
  for (const auto& [name, work] : works_) order.emplace_back(name, &work);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second->samples > b.second->samples; });
  std::vector<CpuFunctions> rows;
  Work other;
  for (const auto& [name, work] : order) {
    const double share = static_cast<double>(work->samples) / static_cast<double>(samples_);
    if (rows.size() < k_most_cpu_rows && share >= k_least_cpu_row) {
      rows.push_back(row(name, *work));
    } else {
      other.absorb(*work);
    }
  }
  if (other.samples > 0) rows.push_back(row("other", other));
  return rows;
}

}  // namespace stallcast
