#include <algorithm>
#include <cmath>

#include "model/job/constants.hpp"
#include "model/setting/constants.hpp"
#include "model/setting/lone_reader.hpp"
#include "model/setting/parts.hpp"
#include "model/setting/setting.hpp"
#include "model/setting/storage_cost.hpp"

namespace stallcast {
namespace {

using namespace setting_parts;  // NOLINT(google-build-using-namespace): the parts of this very module

/// A worker collates into fresh shared memory, whose pages the kernel must clear first: stacking tensors there takes
/// more than ten times as long as in memory of its own (tests/bench/collate). A collate that computes gains less.
double saved_collating(const JobModel& job, const Setting& setting) {
  return setting.workers == 0 && job.workers > 0 ? k_shared_collate_share * job.collate_s : 0.0;
}

/// What is left to a worker is to take over batches. How many the extra hosts run is theirs to choose: as many as their
/// cores are worth.
void prepare_elsewhere(const Setting& setting, double making, ServiceDemands& in) {
  in.prep_elsewhere_s = in.cpu_s / *setting.prep_cores;
  in.cpu_s = in.other_s = in.latency_s = in.disk_s = 0.0;
  const double carried_s = making * setting.carried_s;
  in.beyond_is_network = in.beyond_is_network || carried_s > in.beyond_s;
  in.beyond_s = std::max(in.beyond_s, carried_s);
}

/// Others that compute beside a thread that prepares, as a share of the machine's other cores, at most 1: workers that
/// always have something to do, and the steps. Those that wait for a core of the setting's take none.
double others_beside(const JobModel& job, const Setting& setting, double miss) {
  const double ranks = setting.ranks_per_node * setting.jobs;
  const double reading_s = miss * job.storage_s.value_or(0.0);
  const double whole_s = job.cpu_s + job.other_s + reading_s;
  const double computing = whole_s > 0.0 ? job.cpu_s / whole_s : 0.0;
  const double stepping = job.compute_s > 0.0 ? job.step_threads * job.step_cpu_s / job.compute_s : 0.0;
  const double others =
      setting.workers > 0 ? ranks * (setting.workers * computing + stepping) - computing : ranks - 1.0;
  const double at_once = std::clamp(others, 0.0, std::max(0.0, ranks * setting.cores - 1.0));
  return std::min(1.0, at_once / std::max(1.0, job.cores * job.ranks_per_host - 1.0));
}

/// What computing for a sample takes in `setting`, of what it takes where that was measured.
double beside_factor(const JobModel& job, const Setting& setting, double beside) {
  if (beside == 0.0) return 1.0;
  const double measured_miss = job.cpu_of_cached ? 0.0 : job.miss;
  const double there = others_beside(job, as_found(job), measured_miss);
  return (1.0 + beside * others_beside(job, setting, setting.miss)) / (1.0 + beside * there);
}

/// What the consumer waits for a core when it has received a batch, beyond what it did so as found. It then asks for
/// one more, and the worker that this wakes computes for a time slice of the scheduler's before the consumer goes on,
/// where both have but one core. Receiving itself had the core before that, so that what the forms let it wait is part
/// of this.
double waited_for_turn(const JobModel& job, const Setting& setting, const ServiceDemands& in) {
  const double more_turns = std::max(0.0, on_one_core(setting.cores) - on_one_core(job.cores));
  return more_turns * std::max(0.0, std::min(k_time_slice_s, in.cpu_s) - in.receive_cpu_s);
}

/// How much longer a step computes beside workers where the run had none, so that nothing showed it: as the making does
/// (beside_factor). Where there were workers, blocks and steps as found hold it.
double step_beside_factor(const JobModel& job, const Setting& setting, double beside) {
  if (job.workers > 0 || setting.workers == 0) return 1.0;
  const double whole_s = job.cpu_s + job.other_s + setting.miss * job.storage_s.value_or(0.0);
  const double computing = whole_s > 0.0 ? job.cpu_s / whole_s : 0.0;
  const double other_cores = std::max(0.0, setting.cores - 1.0);
  return 1.0 + beside * std::min({1.0, other_cores, setting.workers * computing / std::max(1.0, other_cores)});
}

/// What computes in workers beside a consumer, and how often it receives.
struct Turns {
  double workers = 0.0;
  double cpu_s = 0.0;     ///< of the making of one batch
  double making_s = 0.0;  ///< of it in all
  double step_s = 0.0;    ///< from one delivery to the next
};

/// The longest that a consumer may wait so on `cores`. Batches are begun in turn, a step apart: of C cores the C - 1
/// others are in use until the batch is made that was begun C - 1 steps ago.
double longest_turn(const Turns& turns, double cores) {
  const auto on = [&](double whole) {
    if (turns.workers <= whole - 1.0 || !(turns.cpu_s > 0.0)) return 0.0;
    const double elapsed_s = (whole - 1.0) * turns.step_s;
    return std::clamp(turns.cpu_s - turns.cpu_s / turns.making_s * elapsed_s, 0.0, k_time_slice_s);
  };
  const double lower = std::max(1.0, std::floor(cores));
  const double of_upper = std::clamp(cores - lower, 0.0, 1.0);
  return (1.0 - of_upper) * on(lower) + (of_upper > 0.0 ? of_upper * on(lower + 1.0) : 0.0);
}

/// Of the storage's demand of one batch, what its reader waits for. With workers, there is no pause of all of them to
/// rely on. Without, nobody reads while a sample is computed or a step is taken, and storage that saves up has that
/// much ready afterwards.
double waited_at_storage(const JobModel& job, const Setting& setting, const ServiceDemands& in) {
  const double saved = saved_between_reads(job);
  if (setting.workers > 0) return in.limit_s * (1.0 - saved);
  const double stepping_s = in.device_s + in.step_cpu_s * std::max(1.0, in.step_threads / in.cores);
  const double preparing_s = in.other_s + in.cpu_s * std::max(1.0, 1.0 / in.cores);
  const double samples = setting.batch / setting.uses;
  const double pauses_s = std::min(stepping_s, k_longest_saving_pause_s) +
                          std::min(preparing_s, samples * k_longest_saving_pause_s) + in.latency_s;
  return std::max(0.0, in.limit_s - saved * pauses_s);
}

/// Seconds that a consumer is taken to need for a batch of `batch` samples from a worker, where the run had no workers.
double untold_receiving_s(const JobModel& job, double batch) {
  const double bytes =
      job.pins ? 0.0 : std::min(batch * job.prepared_bytes.value_or(0.0), k_most_untold_received_bytes);
  return k_untold_receiving_s + k_untold_receiving_s_per_byte * bytes;
}

}  // namespace

double setting_parts::changed_turns_s(const JobModel& job, const Setting& setting, const ServiceDemands& in) {
  const double of_one_core = std::abs(on_one_core(setting.cores) - on_one_core(job.cores)) * k_time_slice_s;
  if (setting.workers == 0 || !setting.consumes) return of_one_core;
  const double found_workers = job.workers;
  const double found_making_s = job.batch * (job.cpu_s + job.other_s);
  const double found_step_s = std::max(job.compute_s + job.receive_s, found_making_s / std::max(1.0, found_workers));
  const double found_s = longest_turn({found_workers, job.batch * job.cpu_s, found_making_s, found_step_s}, job.cores);
  Turns turns{static_cast<double>(setting.workers), in.cpu_s, in.cpu_s + in.other_s + in.latency_s + in.disk_s, 0.0};
  double least = 0.0;
  double most = k_time_slice_s;
  for (int i = 0; i < k_turn_halvings; ++i) {
    const double turn_s = 0.5 * (least + most);
    const double step_s = in.device_s + in.receive_s + in.step_cpu_s + turn_s;
    turns.step_s = std::max(step_s, turns.making_s / turns.workers);
    (longest_turn(turns, setting.cores) > turn_s ? least : most) = turn_s;
  }
  return std::max(most - found_s, of_one_core);
}

ServiceDemands demands(const JobModel& job, const Setting& setting, const Parameters& parameters,
                       const ModelError& error) {
  ServiceDemands in;
  in.workers = setting.loads ? setting.workers : 0;
  in.prefetch = setting.prefetch;
  in.in_order = job.in_order;
  in.cores = setting.cores;
  in.step_threads = job.step_threads;
  in.cv_make = job.cv_make * std::sqrt(job.batch / setting.batch);
  in.cv_step = job.cv_step;
  if (setting.consumes) {
    const double scale = std::exp(parameters.step + error.step * setting.step_sd) * setting.batch / job.batch;
    // A host that computes most of the step, or spins beside its device, is sped up with it; a small part is overhead.
    const bool mostly_cpu = job.step_cpu_s > 0.5 * job.compute_s;
    const bool cpu_too = !job.kernel_s && mostly_cpu != error.other_step;
    const double faster = job.kernel_s.value_or(job.device_s);
    in.device_s = (job.device_s - faster + faster / setting.speedup) * scale;
    in.step_cpu_s = job.step_cpu_s * scale / (cpu_too ? setting.speedup : 1.0);
    if (!setting.loads) in.step_cpu_s *= job.step_cpu_alone;
    if (setting.loads) in.step_cpu_s *= step_beside_factor(job, setting, parameters.beside);
    in.device_s += setting.device_prep_s * setting.batch / setting.echoes / setting.speedup;
    in.exchange_s = setting.exposed_s;
    in.device_s += setting.exposed_s + setting.straggling * (in.device_s + in.step_cpu_s);
  }
  if (!setting.loads) return in;
  if (setting.workers > 0 && job.workers == 0) {
    const double receive_s = untold_receiving_s(job, setting.batch);
    in.receive_s = receive_s * std::exp(error.step * k_untold_receiving_sd) / setting.echoes;
    in.receive_cpu_s = in.receive_s;
  } else if (setting.workers > 0) {
    in.receive_s = job.receive_s * setting.batch / job.batch / setting.echoes;
    in.receive_cpu_s = job.receive_cpu_s * setting.batch / job.batch / setting.echoes;
  }
  const double off = std::exp(error.making * setting.making_sd);
  const double making = off * setting.batch / setting.uses;
  const double prep = making * std::exp(parameters.prep);
  const StorageCost cost = storage_cost(job, setting, parameters);
  const double band = error.hits < 0.0 ? setting.miss_most - setting.miss : setting.miss - setting.miss_least;
  const double miss = setting.miss - error.hits * band;
  const double stored = miss * (1.0 - setting.staged);
  const double staged = miss * setting.staged;
  in.cpu_s = prep * beside_factor(job, setting, parameters.beside) *
                 std::max(0.0, job.cpu_s - saved_collating(job, setting) - setting.saved_cpu_s) +
             making * (setting.added_cpu_s + stored * job.miss_cpu_s);
  const double other_s = setting.workers > 0 ? job.other_s : job.other_s - job.handover_s;
  in.other_s = prep * std::max(0.0, other_s - setting.saved_other_s);
  in.limit_s = making * stored * cost.demand_s;
  in.limit_given = setting.demand_s.has_value();
  // What the measured waiting held of it is computing.
  const double latency_s = setting.latency_s ? cost.latency_s : std::max(0.0, cost.latency_s - job.miss_cpu_s);
  in.latency_s = making * (stored * latency_s + staged * setting.staged_s + setting.remote * setting.remote_s);
  in.disk_s = waited_at_storage(job, setting, in);
  add_lone_reader(job, setting, off * cost.demand_s, in);
  const double disk_s = staged * setting.staged_share_s + stored * setting.written_share_s;
  const double opened = setting.opens_cached ? 1.0 - setting.staged : stored;
  const double others_s = std::max({stored * setting.shared_s, opened * setting.opening_s, disk_s});
  in.beyond_s = making * std::max(others_s, setting.remote * setting.remote_share_s);
  in.beyond_is_network = setting.remote * setting.remote_share_s > others_s;
  if (setting.prep_cores) prepare_elsewhere(setting, making, in);
  if (setting.workers > 0) in.receive_s += waited_for_turn(job, setting, in);
  return in;
}

}  // namespace stallcast
