/// What this room takes for often and long: how often the tool looks, and what that may cost, with what set it.
#pragma once

#include <cstdint>

namespace stallcast::collect {

// run_extras.cpp
/// Chosen: a killed tool leaves what became of the emulation but for so long, and the log stays small
inline constexpr std::uint64_t k_emulation_logged_every_ns = 5'000'000'000ULL;

// watch.cpp
/// Chosen: ranks let go of a script when none came for 5 s
inline constexpr std::uint64_t k_heartbeat_ns = 100'000'000ULL;
/// from the first batch to the first overhead pair. Chosen: workers fill their queues in it
inline constexpr std::uint64_t k_settle_ns = 2'000'000'000ULL;
/// from the first batch to the first reading of workers' proportional sets. Chosen: short jobs have one, and their
/// workers hold what they work with
inline constexpr std::uint64_t k_workers_settle_ns = 3'000'000'000ULL;
/// how long "not ours" holds for a pid. Chosen: pids come again
inline constexpr std::uint64_t k_forget_ns = 60'000'000'000ULL;
/// of the log: details come half as often after each of these. Chosen: a run of any length keeps a small one
inline constexpr std::uint64_t k_log_quantum_bytes = 8ULL << 20U;
inline constexpr std::uint64_t k_details_share = 1000;       ///< Chosen: details may cost 1/1000 of a core
inline constexpr std::uint64_t k_proportional_share = 2000;  ///< Chosen: and proportional sets 1/2000

}  // namespace stallcast::collect
