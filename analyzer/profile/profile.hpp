/// The profile: what was measured of one training job, with intervals, and what was not, with reasons.
///
/// This is the contract between analysis, model and reports, and the content of `profile.json` (schema in
/// `analyzer/schema/profile.schema.json`; reading and writing in analyzer/profile/json.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyzer/profile/gpu.hpp"
#include "analyzer/statistics/distribution.hpp"
#include "core/data_issue.hpp"
#include "core/measured.hpp"
#include "core/quantity.hpp"

namespace stallcast {

inline constexpr int k_profile_schema_version = 1;

/// How the run ended.
struct Outcome {
  std::string status = "measured";  ///< measured | child_failed | interrupted | no_loader | not_enough_data
  int child_exit_code = 0;          ///< of the command; 128 + signal if a signal ended it
  std::string words{};              ///< the same in one sentence
};

/// The machine of the first consuming process.
struct Host {
  std::string name{};
  std::string kernel{};
  std::string cpu_model{};
  int logical_cpus = 0;
  int physical_cpus = 0;
  double usable_cpus = 0.0;                        ///< min(affinity, cgroup quota); fractional where a quota is
  std::string usable_cpus_limited_by = "nothing";  ///< nothing | affinity | cgroup quota
  Bytes memory{};
  Measured<Bytes> memory_limit{};  ///< cgroup limit where it is below RAM
  Measured<Bytes> shm_free{};      ///< free space of /dev/shm
  int hosts_seen = 1;
};

struct Job {
  std::string framework = "unknown";  ///< pytorch | tensorflow | jax | paddle | python | c_api | unknown
  std::string framework_version{};
  std::string python_version{};
  std::string loader_kind = "unknown";  ///< map | iterable | tf.data | dali | grain | keras | spdl | datasets |
                                        ///< torchdata.nodes | ray.data | function | python | c_api | none
  /// How fetching and preparing a batch combine: serial, one after the other in each worker, so their times add up;
  /// overlapped, side by side in threads, so the slower of the two decides; unknown.
  std::string composition = "serial";
  std::string dataset_type{};             ///< class name of the data set
  std::string multiprocessing_context{};  ///< fork | spawn | forkserver; empty without workers
  Measured<std::int64_t> batch_size{};    ///< samples of a batch of one rank
  Measured<std::int64_t> num_workers{};
  Measured<std::int64_t> prefetch_factor{};
  Measured<bool> pin_memory{};
  Measured<bool> persistent_workers{};
  Measured<bool> in_order{};
  Measured<bool> drop_last{};
  Measured<bool> shuffled{};
  Measured<std::int64_t> dataset_samples{};
  Measured<std::int64_t> threads_per_worker{};
  Measured<std::int64_t> batches_per_step{};  ///< gradient accumulation
  Measured<Bytes> gradient_bytes{};           ///< of all optimizers, at the first step of each
  Measured<BytesPerSample> prepared{};        ///< tensors and arrays of a batch when it is delivered
  int loaders_seen = 0;
  int ranks_seen = 0;
  int ranks_expected = 1;
  /// Whether ranks are known to wait for each other: a launcher or torch.distributed says how many there are, or an
  /// exchange of theirs was seen. Processes that train each by itself do not.
  bool ranks_together = true;
};

/// A claim about a phase, and what was seen of it.
struct Premise {
  std::string phase{};
  std::string check{};  ///< residency | storage_bytes | nic_bytes | latency | ...
  std::string expected{};
  std::string seen{};
  bool holds = false;
};

/// One measurement: a setting, a phase, a rate. The one list that everything else is a view of.
struct Point {
  std::map<std::string, std::string> setting{};  ///< e.g. {"workers": "4", "cached": "0.5"}
  std::string phase = "as_is";
  std::string method = "attributed";  ///< differential | attributed | plain | verify
  MeasuredEstimate<SamplesPerSecond> estimate{};
  std::vector<Premise> premises{};
};

/// Samples per second of the whole job (all ranks).
struct Rates {
  MeasuredEstimate<SamplesPerSecond> synthetic{};
  MeasuredEstimate<SamplesPerSecond> cached{};
  MeasuredEstimate<SamplesPerSecond> cold{};
  MeasuredEstimate<SamplesPerSecond> as_is{};
  MeasuredEstimate<SamplesPerSecond> supply_cached{};
  MeasuredEstimate<SamplesPerSecond> supply_cold{};
};

/// Fractions of a step: of the cold step for prep and fetch, of the step as found for as_is_*.
struct Stalls {
  MeasuredEstimate<Fraction> prep{};
  MeasuredEstimate<Fraction> fetch{};
  MeasuredEstimate<Fraction> as_is_prep{};
  MeasuredEstimate<Fraction> as_is_fetch{};
  MeasuredEstimate<Fraction> as_is_wait{};  ///< all waiting for batches, however it divides
  /// Taking over batches that their workers had handed over (unpickling, mapping, pinning): waiting that neither faster
  /// storage nor more workers would shorten, and not part of prep.
  MeasuredEstimate<Fraction> receive{};
  MeasuredEstimate<Fraction> as_is_receive{};
  /// Choosing which samples make a batch: the sampler runs in the process that trains, within the wait, and neither
  /// workers nor storage shorten it. Part of a synthetic step, too.
  MeasuredEstimate<Fraction> as_is_sampler{};
  /// From the beginning of an epoch (but the first) until its first batch: the iterator is made, workers are started,
  /// the batch is waited for. Beside the steps, and so no part of any rate.
  MeasuredEstimate<Seconds> epoch_pause{};
  /// What the loader's workers cost the compute itself (cores, memory, the GIL): not waiting, and not part of prep.
  /// Of the cold step: T_synthetic + interference + receive + prep + fetch = T_cold. Likewise of the step as found.
  MeasuredEstimate<Fraction> interference{};
  MeasuredEstimate<Fraction> as_is_interference{};
  /// attributed | differential | differential+attributed: all waiting was measured, fetch and prep were told apart by
  /// attribution (streams)
  std::string method = "attributed";
};

/// The data set as the job's own reads show it.
struct Dataset {
  Measured<std::int64_t> files_seen{};
  Measured<Bytes> bytes_seen{};                    ///< sizes of the distinct files seen
  Measured<Bytes> bytes_total{};                   ///< extrapolated to dataset_samples
  Measured<BytesPerSample> bytes_per_sample{};     ///< read per sample
  Measured<BytesPerSample> received_per_sample{};  ///< of them, over the network
  /// What storage gives of a sample that is not in memory, from cold blocks: what the kernel reads ahead, or around a
  /// page fault, is in it. Of data read through maps of files it is there without `bytes_per_sample`.
  Measured<BytesPerSample> stored_bytes_per_sample{};
  Measured<Distribution> file_size_bytes{};
  Measured<Fraction> small_files{};  ///< of the files seen, smaller than 128 KiB: each costs a request, however small
  std::string layout{};              ///< files | shards | mapped | network | unknown
  std::string format{};  ///< what most of the bytes lie in, by the files' names: jpeg, tar, hdf5, ...; empty: unknown
  std::string filesystem{};  ///< ext4, nfs, ... that most of the files lie on; empty: not known
  std::string folder{};      ///< that nearly all of the files seen lie below; empty: there is none, or it is a root
  std::string example_path{};
};

/// Cold reads of the data set's own files, so many at once.
struct StorageRate {
  std::int64_t in_flight = 1;
  MeasuredEstimate<PerSecond> rate{};  ///< reads a second, each from open to close where `read` is whole_file
  MeasuredEstimate<BytesPerSecond> bandwidth{};
};

/// What the data set's storage can do: a short probe of its files after the run. `stallcast storage` takes longer and
/// says more.
struct Storage {
  std::string path{};            ///< folder whose files were read; empty: there was no probe
  std::string read = "unknown";  ///< whole_file | large_block: what one read is
  Measured<Bytes> read_size{};   ///< mean
  std::vector<StorageRate> rates{};
  MeasuredEstimate<PerSecond> ceiling_rate{};  ///< however many are in flight
  MeasuredEstimate<BytesPerSecond> ceiling_bandwidth{};
  /// Of what it could have delivered during short pauses, how much it delivers after them: 0 a disk, which stands still
  /// meanwhile; 1 a token bucket (cloud disks with provisioned rates, control groups), which saves it up.
  Measured<Fraction> saved{};
  Measured<Seconds> idle_read{};  ///< time of a read that finds the storage idle
  /// One reader alone: until the first byte of a file (open and latency), and bytes/s from there on.
  MeasuredEstimate<Seconds> first_byte{};
  MeasuredEstimate<BytesPerSecond> stream_bandwidth{};
  /// Of one reader that goes through files in order: how far the kernel reads ahead of it at most, and how much of that
  /// becomes readable at once.
  Measured<Bytes> read_ahead{};
  Measured<Bytes> at_once{};
};

/// Times of one optimizer step of one rank and of one sample, and what they are made of.
struct Resources {
  MeasuredEstimate<Seconds> step{};     ///< from delivery to delivery, times batches_per_step
  MeasuredEstimate<Seconds> compute{};  ///< step minus wait
  MeasuredEstimate<Seconds> wait{};
  MeasuredEstimate<SecondsPerSample> worker_wall{};  ///< begin to end of a batch's making, per sample
  MeasuredEstimate<SecondsPerSample> worker_cpu{};
  MeasuredEstimate<SecondsPerSample> worker_cpu_cached{};   ///< likewise where all is in memory: of cached blocks
  MeasuredEstimate<SecondsPerSample> worker_cpu_cold{};     ///< of cold blocks, in the same rounds
  MeasuredEstimate<SecondsPerSample> worker_wall_cached{};  ///< worker_wall of cached blocks
  MeasuredEstimate<SecondsPerSample> worker_wall_cold{};    ///< of cold blocks, in the same rounds
  MeasuredEstimate<SecondsPerSample> worker_run_delay{};    ///< waiting for a core (runnable, not running)
  MeasuredEstimate<SecondsPerSample> read{};                ///< inside reads, opens and stats
  MeasuredEstimate<SecondsPerSample> read_from_memory{};    ///< the part of it that a resident file costs too
  MeasuredEstimate<SecondsPerSample> collate{};
  MeasuredEstimate<SecondsPerSample> handover{};             ///< handing over the finished batch
  MeasuredEstimate<SecondsPerSample> tree_cpu{};             ///< CPU seconds per sample, whole process tree
  MeasuredEstimate<SecondsPerSample> consumer_cpu{};         ///< of the consuming process alone
  MeasuredEstimate<SecondsPerSample> consumer_cpu_cached{};  ///< likewise where all is in memory: of cached blocks
  MeasuredEstimate<SecondsPerSample> step_cpu{};             ///< the part of it that is the step: not receiving batches
  Measured<double> job_cpus{};              ///< cores that the job's processes kept busy, on all machines; as found
  Measured<double> other_cpus{};            ///< cores that were neither idle nor the job's, of each machine; as found
  Measured<Fraction> bytes_from_storage{};  ///< read_bytes of the job over bytes that it read
  Measured<BytesPerSecond> storage_bandwidth{};         ///< read from storage over the run, whole job
  Measured<Bytes> worker_memory{};                      ///< memory of one worker (PSS)
  Measured<Bytes> anonymous_memory{};                   ///< of the whole job
  Measured<Bytes> page_cache_available{};               ///< memory limit minus anonymous memory; least of all hosts
  std::map<std::string, Distribution> distributions{};  ///< sample_read_s, sample_metadata_s, step_s, ...
};

/// One pass over the data set, as the page cache served it.
struct CacheEpoch {
  std::int64_t epoch = 1;  ///< 1 is the first
  Bytes read{};            ///< by the making of its batches
  Bytes from_storage{};    ///< of them; at most `read`, although the kernel may have read ahead
  Fraction hit = 0.0;      ///< 1 - from_storage / read
};

/// What the page cache served of the job's reads, over whole epochs as found (no phase changed what it held).
struct PageCache {
  std::vector<CacheEpoch> epochs{};
  MeasuredEstimate<Fraction> hit{};  ///< epochs after the first: their mean
  /// Memory that may hold it over the size of the data set: x of the closed forms in model/analytic/cache.hpp. Above 1:
  /// all fits.
  Measured<double> room{};
};

/// Epochs whose bytes came from one place, or whose samples took as long to make, beside others that differ in it.
struct State {
  std::int64_t first_epoch = 1;  ///< 1 is the first
  std::int64_t last_epoch = 1;
  MeasuredEstimate<SamplesPerSecond> rate{};
  MeasuredEstimate<Fraction> wait{};
  Measured<Fraction> from_storage{};  ///< of the bytes read
  Measured<BytesPerSecond> storage_bandwidth{};
  Measured<SecondsPerSample> making{};  ///< of a sample, its reads apart; absent where the states do not differ in it
};

/// One row of what the workers' busy time (making batches, from index list in hand to collated) is made of: a transform
/// by its class and its place in the chain, or what is not one. Times are its own: without the operators that it calls,
/// without reads, and without what measuring costs. The rows' `busy` add up to 1.
struct Operator {
  std::string name{};   ///< "Resize", "augment.Cutout", "Lambda(normalise)"
  std::string where{};  ///< "transform[0]"; empty where no chain was found that holds it
  /// operator | getitem (the sample's own: decoding, loading) | collate | read | core (waiting for one) | rest
  std::string kind = "operator";
  std::string state = "as_is";  ///< of the storage meanwhile: as_is | cached | cold
  std::int64_t samples = 0;     ///< behind it
  double calls_per_sample = 0.0;
  MeasuredEstimate<SecondsPerSample> wall{};
  MeasuredEstimate<SecondsPerSample> cpu{};  ///< of the making thread
  MeasuredEstimate<Fraction> busy{};         ///< share of the busy time
  MeasuredEstimate<Fraction> cpu_share{};    ///< of the CPU time of making batches
  Measured<Distribution> wall_s{};           ///< of the samples (collates) in which it ran
};

/// What a share of CPU time was spent on.
struct CpuFunctions {
  std::string name{};      ///< "JPEG decode", "memory copy", ...: the table of analyzer/resources/cpu_names.cpp
  std::string library{};   ///< that most of it lies in; "[kernel]", "[jit]"
  std::string function{};  ///< most often seen of those that have a symbol; empty: none has
  MeasuredEstimate<Fraction> share{};  ///< n: samples of the whole that it is a share of
};

/// Counters over all processes of the job, while batches were taken. What is absent says which setting or machine would
/// have it.
struct CpuCounters {
  Measured<Seconds> span{};        ///< wall time that they cover
  Measured<Seconds> task_clock{};  ///< CPU time
  Measured<std::int64_t> context_switches{};
  Measured<std::int64_t> migrations{};
  Measured<std::int64_t> minor_faults{};
  Measured<std::int64_t> major_faults{};  ///< page faults that waited for storage
  Measured<std::int64_t> cycles{};        ///< scaled up where counters took turns
  Measured<std::int64_t> instructions{};
  Measured<std::int64_t> llc_misses{};
  Measured<Fraction> hardware_running{};  ///< of the time, in which cycles were really counted; 1: they took no turns
};

/// One process of the job, by the samples of its CPU time over the whole run.
struct CpuProcess {
  std::int64_t pid = 0;
  std::string name{};
  std::string role{};  ///< main | worker | other
  std::int64_t samples = 0;
};

/// Where the job's CPU time went: stacks' leaves, sampled by the kernel (perf_event_open) a few times a second.
struct Cpu {
  std::string source{};                     ///< perf_event_open; empty: nobody looked
  double sampled_hz = 0.0;                  ///< of each thread's own CPU time
  bool kernel = false;                      ///< time in the kernel was sampled, too
  std::int64_t lost = 0;                    ///< records that did not fit into the kernel's buffer
  Measured<std::int64_t> worker_samples{};  ///< while batches were made from memory or as found; absent: the reason
  Measured<std::int64_t> main_samples{};    ///< of the consuming processes, while they did not make batches
  std::vector<CpuFunctions> workers{};      ///< largest share first; they add up to 1
  std::vector<CpuFunctions> main{};
  CpuCounters counters{};
  std::vector<CpuProcess> processes{};  ///< those with most samples
};

/// What ranks exchange in a step, by the timers of PyTorch's DistributedDataParallel: all-reduces of gradients, bucket
/// by bucket, behind the backward pass as far as that goes. An iteration counts where all ranks timed it; its times are
/// those of the rank that came last, which waited for nobody.
struct Exchange {
  std::string backend{};    ///< gloo | nccl | ...; empty: there was no such model
  std::string hook{};       ///< what replaces the all-reduce, by name; empty: nothing
  std::int64_t ranks = 0;   ///< of the job
  Measured<Bytes> bytes{};  ///< of one step, in so many
  std::int64_t buckets = 0;
  std::int64_t iterations = 0;          ///< that count
  MeasuredEstimate<Seconds> forward{};  ///< computing; likewise backward
  MeasuredEstimate<Seconds> backward{};
  MeasuredEstimate<Seconds> time{};     ///< from the beginning of the first all-reduce to the end of the last
  MeasuredEstimate<Seconds> exposed{};  ///< the part of it after the backward pass
  MeasuredEstimate<Seconds> waiting{};  ///< how much longer it took than that, mean of all ranks
};

/// Hardware that the run was given instead of the machine's own, and what became of it.
struct Emulation {
  std::string with = "nothing";                   ///< nothing | interposer | kernel: what emulated it
  std::map<std::string, std::string> settings{};  ///< as asked for, e.g. {"storage_bandwidth": "200MB/s"}
  /// Files (ranges of 128 KiB of large ones) that the emulated cache held when they were read.
  Measured<std::int64_t> hits{};
  Measured<std::int64_t> misses{};  ///< likewise, and held not. Neither counts batches that a phase made cold or cached
  Measured<Fraction> hit_bytes{};   ///< of the bytes read, from the emulated cache
  Measured<std::int64_t>
      requests{};                   ///< to the emulated storage, or of the job to the disks that the kernel limits, for
  Measured<Bytes> request_bytes{};  ///< so many bytes
  /// That the emulated storage takes for the reads that it served, waiting for others included, summed.
  Measured<Seconds> waited{};
  Measured<Seconds> late{};               ///< by which the real storage was slower than the emulated one
  Measured<Seconds> stored_hits{};        ///< waited for the real storage by reads that count as cached
  Measured<std::int64_t> mapped_files{};  ///< whose reads go past the emulation
  std::vector<std::string> disks{};       ///< whose reads the kernel limits, each by itself: "254:0 vda"
  std::vector<std::string> controls{};  ///< the kernel's limits as it had them in the end: "io.max 254:0 rbps=20000000"
  Measured<Fraction> limited_files{};   ///< of the data set's files, on those disks
  Measured<Seconds> cpu_throttled{};    ///< that the kernel's quota kept processes from running
};

/// What the measurement itself cost, from switching the recording on and off in alternating stretches of this run.
struct Overhead {
  MeasuredEstimate<Fraction> throughput{};  ///< share of the rate lost while recording; may be negative by noise
  MeasuredEstimate<Fraction> cpu{};         ///< extra CPU seconds per sample, as a share
  Measured<Bytes> recording{};              ///< bytes written
  std::int64_t dropped_records = 0;
  /// Where states were made: that the script was held back in all, mean over the ranks, and from the first of them
  /// until everything was let go.
  Measured<Seconds> held{};
  Measured<Seconds> measuring{};
  Measured<std::int64_t> burst_batches{};  ///< that the script was given in bursts behind holds, mean over the ranks
};

/// One consuming process.
struct Rank {
  int rank = 0;
  std::string host{};
  std::int64_t pid = 0;
  std::int64_t batches = 0;
  MeasuredEstimate<SamplesPerSecond> rate{};
  MeasuredEstimate<Fraction> wait{};
  /// Its machine's wall clock, how far it is ahead of the first rank's, by the steps that they end together.
  Measured<Seconds> clock_offset{};
  MeasuredEstimate<Seconds> late{};  ///< its batch came so long after the first rank's that had one, in each step
  Measured<Fraction> last{};         ///< of the steps: its batch came last of all ranks'
};

/// Steps over the run, thinned to at most a few thousand rows that keep extremes.
struct TimelineRow {
  double begin_s = 0.0;  ///< since the first wait
  double end_s = 0.0;
  std::int64_t steps = 0;  ///< in this row
  double wait_s = 0.0;     ///< summed over the row
  double longest_wait_s = 0.0;
  std::string phase = "as_is";
  double longest_step_s = 0.0;
};

/// What is said of steps where none was seen.
inline constexpr const char* k_no_steps_seen = "none of an optimizer of PyTorch or Keras, and none marked";

/// Something that a run did in which no loader was found.
struct Sighting {
  std::string what{};   ///< looked for | steps | batches | processes | files | sockets | cores | storage
  std::string words{};  ///< in one line
};

/// How `PhaseStretch::left_out` begins where the state was not the one that was wanted; what was seen follows.
inline constexpr const char* k_premise_fails = "its premise does not hold";

/// A stretch of a phased run: one phase, as the first rank went through it. On the clock of the timeline.
struct PhaseStretch {
  std::string phase{};
  std::int64_t round = 0;
  double begin_s = 0.0;
  double end_s = 0.0;
  std::string left_out{};  ///< why it counts for nothing; empty if it counts
};

struct Profile {
  int schema_version = k_profile_schema_version;
  std::string tool_version{};
  Outcome outcome{};
  std::vector<Sighting> seen_instead{};  ///< where no loader was found; else empty
  std::vector<std::string> command{};
  Host host{};
  Job job{};
  std::vector<Point> points{};
  Rates rates{};
  Stalls stalls{};
  /// In order, where the run went through several: what is told "as found" is the last one. Empty: one all along.
  std::vector<State> states{};
  std::vector<Premise> premises{};
  Dataset dataset{};
  Resources resources{};
  std::vector<Operator> operators{};  ///< the dearest first; empty where too few samples were timed
  std::vector<Rank> ranks{};
  std::vector<TimelineRow> timeline{};
  std::vector<PhaseStretch> phases{};  ///< empty for a run without phases
  std::vector<DataIssue> issues{};
  Overhead overhead{};
  Emulation emulation{};
  Storage storage{};
  PageCache page_cache{};
  Cpu cpu{};
  Gpu gpu{};
  Exchange exchange{};
  double measured_s = 0.0;  ///< length of the window that the estimates come from
};

}  // namespace stallcast
