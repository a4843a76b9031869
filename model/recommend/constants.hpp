/// What this room takes for much and little: what is worth a change and what can be afforded, with what set it.
#pragma once

namespace stallcast {

// loader_search.cpp
/// of the best rate. Chosen: the fewest workers and batches that come as near are the knee; more cost memory
inline constexpr double k_near_best = 0.98;
/// of the best rate with workers. Chosen: loading in the consumer is only for those whom workers slow down
inline constexpr double k_worth_no_workers = 1.03;
inline constexpr int k_most_tried_workers = 64;  ///< workers of a rank. Chosen: as far as the search goes
/// of the free memory. Chosen: the other half stays for page cache
inline constexpr double k_memory_for_workers = 0.5;
/// bytes free in /dev/shm. Chosen, above the 64 MB that containers get by default: more workers may not fit
inline constexpr double k_small_shm_bytes = 256e6;

// recommend.cpp
inline constexpr double k_no_stall = 0.03;  ///< of the step that is waited. Chosen: with less there is nothing to win
inline constexpr double k_worth_telling = 0.02;  ///< gain of the rate. Chosen: less is within what the model is off
/// upper end of a gain. Chosen: from here on a change is not said to be vain
inline constexpr double k_may_help = 0.10;
/// lower end of a gain. Chosen: the loader is then to be changed, and not only tried
inline constexpr double k_clear_gain = 0.01;
inline constexpr double k_tried_shard_bytes = 4.0 * 1048576.0;  ///< bytes of the remedy "shards of 4 MiB". Chosen
/// samples. Chosen: of fewer, each is large enough by itself
inline constexpr double k_fewest_samples_in_shard = 16.0;
/// of a sample's reading that are opens and stats. Chosen: less gains less than what is worth telling
inline constexpr double k_worth_a_snapshot = 0.05;

}  // namespace stallcast
