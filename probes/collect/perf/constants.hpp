/// What this room takes for many and late: how often is sampled and how much is kept, with what set it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stallcast::collect {

// address_spaces.cpp. Chosen, for memory: more than any job has; what is beyond is unknown.
inline constexpr std::size_t k_most_processes = 16384;
inline constexpr std::size_t k_most_mappings = 16384;  ///< of one process
inline constexpr std::size_t k_most_mapped_files = 16384;
/// processes that have ended. Chosen: samples of one may come after its end, from another CPU's ring
inline constexpr std::size_t k_kept_ended_processes = 256;

// symbols.cpp
/// of code. Chosen: the longest of libc's functions that copy; what lies further from a name is another function's
inline constexpr std::uint64_t k_most_libc_code_bytes = 4096;

// cpu_probe.cpp
/// samples a second of a CPU. Not a divisor of any usual timer's rate: samples must not fall into step with what they
/// look at. tests/bench/overhead has what it costs (docs/accuracy.md, "each operator timed, CPU time sampled")
inline constexpr std::uint64_t k_sampling_hz = 97;
/// of one ring: with its first page within perf_event_mlock_kb's 516 KiB
inline constexpr std::size_t k_most_ring_pages = 128;
inline constexpr std::size_t k_all_rings_pages = 16384;  ///< of all rings. Chosen: 64 MiB
/// by which a record may come after those of another CPU. Chosen: two samples' time
inline constexpr std::uint64_t k_late_record_ns = 20'000'000ULL;
/// Chosen: then every second goes, and they come half as often
inline constexpr std::size_t k_most_counter_readings = 4096;

// cpu_samples.cpp
inline constexpr std::size_t k_most_process_names = 16384;  ///< Chosen, as k_most_processes
/// of /proc/kallsyms. Chosen: kernels have some 10 MB of it
inline constexpr std::size_t k_most_kallsyms_bytes = 64U << 20U;

}  // namespace stallcast::collect
