/// Where the samples of each step come from: the sampler's order read against the caches of the nodes.
#pragma once

#include <cstdint>
#include <vector>

#include "simulation/cluster.hpp"
#include "simulation/node_cache.hpp"

namespace stallcast::simulation {

/// One step's batches of all ranks, in samples.
struct StepPlan {
  std::vector<double> missed{};          ///< of each rank: from storage
  std::vector<std::uint16_t> remote{};   ///< of each rank: items from other nodes
  std::vector<std::uint16_t> senders{};  ///< items_per_batch a rank: the nodes that those come from
};

class DataSource {
 public:
  explicit DataSource(const Cluster& cluster);

  void begin_epoch(int epoch);

  /// Reads the next step of the epoch; steps are asked for in their order.
  void plan(std::uint64_t step, StepPlan& plan);

  /// Of each node since the epoch's beginning.
  [[nodiscard]] std::vector<ReadFrom> shares() const;

  [[nodiscard]] static double memory_bytes(const Cluster& cluster);

 private:
  struct Counts {
    std::uint64_t local = 0;
    std::uint64_t remote = 0;
    std::uint64_t missed = 0;
  };

  /// One of page_cache's two, the only one of any other policy.
  struct OwnCache {
    std::vector<NodeCache> parts{};
  };

  static constexpr std::uint16_t k_nobody = 0xffff;

  void make_own_caches();
  void shuffle(int epoch);
  void lose_caches(std::uint64_t step);
  [[nodiscard]] std::uint32_t item_at(std::uint64_t position) const;
  [[nodiscard]] NodeCache& own_cache(std::size_t node, std::uint32_t item);
  void plan_own(std::uint64_t step, StepPlan& plan);
  void plan_partitioned(std::uint64_t step, StepPlan& plan);
  [[nodiscard]] std::uint64_t open_places() const;
  void plan_by_place(std::uint64_t step, StepPlan& plan);
  void deal_out(std::size_t node, std::uint32_t missed, StepPlan& plan);
  void count_and_smooth(StepPlan& plan);

  const Cluster& cluster_;
  std::size_t nodes_;
  std::size_t ranks_per_node_;
  std::size_t ranks_;
  std::size_t per_batch_;
  int epoch_ = 0;
  std::vector<std::uint32_t> order_{};
  std::vector<OwnCache> own_{};
  std::vector<std::uint16_t> keeper_{};  ///< of each item; k_nobody
  std::vector<bool> lost_{};             ///< of each item: its keeper has lost it
  std::vector<std::uint32_t> room_{};    ///< left, of each node
  std::vector<Counts> counts_{};
  std::vector<double> usual_miss_{};  ///< of each node: mean share of the last steps
  // of one step, by place
  std::vector<std::uint32_t> quota_{};                 ///< left, of each node
  std::vector<std::uint32_t> homeless_{};              ///< items that nobody keeps
  std::vector<std::uint16_t> surplus_{};               ///< senders of items that their keepers have no quota for
  std::vector<std::uint32_t> missed_by_{};             ///< of each node
  std::vector<std::vector<std::uint16_t>> sent_to_{};  ///< of each node: senders
};

}  // namespace stallcast::simulation
