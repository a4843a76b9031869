/// The parts of a profile, each made by one function from the joined run. Internal to the analyzer.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/attribution.hpp"
#include "analyzer/profile.hpp"
#include "analyzer/run_data.hpp"
#include "analyzer/steady.hpp"

namespace stallcast::sections {

/// One consumer with its steady steps.
struct RankView {
  const Consumer* consumer = nullptr;
  SteadyWindow window{};
  const RunData* run = nullptr;  ///< that it is in
  std::size_t node = 0;          ///< number of that run among the profile's nodes
};

/// One launch of the command with its ranks. A profile is made of one, of one a node, or with --strategy separate of
/// one a phase.
struct Launch {
  const RunData* run = nullptr;
  std::vector<RankView> ranks{};
};

/// The launches that ran at the same time as one job, one or more on each machine. Their clocks differ: what is taken
/// from times of one is never set against times of another, but by align_ranks.
using Nodes = std::span<const Launch>;

/// Job facts from the first rank's loader and descriptions.
[[nodiscard]] Job job_of(Nodes nodes, const std::vector<RankView>& ranks);

/// Rank table: deliveries, rate and wait share of each.
[[nodiscard]] std::vector<Rank> ranks_of(const std::vector<RankView>& ranks);

/// Fills in how the ranks' clocks differ and whose batches come last, where they end their steps together.
void align_ranks(const std::vector<RankView>& ranks, std::vector<Rank>& rows);

/// Step, compute, wait, per-sample costs, CPU of the tree, memory, distributions.
/// `machines`: one a node.
[[nodiscard]] Resources resources_of(Nodes nodes, const std::vector<RankView>& ranks,
                                     const std::vector<ReplayMachine>& machines);

/// Evenly timed samples (timed_samples.hpp) that the training loader's batches were made of, as found: not those of an
/// evaluation, nor of phases, in which reads come from where we have put the bytes.
[[nodiscard]] std::vector<const record::SampleRecord*> training_samples(Nodes nodes,
                                                                        const std::vector<RankView>& ranks);

/// Times of steps and of samples, by name.
[[nodiscard]] std::map<std::string, Distribution> distributions_of(Nodes nodes, const std::vector<RankView>& ranks);

/// What each operator costs, the dearest first, the rest last; empty where too few samples were timed. Issues: parts
/// that do not add up to the workers' busy time within 3 %, data sets whose samples are not seen.
/// `premises`: of the run's phases; operators of cached blocks are spoken of only where that held.
[[nodiscard]] std::vector<Operator> operators_of(Nodes nodes, const std::vector<RankView>& ranks,
                                                 const std::vector<Premise>& premises, std::vector<DataIssue>& issues);

/// What the ranks' GPUs did in the steps as found. Every figure is absent with the reason where CUPTI told nothing.
[[nodiscard]] Gpu gpu_of(const std::vector<RankView>& ranks, double batches_per_step);

/// What the ranks exchange in a step, as DistributedDataParallel timed it; `world`: ranks of the job.
[[nodiscard]] Exchange exchange_of(const std::vector<RankView>& ranks, int world);

/// Files, bytes, sizes, layout, from the job's own reads.
[[nodiscard]] Dataset dataset_of(Nodes nodes, const std::vector<RankView>& ranks);

/// Hits of the page cache, epoch by epoch as found. `dataset` and `resources` of the same run say what would fit.
/// Absent for several nodes: each has a page cache of its own.
[[nodiscard]] PageCache page_cache_of(Nodes nodes, const std::vector<RankView>& ranks, const Dataset& dataset,
                                      const Resources& resources);

/// An epoch and when it was, on the clock of its node.
struct EpochSeen {
  CacheEpoch cache{};
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
};

/// Every epoch as found of which it can be told where its bytes came from, parts of one among them; `fewest_ticks`
/// readings of /proc lie in each. None where an evaluation within them read files as well.
[[nodiscard]] std::vector<EpochSeen> epochs_seen(Nodes nodes, const std::vector<RankView>& ranks,
                                                 std::int64_t fewest_ticks);

/// Warns where less came from memory than any policy would have kept there. Nothing to say without measured hits.
void check_page_cache(const PageCache& cache, std::vector<DataIssue>& issues);

/// Which of the data set's files lie on disks that the kernel limits, where it was to limit any.
void check_limited_files(const RunData& run, Profile& profile);

/// Cost of the recording, from the tool's on/off stretches. Several tools switch at times of their own, and ranks in
/// step wait for each other: what that costs the rate is not known then, what it costs in CPU time is.
[[nodiscard]] Overhead overhead_of(Nodes nodes);

/// Steps as found over time, thinned to at most `most_rows` rows that keep sums and extremes.
[[nodiscard]] std::vector<TimelineRow> timeline_of(const std::vector<RankView>& ranks, std::size_t most_rows);

/// The stretches of a phased run as `rank` went through them, and the steps in them after those as found, thinned
/// likewise; a row ends with its stretch, so there may be as many rows more. Changes nothing in a passive run.
void add_phases(const RunData& run, const RankView& rank, std::size_t most_rows, Profile& profile);

/// Cores of a machine that were neither idle nor the job's (nor the tool's) while it ran as found; mean of all
/// machines.
[[nodiscard]] Measured<double> other_cpus(Nodes nodes);

/// Share of the bytes that the making of batches read that came from storage (/proc/PID/io), at most 1.
[[nodiscard]] Measured<Fraction> storage_share(const RunData& run, const std::vector<RankView>& ranks);

/// How the job read its data where no probe sees it: much came from storage while batches were made (page faults and
/// what children read that were waited for count in /proc/PID/io), and hardly a read() asked for it. Through maps of
/// files, by programs that the makers of batches start, or in another way; empty where reads were seen.
/// Batches that are read by page faults of the thread that makes them.
struct FaultReading {
  double blocked_without_s =
      0.0;                 ///< seconds that it is blocked for a batch without such faults; 0 where each has some
  double cpu_share = 0.0;  ///< of the CPU time of batches that have some, in the kernel
};

/// Where the training thread makes its batches itself and reads them through maps, page faults block it, and nothing
/// else that is not seen does. Empty where the data are read in another way, or by others.
[[nodiscard]] std::optional<FaultReading> reading_by_faults(const RunData& run, const std::vector<RankView>& ranks);
[[nodiscard]] std::string unseen_reading(const RunData& run, const std::vector<RankView>& ranks);

/// Whether reads paid for storage that the job's own processes emulated: then the kernel's counts are not of them.
[[nodiscard]] bool storage_is_emulated(const RunData& run);

/// Whether the rank's torch could use a GPU.
[[nodiscard]] bool uses_cuda(const RankView& rank);

/// Bytes that the making of batches read for one sample; 0 where none was seen.
[[nodiscard]] double read_per_sample(const std::vector<RankView>& ranks);

/// What the machine tells the replay (`ranks`: on its host): cores per rank, cost of resident reads, the consumer's run
/// delay, and what share of the bytes came from storage.
[[nodiscard]] ReplayMachine replay_machine(const RunData& run, const std::vector<RankView>& all, std::size_t ranks);

/// Rates, stalls and points: the measured state as found, and the attributed ones.
/// `machines`: one a node.
void fill_rates_and_stalls(const std::vector<RankView>& ranks, const std::vector<ReplayMachine>& machines,
                           Profile& profile);

/// Rates and stalls from the blocks of phased launches, in place of the attributed ones. False if there were no blocks.
bool fill_differential(const std::vector<Launch>& launches, Profile& profile);

/// Where the job's CPU time went, of all launches together; without a source where none was sampled. Counters are those
/// of the first `nodes` launches, summed.
[[nodiscard]] Cpu cpu_of(const std::vector<Launch>& launches, std::size_t nodes);

}  // namespace stallcast::sections
