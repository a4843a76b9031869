#include "simulation/cluster.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/check.hpp"
#include "simulation/cluster_parts.hpp"
#include "simulation/data_source.hpp"
#include "simulation/random.hpp"

namespace stallcast::simulation {
namespace {

constexpr std::uint64_t k_draw_stream = 0;
constexpr std::size_t k_resources = 7;

class ClusterSimulation {
 public:
  explicit ClusterSimulation(const Cluster& cluster)
      : cluster_(cluster),
        nodes_(static_cast<std::size_t>(cluster.nodes)),
        ranks_per_node_(static_cast<std::size_t>(cluster.ranks_per_node)),
        ranks_(nodes_ * ranks_per_node_),
        workers_(static_cast<std::size_t>(std::max(1, cluster.loader.workers))),
        ring_(workers_ * static_cast<std::size_t>(cluster.loader.workers > 0 ? cluster.loader.prefetch_factor : 1)),
        source_(cluster),
        plans_(ring_ + 1),
        ready_s_(ranks_ * ring_),
        released_s_(ranks_ * ring_),
        free_s_(ranks_ * workers_),
        begun_(ranks_ * workers_),
        delivered_(ranks_),
        draw_key_(ranks_),
        waiting_s_(ranks_),
        done_s_(ranks_),
        making_s_(nodes_),
        last_(nodes_),
        node_storage_(nodes_),
        link_in_(nodes_),
        link_out_(nodes_),
        item_link_s_(cluster.link_s * cluster.order.samples_per_item),
        item_remote_s_(cluster.remote_s * cluster.order.samples_per_item),
        in_order_of_time_(cluster.shared_s > 0.0 || cluster.open_s > 0.0 || cluster.node_storage_s > 0.0 ||
                          cluster.link_s > 0.0) {
    run_.step_end_s.reserve(static_cast<std::size_t>(cluster.epochs) * cluster.steps);
    beginnings_.reserve(ranks_ * workers_);
  }

  ClusterRun run() {
    for (int epoch = 0; epoch < cluster_.epochs; ++epoch) run_epoch(epoch);
    return std::move(run_);
  }

 private:
  void run_epoch(int epoch) {
    begin_epoch(epoch);
    while (!beginnings_.empty()) begin_batch(next_beginning());
    STALLCAST_CHECK(step_ == cluster_.steps);
    finish_epoch();
  }

  /// All queues are empty, and no worker has anything to do.
  void begin_epoch(int epoch) {
    epoch_ = epoch;
    step_ = planned_ = 0;
    source_.begin_epoch(epoch);
    begin_s_ = asked_s_;
    stepping_s_ = 0.0;
    step_max_s_ = 0.0;
    straggling_s_ = 0.0;
    waiting_ranks_ = ranks_;
    std::fill(free_s_.begin(), free_s_.end(), begin_s_);
    std::fill(begun_.begin(), begun_.end(), k_none);
    std::fill(delivered_.begin(), delivered_.end(), 0U);
    std::fill(released_s_.begin(), released_s_.end(), begin_s_);
    std::fill(waiting_s_.begin(), waiting_s_.end(), 0.0);
    std::fill(making_s_.begin(), making_s_.end(), 0.0);
    std::fill(last_.begin(), last_.end(), 0U);
    for (auto* servers : {&node_storage_, &link_in_, &link_out_}) {
      for (Server& server : *servers) server.busy_s = 0.0;
    }
    shared_storage_.busy_s = 0.0;
    const std::uint64_t key = stream(stream(cluster_.seed, k_draw_stream), static_cast<std::uint64_t>(epoch));
    for (std::size_t rank = 0; rank < ranks_; ++rank) draw_key_[rank] = stream(key, rank);
    pause(0);
    const std::size_t first = std::min<std::size_t>(cluster_.loader.workers > 0 ? workers_ : 1, cluster_.steps);
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      for (std::size_t batch = 0; batch < first; ++batch) may_begin(begin_s_, rank, batch);
    }
  }

  void may_begin(double at_s, std::size_t rank, std::size_t batch) {
    beginnings_.push_back({at_s, static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(batch)});
    if (in_order_of_time_) std::push_heap(beginnings_.begin(), beginnings_.end(), std::greater<>());
  }

  /// The earliest; any, where nothing is shared and their order does not matter.
  Beginning next_beginning() {
    if (in_order_of_time_) std::pop_heap(beginnings_.begin(), beginnings_.end(), std::greater<>());
    const Beginning next = beginnings_.back();
    beginnings_.pop_back();
    return next;
  }

