/// What this room takes for much and little: thresholds and tolerances, with what set them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stallcast {

// attribution.cpp: the loader replayed. tests/analyzer/stalls/attribution_test.cpp holds shares within 2 points of the
// simulated truth, interval_test.cpp the coverage.

/// Batches whose making is known, for a replay. Chosen: fewer are hardly a queue's length.
inline constexpr std::size_t k_fewest_known_makings = 8;
/// Of the batches, whose making must be known: half of a run may be recorded without it, and not much more. Held by
/// "with half of the makings lost the split is there, with more it is absent".
inline constexpr double k_least_known_makings = 0.3;
/// Of the measured step, by which a replay may be shorter and need no explanation by others' load. Chosen: about what
/// the attribution itself is off by (k_split_error).
inline constexpr double k_same_step = 0.02;
/// Halvings of the share of others' load that a replay is given: to 1 / 128 of it. Chosen: finer than any other error
/// here.
inline constexpr int k_foreign_load_bisections = 7;
/// Batches that a replay has; a short trace is repeated up to here. Chosen: the ends then weigh little, and a replay,
/// of which the bisections need nine, stays short.
inline constexpr std::size_t k_replayed_batches = 600;
/// Workers in a turn, at most, around batches of known making: keeps what damage says from growing it.
inline constexpr std::int64_t k_most_workers_of_turn = 1024;

/// Batches that lay ready, for what taking one over takes. Chosen: fewer may be chance.
inline constexpr std::size_t k_fewest_ready = 8;
/// Of that, how much a batch that came late may take. Chosen: it varies, and twice its mean is no other thing.
inline constexpr double k_late_receiving = 2.0;

// replay_machine.cpp

/// Cores of a machine that does not say how many: no contention is assumed, and the replay's error shows if there was
/// some.
inline constexpr double k_cores_if_unknown = 1e6;

// stalls.cpp: what becomes of the split.

/// Of the measured step, by which the replay may be off: beyond it the split is absent, since its premise does not
/// hold. Chosen; held by "a job that something else holds back gets no split but the reason" (attribution_test.cpp).
inline constexpr double k_trusted_replay_error = 0.10;
/// Of the step: error of the attribution itself, in quadrature with the others. From the benchmark
/// tests/bench/attribution.
inline constexpr double k_split_error = 0.015;
/// Of the step, that others' load was taken to explain and that may as well be the replay's own error: all of it counts
/// as error up to here. Chosen: half of what a replay may be off by.
inline constexpr double k_doubted_load = 0.05;
/// Of what it explains beyond that, that counts as error. Chosen: 0 would trust large corrections as much as small
/// ones, 1 would refuse a split on any machine with other load.
inline constexpr double k_doubt_beyond = 0.25;
/// Of the bytes read, from storage, from which a run as found is the cold one. Chosen: stricter than the premise of a
/// cold block (k_least_stored_if_cold), as nothing was evicted for it.
inline constexpr double k_cold_run_from_storage = 0.95;
/// Likewise, up to which it is the cached one: as the premise of a cached block (k_most_stored_if_cached).
inline constexpr double k_cached_run_from_storage = 0.02;
/// Batches for which a loader within was asked, and their share of all. Chosen: a queue that it fills once in fifty
/// batches is one; a mean that is computed at first, or once in an epoch, is not.
inline constexpr double k_fewest_nested = 4.0;
inline constexpr double k_least_nested_share = 0.01;
/// Of the workers' time, that they waited for a core, from which that is named. Chosen: below it the scheduler alone
/// does it.
inline constexpr double k_named_core_waits = 0.10;
/// Of a step, below which a wait is none: taking a batch over takes some.
inline constexpr double k_no_wait_share = 0.02;
/// Of the steps, that did not wait, from which a device's own time is seen in them. Chosen: of fewer, those alone are
/// seen in which it happened to be done. Held by "a device that computes while the job waits hides G unless some steps
/// did not wait" (attribution_test.cpp); the words of the reason say 10 %, too.
inline constexpr double k_least_steps_without_wait = 0.1;
/// Of the time between batches, that is a step, for its rate to be told. Chosen: below it, it is the difference of two
/// nearly equal times.
inline constexpr double k_least_step_share = 0.02;
/// Of the usable cores, from which a loader's threads and the steps get into each other's way. Chosen: all of them are
/// never busy on average where threads wait for each other.
inline constexpr double k_busy_cores = 0.8;
/// Of the wait of a job whose batches are given again, half its interval. Chosen: the first steps of a run are those
/// that waited, and one wait has no spread.
inline constexpr double k_error_given_again = 0.1;

/// Of the time, that workers of a loader make batches which a thread of the script takes, from which they are what the
/// training waits for. Chosen: what is left is the handing over of each batch.
inline constexpr double k_busy_behind = 0.9;

}  // namespace stallcast
