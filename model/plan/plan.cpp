#include "model/plan/plan.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "model/job/job_model.hpp"
#include "model/job/unseen_reads.hpp"
#include "model/plan/constants.hpp"
#include "model/plan/curves.hpp"
#include "model/predict/predict.hpp"
#include "model/scenario/formatted.hpp"

namespace stallcast {
namespace {

constexpr double k_second_per_hour = 3600.0;

using Settings = std::vector<std::pair<std::string, std::string>>;

/// A configuration to ask for.
struct MachineCandidate {
  const Machine* machine = nullptr;
  int nodes = 1;
  int workers = 0;
  std::string data{};
  Settings settings{};
};

/// 1, 2, 3, 4, 6, 8, 12, 16, ... and the most that can be had.
std::vector<int> node_counts(int most) {
  std::set<int> counts{most};
  for (int power = 1; power <= most; power *= 2) {
    counts.insert(power);
    if (power + power / 2 <= most) counts.insert(power + power / 2);
  }
  return {counts.begin(), counts.end()};
}

std::set<int> worker_counts(const JobModel& job, const Machine& machine) {
  const int per_rank = static_cast<int>(machine.cores / machine.ranks());
  return {job.workers, std::clamp(per_rank, 1, k_most_planned_workers)};
}

Error lacks(const char* what, const std::string& reason, const std::string& hint) {
  return Error{
      ErrorCode::not_enough_data,
      std::string("a plan needs the ") + what + ", which this profile lacks" + (reason.empty() ? "" : ": " + reason),
      hint};
}

class Planner {
 public:
  Planner(const Profile& profile, const Catalog& catalog, const PlanTarget& target, JobModel job, Predictor predictor)
      : profile_(profile), catalog_(catalog), target_(target), job_(std::move(job)), predictor_(std::move(predictor)) {}

  Result<Plan> make() {
    for (const Machine& machine : catalog_.machines) {
      for (const int nodes : node_counts(machine.most_nodes)) {
        for (const int workers : worker_counts(job_, machine)) ask_places(machine, nodes, workers);
      }
    }
    if (options_.empty()) {
      return Error{ErrorCode::not_enough_data,
                   "no machine of the catalogue could be answered: " + reasons_.begin()->first,
                   "profile without --phases as_is, so that more is known of the job"};
    }
    Plan plan;
    plan.candidates = options_.size();
    for (const auto& [reason, count] : reasons_) {
      plan.left_out.push_back(std::to_string(count) + (count == 1 ? " candidate: " : " candidates: ") + reason);
    }
    plan.front = front();
    choose(plan);
    draw(plan);
    explain(plan);
    return plan;
  }

 private:
  /// Memory of a node that its page cache may use beside the ranks and their workers.
  [[nodiscard]] double room_for_data(const Machine& machine, int workers) const {
    const double more_workers = (workers - job_.workers) * job_.worker_bytes.value_or(0.0);
    const double rank = profile_.resources.anonymous_memory->value() / job_.ranks + more_workers;
    return std::max(0.0, machine.memory.value() - std::max(0.0, rank) * machine.ranks());
  }

  /// The same machines with the data in each place where it may lie.
  void ask_places(const Machine& machine, int nodes, int workers) {
    const double room = room_for_data(machine, workers);
    if (room >= *job_.dataset_bytes) return ask(machine, nodes, workers, "memory", {{"cache", "100%"}});
    const Settings cached{{"cache", formatted("%.0fB", room)}, {"cache_policy", "page-cache"}};
    const bool fits_disk = machine.disk && machine.disk->value() >= *job_.dataset_bytes;
    if (machine.disk && catalog_.shared) {  // the data come from there in the first epoch, as much as the disk holds
      Settings disk = with_shared(cached);
      disk.emplace_back("staging", "overlap");
      disk.emplace_back("local_disk_bandwidth", formatted("%.0fB/s", machine.disk_bandwidth->value()));
      disk.emplace_back("local_disk", formatted("%.0fB", machine.disk->value()));
      ask(machine, nodes, workers, "local disk", disk);
    } else if (fits_disk) {
      Settings disk = cached;
      disk.emplace_back("storage_bandwidth", formatted("%.0fB/s", machine.disk_bandwidth->value()));
      ask(machine, nodes, workers, "local disk", disk);
    }
    if (catalog_.shared) {
      ask(machine, nodes, workers, "shared storage", with_shared(cached));
      if (nodes > 1 && machine.network_bandwidth) {
        Settings together = with_shared({cached.front()});
        together.emplace_back("cache_policy", "partitioned");
        ask(machine, nodes, workers, "nodes' memory", together);
      }
    }
    if (!fits_disk && !catalog_.shared) ask(machine, nodes, workers, "as profiled", cached);
  }