  void begin_batch(const Beginning& beginning) {
    const std::size_t rank = beginning.rank;
    const std::size_t batch = beginning.batch;
    const std::size_t worker = rank * workers_ + batch % workers_;
    const double ready = make(beginning);
    ready_s_[slot(rank, batch)] = ready;
    free_s_[worker] = ready;
    begun_[worker] = static_cast<std::uint32_t>(batch);
    if (cluster_.loader.workers > 0) {
      const std::size_t next = batch + workers_;
      const bool issued = next < ring_ || next < delivered_[rank] + ring_;
      if (next < cluster_.steps && issued) may_begin(std::max(ready, released_s_[slot(rank, next)]), rank, next);
    }
    if (batch != step_ || delivered_[rank] != step_) return;
    deliver(rank);
    end_steps();
  }

  /// When the batch is ready; what is shared has been asked for by then.
  double make(const Beginning& beginning) {
    const std::size_t rank = beginning.rank;
    const std::size_t node = rank / ranks_per_node_;
    const StepPlan& plan = plan_of(beginning.batch);
    const BatchWork& work = cluster_.work[draw(rank, beginning.batch, cluster_.work.size(), upper_half)];
    const double missed = plan.missed[rank];
    const double remote = plan.remote[rank];
    const double slow = slow_of(node);
    const double reading = slow * (work.read_s * (missed / cluster_.samples_per_batch)) + remote * item_remote_s_;
    const double making = reading + slow * work.cpu_s + slow * work.other_s;
    making_s_[node] += making;
    double late = 0.0;
    const auto ask = [&](Server& server, double service) {
      const double waits = server.serve(beginning.at_s, service);
      late = std::max(late, waits + service - reading);
    };
    if (missed > 0.0 && cluster_.node_storage_s > 0.0) ask(node_storage_[node], missed * cluster_.node_storage_s);
    if (missed > 0.0 && cluster_.shared_s > 0.0) ask(shared_storage_, missed * cluster_.shared_s);
    const double opened = cluster_.opens_cached ? cluster_.samples_per_batch : missed;
    if (opened > 0.0 && cluster_.open_s > 0.0) ask(shared_metadata_, opened * cluster_.open_s);
    if (remote > 0.0 && item_link_s_ > 0.0) late = std::max(late, receive(beginning, plan, reading));
    return beginning.at_s + making + late;
  }

  /// How much later than by its worker's own doing a batch is there for the links that it comes over.
  double receive(const Beginning& beginning, const StepPlan& plan, double reading) {
    const std::size_t rank = beginning.rank;
    const double remote = plan.remote[rank];
    const double now = beginning.at_s;
    double arrived = now + link_in_[rank / ranks_per_node_].serve(now, remote * item_link_s_) + remote * item_link_s_;
    const std::uint16_t* sender = plan.senders.data() + rank * cluster_.order.items_per_batch;
    for (std::size_t i = 0; i < plan.remote[rank]; ++i) {
      arrived = std::max(arrived, now + link_out_[sender[i]].serve(now, item_link_s_) + item_link_s_);
    }
    return std::max(0.0, arrived - now - reading);
  }

  /// Rank `rank` gets the batch of the present step, for which its time has come.
  void deliver(std::size_t rank) {
    const std::size_t batch = step_;
    const double ready = ready_s_[slot(rank, batch)];
    const double delivered = std::max(ready, asked_s_);
    const double step =
        slow_of(rank / ranks_per_node_) * cluster_.step_s[draw(rank, batch, cluster_.step_s.size(), lower_half)];
    waiting_s_[rank] += delivered - asked_s_;
    done_s_[rank] = delivered + step;
    step_max_s_ = std::max(step_max_s_, step);
    ++delivered_[rank];
    --waiting_ranks_;
    if (cluster_.loader.workers == 0) return;
    released_s_[slot(rank, batch)] = delivered;
    const std::size_t next = batch + ring_;
    const std::size_t worker = rank * workers_ + next % workers_;
    if (next < cluster_.steps && begun_[worker] == next - workers_) {
      may_begin(std::max(free_s_[worker], delivered), rank, next);
    }
  }

