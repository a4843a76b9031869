#include "simulation/data_source.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/check.hpp"
#include "simulation/constants.hpp"
#include "simulation/random.hpp"

namespace stallcast::simulation {
namespace {

constexpr std::uint64_t k_order_stream = 1;
constexpr std::uint64_t k_cache_stream = 2;

bool each_for_itself(Caching policy) {
  return policy == Caching::lru || policy == Caching::random || policy == Caching::page_cache ||
         policy == Caching::minio;
}

std::uint64_t reads_of_a_node(const Cluster& cluster) {
  return static_cast<std::uint64_t>(cluster.epochs) * cluster.steps *
         static_cast<std::uint64_t>(cluster.ranks_per_node) * cluster.order.items_per_batch;
}

NodeCache::Evicts evicts(Caching policy) {
  if (policy == Caching::minio) return NodeCache::Evicts::never;
  return policy == Caching::random ? NodeCache::Evicts::random : NodeCache::Evicts::least_recent;
}

/// Which of page_cache's two parts an item belongs to, the same for all nodes and runs.
std::size_t part_of(std::uint32_t item, double random_share) {
  return static_cast<double>(upper_half(mixed(item))) < random_share * 4294967296.0 ? 1 : 0;
}

}  // namespace

DataSource::DataSource(const Cluster& cluster)
    : cluster_(cluster),
      nodes_(static_cast<std::size_t>(cluster.nodes)),
      ranks_per_node_(static_cast<std::size_t>(cluster.ranks_per_node)),
      ranks_(nodes_ * ranks_per_node_),
      per_batch_(cluster.order.items_per_batch),
      counts_(nodes_) {
  if (cluster.caches.policy == Caching::none) return;
  const DataOrder& order = cluster.order;
  STALLCAST_CHECK(order.items > 0 && order.items_per_batch > 0 && order.items_per_batch <= 0xffff);
  STALLCAST_CHECK(order.samples_per_item >= 1.0 && nodes_ < k_nobody);
  const double of_batch = order.items_per_batch * order.samples_per_item;
  STALLCAST_CHECK(std::abs(of_batch - cluster.samples_per_batch) <= 1e-9 * of_batch);
  // How many items cross the network to even out a step depends on their number, which groups would change.
  STALLCAST_CHECK(cluster.caches.policy != Caching::locality || order.samples_per_item == 1.0);
  for (const std::uint32_t item : order.recorded) STALLCAST_CHECK(item < order.items);
  if (order.recorded.empty()) order_.resize(order.items);
  usual_miss_.assign(nodes_, -1.0);
  if (each_for_itself(cluster.caches.policy)) {
    make_own_caches();
    return;
  }
  keeper_.assign(order.items, k_nobody);
  lost_.assign(order.items, false);
  room_.assign(nodes_, cluster.caches.room);
  missed_by_.resize(nodes_);
  sent_to_.resize(nodes_);
}

void DataSource::make_own_caches() {
  const Caches& caches = cluster_.caches;
  const std::uint64_t reads = reads_of_a_node(cluster_);
  own_.resize(nodes_);
  for (std::size_t node = 0; node < nodes_; ++node) {
    const std::uint64_t seed = stream(stream(cluster_.seed, k_cache_stream), node);
    std::vector<NodeCache>& parts = own_[node].parts;
    if (caches.policy != Caching::page_cache) {
      parts.emplace_back(evicts(caches.policy), caches.room, reads, seed);
      continue;
    }
    const auto random = static_cast<std::uint32_t>(std::lround(caches.random_share * caches.room));
    parts.emplace_back(NodeCache::Evicts::least_recent, caches.room - random, reads, seed);
    parts.emplace_back(NodeCache::Evicts::random, random, reads, seed);
  }
}

double DataSource::memory_bytes(const Cluster& cluster) {
  const Caches& caches = cluster.caches;
  if (caches.policy == Caching::none) return 0.0;
  const double items = cluster.order.items;
  const double order = (cluster.order.recorded.empty() ? items : 0.0) * sizeof(std::uint32_t);
  if (!each_for_itself(caches.policy)) return order + items * (sizeof(std::uint16_t) + 0.125);
  const double reads = static_cast<double>(reads_of_a_node(cluster));
  return order + cluster.nodes * NodeCache::memory_bytes(caches.room, reads);
}

/// Fisher & Yates, from the order of numbers, so that an epoch's order does not depend on those before.
void DataSource::shuffle(int epoch) {
  std::iota(order_.begin(), order_.end(), 0U);
  const std::uint64_t key = stream(stream(cluster_.seed, k_order_stream), static_cast<std::uint64_t>(epoch));
  for (std::size_t i = order_.size(); i > 1; --i) {
    const std::uint64_t bits = mixed(key + i);
    std::swap(order_[i - 1], order_[below(upper_half(bits), static_cast<std::uint32_t>(i))]);
  }
}

void DataSource::begin_epoch(int epoch) {
  epoch_ = epoch;
  std::fill(counts_.begin(), counts_.end(), Counts{});
  std::fill(usual_miss_.begin(), usual_miss_.end(), -1.0);
  if (!order_.empty()) shuffle(epoch);
}

std::uint32_t DataSource::item_at(std::uint64_t position) const {
  const std::vector<std::uint32_t>& recorded = cluster_.order.recorded;
  if (recorded.empty()) return order_[position < order_.size() ? position : position % order_.size()];
  const std::uint64_t before = static_cast<std::uint64_t>(epoch_) * cluster_.steps * ranks_ * per_batch_;
  return recorded[(before + position) % recorded.size()];
}

void DataSource::lose_caches(std::uint64_t step) {
  for (const NodeLoss& loss : cluster_.losses) {
    if (loss.epoch != epoch_ || loss.step != step) continue;
    const auto node = static_cast<std::size_t>(loss.node);
    usual_miss_[node] = -1.0;
    if (!own_.empty()) {
      for (NodeCache& part : own_[node].parts) part.clear();
      continue;
    }
    const bool by_place = cluster_.caches.policy == Caching::locality;
    for (std::size_t item = 0; item < keeper_.size(); ++item) {
      if (keeper_[item] != node) continue;
      if (!by_place) {
        lost_[item] = true;
      } else {
        keeper_[item] = k_nobody;
        ++room_[node];
      }
    }
  }
}

void DataSource::plan(std::uint64_t step, StepPlan& plan) {
  const Caching policy = cluster_.caches.policy;
  plan.remote.assign(ranks_, 0);
  if (policy == Caching::none) {
    plan.missed.assign(ranks_, cluster_.storage_share * cluster_.samples_per_batch);
    return;
  }
  plan.missed.assign(ranks_, 0.0);
  if (policy == Caching::partitioned || policy == Caching::locality) plan.senders.resize(ranks_ * per_batch_);
  if (!cluster_.losses.empty()) lose_caches(step);
  if (!own_.empty()) {
    plan_own(step, plan);
  } else if (policy == Caching::partitioned) {
    plan_partitioned(step, plan);
  } else {
    plan_by_place(step, plan);
  }
  count_and_smooth(plan);
}

NodeCache& DataSource::own_cache(std::size_t node, std::uint32_t item) {
  std::vector<NodeCache>& parts = own_[node].parts;
  return parts[parts.size() == 1 ? 0 : part_of(item, cluster_.caches.random_share)];
}

void DataSource::plan_own(std::uint64_t step, StepPlan& plan) {
  std::uint64_t position = step * ranks_ * per_batch_;
  for (std::size_t of_batch = 0; of_batch < per_batch_; ++of_batch) {
    std::size_t rank = 0;
    for (std::size_t node = 0; node < nodes_; ++node) {
      if (node + 1 < nodes_) {
        const std::uint64_t of_next = position + ranks_per_node_;
        for (std::size_t i = 0; i < ranks_per_node_; ++i) {
          const std::uint32_t item = item_at(of_next + i);
          own_cache(node + 1, item).expect(item);
        }
      }
      for (std::size_t i = 0; i < ranks_per_node_; ++i, ++rank) {
        const std::uint32_t item = item_at(position++);
        if (!own_cache(node, item).read(item)) plan.missed[rank] += 1.0;
      }
    }
  }
}

void DataSource::plan_partitioned(std::uint64_t step, StepPlan& plan) {
  std::uint64_t position = step * ranks_ * per_batch_;
  for (std::size_t of_batch = 0; of_batch < per_batch_; ++of_batch) {
    std::size_t rank = 0;
    for (std::size_t node = 0; node < nodes_; ++node) {
      for (std::size_t i = 0; i < ranks_per_node_; ++i, ++rank) {
        const std::uint32_t item = item_at(position++);
        const std::uint16_t keeper = keeper_[item];
        if (keeper == k_nobody || lost_[item]) {
          plan.missed[rank] += 1.0;
          lost_[item] = false;
          if (keeper != k_nobody || room_[node] == 0) continue;
          keeper_[item] = static_cast<std::uint16_t>(node);
          --room_[node];
        } else if (keeper != node) {
          plan.senders[rank * per_batch_ + plan.remote[rank]++] = keeper;
        }
      }
    }
  }
}

/// Items that nodes may still take in this step and keep.
std::uint64_t DataSource::open_places() const {
  std::uint64_t open = 0;
  for (std::size_t node = 0; node < nodes_; ++node) open += std::min(quota_[node], room_[node]);
  return open;
}

/// Each node trains on what it keeps. What nobody keeps goes in turn to nodes that have too little to train on, first
/// to those that can keep it; what a node keeps too much of goes over the network to those that still have too little.
void DataSource::plan_by_place(std::uint64_t step, StepPlan& plan) {
  const std::size_t of_step = ranks_ * per_batch_;
  quota_.assign(nodes_, static_cast<std::uint32_t>(ranks_per_node_ * per_batch_));
  std::fill(missed_by_.begin(), missed_by_.end(), 0U);
  for (auto& senders : sent_to_) senders.clear();
  homeless_.clear();
  surplus_.clear();
  for (std::size_t i = 0; i < of_step; ++i) {
    const std::uint32_t item = item_at(step * of_step + i);
    const std::uint16_t keeper = keeper_[item];
    if (keeper == k_nobody) {
      homeless_.push_back(item);
    } else if (quota_[keeper] > 0) {
      --quota_[keeper];
    } else {
      surplus_.push_back(keeper);
    }
  }
  std::size_t node = step % nodes_;
  const auto next = [&](bool with_room) {
    do node = node + 1 == nodes_ ? 0 : node + 1;
    while (quota_[node] == 0 || (with_room && room_[node] == 0));
    --quota_[node];
    return node;
  };
  std::uint64_t open = open_places();
  for (const std::uint32_t item : homeless_) {
    const std::size_t taker = next(open > 0);
    ++missed_by_[taker];
    if (room_[taker] == 0) continue;
    --room_[taker];
    keeper_[item] = static_cast<std::uint16_t>(taker);
    if (--open == 0) open = open_places();
  }
  for (const std::uint16_t sender : surplus_) sent_to_[next(false)].push_back(sender);
  for (std::size_t n = 0; n < nodes_; ++n) deal_out(n, missed_by_[n], plan);
}

/// A node's samples to its ranks in turn: first those from storage, then those from other nodes.
void DataSource::deal_out(std::size_t node, std::uint32_t missed, StepPlan& plan) {
  const std::size_t first = node * ranks_per_node_;
  std::size_t turn = 0;
  const auto next_rank = [&] {
    const std::size_t rank = first + turn;
    turn = turn + 1 == ranks_per_node_ ? 0 : turn + 1;
    return rank;
  };
  for (std::uint32_t i = 0; i < missed; ++i) plan.missed[next_rank()] += 1.0;
  for (const std::uint16_t sender : sent_to_[node]) {
    const std::size_t rank = next_rank();
    plan.senders[rank * per_batch_ + plan.remote[rank]++] = sender;
  }
}

/// Counts, and turns items into samples.
void DataSource::count_and_smooth(StepPlan& plan) {
  const double per_item = cluster_.order.samples_per_item;
  const double narrower = 1.0 / std::sqrt(per_item);
  const double all = static_cast<double>(per_batch_);
  for (std::size_t node = 0; node < nodes_; ++node) {
    double missed = 0.0;
    std::uint64_t remote = 0;
    for (std::size_t rank = node * ranks_per_node_; rank < (node + 1) * ranks_per_node_; ++rank) {
      missed += plan.missed[rank];
      remote += plan.remote[rank];
    }
    const std::uint64_t read = ranks_per_node_ * per_batch_;
    counts_[node].missed += static_cast<std::uint64_t>(missed);
    counts_[node].remote += remote;
    counts_[node].local += read - remote - static_cast<std::uint64_t>(missed);
    if (per_item == 1.0) continue;
    double& usual = usual_miss_[node];
    const double now = missed / static_cast<double>(read);
    if (usual < 0.0) usual = now;
    for (std::size_t rank = node * ranks_per_node_; rank < (node + 1) * ranks_per_node_; ++rank) {
      const double share = usual + (plan.missed[rank] / all - usual) * narrower;
      plan.missed[rank] = all * per_item * std::clamp(share, 0.0, 1.0);
    }
    usual += k_share_of_new_misses * (now - usual);
  }
}

std::vector<ReadFrom> DataSource::shares() const {
  std::vector<ReadFrom> shares(nodes_);
  for (std::size_t node = 0; node < nodes_; ++node) {
    if (cluster_.caches.policy == Caching::none) {
      shares[node] = {1.0 - cluster_.storage_share, 0.0, cluster_.storage_share};
      continue;
    }
    const Counts& seen = counts_[node];
    const auto all = static_cast<double>(seen.local + seen.remote + seen.missed);
    shares[node] = {static_cast<double>(seen.local) / all, static_cast<double>(seen.remote) / all,
                    static_cast<double>(seen.missed) / all};
  }
  return shares;
}

}  // namespace stallcast::simulation