  [[nodiscard]] Settings with_shared(Settings settings) const {
    if (catalog_.shared->bandwidth) {
      settings.emplace_back("shared_storage_bandwidth", formatted("%.0fB/s", catalog_.shared->bandwidth->value()));
    }
    if (catalog_.shared->files_per_s) {
      settings.emplace_back("shared_storage_files_per_s", formatted("%.9g/s", catalog_.shared->files_per_s->value()));
    }
    if (catalog_.shared->metadata_per_s) {
      settings.emplace_back("shared_storage_metadata_per_s",
                            formatted("%.9g/s", catalog_.shared->metadata_per_s->value()));
    }
    if (catalog_.shared->contention) {
      settings.emplace_back("shared_storage_contention", formatted("%.9g", *catalog_.shared->contention));
    }
    if (catalog_.shared->coherence) {
      settings.emplace_back("shared_storage_coherence", formatted("%.9g", *catalog_.shared->coherence));
    }
    return settings;
  }

  void ask(const Machine& machine, int nodes, int workers, const char* data, Settings settings) {
    settings.emplace_back("nodes", std::to_string(nodes));
    settings.emplace_back("gpus_per_node", std::to_string(machine.ranks()));
    settings.emplace_back("cpus", formatted("%.9g", machine.cores));
    settings.emplace_back("workers", std::to_string(workers));
    settings.emplace_back("gpu_speedup", formatted("%.9g", machine.gpu_speed));
    if (machine.network_bandwidth) {
      settings.emplace_back("network_bandwidth", formatted("%.0fB/s", machine.network_bandwidth->value()));
    }
    Scenario scenario;
    for (const auto& [key, value] : settings) {
      if (const Status set = set_key(scenario, key, value); !set.ok()) return refuse(set.error());
    }
    auto prediction = predictor_.predict_closed_form(scenario);
    if (!prediction) return refuse(prediction.error());
    options_.push_back(option(machine, nodes, workers, data, std::move(prediction).value()));
  }

  void refuse(const Error& error) { ++reasons_[error.what]; }

  [[nodiscard]] PlanOption option(const Machine& machine, int nodes, int workers, const char* data,
                                  Prediction prediction) const {
    const bool staged = prediction.first_epoch && prediction.first_epoch->has_value();
    const double first_s = staged ? (*prediction.first_epoch)->value() * std::min(1.0, target_.epochs) : 0.0;
    const double samples = std::max(0.0, target_.epochs - (staged ? 1.0 : 0.0)) * *job_.dataset_samples;
    const auto& rate = prediction.throughput;
    PlanOption out;
    out.machine = machine.name;
    out.nodes = nodes;
    out.workers = workers;
    out.data = data;
    out.upper_bound = nodes > 1 && (!job_.gradient_bytes || !machine.network_bandwidth);
    // A first epoch is as uncertain as the others.
    const auto time_at = [&](SamplesPerSecond at) {
      return Seconds(samples / at.value() + first_s * (rate.mean / at));
    };
    out.time = {time_at(rate.mean), time_at(rate.ci90_high), time_at(rate.ci90_low)};
    const double per_second = machine.price_per_hour * nodes / k_second_per_hour;
    out.cost = {per_second * out.time.mean.value(), per_second * out.time.ci90_low.value(),
                per_second * out.time.ci90_high.value()};
    const auto within = [&](Seconds time, double cost, SamplesPerSecond throughput) {
      return (!target_.time || time <= *target_.time) && (!target_.cost || cost <= *target_.cost) &&
             (!target_.throughput || throughput >= *target_.throughput);
    };
    out.meets = within(out.time.mean, out.cost.mean, rate.mean);
    out.meets_surely = !out.upper_bound && within(out.time.ci90_high, out.cost.ci90_high, rate.ci90_low);
    out.prediction = std::move(prediction);
    return out;
  }