  /// Ends the present step if all ranks have their batch, and every further one of which that is true as well.
  void end_steps() {
    while (waiting_ranks_ == 0) {
      const auto slowest = std::max_element(done_s_.begin(), done_s_.end());
      const double done = *slowest;
      for (const double rank_done : done_s_) straggling_s_ += done - rank_done;
      ++last_[static_cast<std::size_t>(slowest - done_s_.begin()) / ranks_per_node_];
      stepping_s_ += step_max_s_;
      step_max_s_ = 0.0;
      asked_s_ = done + cluster_.exchange_s;
      run_.step_end_s.push_back(asked_s_);
      if (++step_ == cluster_.steps) return;
      pause(step_);
      waiting_ranks_ = ranks_;
      const auto now = static_cast<std::uint32_t>(step_);
      for (std::size_t rank = 0; rank < ranks_; ++rank) {
        if (cluster_.loader.workers == 0) {
          may_begin(asked_s_, rank, step_);
        } else if (const std::uint32_t begun = begun_[rank * workers_ + step_ % workers_];
                   begun != k_none && begun >= now) {
          deliver(rank);
        }
      }
    }
  }

  void pause(std::uint64_t step) {
    for (const NodeLoss& loss : cluster_.losses) {
      if (loss.epoch == epoch_ && loss.step == step) asked_s_ += loss.pause_s;
    }
  }

  void finish_epoch() {
    EpochRun epoch;
    epoch.begin_s = begin_s_;
    epoch.duration_s = asked_s_ - begin_s_;
    epoch.steps = step_times(run_.step_end_s, cluster_.steps, begin_s_, ring_);
    const double all = epoch.duration_s * static_cast<double>(ranks_);
    double waiting = 0.0;
    for (const double waited : waiting_s_) waiting += waited;
    if (all > 0.0) epoch.waiting_frac = waiting / all;
    if (all > 0.0) epoch.straggling_frac = straggling_s_ / all;
    const std::vector<ReadFrom> from = source_.shares();
    for (const ReadFrom& node : from) {
      epoch.from.local += node.local / static_cast<double>(nodes_);
      epoch.from.remote += node.remote / static_cast<double>(nodes_);
      epoch.from.storage += node.storage / static_cast<double>(nodes_);
    }
    set_busy(epoch);
    run_.epochs.push_back(epoch);
    if (epoch_ + 1 == cluster_.epochs) describe_nodes(from, epoch.duration_s);
  }

  void set_busy(EpochRun& epoch) {
    if (!(epoch.duration_s > 0.0)) return;
    const auto set = [&](Resource resource, double seconds) {
      epoch.busy[static_cast<std::size_t>(resource)] = seconds / epoch.duration_s;
    };
    const auto busiest = [](const std::vector<Server>& servers) {
      double most = 0.0;
      for (const Server& server : servers) most = std::max(most, server.busy_s);
      return most;
    };
    set(Resource::step, stepping_s_);
    set(Resource::exchange, cluster_.exchange_s * static_cast<double>(cluster_.steps));
    set(Resource::workers,
        *std::max_element(making_s_.begin(), making_s_.end()) / static_cast<double>(ranks_per_node_ * workers_));
    set(Resource::node_storage, busiest(node_storage_));
    set(Resource::shared_storage, shared_storage_.busy_s);
    set(Resource::shared_metadata, shared_metadata_.busy_s);
    set(Resource::network, std::max(busiest(link_in_), busiest(link_out_)));
    const double step = epoch.busy[0];
    const double exchange = epoch.busy[1];
    epoch.binding = exchange > step ? Resource::exchange : Resource::step;
    double most = step + exchange;
    for (std::size_t i = 2; i < k_resources; ++i) {
      if (epoch.busy[i] <= most) continue;
      most = epoch.busy[i];
      epoch.binding = static_cast<Resource>(i);
    }
  }

  void describe_nodes(const std::vector<ReadFrom>& from, double duration_s) {
    run_.rank_waiting.assign(ranks_, 0.0);
    run_.nodes.resize(nodes_);
    for (std::size_t rank = 0; rank < ranks_ && duration_s > 0.0; ++rank) {
      run_.rank_waiting[rank] = waiting_s_[rank] / duration_s;
      run_.nodes[rank / ranks_per_node_].waiting_frac += run_.rank_waiting[rank] / static_cast<double>(ranks_per_node_);
    }
    for (std::size_t node = 0; node < nodes_; ++node) {
      run_.nodes[node].from = from[node];
      run_.nodes[node].last_frac = static_cast<double>(last_[node]) / static_cast<double>(cluster_.steps);
    }
  }

  template <class Half>
  [[nodiscard]] std::size_t draw(std::size_t rank, std::size_t batch, std::size_t size, Half half) const {
    if (cluster_.in_turn) return (static_cast<std::size_t>(epoch_) * cluster_.steps + batch) % size;
    return below(half(mixed(draw_key_[rank] + batch)), static_cast<std::uint32_t>(size));
  }

