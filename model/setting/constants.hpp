/// What this room takes for much and little: thresholds, tolerances and standard deviations, with what set them.
#pragma once

namespace stallcast {

// setting.cpp. Relative errors (standard deviations of a logarithm) of what the model says of a changed job. They add
// up in squares. Chosen; a profile's own blocks scale them all (error_scale, model/predict/calibrate.cpp), and
// tests/bench/predictions prints which share of the 90 % intervals holds the truth (docs/accuracy.md, "Predictions").
inline constexpr double k_any_change_sd = 0.01;  ///< of making: any change; without, intervals of small changes vanish
/// of making, where stalls were attributed and not told by blocks: the times of one state say less of another
inline constexpr double k_attributed_sd = 0.02;
inline constexpr double k_workers_sd = 0.02;  ///< of making, per doubling of workers beyond those measured
/// of the waiting for storage, from all of it shared to nothing: blocks at one number of workers do not tell these
/// apart, and four were predicted a fifth above what storage gave, outside the interval
inline constexpr double k_unseen_ceiling_sd = 0.4;
inline constexpr double k_cores_sd = 0.03;    ///< of making, and half of it of the step, per doubling of cores
inline constexpr double k_storage_sd = 0.03;  ///< of making, per doubling of storage's demand
inline constexpr double k_cache_sd = 0.03;    ///< of making, for the whole way from nothing cached to everything
/// of making, per doubling of the batch: costs of a batch as a whole
inline constexpr double k_batch_making_sd = 0.02;
/// of the step, per doubling of the batch: a step's time is taken to be proportional, which small batches are not
inline constexpr double k_batch_step_sd = 0.06;
inline constexpr double k_speedup_sd = 0.02;  ///< of the step, per doubling of the accelerator's speed
/// of making, from workers to none or back: 0.12 until collating without workers was a cost of its own
/// (tests/bench/collate), which left less unknown
inline constexpr double k_with_or_without_workers_sd = 0.08;
/// of the step's computing, beside workers where the run had none: a small model of transformers' Trainer on two cores
/// took 0.98 to 1.17 times as long (three pairs, by hand), and its rate was 0 to 25 % below the prediction
inline constexpr double k_untold_beside_step_sd = 0.1;
/// Seconds of a batch, and of each byte of it, that a consumer takes to receive it from a worker, where the run had
/// none. By hand, of profiles of jobs with workers on two cores: 0.95 to 1.4 ms with 0.13 MB in a batch (15
/// profiles), 1.3 with 0.6, 1.6 to 2.8 with 1.3 to 2.6 MB (14)
inline constexpr double k_untold_receiving_s = 1e-3;
inline constexpr double k_untold_receiving_s_per_byte = 0.4e-9;
/// bytes of a batch: larger ones were not among those jobs (2.0 to 2.6 ms with 4.8 MB)
inline constexpr double k_most_untold_received_bytes = 5e6;
/// of that. Chosen: a faster machine takes half of it
inline constexpr double k_untold_receiving_sd = 0.3;
/// of the step, for any change. Chosen small: a step is measured itself. Single runs of tests/bench/predictions in
/// which the device binds lay -1.2 to +1.6 % off (arrays); half of that told intervals that held two of the five
inline constexpr double k_step_sd = 0.008;
/// of the share of collating in making, from workers to none or back: tests/bench/collate finds the factor of stacking
/// tensors, and a collate that computes gains less
inline constexpr double k_shared_collate_sd = 0.3;
/// of what a consumer may wait more or less for a core: on one, +1.5 to +3.8 ms were seen where 2.8 were expected, with
/// batches of 8 to 256 samples. On two, the kernel's run delay was 1.1 and 2.1 ms a step more than in the run as found
/// (by hand); that is not expected, as who of those that want a core gets it is the scheduler's
inline constexpr double k_time_slice_sd = 0.5;
/// of the logarithm of what lies between storage hidden wholly and not at all, where one worker reads alone: all of it
/// in one job of tests/bench/predictions (tar), half of it in another (webloader)
inline constexpr double k_lone_reader_sd = 0.6;
/// the same where one reads alone now and then: chosen, half
inline constexpr double k_reader_alone_at_times_sd = 0.3;
/// of these, what is left where the overlap is calculated: how much becomes readable at once goes by how the reader
/// asks, and 5.1 and 7.1 ms were seen of one tar, read by tarfile and in blocks of 100 KB
inline constexpr double k_lone_reader_calculated = 0.4;
/// of a step's computing, beside its kernels. Chosen: less would gain nobody anything
inline constexpr double k_rest_worth_a_note = 0.01;
/// of the samples, between two policies' hits. Chosen, near k_cache_sd
inline constexpr double k_hits_worth_a_note = 0.02;

// evidence.cpp
inline constexpr double k_same_share = 1e-9;  ///< of samples, from storage: no more than as found, but for rounding

// parts.hpp
/// A change by no more than this factor lies within what was measured; the rest is for rounding. Chosen: a factor of
/// two is what the errors above are stated for; beyond it a prediction is marked as extrapolated.
inline constexpr double k_within_measured_factor = 2.0 * (1.0 + 1e-9);
/// Seconds. Linux' base slice on eight cores and more; ticks of 1 to 10 ms round it.
inline constexpr double k_time_slice_s = 0.0028;

// operators.cpp
/// of what is saved. Chosen: without an operator the others find other inputs and other caches, which nobody measured
inline constexpr double k_operator_saved_sd = 0.1;
/// of what operators add to the step. Chosen wide: nobody has run them on the accelerator
inline constexpr double k_device_prep_sd = 0.3;
/// of making. Chosen: without its operators a sample still costs something, and the error is divided by it
inline constexpr double k_least_left_share = 0.02;

// storage_cost.cpp
/// logarithm of a measured demand, per unit of its parameter: what a probe's ceiling is off. 0.1 at first; 0.04 since
/// predictions with a probed storage are tested
inline constexpr double k_demand_step = 0.04;
/// of the waiting for storage. Chosen: what the ceiling explains wholly keeps some latency, as no read is without
inline constexpr double k_least_latency_share = 0.02;
/// of what was saved up, by the probe's stretches with pauses. Chosen: below it, their noise; nothing counts as saved
inline constexpr double k_saved_by_noise = 0.2;
/// of the same. Chosen: from here on the storage is a token bucket, and all counts as saved; linear between
inline constexpr double k_saved_surely = 0.5;

// parts_of_time.cpp
inline constexpr double k_fewest_shard_readers = 1.0;  ///< workers: the consumer reads where there are none
inline constexpr double k_most_shard_readers = 16.0;   ///< workers. Chosen: more of them are near enough to their mean
inline constexpr double k_no_share_of_reads = 1e-6;    ///< of samples: nothing or all in the cache, but for rounding
/// of one in which hits fall. Chosen: with twice as many, rates of the worked example differ by less than 0.2 %
inline constexpr int k_parts_of_epoch = 8;
inline constexpr int k_places_of_part = 16;  ///< whose mean it has. Chosen: the epoch's mean is right within 0.1 %

// data.cpp. Relative errors of making; chosen, as those of setting.cpp: no benchmark here changes a layout
inline constexpr double k_layout_sd = 0.03;       ///< per doubling of what a read costs
inline constexpr double k_metadata_sd = 0.10;     ///< where all of the waiting is opens and stats, and is taken away
inline constexpr double k_staged_disk_sd = 0.03;  ///< a disk that was not measured
/// of the data set. Chosen: the epochs until so much is staged are told; the note says 95 %
inline constexpr double k_nearly_all_staged = 0.95;

// cluster.cpp. No run on real nodes stands behind these (docs/accuracy.md); tests/bench/ranks holds predictions of 1 to
// 4 ranks against network namespaces of one machine.
inline constexpr double k_ranks_sd = 0.02;         ///< of the step, per doubling of ranks; of making, of uses. Chosen
inline constexpr double k_shared_cores_sd = 0.03;  ///< of making, per doubling of those who share a host. Chosen
inline constexpr double k_prep_hosts_sd = 0.10;    ///< of making: hosts that were not measured prepare. Chosen wide
inline constexpr double k_closed_form_sd = 0.3;  ///< of what a closed form adds to a step. Chosen wide: no cluster ran
/// of a step's computing, where it was not measured. Chosen: the backward pass computes two products for each of the
/// forward's
inline constexpr double k_backward_share = 2.0 / 3.0;
/// Bytes a second. Chosen: no network between nodes is slower; an exchange that says so says something else
inline constexpr double k_slowest_network = 1e5;
/// Bytes a second. Chosen: beyond any network of nodes; the exchange is hidden wholly then, and tells no bandwidth
inline constexpr double k_fastest_network = 1e12;

// demands.cpp
/// of collating in a worker, what shared memory costs: stacking tensors there takes more than ten times as long
/// (tests/bench/collate), and a collate that computes gains less
inline constexpr double k_shared_collate_share = 0.8;
inline constexpr int k_turn_halvings = 16;  ///< of a time slice. Chosen: to less than 0.1 us

}  // namespace stallcast