  /// From the fastest on, each that is cheaper than all before it.
  [[nodiscard]] std::vector<PlanOption> front() const {
    std::vector<const PlanOption*> by_time;
    by_time.reserve(options_.size());
    for (const PlanOption& option : options_) by_time.push_back(&option);
    std::stable_sort(by_time.begin(), by_time.end(), [](const PlanOption* a, const PlanOption* b) {
      return std::pair(a->time.mean.value(), a->cost.mean) < std::pair(b->time.mean.value(), b->cost.mean);
    });
    std::vector<PlanOption> front;
    for (const PlanOption* option : by_time) {
      if (front.empty() || option->cost.mean < front.back().cost.mean) front.push_back(*option);
    }
    return front;
  }

  /// By how much the worst missed target is missed: 1.2 is 20 % too long, too dear or too slow.
  [[nodiscard]] double missed_by(const PlanOption& option) const {
    double factor = 1.0;
    if (target_.time) factor = std::max(factor, option.time.mean / *target_.time);
    if (target_.cost) factor = std::max(factor, option.cost.mean / *target_.cost);
    if (target_.throughput) factor = std::max(factor, *target_.throughput / option.prediction.throughput.mean);
    return factor;
  }

  void choose(Plan& plan) const {
    if (!target_.any()) {
      plan.verdict = "no target was given: the table shows what more money buys";
      return;
    }
    const auto cheapest = [&](bool PlanOption::*meets) {
      const PlanOption* best = nullptr;
      for (const PlanOption& option : options_) {
        if (option.*meets && (best == nullptr || option.cost.mean < best->cost.mean)) best = &option;
      }
      return best;
    };
    const PlanOption* best = cheapest(&PlanOption::meets_surely);
    if (best == nullptr) best = cheapest(&PlanOption::meets);
    if (best != nullptr) {
      plan.choice = *best;
      plan.verdict = best->meets_surely ? "met, even at the pessimistic end of the interval"
                     : best->upper_bound
                         ? "met if exchanging gradients between the nodes costs little, which is not known"
                         : "met by the mean, but not at the pessimistic end of the interval";
      return;
    }
    plan.nearest = *std::min_element(options_.begin(), options_.end(), [&](const PlanOption& a, const PlanOption& b) {
      return missed_by(a) < missed_by(b);
    });
    plan.verdict = "nothing in the catalogue meets the target: the nearest misses it by " +
                   formatted("%.0f", 100.0 * (missed_by(*plan.nearest) - 1.0)) + " %, held back by " +
                   plan.nearest->prediction.bound;
  }

  [[nodiscard]] const Machine& machine_named(const std::string& name) const {
    return *std::find_if(catalog_.machines.begin(), catalog_.machines.end(),
                         [&](const Machine& machine) { return machine.name == name; });
  }

  /// The same option with the batch of all ranks together as profiled; nothing where its ranks do not divide that.
  [[nodiscard]] std::optional<PlanOption> with_global_batch(const PlanOption& at) {
    const Machine& machine = machine_named(at.machine);
    const double batch = job_.batch * job_.ranks / (at.nodes * machine.ranks());
    if (batch < 1.0 || batch != std::floor(batch)) return std::nullopt;
    Scenario scenario;
    for (const ScenarioItem& item : at.prediction.scenario) {
      if (!set_key(scenario, item.key, item.value).ok()) return std::nullopt;
    }
    if (!set_key(scenario, "batch", formatted("%.0f", batch)).ok()) return std::nullopt;
    auto prediction = predictor_.predict_closed_form(scenario);
    if (!prediction) return std::nullopt;
    return option(machine, at.nodes, at.workers, at.data.c_str(), std::move(prediction).value());
  }

