/// What this room takes for much and little: thresholds, tolerances and standard deviations, with what set them.
#pragma once

namespace stallcast {

// inputs.hpp
/// of a mean, standard deviation. Chosen: an interval that came out smaller is luck, and would outweigh all others
inline constexpr double k_least_relative_sd = 0.003;
/// of a mean, standard deviation. Chosen: an estimate without an interval, or with a wider one, is hardly known
inline constexpr double k_hardly_known_sd = 1.0;
/// Seconds, or samples a second. Chosen: no training job has more; what a profile has beyond it is damage
inline constexpr double k_most_plausible = 1e9;
/// Bytes, or bytes a second. Chosen as above: a storage of 1 GB/s and more must count
inline constexpr double k_most_plausible_bytes = 1e18;
/// by which two rates differ. Chosen: blocks of their own never agree so well, and leaving one out then costs little
inline constexpr double k_same_deliveries = 0.005;
/// Samples a second. Chosen: a sample in eleven days; a rate below it is none
inline constexpr double k_slowest_rate = 1e-6;

// job_model.cpp
inline constexpr double k_least_miss = 0.05;  ///< of samples. Chosen: below it, what one miss costs drowns in the hits
/// Of the making of a batch, below which what was read is no data, where no byte of it was seen. Chosen: what a library
/// looks up in /proc or a terminal is less, and no sample is read in so little.
inline constexpr double k_least_reading = 0.005;
inline constexpr double k_unknown_cores = 1e6;  ///< cores of a host that does not say: so many that none is waited for
/// of the workers' crowding as estimated. Chosen: the estimate takes sharing to be even, which the kernel's is not, so
/// less than this says nothing of others' load
inline constexpr double k_own_crowding = 1.10;
/// of samples that came from storage. Chosen: below it, the difference to cached blocks divided by it is mostly noise
inline constexpr double k_mostly_missed = 0.5;
/// of a step, lower end of the interval of fetch stall. Chosen: waiting for storage then sets a stream's pace
inline constexpr double k_storage_sets_pace = 0.05;
/// of a step. Chosen: longer shortest waits mean that no batch was ever ready
inline constexpr double k_short_wait = 0.03;
/// of a step's time, its CPU time. Chosen: less is one thread's, as clocks and averages go
inline constexpr double k_several_threads_from = 1.05;
/// of a sample's CPU time. Chosen: something is left to make of it, whatever was timed
inline constexpr double k_most_collating = 0.9;
/// of a file's bytes. Chosen: the whole of it, as means go
inline constexpr double k_whole_file_share = 0.99;
/// of the files, in the bin of the largest. Chosen: all but a stray one or two, so they are of one size
inline constexpr double k_same_size_share = 0.95;
inline constexpr int k_fewest_of_spread = 8;  ///< values. Chosen: of fewer a distribution is not known
inline constexpr double k_most_cv = 1.5;      ///< of the mean. Chosen: more is an outlier's, and curves end soon after
/// of the mean, over the batches of a step. Chosen: steps vary by less; batches of which one has the step by 1 and more
inline constexpr double k_unlike_batches_cv = 0.5;
inline constexpr int k_fewest_waits = 20;        ///< of which a quantile is taken. Chosen: two lie below it
inline constexpr double k_shortest_waits = 0.1;  ///< of the waits. Chosen: batches that lay ready are among them

// storage_reads.cpp
/// of the share that missed. Chosen: the fastest of reads that surely did; the border itself is blurred
inline constexpr double k_surely_missed = 0.9;
/// the same, of reads that surely found the storage free. Chosen: what is quicker still is chance. The probe's come
/// after pauses of all, 0.41 to 0.48 ms where a job's own lower quartile was 0.24 to 0.27 (by hand; 150 KB behind a
/// limit of 40 and 80 MB/s)
inline constexpr double k_found_free = 0.75;
/// of samples, from which the quickest quarter of their reads came from storage. Chosen
inline constexpr double k_nearly_all_missed = 0.9;
inline constexpr int k_fewest_reads = 50;  ///< of which a quantile is taken. Chosen: fewer tell none
/// of the waiting for storage, that others' reading lengthens. Chosen: a guess by the shape of reads goes no further
inline constexpr double k_least_shared_waiting = 0.3;
inline constexpr double k_most_shared_waiting = 0.9;

// access.cpp
/// sizes over which requests are averaged. Chosen: enough for a mean
inline constexpr int k_quantiles_of_file_sizes = 16;

// operators.cpp
/// of an operator's wall time, beyond CPU time and waiting for a core. Chosen: less is what those two are off; from
/// here on it counts as waiting for something else
inline constexpr double k_operator_waits_from = 0.1;

// overlapped.cpp
/// of a step. Chosen: a job that waits so much goes at the loader's pace
inline constexpr double k_loader_binds_from = 0.10;

// stream_reads.cpp
/// of the kernel's largest read-ahead, in a shard. Chosen: of more, the last window is little of it
inline constexpr double k_many_windows = 2.0;
/// of what short pauses cost. Chosen: a token bucket saves all, a disk nothing
inline constexpr double k_saves_up_from = 0.5;
/// Seconds: twice of the pauses that were probed (k_probe_pause_s of probes/collect/storage). What longer ones save up
/// is not known
inline constexpr double k_longest_saving_pause_s = 0.1;

// unseen_reads.cpp
/// of the time that a sample takes. Chosen: less than this in page faults is no reading to speak of
inline constexpr double k_hardly_reads = 0.02;

// observations.cpp
/// of the rate, standard deviation. Chosen: rate and times of one window share what varies from window to window, and
/// only rounding tells them apart
inline constexpr double k_same_window_sd = 0.01;
/// of samples, from storage or from memory. Chosen: blocks of that state then ran as the job was found
inline constexpr double k_as_good_as_all = 0.95;
/// standard deviations of a difference. Chosen: less is not clearly more than noise, and other rates are asked
inline constexpr double k_clearly_slower_sds = 1.5;

}  // namespace stallcast