  [[nodiscard]] double slow_of(std::size_t node) const {
    return cluster_.node_slow.empty() ? 1.0 : cluster_.node_slow[node];
  }

  [[nodiscard]] std::size_t slot(std::size_t rank, std::size_t batch) const { return rank * ring_ + batch % ring_; }

  /// No rank is more than ring_ batches ahead of the present step, nor behind it.
  const StepPlan& plan_of(std::size_t batch) {
    for (; planned_ <= batch; ++planned_) source_.plan(planned_, plans_[planned_ % plans_.size()]);
    return plans_[batch % plans_.size()];
  }

  static constexpr std::uint32_t k_none = 0xffffffffU;

  const Cluster& cluster_;
  std::size_t nodes_;
  std::size_t ranks_per_node_;
  std::size_t ranks_;
  std::size_t workers_;
  std::size_t ring_;  ///< batches outstanding
  DataSource source_;
  std::vector<StepPlan> plans_;
  std::size_t planned_ = 0;
  std::vector<double> ready_s_;           ///< by slot
  std::vector<double> released_s_;        ///< by slot: when the index of the batch that comes there next was sent
  std::vector<double> free_s_;            ///< by worker
  std::vector<std::uint32_t> begun_;      ///< by worker: its last batch
  std::vector<std::uint32_t> delivered_;  ///< by rank
  std::vector<std::uint64_t> draw_key_;
  std::vector<double> waiting_s_;
  std::vector<double> done_s_;    ///< by rank: the present step
  std::vector<double> making_s_;  ///< by node
  std::vector<std::uint32_t> last_;
  std::vector<Server> node_storage_;
  std::vector<Server> link_in_;
  std::vector<Server> link_out_;
  Server shared_storage_{};
  Server shared_metadata_{};
  double item_link_s_;
  double item_remote_s_;
  bool in_order_of_time_;
  std::vector<Beginning> beginnings_{};
  ClusterRun run_{};
  int epoch_ = 0;
  std::size_t step_ = 0;
  std::size_t waiting_ranks_ = 0;
  double begin_s_ = 0.0;
  double asked_s_ = 0.0;     ///< when all ranks ask for the batch of the present step
  double step_max_s_ = 0.0;  ///< of the ranks, in the present step
  double stepping_s_ = 0.0;  ///< of the slowest rank of each step of the epoch
  double straggling_s_ = 0.0;
};

void check(const Cluster& cluster) {
  STALLCAST_CHECK(cluster.nodes >= 1 && cluster.ranks_per_node >= 1 && cluster.epochs >= 1);
  STALLCAST_CHECK(cluster.steps >= 1 && cluster.steps < 0x7fffffffULL);
  STALLCAST_CHECK(cluster.loader.in_order && cluster.loader.workers >= 0);
  STALLCAST_CHECK(cluster.loader.workers == 0 || cluster.loader.prefetch_factor >= 1);
  STALLCAST_CHECK(!cluster.work.empty() && !cluster.step_s.empty() && cluster.samples_per_batch > 0.0);
  STALLCAST_CHECK(cluster.node_slow.empty() || cluster.node_slow.size() == static_cast<std::size_t>(cluster.nodes));
  for (const NodeLoss& loss : cluster.losses) STALLCAST_CHECK(loss.node >= 0 && loss.node < cluster.nodes);
}

}  // namespace

double memory_bytes(const Cluster& cluster) {
  const double ranks = static_cast<double>(cluster.nodes) * cluster.ranks_per_node;
  const double workers = std::max(1, cluster.loader.workers);
  const double ring = workers * std::max(1, cluster.loader.prefetch_factor);
  const bool senders = cluster.caches.policy == Caching::partitioned || cluster.caches.policy == Caching::locality;
  const double of_a_plan =
      sizeof(double) + sizeof(std::uint16_t) * (1.0 + (senders ? cluster.order.items_per_batch : 0.0));
  const double of_a_rank = ring * 2.0 * sizeof(double) + workers * 32.0 + 64.0 + (ring + 1.0) * of_a_plan;
  return ranks * of_a_rank + 8.0 * static_cast<double>(cluster.steps) * (cluster.epochs + 1.0) +
         DataSource::memory_bytes(cluster);
}

ClusterRun run_cluster(const Cluster& cluster) {
  check(cluster);
  return ClusterSimulation(cluster).run();
}

}  // namespace stallcast::simulation