  void draw(Plan& plan) {
    FastestOptions fastest = fastest_by_nodes(options_);
    const auto draw_one = [&](const std::string& name) {
      const auto found = fastest.extract(name);
      if (found.empty() || found.mapped().size() < 2) return;
      if (plan.curves.size() == k_most_curves) {
        ++plan.curves_left_out;
        return;
      }
      PlanCurve& curve = plan.curves.emplace_back();
      curve.machine = name;
      for (const auto& [nodes, option] : found.mapped()) {
        curve.weak.points.push_back(*option);
        if (auto strong = with_global_batch(*option)) curve.strong.points.push_back(std::move(*strong));
      }
      say_where_it_stops(curve.weak);
      say_where_it_stops(curve.strong);
    };
    for (const PlanOption& option : plan.front) draw_one(option.machine);
    for (const Machine& machine : catalog_.machines) draw_one(machine.name);
  }

  static void add_notes(const Prediction& prediction, Plan& plan) {
    for (const std::string& note : prediction.notes) {
      if (std::find(plan.notes.begin(), plan.notes.end(), note) == plan.notes.end()) plan.notes.push_back(note);
    }
  }

  void explain(Plan& plan) {
    const PlanOption& shown = plan.choice ? *plan.choice : plan.nearest ? *plan.nearest : plan.front.front();
    const Prediction& at = shown.prediction;
    plan.buy_next = at.bound + " limits the rate";
    if (!at.next_bound.empty()) {
      plan.buy_next +=
          "; with " + formatted("%.3g", 1.0 + at.headroom) + " times as much of it, " + at.next_bound + " would";
    }
    for (const PlanOption& option : plan.front) add_notes(option.prediction, plan);
    add_notes(at, plan);
    const bool any_strong = std::any_of(plan.curves.begin(), plan.curves.end(),
                                        [](const PlanCurve& curve) { return curve.strong.points.size() > 1; });
    if (any_strong) {
      plan.notes.emplace_back(
          "where the batch of all ranks is kept, a step is taken to shorten in proportion to a rank's batch; small "
          "batches use a device worse than that");
    }
    plan.notes.emplace_back(
        "times and costs leave out start-up and checkpoints, and how much longer a first epoch takes (unless it copies "
        "data to local disks)");
    Scenario scenario;
    for (const ScenarioItem& item : at.scenario) {
      if (!set_key(scenario, item.key, item.value).ok()) return;
    }
    plan.hangs_on = predictor_.narrowed_by(scenario);
  }

  const Profile& profile_;
  const Catalog& catalog_;
  const PlanTarget& target_;
  JobModel job_;
  Predictor predictor_;
  std::vector<PlanOption> options_{};
  std::map<std::string, int> reasons_{};  ///< of candidates that were not answered
};

}  // namespace

Result<Plan> make_plan(const Profile& profile, const Catalog& catalog, const PlanTarget& target) {
  auto job = job_model(profile);
  if (!job) return job.error();
  if (!job.value().dataset_samples) {
    constexpr const char* k_length = "profile a job whose data set tells its length";
    return lacks("number of samples of the data set", profile.job.dataset_samples.reason(), k_length);
  }
  if (!job.value().dataset_bytes) {
    return lacks("size of the data set", profile.dataset.bytes_total.reason(), std::string("profile ") + k_read_calls);
  }
  if (!profile.resources.anonymous_memory) {
    return lacks("memory of the job", profile.resources.anonymous_memory.reason(),
                 "profile where /proc/PID/smaps_rollup of the job can be read");
  }
  auto predictor = Predictor::make(profile);
  if (!predictor) return predictor.error();
  return Planner(profile, catalog, target, std::move(job).value(), std::move(predictor).value()).make();
}

}  // namespace stallcast
